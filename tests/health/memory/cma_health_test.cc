// SPDX-License-Identifier: Apache-2.0
#include "health/memory/cma_health.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/clock.h"
#include "collectors/kernel_log/source.h"
#include "collectors/proc/meminfo.h"
#include "tests/health/sample_cycle.h"

namespace jetmem {
namespace {

using kernel_log::KernelLog;
using kernel_log::LogLine;

constexpr std::uint64_t kMiB = 1U << 20;

Cma::Area area(std::string name, std::optional<std::uint64_t> total,
               std::optional<std::uint64_t> used, std::optional<std::uint64_t> largest_run) {
  Cma::Area out;
  out.name = std::move(name);
  out.total = total;
  out.used = used;
  out.largest_run = largest_run;
  return out;
}

// A board with 256 MiB of CMA.
struct Board {
  Board() {
    EXPECT_TRUE(parse_meminfo("CmaTotal: 262144 kB\nCmaFree: 65536 kB\n", meminfo));
    cma.areas = {area("linux,cma", 65536, 39424, 9216)};
    reading.log = &log;
    cycle.set(&meminfo);
    cycle.set(&cma);
    cycle.set(&reading);
  }
  void kernel_says(const std::string& text) {
    LogLine line;
    line.text = text;
    line.stamp = std::chrono::seconds(5);
    log.line(line);
    log.flush();
  }
  void fails(const std::string& where, int pages) {
    kernel_says("cma: cma_alloc: " + where + "alloc failed, req-size: " + std::to_string(pages) +
                " pages, ret: -12");
  }
  void run() { cycle.run(health); }
  double fit(const std::string& name) const {
    return cycle.sample("jetmem_cma_frame_fit_ratio{area=\"" + name + "\"}");
  }

  ManualClock clock;
  KernelLog log{clock, {}, nullptr};
  HealthOptions options;
  CmaHealth health{options};
  Meminfo meminfo;
  Cma cma;
  KernelLogReading reading;
  Cycle cycle;
};

struct CmaHealthTest : testing::Test, Board {};

TEST_F(CmaHealthTest, WhatIsTakenAndHowTheRestLies) {
  run();
  EXPECT_DOUBLE_EQ(cycle.sample("jetmem_cma_used_ratio{area=\"linux,cma\"}"), 39424.0 / 65536);
  EXPECT_DOUBLE_EQ(cycle.sample("jetmem_cma_contiguity_ratio{area=\"linux,cma\"}"),
                   9216.0 / (65536 - 39424));
  EXPECT_DOUBLE_EQ(cycle.sample("jetmem_cma_free_ratio"), 0.25);
  EXPECT_DOUBLE_EQ(fit("linux,cma"), 36.0 / 12) << "36 MiB for a frame of 12";
  EXPECT_TRUE(std::isnan(cycle.sample("jetmem_cma_largest_request_bytes")));
  EXPECT_EQ(cycle.left_out("no_failed_request"), 1U);
}

TEST_F(CmaHealthTest, TheFrameOfTheSettingsCountsFromTheNextRoundOn) {
  run();
  options.frame = 48 * kMiB;
  const std::uint64_t shape = cycle.table.shape();
  run();
  EXPECT_DOUBLE_EQ(fit("linux,cma"), 36.0 / 48);
  EXPECT_EQ(cycle.table.shape(), shape);
  options.frame = 36 * kMiB + 1;
  run();
  EXPECT_LT(fit("linux,cma"), 1) << "a page more than the largest run";
}

TEST_F(CmaHealthTest, TheLargestRequestThatFailedIsWantedToo) {
  fails("linux,cma: ", 12288);
  fails("linux,cma: ", 8448);
  run();
  EXPECT_EQ(cycle.sample("jetmem_cma_largest_request_bytes"), 48.0 * kMiB);
  EXPECT_DOUBLE_EQ(fit("linux,cma"), 36.0 / 48);
  // One that the frame is larger than changes nothing.
  Board other;
  other.fails("linux,cma: ", 16);
  other.run();
  EXPECT_EQ(other.cycle.sample("jetmem_cma_largest_request_bytes"), 65536);
  EXPECT_DOUBLE_EQ(other.fit("linux,cma"), 36.0 / 12);
}

TEST_F(CmaHealthTest, AProbesRequestsDoNotCount) {
  log.tally().probe_begins(Nanoseconds(0));
  fails("linux,cma: ", 12288);
  run();
  EXPECT_EQ(log.tally().events(kernel_log::EventKind::kCmaAllocFailure, kernel_log::Origin::kProbe),
            1U);
  EXPECT_EQ(cycle.left_out("no_failed_request"), 1U);
  EXPECT_DOUBLE_EQ(fit("linux,cma"), 3);
}

TEST_F(CmaHealthTest, ARequestCountsForTheAreaThatItsLineNames) {
  cma.areas.push_back(area("camera", 65536, 0, 9216));
  fails("camera: ", 18432);
  run();
  EXPECT_DOUBLE_EQ(fit("linux,cma"), 3);
  EXPECT_DOUBLE_EQ(fit("camera"), 0.5);
  // Kernels before 5.12 name none, and debugfs may have cut the name.
  for (const char* const where : {"", "an-area-of-a-longer-name: "}) {
    Board unnamed;
    unnamed.cma.areas.push_back(area("camera", 65536, 0, 9216));
    unnamed.fails(where, 18432);
    unnamed.run();
    EXPECT_DOUBLE_EQ(unnamed.fit("linux,cma"), 0.5);
    EXPECT_DOUBLE_EQ(unnamed.fit("camera"), 0.5);
  }
}

TEST_F(CmaHealthTest, AnAreaIsNotFragmentedForBeingSmall) {
  cma.areas.push_back(area("codec", 1024, 512, 512));  // 4 MiB, half of it in one piece
  fails("linux,cma: ", 100000);                        // more than the area ever had
  run();
  EXPECT_TRUE(std::isnan(fit("codec")));
  EXPECT_EQ(cycle.left_out("area_too_small"), 1U);
  EXPECT_DOUBLE_EQ(fit("linux,cma"), 3) << "the frame still counts";
  EXPECT_EQ(required_contiguous_bytes(10, 3, 5), 5U);
  EXPECT_EQ(required_contiguous_bytes(10, 11, 5), 5U);
  EXPECT_EQ(required_contiguous_bytes(10, 3, 11), 3U);
  EXPECT_EQ(required_contiguous_bytes(10, 10, 11), 10U);
  EXPECT_EQ(required_contiguous_bytes(10, 11, 11), 0U);
}

TEST_F(CmaHealthTest, WhatIsNotKnownIsLeftOutAndCounted) {
  cma.areas = {area("full", 100, 100, 0), area("moving", 100, 60, 50),
               area("no-run", 100, 60, std::nullopt), area("no-size", std::nullopt, 5, 5),
               area("no-use", 65536, std::nullopt, 6144)};
  run();
  const auto is_there = [&](const std::string& metric, const std::string& name) {
    return !std::isnan(cycle.sample("jetmem_cma_" + metric + "_ratio{area=\"" + name + "\"}"));
  };
  EXPECT_TRUE(is_there("used", "full"));
  for (const char* const name : {"full", "moving", "no-run", "no-size", "no-use"}) {
    EXPECT_FALSE(is_there("contiguity", name)) << name;
  }
  EXPECT_FALSE(is_there("used", "no-size"));
  EXPECT_FALSE(is_there("used", "no-use"));
  EXPECT_FALSE(is_there("frame_fit", "no-run"));
  EXPECT_DOUBLE_EQ(fit("no-use"), 2);
  EXPECT_EQ(cycle.left_out("nothing_free"), 1U);
  EXPECT_EQ(cycle.left_out("inconsistent"), 1U);
  EXPECT_EQ(cycle.left_out("largest_run_unknown"), 2U);
  EXPECT_EQ(cycle.left_out("size_unknown"), 3U);
  EXPECT_EQ(cycle.left_out("used_unknown"), 2U);
  EXPECT_EQ(cycle.left_out("area_too_small"), 2U);
}

TEST_F(CmaHealthTest, WithoutASourceWhatItTellsIsMissing) {
  fails("linux,cma: ", 12288);
  cycle.lose(2);
  run();
  EXPECT_EQ(cycle.left_out("kernel_log_unknown"), 1U);
  EXPECT_DOUBLE_EQ(fit("linux,cma"), 3);
  cycle.lose(1);
  run();
  EXPECT_EQ(cycle.left_out("areas_unknown"), 1U);
  EXPECT_EQ(cycle.series(), 1U) << "the free ratio of meminfo";
  cycle.lose(0);
  run();
  EXPECT_EQ(cycle.left_out("meminfo_unknown"), 1U);
  EXPECT_EQ(cycle.series(), 0U);
}

TEST_F(CmaHealthTest, AMachineWithoutCma) {
  ASSERT_TRUE(parse_meminfo("MemTotal: 4 kB\nCmaTotal: 0 kB\nCmaFree: 0 kB\n", meminfo));
  cycle.lose(1);
  run();
  EXPECT_EQ(cycle.series(), 0U);
  EXPECT_EQ(cycle.left_out("no_cma"), 1U);
  EXPECT_EQ(cycle.left_out("areas_unknown"), 0U);
}

TEST_F(CmaHealthTest, WithoutAPageSizeRatiosOfPagesStay) {
  fails("linux,cma: ", 12288);
  cycle.facts.page_size.reset();
  run();
  EXPECT_EQ(cycle.series(), 3U);
  EXPECT_EQ(cycle.left_out("page_size_unknown"), 2U);
}

}  // namespace
}  // namespace jetmem
