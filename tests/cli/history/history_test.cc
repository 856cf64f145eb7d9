// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "cli/history/history_export.h"
#include "cli/history/history_rate.h"
#include "cli/history/history_select.h"
#include "cli/history/history_text.h"
#include "cli/text/history_units.h"
#include "rules/model/metric_catalog.h"
#include "tests/cli/texts.h"
#include "tests/fake_history.h"
#include "tests/time_zone.h"

namespace jetmem {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;

// 2026-11-20 18:00:00 in Berlin.
constexpr Nanoseconds kNow = 1795194000s;
const std::string kFree = "jetmem_meminfo_MemFree_bytes";
const std::string kCma = R"(jetmem_cma_used_ratio{area="linux,cma"})";
const std::string kCma2 = R"(jetmem_cma_used_ratio{area="vpr"})";
const std::string kKills = "jetmem_vmstat_oom_kill_total";

class Past : public testing::Test {
 protected:
  std::string text(const std::string& key) {
    return past_plot_text({{history_[key]}, {}, kNow - 1h, kNow, 10s}, {});
  }
  Result<std::vector<SeriesKnown>> pick(const char* name) {
    return pick_series(history_, *parse_series_pattern(name));
  }
  void expect_none(const char* name, Errc code, std::initializer_list<std::string_view> why) {
    const auto none = pick(name);
    ASSERT_FALSE(none) << name;
    EXPECT_EQ(none.error().code, code) << name;
    EXPECT_TRUE(has_all(none.error().message, why)) << name;
  }
  std::optional<SeriesSummary> summary(const std::string& key) {
    return summarize(points_of(history_[key], 10s));
  }
  FakeHistory history_;

 private:
  const TimeZone zone_{kBerlin};
};

TEST_F(Past, MomentsMayHaveADash) {
  EXPECT_EQ(*parse_moment("-6h", kNow), kNow - 6h);
  EXPECT_EQ(*parse_moment("6h", kNow), kNow - 6h);
  EXPECT_EQ(*parse_moment("02:00", kNow), kNow - 16h);
  for (const char* wrong : {"-02:00", "--6h", ""}) EXPECT_FALSE(parse_moment(wrong, kNow)) << wrong;
  EXPECT_TRUE(is_moment_syntax("-6h"));
  EXPECT_TRUE(is_moment_syntax("now"));
  for (const char* zone : {"UTC", kBerlin, "<+14>-14", "<-11>11"}) {
    const TimeZone there(zone);
    for (const char* time : {"00:00", "09:00", "14:14", "18:02", "23:59", "23:59:59"}) {
      EXPECT_TRUE(is_moment_syntax(time)) << time << " in " << zone;
    }
  }
  EXPECT_FALSE(is_moment_syntax("24:00"));
  EXPECT_FALSE(is_moment_syntax("incident.tar.zst"));
}

TEST_F(Past, ASeriesIsNamedInManyWays) {
  for (const std::string& name : {kFree, std::string("meminfo_MemFree_bytes")}) {
    EXPECT_EQ(parse_series_pattern(name)->family, kFree);
  }
  for (const char* name : {R"(jetmem_cma_used_ratio{area="linux,cma"})",
                           R"(cma_used_ratio{ area = "linux,cma" , })"}) {
    const auto wish = parse_series_pattern(name);
    ASSERT_TRUE(wish) << name;
    EXPECT_THAT(wish->labels, ElementsAre(testing::Pair("area", "linux,cma")));
  }
  EXPECT_THAT(parse_series_pattern("x{a=vpr,b=2}")->labels,
              ElementsAre(testing::Pair("a", "vpr"), testing::Pair("b", "2")));
  for (const char* wrong :
       {"", "{", "x{", "x{a", "x{a}", "x{a=}", "x{a=\"b}", "x{a=b}c", "x y", "x{a=b c=d"}) {
    const auto wish = parse_series_pattern(wrong);
    ASSERT_FALSE(wish) << wrong;
    EXPECT_EQ(wish.error().code, Errc::kInvalid);
  }
}

TEST_F(Past, SeriesAreFoundOrNamed) {
  for (const std::string& key : {kFree, kCma, kCma2}) history_.add(key, kNow - 1h, {1});
  EXPECT_EQ(pick("cma_used_ratio")->size(), 2U);
  const auto one = pick("cma_used_ratio{area=vpr}");
  ASSERT_EQ(one->size(), 1U);
  EXPECT_EQ(one->front().key, kCma2);
  expect_none("meminfo_MemFre_bytes", Errc::kInvalid, {"did you mean " + kFree + "?"});
  expect_none("cma", Errc::kInvalid, {"did you mean jetmem_cma_used_ratio?"});
  expect_none("cma_used_ratio{area=x}", Errc::kAbsent, {"recorded: " + kCma + ", " + kCma2});
}

// A metric of jetmem's that this device has no values of is no mistake of the person.
TEST_F(Past, WhatIsNotRecordedHasAReason) {
  expect_none("cma_used_ratio", Errc::kAbsent, {});
  history_.add(kFree, kNow - 1h, {1});
  history_.add("jetmem_cma_area_bytes", kNow - 1h, {1});
  expect_none(
      "cma_contiguity_ratio", Errc::kAbsent,
      {"this device has not reported it", "related metrics recorded: jetmem_cma_area_bytes;"});
  expect_none("cma_used_ratio", Errc::kAbsent, {"history.metrics"});
  expect_none("nonsense", Errc::kInvalid, {});
  expect_none("meminfo_MemFree_bytes{zone=x}", Errc::kAbsent, {});
}

TEST_F(Past, CounterRatesAndResets) {
  history_.add(kKills, kNow - 1h, {100, 120, 120, 5, 15}, true);
  const auto rates = rates_of(history_[kKills], 10s);
  std::vector<double> values;
  for (const PastPoint& point : rates) values.push_back(point.value);
  EXPECT_THAT(values, ElementsAre(2, 0, 0.5, 1));
  EXPECT_FALSE(rates[0].joined);
  EXPECT_TRUE(rates[1].joined);
}

TEST_F(Past, NoRateAcrossARestartOrAGap) {
  history_.add(kKills, kNow - 1h, {100, 120}, true, 1);
  history_.add(kKills, kNow - 50min, {3, 4}, true, 2);
  history_.add(kKills, kNow - 40min, {100}, true, 2);
  const auto rates = rates_of(history_[kKills], 10s);
  ASSERT_EQ(rates.size(), 2U);
  EXPECT_DOUBLE_EQ(rates[1].value, 0.1);
  EXPECT_FALSE(rates[1].joined);
}

TEST_F(Past, SummaryOfPoints) {
  std::vector<double> values;
  for (int i = 0; i <= 180; ++i) values.push_back(1000.0 + i);
  history_.add(kFree, kNow - 30min, values);
  const auto stats = summary(kFree);
  EXPECT_EQ(stats->points, 181U);
  EXPECT_DOUBLE_EQ(stats->min, 1000);
  EXPECT_DOUBLE_EQ(stats->mean, 1090);
  EXPECT_DOUBLE_EQ(stats->last, 1180);
  EXPECT_NEAR(*stats->per_hour, 360, 1e-6);
  EXPECT_FALSE(summarize({}));
  history_.add(kCma, kNow, {1, 2});
  EXPECT_FALSE(summary(kCma)->per_hour);
}

TEST_F(Past, ChangeIsOfTheLastBoot) {
  std::vector<double> leak;
  for (int i = 0; i <= 60; ++i) leak.push_back(1000.0 - i);
  history_.add(kFree, kNow - 2h, leak, false, 1);
  history_.add(kFree, kNow - 1h, leak, false, 2);
  const auto stats = summary(kFree);
  // Over both it would be about 0.
  EXPECT_NEAR(*stats->per_hour, -360, 1e-6);
  EXPECT_DOUBLE_EQ(stats->mean, 970);
  history_.add(kFree, kNow, {1000, 999}, false, 3);
  EXPECT_FALSE(summary(kFree)->per_hour) << "10 s";
}

TEST_F(Past, FinestResolutionOfEachTime) {
  history_.add(kFree, kNow - 3h, {1, 2, 3, 4}, false, 1, Resolution::kQuarter);
  history_.add(kFree, kNow - 130min, std::vector<double>(71, 5), false, 1, Resolution::kMinute);
  history_.add(kFree, kNow - 1h, std::vector<double>(360, 6));
  const auto past = finest_past(history_, kFree, kNow - 4h, kNow, 10s);
  std::map<Resolution, int> points;
  for (std::size_t i = 0; i < past->points.size(); ++i) {
    ++points[past->points[i].resolution];
    EXPECT_TRUE(i == 0 || past->points[i].wall > past->points[i - 1].wall) << i;
  }
  // The fourth quarter ends behind where minutes begin.
  EXPECT_EQ(points,
            (std::map<Resolution, int>{
                {Resolution::kQuarter, 3}, {Resolution::kMinute, 70}, {Resolution::kRaw, 360}}));
}

TEST_F(Past, Csv) {
  history_.add(kCma, kNow + 7ms, {0.1});
  EXPECT_EQ(csv_header(), "series,time,seconds,boot,trusted,resolution,count,min,average,max\r\n");
  EXPECT_EQ(csv_lines(history_[kCma]),
            "\"jetmem_cma_used_ratio{area=\"\"linux,cma\"\"}\",2026-11-20T17:00:00.007Z,"
            "1795194000.007,1,true,raw,1,0.1,0.1,0.1\r\n");
}

TEST_F(Past, OpenMetricsOfGaugesAndCounters) {
  OpenMetricsWriter writer({{{"instance", "orin-7"}}, false, false, 10s});
  history_.add(kCma, kNow, {0.25, 0.5});
  history_.add(kCma2, kNow + 500ms, {1});
  EXPECT_THAT(
      writer.family({history_[kCma], history_[kCma2]}),
      testing::MatchesRegex(
          "# TYPE jetmem_cma_used_ratio gauge\n"
          "# UNIT jetmem_cma_used_ratio ratio\n"
          "# HELP jetmem_cma_used_ratio [^\n]+\n"
          "jetmem_cma_used_ratio\\{area=\"linux,cma\",instance=\"orin-7\"\\} 0.25 1795194000\n"
          "jetmem_cma_used_ratio\\{area=\"linux,cma\",instance=\"orin-7\"\\} 0.5 1795194010\n"
          "jetmem_cma_used_ratio\\{area=\"vpr\",instance=\"orin-7\"\\} 1 1795194000.500\n"));
  history_.add(kKills, kNow, {7}, true);
  EXPECT_TRUE(has_all(writer.family({history_[kKills]}),
                      {"# TYPE jetmem_vmstat_oom_kill counter\n",
                       "\njetmem_vmstat_oom_kill_total{instance=\"orin-7\"} 7 1795194000\n"}));
}

TEST_F(Past, OpenMetricsOfRollUps) {
  OpenMetricsWriter writer({{}, true, false, 10s});
  history_.add(kFree, kNow, {5}, false, 1, Resolution::kMinute);
  history_[kFree].points[0].min = 1;
  history_[kFree].points[0].max = 9;
  EXPECT_TRUE(has_all(writer.family({history_[kFree]}),
                      {"jetmem_meminfo_MemFree_bytes 5 1795194000\n",
                       "# UNIT jetmem_meminfo_MemFree_band_min_bytes bytes\n"
                       "jetmem_meminfo_MemFree_band_min_bytes 1 1795194000\n",
                       "jetmem_meminfo_MemFree_band_max_bytes 9 1795194000\n"}));
  // What a counter had reached it had reached at the end.
  history_.add(kKills, kNow, {7}, true, 1, Resolution::kMinute);
  EXPECT_TRUE(has_all(writer.family({history_[kKills]}), {"_total 7 1795194060\n"}));
}

// "jetmem_clock_max_hertz" is what a clock may be at most, and no band of jetmem_clock_hertz.
TEST_F(Past, BandNamesDoNotCollideWithMetrics) {
  const MetricCatalog& catalog = MetricCatalog::of_jetmem();
  std::size_t bands = 0;
  for (const std::string_view name : catalog.names()) {
    const std::string family(name);
    if (family.find('*') != std::string::npos) continue;
    FakeHistory history;
    history.add(family, kNow, {5}, false, 1, Resolution::kMinute);
    OpenMetricsWriter writer({{}, true, false, 10s});
    const std::string text = writer.family({history[family]});
    for (std::size_t at = text.find("# TYPE "); at != std::string::npos;
         at = text.find("# TYPE ", at + 1)) {
      const std::string written = text.substr(at + 7, text.find(' ', at + 7) - at - 7);
      if (written == family) continue;
      ++bands;
      // A pattern (jetmem_meminfo_*_bytes) takes any word: the kernel has no field "..._band".
      const auto taken = catalog.find(written);
      EXPECT_FALSE(taken && !taken->is_of_pattern) << written;
    }
  }
  EXPECT_GT(bands, 200U);
}

TEST_F(Past, OpenMetricsOmitsInvalidNames) {
  OpenMetricsWriter writer({{}, false, true, 10s});
  SeriesPast bad;
  bad.key = "bad name{x=\"y\"}";
  bad.points.resize(2);
  EXPECT_EQ(writer.family({bad}), "");
  EXPECT_EQ(writer.omitted().unnamed, 1U);
}

TEST_F(Past, OpenMetricsOmitsUntrustedAndBackwardSamples) {
  OpenMetricsWriter writer({{}, false, false, 10s});
  history_.add(kFree, kNow, {1, 2, 3, 4});
  history_[kFree].points[0].wall_trusted = false;
  history_[kFree].points[2].wall = kNow + 5s;
  const std::string text = writer.family({history_[kFree]});
  EXPECT_TRUE(has_none(text, {"_bytes 1 ", "_bytes 3 "}));
  EXPECT_TRUE(has_all(text, {"_bytes 4 "}));
  EXPECT_EQ(writer.omitted().untrusted, 1U);
  EXPECT_EQ(writer.omitted().backwards, 1U);
  OpenMetricsWriter all({{}, false, true, 10s});
  EXPECT_TRUE(has_all(all.family({history_[kFree]}), {"_bytes 1 "}));
}

TEST_F(Past, ExtraLabels) {
  EXPECT_EQ(parse_extra_label("a_b=c=d")->second, "c=d");
  for (const char* wrong : {"", "=", "=x", "a", "a-b=c", "1a=b", "__name__=x"}) {
    EXPECT_FALSE(parse_extra_label(wrong)) << wrong;
  }
  // A label that is there already steps aside, as in a scrape.
  OpenMetricsWriter writer({{{"area", "lab"}}, false, false, 10s});
  history_.add(kCma2, kNow, {1});
  EXPECT_TRUE(
      has_all(writer.family({history_[kCma2]}), {"{area=\"lab\",exported_area=\"vpr\"} 1 "}));
}

TEST_F(Past, ThePlotHasATableBelow) {
  std::vector<double> values;
  for (int i = 0; i < 360; ++i) values.push_back((2048.0 - i) * (1 << 20));
  history_.add(kFree, kNow - 1h, values);
  const std::string shown = text(kFree);
  EXPECT_TRUE(
      has_all(shown, {"17:00", "Nov 20", "2.000 GiB +*", "360 points of raw", "-360 MiB/h"}));
  EXPECT_TRUE(has_none(shown, {"\u2502"}));
}

TEST_F(Past, GapsAndRestartsStay) {
  history_.add(kFree, kNow - 1h, std::vector<double>(60, 100.0 * (1 << 20)), false, 1);
  history_.add(kFree, kNow - 20min, std::vector<double>(120, 100.0 * (1 << 20)), false, 2);
  const std::string shown = text(kFree);
  EXPECT_TRUE(has_all(shown, {"R  2026-11-20 17:40:00  first sample after a restart",
                              "CHANGE covers the time since the last restart."}));
  // The line: ten minutes, thirty of nothing but the mark, twenty.
  const std::size_t line = shown.find("***");
  const std::string row = shown.substr(line, shown.find('\n', line) - line);
  EXPECT_THAT(row, testing::ContainsRegex("^\\*{10,13} {28,40}\\*{18,25}$"));
  PastShown table{{history_[kFree]}, {}, kNow - 1h, kNow, 10s};
  EXPECT_TRUE(has_all(past_table_text(table, {}), {"restart)"}));
}

TEST_F(Past, InfiniteValuesAreCountedNotDrawn) {
  std::vector<double> values(360, 100.0 * (1 << 20));
  values[0] = 200.0 * (1 << 20);
  values[100] = INFINITY;
  values[101] = NAN;
  values[102] = -1e308;
  history_.add(kFree, kNow - 1h, values);
  const std::string shown = text(kFree);
  EXPECT_TRUE(has_all(shown, {"***", "200 MiB", "3 points "}));
  EXPECT_TRUE(has_none(shown, {"inf "}));
}

// Of two boots whose times overlap, as the clock was set back, nobody knows which it was.
TEST_F(Past, TheBootOfAMoment) {
  const auto boot = [](std::int64_t number, Nanoseconds first, std::optional<Nanoseconds> last) {
    return BootKnown{number, std::to_string(number), first, last, true};
  };
  std::vector<BootKnown> boots = {boot(3, kNow, kNow + 4h), boot(4, kNow - 6h, kNow - 2h)};
  EXPECT_EQ(boot_at(boots, kNow + 1h), "3");
  EXPECT_EQ(boot_at(boots, kNow - 3h), "4");
  EXPECT_EQ(boot_at(boots, kNow - 1h), "4");
  EXPECT_EQ(boot_at(boots, kNow + 5h), "3");
  EXPECT_EQ(boot_at(boots, kNow - 7h), "");
  boots[1].last_wall.reset();
  EXPECT_EQ(boot_at(boots, kNow + 1h), "");
}

TEST_F(Past, NoPointsInThePeriod) {
  history_[kFree].key = kFree;
  EXPECT_THAT(text(kFree), testing::StartsWith(kFree + ": no points"));
}

TEST_F(Past, Units) {
  EXPECT_EQ(MetricUnit("a").text(2e20), "2e+20");
  EXPECT_EQ(MetricUnit("a").text(-3.5e30), "-3.5e+30");
  EXPECT_EQ(MetricUnit("a_bytes").text(340.0 * (1 << 20)), "340 MiB");
  EXPECT_EQ(MetricUnit("a_ratio").text(0.125), "12.5%");
  EXPECT_EQ(MetricUnit("a_total", true).text(12.5), "12.5/s");
  EXPECT_EQ(MetricUnit("a_bytes").tick(1.25 * (1 << 30), 256 << 20), "1.25 GiB");
  EXPECT_EQ(MetricUnit("a_celsius").tick(42, 2), "42 C");
  EXPECT_EQ(MetricUnit("a_total", true).per_hour(2), "+2/s/h");
  EXPECT_EQ(short_number(0.012345), "0.0123");
  EXPECT_EQ(short_number(1234567), "1234567");
}

}  // namespace
}  // namespace jetmem
