// SPDX-License-Identifier: Apache-2.0
#include "collectors/jetson/tegrastats/source.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>

#include "tests/collectors/source_fixture.h"

namespace jetmem {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::Not;

constexpr std::string_view kPath = "/jetmem/tegrastats";

constexpr std::string_view kOrin =
    "05-15-2025 18:30:28 RAM 6982/7620MB (lfb 5x1MB) SWAP 2640/16384MB (cached 202MB) CPU "
    "[97%@1984,off,off,88%@1984] EMC_FREQ 18%@3199 GR3D_FREQ 84%@[713,714] NVENC 1%@115 NVDEC off "
    "VIC 31%@115 PVA0_FREQ off APE 174 cpu@65.562C VDD_IN 17946mW/15710mW/20000mW NC 0mW/0mW "
    "VDD_SOC "
    "3923mW/3515mW NC 0mW/0mW\n";

class TegrastatsTest : public SourceTest<TegrastatsSource> {
 protected:
  void line(std::string_view text) {
    fixture.only(kPath, text);
    const auto ok = fixture.run();
    ASSERT_TRUE(ok) << ok.error().message;
  }
  void expect(const std::string& series) { fixture.expect("jetmem_tegrastats_", series); }
};

TEST_F(TegrastatsTest, FromTextToSamples) {
  line(kOrin);
  expect(
      "ram_used_bytes=7149568*1024 ram_total_bytes=7802880*1024 largest_free_block_bytes=1024*1024 "
      "largest_free_blocks=5 emc_utilization_ratio=0.18 emc_clock_hertz=3199e6 "
      "gpu_utilization_ratio=0.84 gpu_clock_hertz{gpc=0}=713e6 gpu_clock_hertz{gpc=1}=714e6 "
      "engine_on{engine=NVENC}=1 engine_clock_hertz{engine=NVENC}=115e6 "
      "engine_utilization_ratio{engine=NVENC}=0.01 engine_on{engine=NVDEC}=0 "
      "engine_clock_hertz{engine=NVDEC}=none engine_on{engine=PVA0}=0 "
      "engine_utilization_ratio{engine=APE}=none rail_watts{rail=VDD_IN}=17.946 "
      "rail_average_watts{rail=VDD_IN}=15.71 rail_max_watts{rail=VDD_IN}=20 "
      "rail_watts{rail=NC}=none cores_off=2 unknown_tokens=0 iram_total_bytes=none");
  expect("rail_max_watts{rail=VDD_SOC}=none");  // not printed is not 0
  for (const AbsentValues::Count& one : fixture.absent.counts()) EXPECT_EQ(one.count, 0U);
  for (const std::string& key : fixture.keys()) {
    EXPECT_THAT(key, Not(HasSubstr("celsius"))) << "temperatures are the thermal source's";
  }
}

TEST_F(TegrastatsTest, WhatOnlySomeBoardsPrint) {
  line("RAM 1/2MB (lfb 1x4MB) IRAM 4/252kB(lfb 248kB)\n");
  expect("iram_used_bytes=4*1024 iram_total_bytes=252*1024");
  // The second GPC of early releases of Orin.
  line("GR3D_FREQ 5%@306 GR3D2_FREQ 5%@408\n");
  expect("gpu_clock_hertz{gpc=0}=306e6 gpu_clock_hertz{gpc=1}=408e6");
  // Clocks without a load give no load; without a clock an engine does not run.
  line("GR3D_FREQ @[0,0,0] NVENC0_FREQ @0\n");
  expect("gpu_utilization_ratio=none gpu_clock_hertz{gpc=2}=0 engine_on{engine=NVENC0}=0");
}

TEST_F(TegrastatsTest, WithoutRootWhatReadsZeroWasNotRead) {
  line("RAM 1/2MB EMC_FREQ 0% GR3D_FREQ 0% VIC_FREQ 0%\n");
  expect(
      "emc_utilization_ratio=none emc_clock_hertz=none engine_utilization_ratio{engine=VIC}=none "
      "engine_on{engine=VIC}=none gpu_utilization_ratio=none");
  EXPECT_EQ(absent("unknown_quality"), 3U);
  line("RAM 1/2MB EMC_FREQ 3% GR3D_FREQ 39%\n");
  expect("emc_utilization_ratio=0.03 gpu_utilization_ratio=0.39");
  EXPECT_EQ(absent("unknown_quality"), 0U);
  line("RAM 1/2MB EMC_FREQ 0%@204\n");
  expect("emc_utilization_ratio=0");  // with a clock 0 is a load
}

using TegrastatsTree = TreeTest<TegrastatsSource>;

TEST_F(TegrastatsTree, ALongRecordingCountsByItsEnd) {
  std::string text;
  while (text.size() < 400'000)
    text += "RAM 1/2MB (lfb 3x4MB) CPU [1%@729,2%@729] GR3D_FREQ 4%@305\n";
  dir.write("jetmem/tegrastats", text + "RAM 7/9MB (lfb 1x1MB)\n");
  TegrastatsSource source;
  const auto parsed = source.parse(read(), Nanoseconds(0));
  ASSERT_TRUE(parsed) << parsed.error().message;
  EXPECT_EQ(source.reading().line.ram->used_mb, 7U);
}

TEST_F(TegrastatsTest, WhatCannotBeIsLeftOutAndCounted) {
  line("VDD_GPU -392mW/100mW VDD_CPU 5mW/-1mW VDD_CPU 7mW/7mW\n");
  expect(
      "rail_watts{rail=VDD_GPU}=none rail_average_watts{rail=VDD_GPU}=0.1 "
      "rail_watts{rail=VDD_CPU}=0.005");
  EXPECT_EQ(absent("negative_power"), 2U);
  EXPECT_EQ(absent("duplicate"), 1U);
  line("EMC_FREQ 101%@408 GR3D_FREQ 100%@408\n");
  expect("emc_utilization_ratio=none gpu_utilization_ratio=1");
  EXPECT_EQ(absent("out_of_range"), 1U);
  std::string text;
  for (int i = 0; i < 70; ++i) text += "R" + std::to_string(i) + "A 1mW/2mW what ";
  line(text + "\n");
  EXPECT_EQ(absent("beyond_bound"), 6U);
  expect("unknown_tokens=70");
}

TEST_F(TegrastatsTest, TheLastCompleteLineCounts) {
  line("RAM 1/9MB\nRAM 2/9MB\nRAM 33/9MB");
  expect("ram_used_bytes=2048*1024");  // the last has no end
}

TEST_F(TegrastatsTest, RefusesAndIsAbsent) {
  const auto message = [](std::string_view text) {
    SourceFixture<TegrastatsSource> one;
    one.file(kPath, text);
    return one.error_message();
  };
  EXPECT_EQ(message(""), "expected a line of tegrastats and its end, found ''");
  EXPECT_EQ(message("RAM 1/2MB"), "expected a line of tegrastats and its end, found 'RAM 1/2MB'");
  EXPECT_EQ(message("RAM 1/2MB\nwhat \x1b[31mnow\n"),
            "line 2: expected what tegrastats prints, found 'what ?[31mnow'");
  EXPECT_EQ(message("RAM 1/2MB\n\n"), "line 2: expected what tegrastats prints, found ''");
  EXPECT_EQ(message("01-02-2026 03:04:05\n"),
            "line 1: expected what tegrastats prints, found '01-02-2026 03:04:05'")
      << "a time alone tells nothing";
  // Without tegrastats it is absent.
  auto none = fixture.run();
  EXPECT_EQ(none.error().code, Errc::kAbsent);
  EXPECT_EQ(none.error().message, "no tegrastats on this machine");
  fixture.error(kPath, EACCES);
  EXPECT_EQ(fixture.run().error().code, Errc::kDenied);
}

TEST(TegrastatsOfBoards, EveryLineIsKnownToItsLastWord) {
  for (const std::string board :
       {"nano-4gb", "xavier-nx", "orin-nano-8gb", "agx-orin", "orin", "thor"}) {
    SCOPED_TRACE(board);
    TreeReader<TegrastatsSource> reader(JETMEM_FIXTURES "/" + board);
    const auto text = reader.read().text_of(kPath);
    ASSERT_TRUE(text);
    Lines lines(*text);
    std::string_view one;
    TegrastatsLine line;
    while (lines.next(one)) {
      parse_tegrastats_line(one, line);
      EXPECT_THAT(line.unknown, testing::IsEmpty()) << one;
      EXPECT_GE(line.fields, 10U);
      EXPECT_TRUE(line.ram && line.ram->lfb_blocks);
    }
    EXPECT_EQ(lines.number(), 3U);
    Tegrastats last;
    ASSERT_TRUE(parse_tegrastats(*text, last));
    EXPECT_EQ(last.line, line);
  }
}

}  // namespace
}  // namespace jetmem
