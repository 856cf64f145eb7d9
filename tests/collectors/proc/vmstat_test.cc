// SPDX-License-Identifier: Apache-2.0
#include "collectors/proc/vmstat.h"

#include <gtest/gtest.h>

#include "tests/collectors/proc/parsing.h"
#include "tests/collectors/source_fixture.h"

namespace jetmem {
namespace {

using std::string_view_literals::operator""sv;

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

class VmstatTest : public SourceTest<VmstatSource> {
 protected:
  // By the kernel's name.
  void expect_counters(std::string_view text, const std::string& counters) {
    fixture.only("/proc/vmstat", text);
    expect("jetmem_vmstat_*_total", counters);
  }
};

TEST_F(VmstatTest, AllocstallIsTheSumOfItsZonesOrTheOneNameOfOldKernels) {
  expect_counters(kNew, "allocstall=18");
  expect_counters(kL4t49, "allocstall=722");
  expect_counters(kOldKernel, "allocstall=9");
  // Without one zone's share there is no sum.
  expect_counters("allocstall_dma -3\nallocstall_normal 117\npgfault 5\n", "allocstall=none");
}

TEST_F(VmstatTest, OldKernelsZonesAreSummedAndTheThrottleIsNoZone) {
  expect_counters(kOldKernel,
                  "pgscan_kswapd=7 pgscan_direct=700 pgscan_direct_throttle=7 pgsteal_kswapd=3210");
  expect_counters(kNew, "pgscan_direct=12");
  // A total that is printed is not added to its zones.
  expect_counters("pgscan_kswapd_dma 1\npgscan_kswapd 10\npgscan_kswapd_normal 9\n",
                  "pgscan_kswapd=10");
}

TEST_F(VmstatTest, WhatTheKernelDoesNotCountIsAbsentNotZero) {
  expect_counters(kL4t49, "oom_kill=none cma_alloc_fail=none");
  // Nor are levels exported as counters.
  for (const std::string& key : fixture.keys()) EXPECT_EQ(key.find("_nr_"), std::string::npos);
  EXPECT_EQ(fixture.keys().size(), 6U);
  expect_counters(kNew, "oom_kill=2 cma_alloc_fail=3");
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
  EXPECT_FALSE(parse_vmstat("pgfault 1\noom_kill 2", v));
  ASSERT_TRUE(parse_vmstat("pgfault 1\noom_kill 2\n", v));
  EXPECT_EQ(v.parts.size(), 2U);
}

TEST_F(VmstatTest, AnOddLineCostsThatName) {
  const auto odd = [](std::string_view line) {
    return absent_of(parse_vmstat, "pgfault 1\n" + std::string(line));
  };
  EXPECT_EQ(odd("\n"), "");
  EXPECT_EQ(odd("pgfree 2\r\n"), "");
  for (const std::string_view line : {"garbage\n"sv, " 1\n"sv, "pgfree \n"sv, "pgfree 1 kB\n"sv,
                                      "pgfree 1\0\n"sv, "pgfault 2\n"sv}) {
    EXPECT_EQ(odd(line), "malformed 1") << line;
  }
  for (const char* number : {"-1", "18446744073709551615", "18446744073709551616"}) {
    EXPECT_EQ(odd("pgfree " + std::string(number) + "\n"), "impossible 1") << number;
  }
  expect_counters("pgfault 1\noom_kill -1\n", "pgfault=1 oom_kill=none");
  std::string many;
  for (int i = 0; i < 1000; ++i) many += "f" + std::to_string(i) + " 1\n";
  EXPECT_EQ(absent_of(parse_vmstat, many), "beyond_bound 488");
}

TEST(Vmstat, ATextThatIsCutOrNoneOfThisFileIsRefused) {
  expect_refused(parse_vmstat, {{0, ""},
                                {0, "garbage\n"},
                                {0, "some text\nmore text\npgfault 1\n"},
                                {2, "pgfault 1\npgfree 1"},
                                {0, std::string(1 << 20, 'x')}});
}

TEST_F(VmstatTest, AMissingOrDeniedFileIsTheSourcesState) {
  EXPECT_EQ(fixture.run().error().code, Errc::kAbsent);
  EXPECT_EQ(fixture.code_with("/proc/vmstat", EACCES), Errc::kDenied);
}

}  // namespace
}  // namespace jetmem
