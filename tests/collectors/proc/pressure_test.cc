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

struct OneFile : Stall {
  AbsentValues absent;
};
Result<void> parse(std::string_view text, OneFile& out) {
  out.absent.reset();
  return parse_stall(text, out, out.absent);
}

using PressureTest = SourceTest<PressureSource>;

TEST_F(PressureTest, SamplesAreByResourceKindAndWindow) {
  for (const char* name : {"memory", "io", "cpu"}) {
    fixture.file("/proc/pressure/" + std::string(name), kBoth);
  }
  expect("jetmem_pressure_stall_*}",
         "ratio{kind=some,resource=memory,window=60s=0.1242 "
         "seconds_total{kind=full,resource=io=2.725137 "
         "max_1m_ratio{kind=some,resource=memory,window=10s=0.0026");
  // The CPU's full line means nothing.
  for (const std::string& key : fixture.keys()) {
    EXPECT_EQ(key.find("kind=\"full\",resource=\"cpu"), std::string::npos) << key;
  }
}

TEST_F(PressureTest, OneResourceThatCannotBeHadLeavesTheOthersAlone) {
  fixture.file("/proc/pressure/memory", kBoth);
  fixture.error("/proc/pressure/io", EACCES);
  fixture.file("/proc/pressure/cpu", "some avg10=nonsense\n");
  ASSERT_TRUE(fixture.run());
  EXPECT_EQ(fixture.absent_for("denied"), 1U);
  EXPECT_GE(fixture.absent_for("malformed"), 1U);
  EXPECT_FALSE(fixture.reading().io);
}

TEST_F(PressureTest, SwitchedOffAndNotCompiledInAreAbsentAndSayWhatWouldHelp) {
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(fixture.run().error().code, Errc::kAbsent);
    EXPECT_EQ(fixture.error_message(),
              "no pressure figures (PSI): kernel before 4.20, built without CONFIG_PSI, or started "
              "without psi=1 on its command line");
    for (const char* name : {"memory", "io", "cpu"}) {
      fixture.error("/proc/pressure/" + std::string(name), EOPNOTSUPP);
    }
  }
}

TEST_F(PressureTest, NothingReadableFailsWithTheFirstRealReason) {
  fixture.error("/proc/pressure/io", EACCES);
  EXPECT_EQ(fixture.run().error().code, Errc::kDenied);
  fixture.only("/proc/pressure/cpu", "");
  EXPECT_EQ(fixture.error_message(),
            "cpu: no line of the form 'some avg10=N.NN avg60=N.NN avg300=N.NN total=N'");
}

TEST(Pressure, AnOddFieldCostsThatField) {
  const auto odd = [](std::string_view from, std::string_view to) {
    const std::string text = replaced(kBoth, from, to);
    EXPECT_EQ(parsed_by(parse, text).full->total_us, 2725137U);
    return absent_of(parse, text);
  };
  EXPECT_EQ(odd("avg10=0.26", "avg10=100.01"), "impossible 1");
  EXPECT_EQ(odd("avg10=0.26", "avg10=-1.00"), "impossible 1");
  EXPECT_EQ(odd("avg10=0.26", "avg10=0.2"), "malformed 1");
  EXPECT_EQ(odd("avg10=0.26", "avg10=x"), "malformed 1");
  EXPECT_EQ(odd("avg10=0.26 ", ""), "");
  EXPECT_EQ(odd("total=8519428", "total="), "malformed 1");
  EXPECT_EQ(odd("total=8519428", "total=99999999999999999999"), "impossible 1");
  EXPECT_EQ(odd("total=8519428", "total=1\r"), "");
  EXPECT_EQ(odd("some", "most"), "malformed 1");
  EXPECT_EQ(absent_of(parse, std::string(kSomeOnly) + std::string(kSomeOnly)), "malformed 1");
  const OneFile s = parsed_by(parse, replaced(kBoth, "avg10=0.26", "avg10=4294967.00"));
  EXPECT_EQ(s.some->average[0], std::nullopt);
  EXPECT_EQ(s.some->average[1], 0.1242);
}

TEST(Pressure, ATextThatIsCutOrNoneOfThisFileIsRefused) {
  expect_refused(parse, {{0, ""},
                         {0, "most avg10=0.00\n"},
                         {1, "some avg10=0.26 avg60=0.4"},
                         {0, {"\0\x01", 2}},
                         {0, std::string(1 << 20, 'x')}});
}

}  // namespace
}  // namespace jetmem
