// SPDX-License-Identifier: Apache-2.0
#include "collectors/proc/meminfo.h"

#include <gtest/gtest.h>

#include "tests/collectors/proc/parsing.h"
#include "tests/collectors/source_fixture.h"

namespace jetmem {
namespace {

constexpr std::string_view kOrin =
    "MemTotal:        7802992 kB\n"
    "MemFree:          310044 kB\n"
    "MemAvailable:    4105120 kB\n"
    "Active(anon):      81236 kB\n"
    "NvMapMemFree:       2048 kB\n"
    "NvMapMemUsed:     740388 kB\n"
    "HugePages_Total:       3\n"
    "Hugepagesize:       2048 kB\n";

Meminfo parsed(std::string_view text) { return parsed_by(parse_meminfo, text); }

TEST(Meminfo, SizesAreBytesAndCountsAreNot) {
  const Meminfo m = parsed(kOrin);
  EXPECT_EQ(m.find("MemTotal"), 7802992ULL * 1024);
  EXPECT_EQ(m.find("HugePages_Total"), 3U);
}

TEST(Meminfo, FieldsAreMatchedByWholeName) {
  const Meminfo m = parsed(kOrin);
  EXPECT_EQ(m.find("MemFree"), 310044ULL * 1024);
  EXPECT_EQ(m.find("NvMapMemFree"), 2048ULL * 1024);
  EXPECT_EQ(m.find("Mem"), std::nullopt);
}

TEST(Meminfo, AFieldThatIsNotPrintedIsAbsentNotZero) {
  EXPECT_EQ(parsed(kOrin).find("CmaTotal"), std::nullopt);
}

TEST(Meminfo, UnknownFieldsBecomeSeriesUnderTheKernelsName) {
  SourceFixture<MeminfoSource> fixture;
  fixture.file("/proc/meminfo", kOrin);
  EXPECT_EQ(fixture.sample("jetmem_meminfo_Active_anon_bytes"), 81236.0 * 1024);
  EXPECT_EQ(fixture.sample("jetmem_meminfo_HugePages_Total"), 3.0);
  EXPECT_EQ(fixture.sample("jetmem_meminfo_NvMapMemUsed_bytes"), 740388.0 * 1024);
}

TEST(Meminfo, RefusesWithLineAndFinding) {
  std::string text;
  for (int i = 0; i < 1000; ++i) text += "F" + std::to_string(i) + ": 1 kB\n";
  expect_refused(parse_meminfo, {{0, ""},
                                 {2, "MemTotal: 1 kB\ngarbage\n"},
                                 {1, "MemTotal:\n"},
                                 {1, "MemTotal: 99999999999999999999999 kB\n"},
                                 {1, "MemTotal: 18446744073709551615 kB\n"},
                                 {1, "MemTotal: 1 MB\n"},
                                 {1, "MemTotal: 1 kB\r\n"},
                                 {2, "MemTotal: 1 kB\nMemTotal: 2 kB\n"},
                                 {1, {"\0\x01\xff", 3}},
                                 {2, "MemTotal: 7802992 kB\nMemFree: 31"},
                                 {257, text},
                                 {1, std::string(1 << 20, 'x')}});
  EXPECT_EQ(error_of(parse_meminfo, "MemTotal: 1 MB\n"),
            "line 1: unknown unit ' MB', expected 'kB' or none");
}

// The fields of the reading before are taken the short way; all that is refused stays so there.
TEST(Meminfo, TheSecondReadingIsHeldToTheSameRules) {
  constexpr std::string_view kGood = "MemTotal: 1 kB\nMemFree: 2 kB\nHugePages_Free: 3\n";
  const auto second = [&](std::string_view text) {
    Meminfo meminfo;
    EXPECT_TRUE(parse_meminfo(kGood, meminfo));
    const auto ok = parse_meminfo(text, meminfo);
    return ok ? "free " + std::to_string(meminfo.find("MemFree").value_or(0))
              : ok.error().message.substr(0, 7);
  };
  EXPECT_EQ(second("MemTotal: 1 kB\nMemFree: 5 kB\nHugePages_Free: 3\n"), "free 5120");
  EXPECT_EQ(second("MemTotal: 1 kB\nMemFree: 5 kB\n"), "free 5120");
  EXPECT_EQ(second("MemFree: 5 kB\n"), "free 5120");
  EXPECT_EQ(second("MemTotal: 1 kB\nMemFree: 5\n"), "free 5") << "a count now, no size";
  EXPECT_EQ(second("MemTotal: 1 kB\nMemFreeX: 5 kB\n"), "free 0");
  EXPECT_EQ(second("MemTotal: 1 kB\nMemFree: 5 MB\n"), "line 2:");
  EXPECT_EQ(second("MemTotal: 1 kB\nMemFree: 18446744073709551615 kB\n"), "line 2:");
  EXPECT_EQ(second("MemTotal: 1 kB\nMemTotal: 2 kB\n"), "line 2:");
}

}  // namespace
}  // namespace jetmem
