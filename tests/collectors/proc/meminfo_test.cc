// SPDX-License-Identifier: Apache-2.0
#include "collectors/proc/meminfo.h"

#include <gtest/gtest.h>

#include "tests/collectors/proc/parsing.h"
#include "tests/collectors/source_fixture.h"

namespace jetmem {
namespace {

constexpr std::string_view kOrinMeminfo =
    "MemTotal:        7802992 kB\n"
    "MemFree:          310044 kB\n"
    "MemAvailable:    4105120 kB\n"
    "Active(anon):      81236 kB\n"
    "NvMapMemFree:       2048 kB\n"
    "NvMapMemUsed:     740388 kB\n"
    "HugePages_Total:       3\n"
    "Hugepagesize:       2048 kB\n";

Meminfo parsed_meminfo(std::string_view text) { return parsed_by(parse_meminfo, text); }

TEST(Meminfo, FieldsAreMatchedByWholeName) {
  const Meminfo m = parsed_meminfo(kOrinMeminfo);
  EXPECT_EQ(m.find("MemFree"), 310044ULL * 1024);
  EXPECT_EQ(m.find("NvMapMemFree"), 2048ULL * 1024);
  EXPECT_EQ(m.find("Mem"), std::nullopt);
  EXPECT_EQ(m.find("CmaTotal"), std::nullopt) << "not zero";
}

TEST(Meminfo, UnknownFieldsBecomeSeriesUnderTheKernelsName) {
  SourceFixture<MeminfoSource> fixture("/proc/meminfo", kOrinMeminfo);
  EXPECT_EQ(fixture.value("jetmem_meminfo_Active_anon_bytes"), 81236.0 * 1024);
  EXPECT_EQ(fixture.value("jetmem_meminfo_HugePages_Total"), 3.0);
  EXPECT_EQ(fixture.value("jetmem_meminfo_NvMapMemUsed_bytes"), 740388.0 * 1024);
}

std::string absent_of(std::string_view text) { return jetmem::absent_of(parse_meminfo, text); }

TEST(Meminfo, AnOddLineCostsThatLine) {
  constexpr std::string_view kTotal = "MemTotal: 7802992 kB\n";
  const auto with = [&](std::string_view line) { return std::string(kTotal) + std::string(line); };
  EXPECT_EQ(absent_of(with("\n")), "");
  for (const char* line : {"garbage\n", "MemFree:\n", "MemFree: 1 MB\n", "MemTotal: 2 kB\n"}) {
    EXPECT_EQ(absent_of(with(line)), "malformed 1") << line;
  }
  for (const char* line :
       {"MemAvailable: -1 kB\n", "SwapFree: 18446744073709551488 kB\n",
        "Big: 99999999999999999999999 kB\n", "HugePages_Rsvd: 18446744073709551615\n",
        "MemFree: 7952993 kB\n", "Cached: 9000000 kB\n"}) {
    EXPECT_EQ(absent_of(with(line)), "impossible 1") << line;
  }
  EXPECT_EQ(absent_of(with("CmaTotal: 262144 kB\nCmaFree: 262180 kB\n")), "")
      << "CPUs hand their counts in late";
  EXPECT_EQ(parsed_meminfo(with("MemTotal: 2 kB\n")).find("MemTotal"), 7802992ULL * 1024);
  EXPECT_EQ(parsed_meminfo(with("MemFree: 7952993 kB\n")).find("MemFree"), std::nullopt);
  EXPECT_EQ(parsed_meminfo("MemTotal: 1 kB\r\n").find("MemTotal"), 1024U);
  EXPECT_EQ(
      parsed_meminfo(
          "        total:    used:\nMem:  260579328 45379584\nMemTotal: 254472 kB\nMemFree: 1 kB\n")
          .find("MemTotal"),
      254472ULL * 1024);
  std::string many;
  for (int i = 0; i < 1000; ++i) many += "F" + std::to_string(i) + ": 1 kB\n";
  EXPECT_EQ(absent_of(many), "beyond_bound 744");
}

TEST(Meminfo, ATextThatIsCutOrNoneOfThisFileIsRefused) {
  expect_refused(parse_meminfo, {{0, ""},
                                 {0, "\n"},
                                 {0, "garbage\nmore of it\nMemTotal: 1 kB\n"},
                                 {0, {"\0\x01\xff", 3}},
                                 {2, "MemTotal: 7802992 kB\nMemFree: 31"},
                                 {0, std::string(1 << 20, 'x')}});
}

// The fields of the reading before are taken the short way; all that is odd stays so there.
TEST(Meminfo, TheSecondReadingIsHeldToTheSameRules) {
  constexpr std::string_view kGood = "MemTotal: 9 kB\nMemFree: 2 kB\nHugePages_Free: 3\n";
  const auto second = [&](std::string_view text) {
    Meminfo meminfo;
    EXPECT_TRUE(parse_meminfo(kGood, meminfo));
    EXPECT_TRUE(parse_meminfo(text, meminfo));
    return std::to_string(meminfo.find("MemFree").value_or(0));
  };
  EXPECT_EQ(second("MemTotal: 9 kB\nMemFree: 5 kB\nHugePages_Free: 3\n"), "5120");
  EXPECT_EQ(second("MemTotal: 9 kB\nMemFree: 5 kB\n"), "5120");
  EXPECT_EQ(second("MemFree: 5 kB\n"), "5120");
  EXPECT_EQ(second("MemTotal: 9 kB\nMemFree: 5\n"), "5") << "a count now, no size";
  EXPECT_EQ(second("MemTotal: 9 kB\nMemFreeX: 5 kB\n"), "0");
  EXPECT_EQ(second("MemTotal: 9 kB\nMemFree: 5 MB\n"), "0");
  EXPECT_EQ(second("MemTotal: 9 kB\nMemTotal: 9 kB\n"), "0");
}

}  // namespace
}  // namespace jetmem
