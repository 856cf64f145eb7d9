// SPDX-License-Identifier: Apache-2.0
#include "collectors/proc/pressure.h"

#include <gtest/gtest.h>

#include "tests/collectors/proc/parsing.h"
#include "tests/collectors/source_fixture.h"

namespace jetmem {
namespace {

constexpr std::string_view kBoth =
    "some avg10=0.26 avg60=12.42 avg300=100.00 total=8519428\n"
    "full avg10=0.00 avg60=1.05 avg300=0.03 total=2725137\n";
constexpr std::string_view kSomeOnly = "some avg10=0.00 avg60=0.00 avg300=0.00 total=11\n";

TEST(Pressure, PercentsAreRatiosAndMicrosecondsStay) {
  Stall s;
  ASSERT_TRUE(parse_stall(kBoth, s));
  EXPECT_EQ(s.some->average[0], 0.0026);
  EXPECT_EQ(s.some->average[1], 0.1242);
  EXPECT_EQ(s.some->average[2], 1.0);
  EXPECT_EQ(s.some->total_us, 8519428U);
  EXPECT_EQ(s.full->average[1], 0.0105);
}

TEST(Pressure, FullIsOptionalAsItWasForCpuBefore513) {
  Stall s;
  ASSERT_TRUE(parse_stall(kSomeOnly, s));
  EXPECT_TRUE(s.some);
  EXPECT_FALSE(s.full);
}

TEST(Pressure, SamplesAreByResourceKindAndWindow) {
  SourceFixture<PressureSource> fixture;
  fixture.file("/proc/pressure/memory", kBoth);
  fixture.file("/proc/pressure/io", kBoth);
  fixture.file("/proc/pressure/cpu", kBoth);
  EXPECT_EQ(fixture.sample("jetmem_pressure_stall_ratio{kind=some,resource=memory,window=60s}"),
            0.1242);
  EXPECT_EQ(fixture.sample("jetmem_pressure_stall_seconds_total{kind=full,resource=io}"), 2.725137);
  EXPECT_EQ(
      fixture.sample("jetmem_pressure_stall_max_1m_ratio{kind=some,resource=memory,window=10s}"),
      0.0026);
}

TEST(Pressure, TheCpusFullLineMeansNothingAndIsNotExported) {
  SourceFixture<PressureSource> fixture;
  fixture.file("/proc/pressure/cpu", kBoth);
  for (const std::string& key : fixture.keys()) {
    EXPECT_EQ(key.find("full"), std::string::npos) << key;
  }
}

TEST(Pressure, OneResourceThatCannotBeHadLeavesTheOthersAlone) {
  SourceFixture<PressureSource> fixture;
  fixture.file("/proc/pressure/memory", kBoth);
  fixture.error("/proc/pressure/io", EACCES);
  fixture.file("/proc/pressure/cpu", "some avg10=nonsense\n");
  ASSERT_TRUE(fixture.run());
  ASSERT_EQ(fixture.absent.counts().size(), 2U);
  EXPECT_EQ(fixture.absent.counts()[0].reason, "denied");
  EXPECT_EQ(fixture.absent.counts()[1].reason, "malformed");
  EXPECT_FALSE(fixture.reading().io);
}

TEST(Pressure, SwitchedOffAndNotCompiledInAreAbsentAndSayWhatWouldHelp) {
  constexpr std::string_view kMessage =
      "no pressure figures (PSI): kernel before 4.20, built without CONFIG_PSI, or started "
      "without psi=1 on its command line";
  SourceFixture<PressureSource> fixture;
  const auto missing = fixture.run();
  EXPECT_EQ(missing.error().code, Errc::kAbsent);
  EXPECT_EQ(missing.error().message, kMessage);
  for (const char* name : {"memory", "io", "cpu"}) {
    fixture.error("/proc/pressure/" + std::string(name), EOPNOTSUPP);
  }
  const auto off = fixture.run();
  EXPECT_EQ(off.error().code, Errc::kAbsent);
  EXPECT_EQ(off.error().message, kMessage);
}

TEST(Pressure, NothingReadableFailsWithTheFirstRealReason) {
  SourceFixture<PressureSource> fixture;
  fixture.error("/proc/pressure/io", EACCES);
  EXPECT_EQ(fixture.run().error().code, Errc::kDenied);
  fixture.only("/proc/pressure/cpu", "");
  EXPECT_EQ(fixture.error_message(), "cpu: empty");
}

TEST(Pressure, RefusesWithLineAndFinding) {
  expect_refused(parse_stall,
                 {{0, ""},
                  {0, "full avg10=0.00 avg60=0.00 avg300=0.00 total=0\n"},
                  {1, "most avg10=0.00\n"},
                  {1, "some avg10=0.26 avg60=0.4"},
                  {1, "some avg10=100.01 avg60=0.00 avg300=0.00 total=0\n"},
                  {1, "some avg10=-1.00 avg60=0.00 avg300=0.00 total=0\n"},
                  {1, "some avg10=0.00 avg60=0.00 avg300=0.00 total=\n"},
                  {1, "some avg10=0.00 avg60=0.00 avg300=0.00 total=99999999999999999999\n"},
                  {1, "some avg10=0.00 avg60=0.00 avg300=0.00 total=1\r\n"},
                  {2, std::string(kSomeOnly) + std::string(kSomeOnly)},
                  {1, {"\0\x01", 2}},
                  {1, std::string(1 << 20, 'x')}});
  EXPECT_EQ(error_of(parse_stall, "most avg10=0.00\n"),
            "line 1: expected 'some ' or 'full ', found 'most avg10=0.00'");
}

}  // namespace
}  // namespace jetmem
