// SPDX-License-Identifier: Apache-2.0
#include "daemon/probe/probe_stats.h"

#include <gtest/gtest.h>

#include <cmath>

#include "daemon/probe/fit_predictions.h"
#include "daemon/probe/probe_event_log.h"
#include "report/device/sample_set.h"
#include "tests/recorded_log.h"

namespace jetmem {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;

class ProbeStatsTest : public testing::Test {
 protected:
  ProbeStatsTest() : section(table.add_section("self")), news(log, clock) {}
  static ProbeRun::Probe probe(const std::string& kind, ProbeState state,
                               const std::string& error = "", const std::string& target = "") {
    ProbeRun::Probe probe;
    probe.kind = kind;
    probe.target = target;
    probe.state = state;
    probe.error = error;
    return probe;
  }
  void take(const ProbeRun::Probe& probe, const ProbeRun* run = nullptr) {
    if (const auto change = probe_stats.result(probe, now))
      news.result(probe, *change, memory, run);
  }
  double value(const std::string& key, ProbeStats::SwitchedOn on = {true, true}) {
    SampleWriter out(table, section, now);
    probe_stats.write(out, now, on);
    out.finish();
    return table.value_of(key);
  }
  double runs(const std::string& kind, const std::string& state = "ok",
              const std::string& target = "") {
    return value("jetmem_probe_runs_total{kind=\"" + kind + "\",state=\"" + state + "\",target=\"" +
                 target + "\"}");
  }
  double since(const std::string& kind, ProbeStats::SwitchedOn on = {true, true}) {
    return value("jetmem_probe_since_success_seconds{kind=\"" + kind + "\",target=\"\"}", on);
  }
  ProbeStats probe_stats;
  SampleTable table;
  std::size_t section;
  Nanoseconds now = seconds(100);
  GateInputs memory;
  ManualClock clock;
  RecordedLog log;
  ProbeEventLog news;
};

TEST_F(ProbeStatsTest, CountsByStateAndError) {
  take(probe("pinned", ProbeState::kOk));
  now += seconds(60);
  take(probe("pinned", ProbeState::kFailed, "CUDA_ERROR_OUT_OF_MEMORY"));
  take(probe("pinned", ProbeState::kFailed, "CUDA_ERROR_OUT_OF_MEMORY"));
  take(probe("pinned", ProbeState::kFailed));
  EXPECT_EQ(runs("pinned", "ok"), 1);
  EXPECT_EQ(runs("pinned", "failed"), 3);
  EXPECT_EQ(runs("pinned", "mismatch"), 0);
  EXPECT_TRUE(std::isnan(runs("pinned", "skipped"))) << "never met";
  const auto failures = [&](const std::string& error) {
    return value("jetmem_probe_failures_total{error=\"" + error +
                 "\",kind=\"pinned\",target=\"\"}");
  };
  EXPECT_EQ(failures("CUDA_ERROR_OUT_OF_MEMORY"), 2);
  EXPECT_EQ(failures("unknown"), 1);
  EXPECT_EQ(since("pinned"), 60);
  const std::uint64_t shape = table.shape();
  take(probe("pinned", ProbeState::kOk));
  EXPECT_EQ(runs("pinned", "ok"), 2);
  EXPECT_EQ(table.shape(), shape) << "counting on allocates nothing";
}

TEST_F(ProbeStatsTest, MismatchesAddUp) {
  ProbeRun::Probe bad = probe("managed", ProbeState::kMismatch, "mismatch");
  bad.warm_up = ProbeRun::SizeStep{};
  bad.warm_up->mismatches = 2;
  bad.size_steps.emplace_back().mismatches = 3;
  bad.size_steps.emplace_back();
  take(bad);
  take(bad);
  EXPECT_EQ(value("jetmem_probe_mismatched_words_total{kind=\"managed\",target=\"\"}"), 10);
}

TEST_F(ProbeStatsTest, ItsSizeIsBoundedWhateverItIsReported) {
  for (std::size_t i = 0; i < ProbeStats::kMaxTargets + 5; ++i) {
    take(probe("dmabuf", ProbeState::kOk, "", "heap" + std::to_string(i)));
  }
  EXPECT_EQ(value("jetmem_probe_results_dropped_total"), 0);
  for (std::size_t i = 0; i < ProbeStats::kMaxErrors + 4; ++i) {
    take(probe("dmabuf", ProbeState::kFailed, "E" + std::to_string(i), "heap0"));
  }
  EXPECT_EQ(value("jetmem_probe_failures_total{error=\"other\",kind=\"dmabuf\",target=\"heap0\"}"),
            4);
  EXPECT_EQ(table.sections()[section].dropped, 0U) << "the descriptors' bounds hold it all";
}

// Hostile, and every day of a year.
TEST_F(ProbeStatsTest, NamesWithoutEndTakeNobodysPlace) {
  take(probe("dmabuf", ProbeState::kOk, "", "system"));
  for (int day = 0; day < 365; ++day, now += hours(24)) {
    for (int i = 0; i < 100; ++i) {
      take(probe("dmabuf", ProbeState::kOk, "", std::to_string(day) + "-" + std::to_string(i)));
      take(probe("kind" + std::to_string(i), ProbeState::kOk));
      if (i % 20 == 0) take(probe("dmabuf", ProbeState::kOk, "", "system"));
    }
  }
  EXPECT_EQ(runs("dmabuf", "ok", "system"), 1 + 365 * 5);
  for (const ProbeGroup group : {ProbeGroup::kMemory, ProbeGroup::kCuda}) {
    for (const std::string_view kind : probe_kinds(group)) {
      const std::string name(kind);
      take(probe(name, ProbeState::kOk));
      EXPECT_EQ(runs(name), 1);
    }
  }
  take(probe("dmabuf", ProbeState::kOk, "", "vidmem"));
  EXPECT_EQ(runs("dmabuf", "ok", "vidmem"), 1);
  EXPECT_TRUE(std::isnan(runs("kind1")));
  EXPECT_EQ(table.sections()[section].dropped, 0U);
  // All kinds that there are not.
  EXPECT_EQ(value("jetmem_probe_results_dropped_total"), 365 * 100);
}

TEST_F(ProbeStatsTest, WhatIsSwitchedOffOrNeverSucceededHasNoTimeSinceASuccess) {
  take(probe("host", ProbeState::kOk));
  take(probe("pinned", ProbeState::kOk));
  take(probe("device", ProbeState::kUnsupported));
  EXPECT_EQ(since("pinned", {true, true}), 0);
  EXPECT_TRUE(std::isnan(since("pinned", {true, false})));
  EXPECT_EQ(since("host", {true, false}), 0);
  EXPECT_TRUE(std::isnan(since("host", {false, false})));
  EXPECT_TRUE(std::isnan(since("device")));
  EXPECT_TRUE(std::isnan(value("jetmem_probe_mismatched_words_total{kind=\"device\",target=\"\"}")))
      << "nothing was compared";
}

TEST_F(ProbeStatsTest, AChangeOfStateIsReportedWithItsEvidence) {
  memory.available_bytes = 300U << 20;
  memory.free_bytes = 20U << 20;
  memory.largest_runs = {{"a", 1U << 20}, {"linux,cma", 4U << 20}};
  ProbeRun run;
  run.after.gpu_hertz = 305e6;
  run.after.emc_hertz = 2133e6;
  run.after.temperature_celsius = 45.2;
  run.after.hottest_zone = "tj\x1b-thermal";
  take(probe("pinned", ProbeState::kOk), &run);
  EXPECT_TRUE(log.entries.empty()) << "that it works at first is for the sum";
  ProbeRun::Probe bad = probe("pinned", ProbeState::kFailed, "CUDA_ERROR_OUT_OF_MEMORY");
  bad.failed_step = "allocate";
  bad.failed_bytes = 65536;
  bad.reason = "cuMemHostAlloc: out of memory";
  take(bad, &run);
  ASSERT_EQ(log.entries.size(), 1U);
  EXPECT_EQ(log.entries[0].message,
            "probe: pinned is failed, was ok; at allocate of 65536 bytes; "
            "CUDA_ERROR_OUT_OF_MEMORY: cuMemHostAlloc: out of memory; MemAvailable 300MiB, MemFree "
            "20MiB, largest CMA run 4MiB in linux,cma, GPU 305MHz, EMC 2133MHz, tj?-thermal 45C");
  EXPECT_EQ(log.entries[0].level, LogLevel::kError);
  const std::vector<std::pair<std::string, std::string>> fields{
      {"JETMEM_PROBE_KIND", "pinned"},
      {"JETMEM_PROBE_TARGET", ""},
      {"JETMEM_PROBE_STATE", "failed"},
      {"JETMEM_PROBE_STEP", "allocate"},
      {"JETMEM_PROBE_ERROR", "CUDA_ERROR_OUT_OF_MEMORY"},
      {"JETMEM_SOURCE", "probe"}};
  EXPECT_EQ(log.entries[0].fields, fields);
  take(bad, &run);
  EXPECT_EQ(log.entries.size(), 1U) << "not each time";
  take(probe("pinned", ProbeState::kOk), &run);
  ASSERT_EQ(log.entries.size(), 2U);
  EXPECT_EQ(log.entries[1].message.rfind("probe: pinned is ok, was failed; MemAvailable", 0), 0U);
  EXPECT_EQ(log.entries[1].level, LogLevel::kInfo);
}

// A CMA heap is skipped whenever there is not room for four frames.
TEST_F(ProbeStatsTest, AHeapThatComesAndGoesIsReportedOnceAndAFaultAtFirst) {
  for (int i = 0; i < 10; ++i) {
    take(probe("dmabuf", i % 2 == 0 ? ProbeState::kOk : ProbeState::kSkipped, "", "linux,cma"));
    now += minutes(5);
  }
  ASSERT_EQ(log.entries.size(), 1U);
  EXPECT_EQ(log.entries[0].message, "probe: dmabuf linux,cma is skipped, was ok");
  take(probe("dmabuf", ProbeState::kFailed, "ENOMEM", "linux,cma"));
  EXPECT_EQ(log.entries.size(), 2U);
  take(probe("dmabuf", ProbeState::kSkipped, "", "linux,cma"));
  take(probe("dmabuf", ProbeState::kOk, "", "linux,cma"));
  ASSERT_EQ(log.entries.size(), 3U);
  EXPECT_EQ(log.entries[2].message, "probe: dmabuf linux,cma is ok, was failed");
  take(probe("host", ProbeState::kMismatch, "mismatch"));
  take(probe("managed", ProbeState::kUnsupported));
  ASSERT_EQ(log.entries.size(), 4U);
  EXPECT_EQ(log.entries[3].level, LogLevel::kError);
}

TEST_F(ProbeStatsTest, TheFirstResultsAreSummedUp) {
  ProbeRun run;
  run.probes = {probe("host", ProbeState::kOk), probe("dmabuf", ProbeState::kOk, "", "system"),
                probe("dmabuf", ProbeState::kUnsupported, "", "bad\n")};
  run.probes[2].reason = "no such heap";
  news.succeeded(ProbeGroup::kMemory, run);
  ASSERT_EQ(log.entries.size(), 1U);
  EXPECT_EQ(log.entries[0].message,
            "probe, first results of memory: host ok, dmabuf system ok, dmabuf bad? unsupported "
            "(no such heap)");
}

TEST_F(ProbeStatsTest, AllocationsOfSuccessfulProbesAreAHistogram) {
  ProbeRun::Probe found = probe("pinned", ProbeState::kOk);
  found.size_steps.push_back({4096, 0, {{"allocate", 0.002, {}}, {"free", 1, {}}}});
  found.size_steps.push_back({8192, 0, {{"allocate", 3, {}}}});
  take(found);
  found.state = ProbeState::kFailed;
  take(found);
  const std::string family = "jetmem_probe_allocation_duration_seconds";
  const auto bucket = [&](const std::string& le) {
    return value(family + "_bucket{kind=\"pinned\",le=\"" + le + "\",target=\"\"}");
  };
  EXPECT_EQ(bucket("0.0005"), 0);
  EXPECT_EQ(bucket("0.0025"), 1);
  EXPECT_EQ(bucket("2.5"), 1);
  EXPECT_EQ(bucket("+Inf"), 2);
  EXPECT_EQ(value(family + "_sum{kind=\"pinned\",target=\"\"}"), 3.002);
  EXPECT_EQ(value(family + "_count{kind=\"pinned\",target=\"\"}"), 2);
}

TEST_F(ProbeStatsTest, FitPredictionsAreHeldAgainstWhatHappened) {
  DeviceNow before;
  const std::vector<std::pair<std::string, double>> series{
      {"jetmem_meminfo_MemAvailable_bytes", 1 << 30},
      {"jetmem_meminfo_MemFree_bytes", 1 << 20},
      {"jetmem_gpu_free_hidden_ratio", 0.5}};
  before.samples = SampleSet::of(series);
  FitPredictions predictions;
  predictions.predict(before, 64 << 20);
  for (const ProbeRun::Probe& happened :
       {probe("pinned", ProbeState::kOk),
        probe("pinned", ProbeState::kFailed, "CUDA_ERROR_OUT_OF_MEMORY"),
        probe("device", ProbeState::kMismatch),
        probe("dmabuf", ProbeState::kFailed, "ENOMEM", "system"),
        probe("dmabuf", ProbeState::kOk, "", "linux,cma"),
        // Memory decided nothing.
        probe("pinned", ProbeState::kFailed, "CUDA_ERROR_NO_DEVICE"),
        probe("pinned", ProbeState::kSkipped), probe("managed", ProbeState::kOk),
        probe("dmabuf", ProbeState::kOk, "", "udmabuf"),
        probe("device", ProbeState::kOk, "", "gpu1")}) {
    predictions.happened(happened);
  }
  SampleWriter out(table, section, now);
  predictions.write(out);
  out.finish();
  for (const auto& [predicted, happened, count] : {std::tuple("now", "allocated", 1),
                                                   {"now", "refused", 2},
                                                   {"after_making_room", "allocated", 1},
                                                   {"unknown", "allocated", 1},
                                                   {"no", "refused", 0}}) {
    const std::string key = "jetmem_fits_predictions_total{happened=\"" + std::string(happened) +
                            "\",predicted=\"" + predicted + "\"}";
    EXPECT_EQ(table.value_of(key), count) << key;
  }
}

}  // namespace
}  // namespace jetmem
