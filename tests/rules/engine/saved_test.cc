// SPDX-License-Identifier: Apache-2.0
#include "rules/engine/saved.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <tuple>

namespace jetmem {
namespace {

SavedAlerts some() {
  SavedAlerts kept;
  kept.saved.last_step = Nanoseconds(1'000'000'000'007);
  RuleEngine::SavedAlert alert;
  alert.rule = "JetmemX";
  alert.instance.labels =
      std::make_shared<const Labels>(Labels{{"area", "linux,cma"}, {"kind", "a\"\\\n\xc3\xa4"}});
  alert.instance.state = AlertState::kFiring;
  alert.instance.active_since = Nanoseconds(999'000'000'001);
  alert.instance.firing_since = Nanoseconds(999'500'000'002);
  alert.instance.value = 0.1;
  kept.saved.alerts.push_back(alert);
  alert.instance.labels = std::make_shared<const Labels>();
  alert.instance.state = AlertState::kPending;
  alert.instance.ended = Nanoseconds(3);
  kept.saved.alerts.push_back(alert);
  alert.is_unknown = true;
  alert.severity = Severity::kCritical;
  kept.saved.alerts.push_back(alert);
  RuleEngine::SavedSeries series;
  series.metric = "jetmem_x_total";
  series.labels = {{"a", "b"}};
  std::int64_t at = 100;
  for (const double value :
       {0.0, -0.0, 1.0 / 3, 5e-324, 1.7976931348623157e308, -1e21, 9007199254740993.0, 4096.0,
        std::numeric_limits<double>::infinity(), -std::numeric_limits<double>::infinity()}) {
    kept.saved.times.push_back(at += 15'000);
    series.values.push_back(value);
  }
  kept.saved.times.insert(kept.saved.times.end(), {at + 1, at + 2});
  series.values.push_back(SeriesStore::gap());
  series.values.push_back(std::nan(""));
  kept.sources = {"meminfo", "vmstat"};
  kept.saved.series.push_back(series);
  kept.saved.series.push_back({"jetmem_empty", {}, {}});
  return kept;
}

TEST(Saved, ComesBackBitByBit) {
  const SavedAlerts kept = some();
  const std::string text = to_text(kept).value();
  const auto back = parse_saved_alerts(text);
  ASSERT_TRUE(back.has_value()) << back.error().message;
  EXPECT_EQ(back->saved.last_step, kept.saved.last_step);
  ASSERT_EQ(back->saved.alerts.size(), 3U);
  const auto fields = [](const RuleEngine::SavedAlert& it) {
    return std::tuple(it.rule, *it.instance.labels, it.severity, it.is_unknown, it.instance.state,
                      it.instance.active_since, it.instance.firing_since, it.instance.ended,
                      std::bit_cast<std::uint64_t>(it.instance.value));
  };
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(fields(kept.saved.alerts[i]), fields(back->saved.alerts[i])) << i;
  }
  ASSERT_EQ(back->saved.series.size(), 2U);
  EXPECT_EQ(back->sources, kept.sources);
  EXPECT_EQ(back->saved.times, kept.saved.times);
  const auto& before = kept.saved.series[0].values;
  const auto& after = back->saved.series[0].values;
  ASSERT_EQ(before.size(), after.size());
  for (std::size_t i = 0; i + 1 < before.size(); ++i) {
    EXPECT_EQ(std::bit_cast<std::uint64_t>(before[i]), std::bit_cast<std::uint64_t>(after[i]));
  }
  EXPECT_TRUE(std::isnan(after.back()) && !SeriesStore::is_gap(after.back()));
  EXPECT_EQ(to_text(*back).value(), text);
}

TEST(Saved, AnAlertsValueMayBeNoNumber) {
  SavedAlerts kept = some();
  kept.saved.alerts[0].instance.value = std::nan("");
  kept.saved.alerts[1].instance.value = -std::numeric_limits<double>::infinity();
  const auto back = parse_saved_alerts(to_text(kept).value());
  ASSERT_TRUE(back.has_value()) << back.error().message;
  EXPECT_TRUE(std::isnan(back->saved.alerts[0].instance.value));
  EXPECT_EQ(back->saved.alerts[1].instance.value, -std::numeric_limits<double>::infinity());
}

TEST(Saved, EveryTruncationIsRefused) {
  const std::string text = to_text(some()).value();
  for (std::size_t n = 0; n + 2 < text.size(); ++n) {
    EXPECT_FALSE(parse_saved_alerts(std::string_view(text).substr(0, n)).has_value()) << n;
  }
}

TEST(Saved, WhatIsNotOfThisFormatIsRefused) {
  const std::string good = to_text(some()).value();
  const auto with = [&](const std::string& from, const std::string& to) {
    std::string text = good;
    const auto at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    text.replace(at, from.size(), to);
    return text;
  };
  const std::vector<std::string> texts{
      "",
      "null",
      "[]",
      "{}",
      "\"",
      std::string(1000, '\0'),
      std::string(100'000, '['),
      std::string(SavedAlerts::kMaxBytes, '['),
      "{\"sources\":" + std::string(100'000, '{'),
      std::string(SavedAlerts::kMaxBytes + 1, ' '),
      with("1000000000007", "-9223372036854775808"),
      with("1000000000007", "18446744073709551615"),
      with("1000000000007", "9223372036854775807"),
      with("1000000000007", "1e300"),
      with("1000000000007", "1"),  // alerts would be of the future
      with("\"firing\"", "\"resolved\""),
      with("\"firing\"", "7"),
      with("\"ended\":null", "\"ended\":[]"),
      with("\"value\":0.1", "\"value\":\"much\""),
      with("\"value\":0.1", "\"value\":null"),
      with("\"JetmemX\"", "\"" + std::string(513, 'x') + "\""),
      with("\"labels\":{}", "\"labels\":[]"),
      with("\"severity\":\"info\"", "\"severity\":\"loud\""),
      with("\"unknown\":true", "\"unknown\":1"),
      with("\"sources\":[\"meminfo\"", "\"sources\":[7"),
      with("\"times\":[15100", "\"times\":[15100,15100"),
      with("\"times\":[15100,30100", "\"times\":[30100,15100"),
      with("\"values\":[0,", "\"values\":[0,0,"),
      with("\"values\":[0", "\"values\":[{}"),
      with("\"alerts\":[", "\"alerts\":[7,"),
      with("\"series\":[", "\"series\":[null,"),
      with("\"series\":[", "\"series\":{},\"x\":["),
  };
  for (const std::string& text : texts) {
    const auto parsed = parse_saved_alerts(text);
    ASSERT_FALSE(parsed.has_value()) << text.substr(0, 300);
    EXPECT_LE(parsed.error().message.size(), 200U);
  }
}

TEST(Saved, WhatIsTooLargeIsNotWritten) {
  SavedAlerts kept = some();
  for (int i = 0; i < 100; ++i) {
    RuleEngine::SavedSeries series{"jetmem_x_total", {{"i", std::to_string(i)}}, {}};
    for (int k = 0; k < 1200; ++k) series.values.push_back(1.0 / (k + 1.5));
    kept.saved.series.push_back(std::move(series));
  }
  EXPECT_FALSE(to_text(kept).has_value());
}

}  // namespace
}  // namespace jetmem
