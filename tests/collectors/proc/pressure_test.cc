// SPDX-License-Identifier: Apache-2.0
#include "collectors/proc/pressure.h"

#include <gtest/gtest.h>

#include "base/root/root.h"
#include "tests/collectors/source_fixture.h"

namespace jetmem {
namespace {

constexpr std::string_view kBoth =
    "some avg10=0.26 avg60=12.42 avg300=100.00 total=8519428\n"
    "full avg10=0.00 avg60=1.05 avg300=0.03 total=2725137\n";
constexpr std::string_view kSomeOnly = "some avg10=0.00 avg60=0.00 avg300=0.00 total=11\n";

std::string error_of(std::string_view text) {
  Stall out;
  const auto ok = parse_stall(text, out);
  return ok ? "no error" : ok.error().message;
}

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
  ASSERT_TRUE(fixture.run());
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
  EXPECT_FALSE(fixture.source.reading().io);
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
  fixture.clear();
  fixture.file("/proc/pressure/cpu", "");
  EXPECT_EQ(fixture.error_message(), "cpu: empty");
}

// The ugly ladder.
TEST(Pressure, RefusesWithLineAndFinding) {
  EXPECT_EQ(error_of(""), "empty");
  EXPECT_EQ(error_of("full avg10=0.00 avg60=0.00 avg300=0.00 total=0\n"), "no 'some' line");
  EXPECT_EQ(error_of("most avg10=0.00\n"),
            "line 1: expected 'some ' or 'full ', found 'most avg10=0.00'");
  EXPECT_EQ(error_of("some avg10=0.26 avg60=0.4"),
            "line 1: expected 'avg60=N.NN ' of at most 100.00, found 'some avg10=0.26 avg60=0.4'");
  EXPECT_EQ(error_of("some avg10=100.01 avg60=0.00 avg300=0.00 total=0\n").substr(0, 53),
            "line 1: expected 'avg10=N.NN ' of at most 100.00, fou");
  EXPECT_EQ(error_of("some avg10=-1.00 avg60=0.00 avg300=0.00 total=0\n").substr(0, 27),
            "line 1: expected 'avg10=N.N");
  EXPECT_EQ(error_of("some avg10=0.00 avg60=0.00 avg300=0.00 total=\n"),
            "line 1: no 'total=' with a number that fits 64 bits");
  EXPECT_EQ(error_of("some avg10=0.00 avg60=0.00 avg300=0.00 total=99999999999999999999\n"),
            "line 1: no 'total=' with a number that fits 64 bits");
  EXPECT_EQ(error_of("some avg10=0.00 avg60=0.00 avg300=0.00 total=1\r\n"),
            "line 1: '?' behind the total");
  EXPECT_EQ(error_of(std::string(kSomeOnly) + std::string(kSomeOnly)), "line 2: 'some' twice");
  EXPECT_EQ(error_of(std::string_view("\0\x01", 2)),
            "line 1: expected 'some ' or 'full ', found '?"
            "?'");
  EXPECT_EQ(error_of(std::string(1 << 20, 'x')).size(), 105U);
}

TEST(Pressure, EveryBoardsFilesAreUnderstood) {
  for (const char* board : {"orin-nano-8gb", "agx-orin", "nano-4gb", "raspberry-pi-5", "x86-pc"}) {
    SCOPED_TRACE(board);
    const auto root = Root::at(std::string(JETMEM_FIXTURES) + "/" + board);
    ASSERT_TRUE(root);
    SnapshotReader reader(PressureSource::kInfo.paths, PressureSource::kInfo.limits);
    Pressure p;
    const auto ok = parse_pressure(reader.read(*root), p);
    // L4T with kernel 4.9 has no PSI, and the Raspberry Pi's is off.
    const std::string_view name = board;
    ASSERT_EQ(ok.has_value(), name != "nano-4gb" && name != "raspberry-pi-5");
    if (!ok) {
      EXPECT_EQ(ok.error().code, Errc::kAbsent);
      continue;
    }
    EXPECT_TRUE(p.memory && p.io && p.cpu);
    EXPECT_TRUE(p.memory->full);
  }
}

}  // namespace
}  // namespace jetmem
