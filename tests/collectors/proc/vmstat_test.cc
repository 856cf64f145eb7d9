// SPDX-License-Identifier: Apache-2.0
#include "collectors/proc/vmstat.h"

#include <gtest/gtest.h>

#include "tests/collectors/proc/parsing.h"
#include "tests/collectors/source_fixture.h"

namespace jetmem {
namespace {

// 4.4: events by zone, one allocstall, no oom_kill, and pgscan_direct_throttle among the zones'.
constexpr std::string_view kOldKernel =
    "nr_free_pages 55367\n"
    "pgsteal_kswapd_dma 10\n"
    "pgsteal_kswapd_normal 200\n"
    "pgsteal_kswapd_movable 3000\n"
    "pgscan_kswapd_dma 1\n"
    "pgscan_kswapd_normal 2\n"
    "pgscan_kswapd_movable 4\n"
    "pgscan_direct_dma 100\n"
    "pgscan_direct_normal 200\n"
    "pgscan_direct_movable 400\n"
    "pgscan_direct_throttle 7\n"
    "allocstall 9\n";

// 4.9 and later.
constexpr std::string_view kL4t49 =
    "nr_free_pages 55367\n"
    "allocstall_dma 3\n"
    "allocstall_normal 117\n"
    "allocstall_movable 602\n"
    "pgmajfault 18993\n"
    "pgscan_kswapd 1900331\n"
    "pgscan_direct 140229\n"
    "pgscan_direct_throttle 0\n"
    "workingset_refault 5512\n";

// 6.x.
constexpr std::string_view kNew =
    "allocstall_dma 0\n"
    "allocstall_dma32 0\n"
    "allocstall_normal 5\n"
    "allocstall_movable 6\n"
    "allocstall_device 7\n"
    "pgscan_kswapd 11\n"
    "pgscan_direct 12\n"
    "pgscan_khugepaged 13\n"
    "pgscan_direct_throttle 14\n"
    "oom_kill 2\n"
    "cma_alloc_success 212\n"
    "cma_alloc_fail 3\n"
    "workingset_refault_anon 20\n"
    "workingset_refault_file 21\n"
    "nr_unstable 0\n";

double counter(std::string_view text, std::string_view kernel_name) {
  SourceFixture<VmstatSource> fixture;
  fixture.file("/proc/vmstat", text);
  return fixture.sample("jetmem_vmstat_" + std::string(kernel_name) + "_total");
}

TEST(Vmstat, AllocstallIsTheSumOfItsZonesOrTheOneNameOfOldKernels) {
  EXPECT_EQ(counter(kNew, "allocstall"), 18);
  EXPECT_EQ(counter(kL4t49, "allocstall"), 722);
  EXPECT_EQ(counter(kOldKernel, "allocstall"), 9);
}

TEST(Vmstat, OldKernelsZonesAreSummedAndTheThrottleIsNoZone) {
  EXPECT_EQ(counter(kOldKernel, "pgscan_kswapd"), 7);
  EXPECT_EQ(counter(kOldKernel, "pgscan_direct"), 700);
  EXPECT_EQ(counter(kOldKernel, "pgscan_direct_throttle"), 7);
  EXPECT_EQ(counter(kOldKernel, "pgsteal_kswapd"), 3210);
  EXPECT_EQ(counter(kNew, "pgscan_direct"), 12);
}

TEST(Vmstat, ATotalThatIsPrintedIsNotAddedToItsZones) {
  EXPECT_EQ(
      counter("pgscan_kswapd_dma 1\npgscan_kswapd 10\npgscan_kswapd_normal 9\n", "pgscan_kswapd"),
      10);
}

TEST(Vmstat, WhatTheKernelDoesNotCountIsAbsentNotZero) {
  EXPECT_TRUE(std::isnan(counter(kL4t49, "oom_kill")));
  EXPECT_TRUE(std::isnan(counter(kL4t49, "cma_alloc_fail")));
  EXPECT_EQ(counter(kNew, "oom_kill"), 2);
  EXPECT_EQ(counter(kNew, "cma_alloc_fail"), 3);
}

TEST(Vmstat, LevelsAreNotExportedAsCounters) {
  SourceFixture<VmstatSource> fixture;
  fixture.file("/proc/vmstat", kL4t49);
  for (const std::string& key : fixture.keys()) EXPECT_EQ(key.find("_nr_"), std::string::npos);
  EXPECT_EQ(fixture.keys().size(), 6U);
}

TEST(Vmstat, AReusedReadingHoldsNothingOfTheOneBefore) {
  Vmstat v;
  ASSERT_TRUE(parse_vmstat(kNew, v));
  EXPECT_EQ(v.find("pgscan"), std::nullopt);
  ASSERT_TRUE(parse_vmstat("pgfault 1\noom_kill 5\n", v));
  EXPECT_EQ(v.fields.size(), 2U);
  EXPECT_EQ(v.parts.size(), 2U);
  EXPECT_EQ(v.find("oom_kill"), 5U);
  EXPECT_EQ(v.find("pgscan_direct"), std::nullopt);
  // One name less, and all that are left are as before.
  ASSERT_TRUE(parse_vmstat("pgfault 1\n", v));
  EXPECT_EQ(v.parts.size(), 1U);
}

TEST(Vmstat, AFailedParseLeavesNothingForTheNext) {
  Vmstat v;
  EXPECT_FALSE(parse_vmstat("pgfault 1\noom_kill 2", v));
  ASSERT_TRUE(parse_vmstat("pgfault 1\noom_kill 2\n", v));
  EXPECT_EQ(v.parts.size(), 2U);
}

TEST(Vmstat, AnOddLineCostsThatName) {
  const auto odd = [](std::string_view line) {
    return absent_of(parse_vmstat, "pgfault 1\n" + std::string(line));
  };
  EXPECT_EQ(odd("\n"), "");
  EXPECT_EQ(odd("pgfree 2\r\n"), "");
  EXPECT_EQ(odd("garbage\n"), "malformed 1");
  EXPECT_EQ(odd(" 1\n"), "malformed 1");
  EXPECT_EQ(odd("pgfree \n"), "malformed 1");
  EXPECT_EQ(odd("pgfree 1 kB\n"), "malformed 1");
  EXPECT_EQ(odd({"pgfree 1\0\n", 10}), "malformed 1");
  EXPECT_EQ(odd("pgfault 2\n"), "malformed 1");
  EXPECT_EQ(odd("pgfree -1\n"), "impossible 1");
  EXPECT_EQ(odd("pgfree 18446744073709551615\n"), "impossible 1");
  EXPECT_EQ(odd("pgfree 18446744073709551616\n"), "impossible 1");
  EXPECT_EQ(counter("pgfault 1\noom_kill -1\n", "pgfault"), 1);
  EXPECT_TRUE(std::isnan(counter("pgfault 1\noom_kill -1\n", "oom_kill")));
  std::string many;
  for (int i = 0; i < 1000; ++i) many += "f" + std::to_string(i) + " 1\n";
  EXPECT_EQ(absent_of(parse_vmstat, many), "beyond_bound 488");
}

TEST(Vmstat, WithoutOneZonesShareThereIsNoSum) {
  EXPECT_TRUE(
      std::isnan(counter("allocstall_dma -3\nallocstall_normal 117\npgfault 5\n", "allocstall")));
}

TEST(Vmstat, ATextThatIsCutOrNoneOfThisFileIsRefused) {
  expect_refused(parse_vmstat, {{0, ""},
                                {0, "garbage\n"},
                                {0, "some text\nmore text\npgfault 1\n"},
                                {2, "pgfault 1\npgfree 1"},
                                {0, std::string(1 << 20, 'x')}});
}

TEST(Vmstat, AMissingOrDeniedFileIsTheSourcesState) {
  SourceFixture<VmstatSource> fixture;
  EXPECT_EQ(fixture.run().error().code, Errc::kAbsent);
  fixture.error("/proc/vmstat", EACCES);
  EXPECT_EQ(fixture.run().error().code, Errc::kDenied);
}

}  // namespace
}  // namespace jetmem
