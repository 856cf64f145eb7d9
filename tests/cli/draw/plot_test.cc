// SPDX-License-Identifier: Apache-2.0
#include "cli/draw/plot.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/cli/texts.h"
#include "tests/time_zone.h"

namespace jetmem {
namespace {

TEST(ValueScale, TicksAreRound) {
  const ValueScale percent = value_scale(3.2, 97, 5, false);
  EXPECT_DOUBLE_EQ(percent.low, 0);
  EXPECT_DOUBLE_EQ(percent.high, 100);
  EXPECT_DOUBLE_EQ(percent.step, 20);
  EXPECT_DOUBLE_EQ(value_scale(900, 1000, 4, false).low, 900);
  EXPECT_DOUBLE_EQ(value_scale(900, 1000, 4, false).step, 50);
  EXPECT_DOUBLE_EQ(value_scale(5.1e9, 6.2e9, 6, true).step, 256 << 20);
}

TEST(ValueScale, ConstantValue) {
  for (const double value : {0.0, 5.0, -5.0, 1e15, 1e-9}) {
    const ValueScale scale = value_scale(value, value, 5, false);
    EXPECT_LE(scale.low, value);
    EXPECT_GT(scale.high, scale.low);
    EXPECT_GE(scale.high, value);
    EXPECT_GT(scale.step, 0);
  }
}

TEST(ValueScale, RespectsTheTickLimit) {
  for (double least = -1000; least < 1000; least += 37.3) {
    for (double spread = 0.001; spread < 1e6; spread *= 3.7) {
      for (const std::size_t most : {1U, 2U, 5U}) {
        const ValueScale scale = value_scale(least, least + spread, most, false);
        EXPECT_LE(scale.low, least + 1e-6 * spread);
        EXPECT_GE(scale.high, least + spread * (1 - 1e-6));
        EXPECT_LE((scale.high - scale.low) / scale.step,
                  std::max(2.0, static_cast<double>(most)) + 1e-6);
      }
    }
  }
}

class PlotTime : public testing::Test {
  const TimeZone zone_{kBerlin};
};

TEST_F(PlotTime, TicksAreAtLocalHoursAndDatesAppearOnce) {
  // 2026-11-20 18:00:00 to the next 06:00 in Berlin.
  const auto ticks = time_ticks(1795194000, 1795194000 + 12 * 3600, 6);
  ASSERT_EQ(ticks.size(), 7U);
  EXPECT_EQ(ticks[0].clock, "18:00");
  EXPECT_EQ(ticks[0].date, "Nov 20");
  EXPECT_EQ(ticks[1].date, "");
  EXPECT_EQ(ticks[3].clock, "00:00");
  EXPECT_EQ(ticks[3].date, "Nov 21");
}

TEST_F(PlotTime, EndOfDaylightSaving) {
  // The night of 2026-10-25: 03:00 becomes 02:00.
  const auto ticks = time_ticks(1792879200, 1792879200 + 8 * 3600, 8);
  for (std::size_t i = 1; i < ticks.size(); ++i) EXPECT_GT(ticks[i].time, ticks[i - 1].time);
  EXPECT_EQ(ticks.back().clock.substr(2), ":00");
}

TEST(PlotText, DotsOfBraille) {
  Plot plot;
  plot.from = 0;
  plot.to = 100;
  PlotSeries line;
  for (int i = 0; i <= 100; ++i) {
    line.points.push_back(
        {static_cast<double>(i), 1, static_cast<double>(i), 0.0 + i, 0.0 + i, i > 0});
  }
  plot.series.push_back(line);
  plot.tick_text = [](double value, double) { return std::to_string(static_cast<int>(value)); };
  const std::string text = plot_text(plot, {40, 6, true, false});
  EXPECT_TRUE(has_all(text, {"100 \u2524", "  0 \u2524\u28C0"}));
  EXPECT_TRUE(has_none(text, {"\x1b"}));
  EXPECT_TRUE(has_all(plot_text(plot, {40, 6, true, true}), {"\x1b[36m"}));
}

TEST(PlotText, SkipsInfiniteValues) {
  EXPECT_EQ(plot_text({}, {}), "");
  Plot plot;
  plot.series.emplace_back();
  plot.from = 10;
  plot.to = 10;
  EXPECT_EQ(plot_text(plot, {}), "");
  plot.to = 20;
  plot.marks = {{5, 'R', "before"}, {15, 'C', "leapt"}};
  const std::string text = plot_text(plot, {5, 0, false, false});
  EXPECT_TRUE(has_all(text, {"leapt"}));
  EXPECT_TRUE(has_none(text, {"before"}));
}

}  // namespace
}  // namespace jetmem
