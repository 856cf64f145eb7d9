// SPDX-License-Identifier: Apache-2.0
#include "collectors/proc/meminfo.h"

#include <gtest/gtest.h>

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

Meminfo parsed(std::string_view text) {
  Meminfo out;
  const auto ok = parse_meminfo(text, out);
  EXPECT_TRUE(ok) << ok.error().message;
  return out;
}

std::string error_of(std::string_view text) {
  Meminfo out;
  const auto ok = parse_meminfo(text, out);
  return ok ? "no error" : ok.error().message;
}

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

TEST(Meminfo, AReusedReadingHoldsNothingOfTheOneBefore) {
  Meminfo m = parsed(kOrin);
  ASSERT_TRUE(parse_meminfo("MemTotal: 1 kB\nNew: 2 kB\n", m));
  EXPECT_EQ(m.fields.size(), 2U);
  EXPECT_EQ(m.find("New"), 2048U);
  EXPECT_EQ(m.find("MemFree"), std::nullopt);
}

TEST(Meminfo, UnknownFieldsBecomeSeriesUnderTheKernelsName) {
  SourceFixture<MeminfoSource> fixture;
  fixture.file("/proc/meminfo", kOrin);
  EXPECT_EQ(fixture.sample("jetmem_meminfo_Active_anon_bytes"), 81236.0 * 1024);
  EXPECT_EQ(fixture.sample("jetmem_meminfo_HugePages_Total"), 3.0);
  EXPECT_EQ(fixture.sample("jetmem_meminfo_NvMapMemUsed_bytes"), 740388.0 * 1024);
}

TEST(Meminfo, ANameGivenTwiceIsRefusedEachTimeItIsRead) {
  Meminfo m;
  EXPECT_FALSE(parse_meminfo("A: 1 kB\nA: 2 kB\n", m));
  EXPECT_FALSE(parse_meminfo("A: 1 kB\nA: 2 kB\n", m));
}

// The ugly ladder.
TEST(Meminfo, RefusesWithLineAndFinding) {
  EXPECT_EQ(error_of(""), "empty");
  EXPECT_EQ(error_of("MemTotal: 1 kB\ngarbage\n"),
            "line 2: expected 'Name: number', found 'garbage'");
  EXPECT_EQ(error_of("MemTotal:\n"), "line 1: no number that fits 64 bits behind 'MemTotal'");
  EXPECT_EQ(error_of("MemTotal: 99999999999999999999999 kB\n"),
            "line 1: no number that fits 64 bits behind 'MemTotal'");
  EXPECT_EQ(error_of("MemTotal: 18446744073709551615 kB\n"), "line 1: size beyond 64 bits");
  EXPECT_EQ(error_of("MemTotal: 1 MB\n"), "line 1: unknown unit ' MB', expected 'kB' or none");
  EXPECT_EQ(error_of("MemTotal: 1 kB\r\n"), "line 1: unknown unit ' kB?', expected 'kB' or none");
  EXPECT_EQ(error_of("MemTotal: 1 kB\nMemTotal: 2 kB\n"), "line 2: field 'MemTotal' twice");
  EXPECT_EQ(error_of(std::string_view("\0\x01\xff", 3)),
            "line 1: expected 'Name: number', found '??\xef\xbf\xbd'");
}

TEST(Meminfo, ACutNumberIsNotTakenForAWholeOne) {
  EXPECT_EQ(error_of("MemTotal: 7802992 kB\nMemFree: 31"),
            "line 2: cut off: no newline at its end");
}

TEST(Meminfo, AbsurdlyLongTextIsRefusedNotStored) {
  std::string text;
  for (int i = 0; i < 1000; ++i) text += "F" + std::to_string(i) + ": 1 kB\n";
  EXPECT_EQ(error_of(text), "line 257: more than 256 fields");
  EXPECT_EQ(error_of(std::string(1 << 20, 'x')).substr(0, 40),
            "line 1: expected 'Name: number', found '");
}

// The fields of the reading before are taken the short way; all that is refused stays so there.
TEST(Meminfo, TheSecondReadingIsHeldToTheSameRules) {
  constexpr std::string_view kGood = "MemTotal: 1 kB\nMemFree: 2 kB\nHugePages_Free: 3\n";
  const auto second = [&](std::string_view text) {
    Meminfo meminfo;
    EXPECT_TRUE(parse_meminfo(kGood, meminfo));
    const auto ok = parse_meminfo(text, meminfo);
    return ok ? "free " + std::to_string(meminfo.find("MemFree").value_or(0)) : ok.error().message;
  };
  EXPECT_EQ(second("MemTotal: 1 kB\nMemFree: 5 kB\nHugePages_Free: 3\n"), "free 5120");
  EXPECT_EQ(second("MemTotal: 1 kB\nMemFree: 5 kB\n"), "free 5120");
  EXPECT_EQ(second("MemFree: 5 kB\n"), "free 5120");
  EXPECT_EQ(second("MemTotal: 1 kB\nMemFree: 5\n"), "free 5") << "a count now, no size";
  EXPECT_EQ(second("MemTotal: 1 kB\nMemFreeX: 5 kB\n"), "free 0");
  EXPECT_EQ(second("MemTotal: 1 kB\nMemFree: 5 MB\n"),
            "line 2: unknown unit ' MB', expected 'kB' or none");
  EXPECT_EQ(second("MemTotal: 1 kB\nMemFree: 18446744073709551615 kB\n"),
            "line 2: size beyond 64 bits");
  EXPECT_EQ(second("MemTotal: 1 kB\nMemTotal: 2 kB\n"), "line 2: field 'MemTotal' twice");
}

}  // namespace
}  // namespace jetmem
