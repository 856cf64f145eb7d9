// SPDX-License-Identifier: Apache-2.0
// Whether rules make sense for what is measured: each error, with place, key and nearest name.
#include "rules/parse/check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "tests/config/error_places.h"

namespace jetmem {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

constexpr std::array kMetrics{
    gauge("jetmem_used_ratio", "h", {"area", "origin"}, 1, Worst::kMax),
    counter("jetmem_events_total", "h", {"kind"}),
    gauge("jetmem_meminfo_*_bytes", "h"),
    gauge("jetmem_alert_state", "h", {"severity"}),
};
constexpr std::array<std::string_view, 1> kSources{"meminfo"};

MetricCatalog catalog_of(std::span<const Descriptor> metrics) {
  MetricCatalog catalog;
  catalog.add(metrics, kSources);
  return catalog;
}

// A rule with these conditions, of which the first is in line 6.
ParsedRules load(const MetricCatalog& catalog, std::string_view when,
                 std::string_view texts = "summary: s", std::chrono::milliseconds interval = 15s) {
  const std::string text = "rules:\n- alert: Full\n  severity: info\n  " + std::string(texts) +
                           "\n  when:\n  - " + std::string(when) + "\n";
  const std::array files{ConfigText{"a.yaml", text}};
  return load_rules(files, catalog, interval);
}

std::string errors_of(std::string_view when, std::string_view texts = "summary: s",
                      std::chrono::milliseconds interval = 15s) {
  const ParsedRules parsed = load(catalog_of(kMetrics), when, texts, interval);
  EXPECT_EQ(parsed.rules.rules.empty(), !parsed.errors.empty());
  return places_of(parsed.errors);
}

// What is said of a rule with one condition, or "".
std::string messages(const MetricCatalog& catalog, const std::string& condition) {
  return describe(load(catalog, "{" + condition + "}").errors);
}

TEST(RulesCheck, WhatMakesSense) {
  EXPECT_EQ(errors_of("{metric: jetmem_used_ratio, above: 1, labels: {area: x}}",
                      "summary: \"{{ labels.area }} {{value}} {{ labels.origin }}\""),
            "");
  EXPECT_EQ(errors_of("{metric: jetmem_events_total, function: rate, window: 30s, above: 1}"), "");
  EXPECT_EQ(
      errors_of("{metric: jetmem_meminfo_MemFree_bytes, function: slope, window: 5m, below: 0}"),
      "");
  EXPECT_EQ(errors_of("{metric: jetmem_used_max_1m_ratio, above: 1}"), "") << "a worst value";
  EXPECT_EQ(errors_of("{metric: jetmem_used_ratio, above: 1}\n  - {metric: jetmem_used_ratio, "
                      "above: 2, on: [area, origin]}"),
            "");
  EXPECT_EQ(errors_of("{metric: jetmem_used_ratio, function: absent, labels: {area: x}}",
                      "summary: \"{{ labels.area }}\""),
            "");
}

TEST(RulesCheck, AMetricThatNoSourceDeclares) {
  EXPECT_EQ(errors_of("{metric: jetmem_used_ration, above: 1}"),
            "a.yaml:6:14 Full.metric 'jetmem_used_ratio'");
  EXPECT_EQ(errors_of("{metric: node_load1, above: 1}"), "a.yaml:6:14 Full.metric");
  // What it would have for labels nobody knows: nothing is shown of those in texts.
  EXPECT_EQ(errors_of("{metric: node_load1, above: 1}", "summary: \"{{ labels.area }}\""),
            "a.yaml:6:14 Full.metric");
  EXPECT_EQ(errors_of("{metric: " + std::string(5000, 'x') + ", above: 1}"),
            "a.yaml:6:14 Full.metric");
}

TEST(RulesCheck, ALabelThatTheMetricLacks) {
  EXPECT_EQ(errors_of("{metric: jetmem_used_ratio, above: 1, labels: {aera: x}}"),
            "a.yaml:6:52 Full.labels 'area'");
  EXPECT_EQ(errors_of("{metric: jetmem_used_ratio, above: 1, not_labels: {zzzzzzz: x}}"),
            "a.yaml:6:56 Full.labels");
  EXPECT_EQ(errors_of("{metric: jetmem_meminfo_MemFree_bytes, above: 1, labels: {zone: x}}"),
            "a.yaml:6:63 Full.labels");
  EXPECT_EQ(errors_of("{metric: jetmem_alert_state, above: 1}"), "a.yaml:6:14 Full.metric");
}

TEST(RulesCheck, AValueThatAClosedSetLacks) {
  const auto error_of = [](const std::string& condition) {
    return messages(MetricCatalog::of_jetmem(), condition);
  };
  const std::string stall = "metric: jetmem_pressure_stall_ratio, above: 1, labels: ";
  EXPECT_EQ(error_of(stall + "{resource: memory, kind: full, window: 60s}"), "");
  EXPECT_THAT(error_of(stall + "{resource: memroy}"), HasSubstr("did you mean 'memory'?"));
  EXPECT_THAT(error_of(stall + "{window: 1h}"), HasSubstr("10s, 60s, 300s"));
  EXPECT_THAT(error_of(stall + "{kind: [full, sum]}"), HasSubstr("a.yaml:6:"));
  EXPECT_THAT(
      error_of("metric: jetmem_kernel_recent_events, above: 1, not_labels: {kind: oomkill}"),
      HasSubstr("did you mean 'oom_kill'?"));
  // The worst of the last minute has the same labels.
  EXPECT_THAT(error_of("metric: jetmem_pressure_stall_max_1m_ratio, above: 1, labels: {kind: ful}"),
              HasSubstr("did you mean 'full'?"));
  // Whatever a device has.
  EXPECT_EQ(error_of("metric: jetmem_cma_used_ratio, above: 1, labels: {area: nonsense}"), "");
}

TEST(RulesCheck, OnNeedsTheLabelOnBothSides) {
  EXPECT_EQ(errors_of("{metric: jetmem_used_ratio, above: 1}\n  - {metric: jetmem_events_total, "
                      "function: increase, window: 5m, above: 0, on: [area]}"),
            "a.yaml:7:81 Full.on");
  EXPECT_EQ(errors_of("{metric: jetmem_meminfo_MemFree_bytes, above: 1}\n  - {metric: "
                      "jetmem_used_ratio, above: 0, on: [area]}"),
            "a.yaml:7:47 Full.on");
}

TEST(RulesCheck, AbsentInFrontStandsAlone) {
  EXPECT_THAT(errors_of("{metric: jetmem_events_total, function: absent}\n  - {metric: "
                        "jetmem_used_ratio, above: 0}"),
              HasSubstr("Full.function"));
}

// The kernel decides which fields there are: any name would do, if only it were not nearly another.
TEST(RulesCheck, AMisspellingThatAPatternMatches) {
  constexpr std::array kExact{gauge("jetmem_meminfo_MemAvailable_bytes", "h"),
                              gauge("jetmem_meminfo_*_bytes", "h")};
  const auto errors = [&](const std::string& metric) {
    return messages(catalog_of(kExact), "metric: " + metric + ", above: 1");
  };
  for (const char* typed :
       {"jetmem_meminfo_MemAvailabel_bytes", "jetmem_meminfo_memavailable_bytes",
        "jetmem_meminfo_MemAvailble_bytes"}) {
    EXPECT_THAT(errors(typed), HasSubstr("'jetmem_meminfo_MemAvailable_bytes'"));
  }
  EXPECT_EQ(errors("jetmem_meminfo_MemAvailable_bytes"), "");
  EXPECT_EQ(errors("jetmem_meminfo_Zswapped_bytes"), "");
}

// Whatever a kernel calls a field of its own must not pass for a misspelling.
TEST(RulesCheck, EveryFieldOfAKernelIsTaken) {
  std::istringstream fields(
      "Active Active_anon AnonHugePages AnonPages Balloon Bounce Buffers Cached CommitLimit "
      "Committed_AS DirectMap1G DirectMap2M DirectMap4k Dirty FileHugePages FilePmdMapped "
      "GPUActive GPUReclaim HardwareCorrupted HighFree HighTotal Hugepagesize Hugetlb "
      "Inactive Inactive_file KReclaimable KernelStack LowFree LowTotal Mapped Mlocked "
      "MmapCopy NFS_Unstable PageTables Percpu Quicklists SReclaimable SUnreclaim "
      "SecPageTables Shmem ShmemHugePages ShmemPmdMapped Slab SwapCached SwapTotal "
      "Unaccepted Unevictable VmallocChunk VmallocTotal VmallocUsed Writeback WritebackTmp "
      "Zswap Zswapped");
  for (std::string field; fields >> field;) {
    EXPECT_EQ(messages(MetricCatalog::of_jetmem(),
                       "metric: jetmem_meminfo_" + field + "_bytes, above: 1MiB"),
              "");
  }
}

TEST(RulesCheck, UnitsThatCannotFit) {
  constexpr std::array kUnits{
      gauge("jetmem_x_bytes", "h"),           gauge("jetmem_x_ratio", "h"),
      gauge("jetmem_x_seconds", "h"),         gauge("jetmem_x_bytes_per_second", "h"),
      gauge("jetmem_x_things", "h"),          counter("jetmem_x_bytes_total", "h"),
      counter("jetmem_x_seconds_total", "h"), counter("jetmem_x_total", "h")};
  const auto errors = [&](const std::string& condition) {
    return messages(catalog_of(kUnits), "metric: jetmem_x_" + condition);
  };
  for (const char* right :
       {"bytes, above: 5", "bytes, above: 12MiB", "ratio, above: 5%", "ratio, above: 0.5",
        "seconds, below: 10m", "seconds, below: 600", "things, above: 3",
        "bytes_per_second, above: 16KiB", "bytes, function: slope, window: 5m, above: 16KiB",
        "bytes, function: predict, window: 5m, ahead: 4h, below: 128MiB",
        "ratio, function: delta, window: 5m, above: 10%",
        "ratio, function: changes, window: 5m, above: 3",
        "bytes_total, function: rate, window: 5m, above: 16KiB",
        "bytes_total, function: increase, window: 5m, above: 16KiB",
        "seconds_total, function: rate, window: 5m, above: 10%",
        "total, function: increase, window: 5m, above: 3"}) {
    EXPECT_EQ(errors(right), "") << right;
  }
  for (const char* wrong :
       {"bytes, above: 5%", "bytes, below: 10m", "ratio, above: 12MiB", "ratio, above: 10m",
        "seconds, above: 5%", "seconds, above: 12MiB", "things, above: 5%", "things, above: 12MiB",
        "things, above: 10m", "bytes_per_second, above: 10m", "bytes, above: 5, clear: 5%",
        "bytes, function: slope, window: 5m, above: 5%",
        "bytes, function: predict, window: 5m, ahead: 4h, below: 5%",
        "bytes, function: changes, window: 5m, above: 12MiB",
        "total, function: rate, window: 5m, above: 5%",
        "total, function: increase, window: 5m, above: 5%"}) {
    EXPECT_THAT(errors(wrong), HasSubstr(" does not fit ")) << wrong;
  }
  EXPECT_THAT(errors("bytes, above: 5%"),
              HasSubstr("Full: 5% does not fit jetmem_x_bytes; write a plain number or a size such "
                        "as 12MiB"));
  const auto of_threshold = [&](const std::string& value) {
    return describe(load(catalog_of(kUnits),
                         "{metric: jetmem_x_ratio, above: $t}\n"
                         "thresholds: {t: {value: " +
                             value + ", description: w}}")
                        .errors);
  };
  EXPECT_THAT(of_threshold("12MiB"), HasSubstr("$t (12MiB)"));
  EXPECT_EQ(of_threshold("12%"), "");
}

TEST(RulesCheck, AFunctionOfTheOtherKind) {
  for (const char* function : {"rate", "increase"}) {
    EXPECT_EQ(errors_of("{metric: jetmem_used_ratio, function: " + std::string(function) +
                        ", window: 5m, above: 1}"),
              "a.yaml:6:43 Full.function");
  }
  for (const char* function : {"slope", "delta", "predict, ahead: 1h"}) {
    EXPECT_EQ(errors_of("{metric: jetmem_events_total, function: " + std::string(function) +
                        ", window: 5m, above: 1}"),
              "a.yaml:6:45 Full.function");
  }
}

TEST(RulesCheck, AWindowThatHoldsTooFewSteps) {
  const std::string_view rate =
      "{metric: jetmem_events_total, function: rate, window: 29s, above: 1}";
  EXPECT_EQ(errors_of(rate), "a.yaml:6:14 Full.window");
  EXPECT_EQ(errors_of(rate, "summary: s", 10s), "");
}

TEST(RulesCheck, TextsWithWhatIsNotThere) {
  const std::string_view good = "{metric: jetmem_used_ratio, above: 1}";
  EXPECT_EQ(errors_of(good, "summary: \"{{ labels.aera }}\""), "a.yaml:4:12 Full.summary 'area'");
  EXPECT_EQ(errors_of(good, "summary: s\n  cause: \"{{ foo }}\""), "a.yaml:5:10 Full.cause");
  EXPECT_THAT(errors_of(good, "summary: s\n  remedy: \"{{ value\""), HasSubstr("Full.remedy"));
  EXPECT_THAT(errors_of(good, "summary: \"{{ $value }}\""), HasSubstr("Full.summary"));
  // absent() knows only what was asked for.
  EXPECT_EQ(errors_of("{metric: jetmem_used_ratio, function: absent, labels: {area: [x, y]}}",
                      "summary: \"{{ labels.area }}\""),
            "a.yaml:4:12 Full.summary");
}

TEST(RulesCheck, ErrorsAreBounded) {
  std::string text = "rules:\n";
  for (int i = 0; i < 900; ++i) {
    text += "- {alert: R" + std::to_string(i) +
            ", severity: info, summary: s, when: [{metric: jetmem_used, above: 1}]}\n";
  }
  const std::array files{ConfigText{"a.yaml", text}};
  const ParsedRules parsed = load_rules(files, catalog_of(kMetrics), 15s);
  EXPECT_EQ(parsed.errors.size(), 202U);
  EXPECT_EQ(parsed.errors.front().message, "has more than 200 errors; mend these first");
  EXPECT_TRUE(parsed.rules.rules.empty());
}

}  // namespace
}  // namespace jetmem
