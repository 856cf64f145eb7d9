// SPDX-License-Identifier: Apache-2.0
#include "collectors/jetson/tegrastats/line.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <sstream>
#include <string>

#include "tests/cpu_time.h"
#include "tests/random_input.h"

namespace jetmem {
namespace {

using testing::IsEmpty;
using testing::SizeIs;
using Line = TegrastatsLine;

Line parsed(std::string_view text) {
  Line line;
  parse_tegrastats_line(text, line);
  return line;
}

std::string load(const Line::Load& load) {
  if (load.off) return "off";
  std::string text = load.percent ? std::to_string(*load.percent) + "%" : "";
  if (load.mhz) text += "@" + std::to_string(*load.mhz);
  return text;
}
std::string cores(const Line& line) {
  std::string text;
  for (const Line::Core& core : line.cores) {
    if (!text.empty()) text += ",";
    text += load({core.off, core.percent, core.mhz});
  }
  return text;
}

template <class Number>
std::string text(const std::optional<Number>& number) {
  std::ostringstream out;
  number ? out << *number : out << '-';
  return out.str();
}

std::string clocks(const Line::Gpu& gpu) {
  std::string text = load({gpu.off, gpu.percent, {}});
  for (const std::uint32_t mhz : gpu.mhz) text += "@" + std::to_string(mhz);
  return text;
}

// All that was understood of a line.
std::string all(const Line& line) {
  std::ostringstream out;
  if (!line.time.empty()) out << line.time << ' ';
  if (const auto& ram = line.ram) {
    out << "RAM " << ram->used_mb << '/' << ram->total_mb << ' ' << text(ram->lfb_blocks) << 'x'
        << text(ram->lfb_block_kb) << ' ';
  }
  if (const auto& swap = line.swap) {
    out << "SWAP " << swap->used_mb << '/' << swap->total_mb << ' ' << text(swap->cached_mb) << ' ';
  }
  if (const auto& iram = line.iram) {
    out << "IRAM " << iram->used_kb << '/' << iram->total_kb << ' ' << text(iram->lfb_kb) << ' ';
  }
  if (!line.cores.empty()) out << "CPU " << cores(line) << ' ';
  if (line.emc) out << "EMC " << load(*line.emc) << ' ';
  if (line.gr3d.present) out << "GR3D " << clocks(line.gr3d) << ' ';
  if (line.gr3d2.present) out << "GR3D2 " << clocks(line.gr3d2) << ' ';
  for (const Line::Engine& one : line.engines) out << one.name << ' ' << load(one.load) << ' ';
  if (line.mts) out << "MTS " << line.mts->fg_percent << '/' << line.mts->bg_percent << ' ';
  if (line.edp_limit_mhz) out << "EDP " << *line.edp_limit_mhz << ' ';
  for (const Line::Zone& one : line.zones) {
    out << one.name << ' ' << text(one.celsius);
    if (one.max_celsius) out << '/' << *one.max_celsius;
    out << ' ';
  }
  for (const Line::Rail& rail : line.rails) {
    out << rail.name << '=' << rail.now_mw;
    if (rail.average_mw) out << '/' << *rail.average_mw;
    if (rail.max_mw) out << '/' << *rail.max_mw;
    out << ' ';
  }
  std::string text = out.str();
  if (!text.empty() && text.back() == ' ') text.pop_back();
  return text;
}

// A line's words that were understood, and those that were not.
void expect(std::string_view printed, std::string_view read, std::string_view unknown = {}) {
  const Line line = parsed(printed);
  std::string words;
  for (const std::string& word : line.unknown) words += (words.empty() ? "" : " ") + word;
  EXPECT_EQ(all(line), read) << printed;
  EXPECT_EQ(words, unknown) << printed;
  EXPECT_EQ(line.fields == 0, read.empty()) << printed;
}

TEST(TegrastatsLine, OfEveryGeneration) {
  // From the first line that people have published to the last.
  constexpr const char* kRows[][3] = {
      {"TK1 of 21",
       "RAM 702/1876MB (lfb 120x4MB) SWAP 0/1024MB (cached 0MB) cpu [12%,off,3%,off]@1092 EMC "
       "4%@528 AVP 1%@81 VDE 120 GR3D 0%@72 EDP limit 2065",
       "RAM 702/1876 120x4096 SWAP 0/1024 0 CPU 12%@1092,off,3%@1092,off EMC 4%@528 GR3D 0%@72 "
       "AVP 1%@81 VDE @120 EDP 2065"},
      {"TX1 of 28, with its encoder",
       "RAM 1540/3983MB (lfb 9x4MB) IRAM 4/252kB(lfb 248kB) cpu [40%,45%]@1734 EMC 55%@1600 APE "
       "25 NVDEC 716 MSENC 600 GR3D 12%@76 PLL@37C VDD_IN 2532/2698",
       "RAM 1540/3983 9x4096 IRAM 4/252 248 CPU 40%@1734,45%@1734 EMC 55%@1600 GR3D 12%@76 APE "
       "@25 NVDEC @716 MSENC @600 PLL 37 VDD_IN=2532/2698"},
      {"TX2, which has MTS and cores that are off",
       "RAM 2586/7846MB (lfb 1x512kB) CPU [10%@960,off,off,20%@959] EMC_FREQ 10%@665 GR3D_FREQ "
       "53%@140 APE 150 MTS fg 2% bg 9% BCPU@41C thermal@40.25C VDD_WIFI 0/19",
       "RAM 2586/7846 1x512 CPU 10%@960,off,off,20%@959 EMC 10%@665 GR3D 53%@140 APE @150 MTS 2/9 "
       "BCPU 41 thermal 40.25 VDD_WIFI=0/19"},
      // One name is core list, zone and rail.
      {"AGX Xavier without root",
       "RAM 1903/15692MB (lfb 3251x4MB) CPU [1%@1190,2%@1190] EMC_FREQ 0% GR3D_FREQ 39% GPU@32C "
       "CPU@33.5C PMIC@100C GPU 0/16 CPU 216/300 SYS5V 1889/1850",
       "RAM 1903/15692 3251x4096 CPU 1%@1190,2%@1190 EMC 0% GR3D 39% GPU 32 CPU 33.5 PMIC 100 "
       "GPU=0/16 CPU=216/300 SYS5V=1889/1850"},
      // -256 is no temperature.
      {"Xavier NX of 35",
       "03-09-2023 07:08:09 RAM 4412/6989MB (lfb 237x4MB) SWAP 139/3494MB (cached 2MB) CPU "
       "[9%@1190,6%@1190] EMC_FREQ 10%@1600 GR3D_FREQ 62%@[306] VIC_FREQ 115 APE 150 MTS fg 0% bg "
       "0% AO@41.5C GPU@-256C VDD_IN 4067mW/4100mW",
       "03-09-2023 07:08:09 RAM 4412/6989 237x4096 SWAP 139/3494 2 CPU 9%@1190,6%@1190 EMC "
       "10%@1600 GR3D 62%@306 VIC @115 APE @150 MTS 0/0 AO 41.5 GPU - VDD_IN=4067/4100"},
      {"AGX Orin of 35, with a second GPC and NC twice",
       "RAM 1282/62795MB (lfb 15152x4MB) GR3D_FREQ 7%@306 GR3D2_FREQ 7%@408 VIC_FREQ 729 "
       "NVDLA0_FREQ @1600 NC 0mW/0mW VDDQ_VDD2_1V8AO 301mW/302mW NC 1mW/0mW",
       "RAM 1282/62795 15152x4096 GR3D 7%@306 GR3D2 7%@408 VIC @729 NVDLA0 @1600 NC=0/0 "
       "VDDQ_VDD2_1V8AO=301/302 NC=1/0"},
      {"Orin of 36, as root",
       "05-15-2025 18:30:28 RAM 6982/7620MB (lfb 5x1MB) CPU [97%@1984] EMC_FREQ 18%@3199 "
       "GR3D_FREQ 84%@[713,714] NVENC 1%@115 NVJPG1 off OFA off PVA0_FREQ off APE 174 cv0@63.031C",
       "05-15-2025 18:30:28 RAM 6982/7620 5x1024 CPU 97%@1984 EMC 18%@3199 GR3D 84%@713@714 NVENC "
       "1%@115 NVJPG1 off OFA off PVA0 off APE @174 cv0 63.031"},
      {"Orin of 36 without root, which has no EMC at all",
       "RAM 775/7620MB (lfb 3x4MB) CPU [1%@729] GR3D_FREQ 0% tj@49.156C",
       "RAM 775/7620 3x4096 CPU 1%@729 GR3D 0% tj 49.156"},
      {"Orin of 39, which has maxima",
       "GR3D_FREQ 12%@[1300,1300] NVENC0 off cpu@47.906C/48.343C gpu@-256C/44C cv0@-256C/-256C "
       "VDD_GPU_SOC 3034mW/3049mW/3412mW",
       "GR3D 12%@1300@1300 NVENC0 off cpu 47.906/48.343 gpu -/44 cv0 - VDD_GPU_SOC=3034/3049/3412"},
      // This release prints clocks and no load.
      {"Thor of 38",
       "RAM 4208/125773MB (lfb 31x4MB) CPU [1%@972] EMC_FREQ @665 GR3D_FREQ @[0,314,1098] "
       "NVENC0_FREQ @0 OFA_FREQ @315 soc012@33.781C VDD_GPU -392mW/0mW VIN 19780mW/20000mW",
       "RAM 4208/125773 31x4096 CPU 1%@972 EMC @665 GR3D @0@314@1098 NVENC0 @0 OFA @315 soc012 "
       "33.781 VDD_GPU=-392/0 VIN=19780/20000"},
  };
  for (const auto& [of, printed, read] : kRows) {
    SCOPED_TRACE(of);
    expect(printed, read);
  }
}

TEST(TegrastatsLine, CoresThatAreOffAndLoadsWithoutClocks) {
  EXPECT_EQ(parsed("CPU [10%@960,off,off,20%@959]").cores_off(), 2U);
  const Line line = parsed("EMC_FREQ 0% GR3D_FREQ 39%");
  EXPECT_TRUE(line.emc->quality_unknown() && line.gr3d.quality_unknown());
  EXPECT_FALSE(parsed("GR3D_FREQ 62%@[306]").gr3d.quality_unknown());
  // EMC's at 0 without a clock was not read.
  EXPECT_FALSE(parsed("EMC_FREQ 0%").emc_percent_is_known());
  EXPECT_TRUE(parsed("EMC_FREQ 1%").emc_percent_is_known());
  EXPECT_TRUE(parsed("EMC_FREQ 0%@204").emc_percent_is_known());
  EXPECT_FALSE(parsed("EMC_FREQ @204").emc_percent_is_known());
}

TEST(TegrastatsLine, AndroidAsFarAsItIsKnown) {
  expect(
      "E/TegraStats( 42): RAM 250/490MB (lfb 17x1MB) GART 28/32MB (lfb 4MB) IRAM 36/256kB (lfb "
      "128kb) | DFS(%@MHz): cpu [61%,45%]@835 avp 17%@100 emc 25%@333",
      "RAM 250/490 17x1024 IRAM 36/256 128 CPU 61%@835,45%@835 EMC 25%@333 avp 17%@100",
      "E/TegraStats( 42): GART 28/32MB (lfb 4MB) | DFS(%@MHz):");
}

// Whatever order, whatever is missing.

TEST(TegrastatsLine, FieldsStandInAnyOrderAndPartsMayBeMissing) {
  expect("RAM 1/2MB", "RAM 1/2 -x-");
  expect("SWAP 1/2MB", "SWAP 1/2 -");
  expect("IRAM 1/2kB", "IRAM 1/2 -");
  expect("CPU [6%,1%,off]", "CPU 6%,1%,off");
  expect("CPU [6%@1, off,\t1%@2]", "CPU 6%@1,off,1%@2");
  expect("RAM 1/2MB (lfb much)", "RAM 1/2 -x-", "(lfb much)");
  // In any order.
  const Line forward = parsed("RAM 1/2MB (lfb 3x4MB) CPU [5%@6] SWAP 7/8MB (cached 9MB) APE 10");
  const Line backward = parsed("APE 10 SWAP 7/8MB (cached 9MB) CPU [5%@6] RAM 1/2MB (lfb 3x4MB)");
  EXPECT_EQ(forward, backward);
  EXPECT_EQ(forward.fields, 4U);
}

TEST(TegrastatsLine, EveryFormOfALoad) {
  expect("EMC 408", "EMC @408");
  expect("GR3D_FREQ off", "GR3D off");
  expect("GR3D_FREQ 408", "GR3D @408");
  expect("VIC_FREQ 0%@115", "VIC 0%@115");
  expect("VIC_FREQ 4%", "VIC 4%");
  // Engines that no release has yet.
  expect("NVENC7 716", "NVENC7 @716");
  expect("NEWONE off", "NEWONE off");
  expect("NEWONE_FREQ 100", "NEWONE @100");
  expect("NEWONE 3%@100", "NEWONE 3%@100");
}

// Zones and rails of carrier boards are called as their makers like. A number behind a name that
// nobody knows could be anything.
TEST(TegrastatsLine, NamesOfZonesAndRailsAndNumbersWithoutAForm) {
  expect("thermal-fan-est@46.5C 1-004c@30C VDD_3.3V 5mW/6mW Vdd-Cam 7mW/8mW",
         "thermal-fan-est 46.5 1-004c 30 VDD_3.3V=5/6 Vdd-Cam=7/8");
  for (const char* text :
       {"@33C", "12 5%@6", "ERRORS 7", "LOAD 7%", "light off", "page 3/9", "_FREQ 5"}) {
    expect(text, "", text);
  }
}

TEST(TegrastatsLine, AFieldThatStandsTwiceCountsOnce) {
  expect(
      "RAM 1/2MB RAM 3/4MB CPU [1%@2] CPU [3%@4] EMC_FREQ 1%@2 EMC_FREQ 3%@4 GR3D_FREQ 1%@2 "
      "GR3D_FREQ 3%@4 APE 1 APE 2 VIC off VIC_FREQ off gpu@1C gpu@2C 01-02-2026 03:04:05 "
      "01-02-2026 03:04:06",
      "01-02-2026 03:04:05 RAM 1/2 -x- CPU 1%@2 EMC 1%@2 GR3D 1%@2 APE @1 VIC off gpu 1",
      "RAM 3/4MB CPU [3%@4] EMC_FREQ 3%@4 GR3D_FREQ 3%@4 APE 2 VIC_FREQ off gpu@2C 01-02-2026 "
      "03:04:06");
}

TEST(TegrastatsLine, PrefixesOfLogsAreUnknownAndTheRestIsNot) {
  expect("[2026-08-23 16:30:36] : RAM 4923/7850MB (lfb 360x4MB) VDD_IN 1/2",
         "RAM 4923/7850 360x4096 VDD_IN=1/2", "[2026-08-23 16:30:36] :");
  expect("05-06-2026 07:08:09.123456789 05-06-2026 07:08:10 RAM 1/2MB",
         "05-06-2026 07:08:10 RAM 1/2 -x-", "05-06-2026 07:08:09.123456789");
}

// As wrappers and people print it anew.
TEST(TegrastatsLine, SpacesBetweenWordsAndWithinAField) {
  expect("  RAM   1/2MB\t(lfb   3x4MB)\t\tAPE\v5 \r", "RAM 1/2 3x4096 APE @5");
  expect("RAM 5528/7620 MB", "RAM 5528/7620 -x-");
  expect("SWAP 471/3810 MB", "SWAP 471/3810 -");
  expect("RAM: 5528 / 7620 MiB (lfb 12 x 4 MB )", "RAM 5528/7620 12x4096");
  expect("RAM 5528MB/7620MB ( lfb 1x512 kB)", "RAM 5528/7620 1x512");
  expect("SWAP 1/2 MB (cached 3 MB)", "SWAP 1/2 3");
  expect("IRAM 0/252 kB (lfb 252 kB)", "IRAM 0/252 252");
  expect(
      "CPU [5 % @ 729, off] EMC_FREQ 3 %@ 2133 GR3D_FREQ 7% @ [305, 306] NVENC @ 0 cpu @ 47.5 C "
      "tj@ 48C VDD_IN 4067 mW / 4100 mW VDD_SOC 5/6",
      "CPU 5%@729,off EMC 3%@2133 GR3D 7%@305@306 NVENC @0 cpu 47.5 tj 48 "
      "VDD_IN=4067/4100 VDD_SOC=5/6");
}

TEST(TegrastatsLine, ASizeIsNoRail) {
  for (const std::string_view text :
       {"RAM 5528/7620", "SWAP 471/3810 pages", "CMA 12/256", "ram 1mW/2mW", "GPU 512/1024 MB",
        "GPU 512/1024MB", "NVMAP 5/6 kB", "VIC 5/6 GiB", "FREE 5/6 M"}) {
    expect(text, "", text);
  }
  expect("GPU 512/1024 M2 5/6", "GPU=512/1024 M2=5/6");
}

// The ugly ladder.

TEST(TegrastatsLine, NothingAtAllOrAnyBytes) {
  for (const std::string_view text : {"", " ", "\t \r"}) {
    EXPECT_EQ(parsed(text), Line()) << '"' << text << '"';
  }
  using namespace std::string_view_literals;
  expect("RAM\0 1/2MB \x01\xff\xfe\x80 CPU [1%@2\0] \x1b[31m APE\x7f 5"sv, "",
         "RAM\0 1/2MB \x01\xff\xfe\x80 CPU [1%@2\0] \x1b[31m APE\x7f 5"sv);
}

TEST(TegrastatsLine, AWordThatIsCutIsNoField) {
  constexpr std::string_view kLine =
      "RAM 6879/62841MB (lfb 3x4MB) SWAP 0/31421MB (cached 0MB) CPU [5%@729,off] EMC_FREQ 0%@2133 "
      "GR3D_FREQ 1%@[305,306] PVA0_FREQ off cpu@47.687C VDD_GPU_SOC 2801mW/2802mW";
  for (const std::string_view whole :
       {"RAM 6879/62841MB (lfb 3x4MB)", "SWAP 0/31421MB (cached 0MB)", "CPU [5%@729,off]",
        "GR3D_FREQ 1%@[305,306]", "cpu@47.687C"}) {
    ASSERT_NE(kLine.find(whole), std::string_view::npos);
    for (std::size_t n = 1; n < whole.size(); ++n) {
      const Line line = parsed(whole.substr(0, n));
      EXPECT_THAT(line.cores, IsEmpty()) << whole.substr(0, n);
      EXPECT_FALSE(line.gr3d.mhz.size() > 1) << whole.substr(0, n);
      EXPECT_THAT(line.zones, IsEmpty()) << whole.substr(0, n);
      EXPECT_FALSE(line.ram && line.ram->total_mb != 62841) << whole.substr(0, n);
    }
  }
}

TEST(TegrastatsLine, NumbersBeyondAnySenseAndBracketsThatDoNotMatch) {
  for (const std::string_view text : {"RAM 1/99999999999999999999MB",
                                      "EMC_FREQ 5000%@408",
                                      "EMC_FREQ 5%@4294967296",
                                      "cpu@1001C",
                                      "cpu@1.1234567891C",
                                      "VDD_IN 10000000000mW/1mW",
                                      "APE 18446744073709551616",
                                      "MTS fg 99999999999% bg 1%",
                                      "EDP limit 1e9",
                                      "cpu@C",
                                      "cpu@.5C",
                                      "cpu@5.C",
                                      "cpu@--5C",
                                      "VDD_IN -/-",
                                      "RAM -1/2MB",
                                      "GR3D_FREQ 0x1%",
                                      "CPU [-1%@5]",
                                      "CPU [5%@729",
                                      "CPU [",
                                      "CPU []",
                                      "CPU [,]",
                                      "CPU [5%@729,]",
                                      "CPU [5%@729]]",
                                      "CPU [[5%@729]",
                                      "CPU 5%@729]",
                                      "GR3D_FREQ 1%@[305",
                                      "GR3D_FREQ 1%@305]",
                                      "GR3D_FREQ @[]",
                                      "cpu [5%]@",
                                      "CPU [5%@729]x"}) {
    expect(text, "", text);
  }
  // What is behind is still read.
  expect("CPU [5%@729,6%@729 APE 150", "APE @150", "CPU [5%@729,6%@729");
}

TEST(TegrastatsLine, LongWordsAreCutAndCounted) {
  const std::string word(10'000, 'x');
  const Line line = parsed(word + " RAM 1/2MB " + word + "@5C " + word + " 5");
  EXPECT_EQ(line.fields, 1U);
  ASSERT_THAT(line.unknown, SizeIs(4));
  EXPECT_EQ(line.unknown[0], std::string(120, 'x'));
  EXPECT_EQ(line.unknown_cut, 3U);
}

TEST(TegrastatsLine, EverythingIsBounded) {
  std::string text = "CPU [0%@1";
  for (int i = 1; i < 1000; ++i) text += ",1%@2";
  text += "] GR3D_FREQ @[1";
  for (int i = 1; i < 20; ++i) text += ",2";
  text += "]";
  for (int i = 0; i < 100; ++i) {
    const std::string n = std::to_string(i);
    text += " NVX" + n + " off RAIL" + n + "x 1mW/2mW zone" + n + "@3C what" + n;
  }
  const Line line = parsed(text);
  EXPECT_THAT(line.cores, SizeIs(256));
  EXPECT_THAT(line.gr3d.mhz, SizeIs(16));
  EXPECT_THAT(line.engines, SizeIs(64));
  EXPECT_THAT(line.rails, SizeIs(64));
  EXPECT_THAT(line.zones, SizeIs(64));
  EXPECT_THAT(line.unknown, SizeIs(64));
  EXPECT_EQ(line.unknown_more, 36U);
  EXPECT_EQ(line.beyond_bound, 744U + 4 + 36 + 36 + 36);
}

// What would be gone over again and again by a parser that looks ahead: four times of it must not
// take sixteen times as long.
TEST(TegrastatsLine, TimeGrowsWithTheLineOnly) {
  for (const std::string_view piece : {"CPU [1%@2, ", "CPU [", "GR3D_FREQ @[1, ", "MTS fg 1% bg ",
                                       "a", "[", "1%@2, ", "RAM ", "A@1C ", "EDP limit "}) {
    const auto elapsed = [&](std::size_t size) {
      std::string text = "CPU [";
      while (text.size() < size) text += piece;
      const auto begin = cpu_time();
      const Line line = parsed(text);
      EXPECT_LE(line.unknown.size(), 64U);
      return cpu_time() - begin;
    };
    const auto quarter = std::max(elapsed(1U << 16), std::chrono::nanoseconds(2'000'000));
    EXPECT_LT(elapsed(1U << 18), quarter * 12) << piece;
  }
}

// What tegrastats would print for a reading is read back as that reading: thousands of random ones.

TEST(TegrastatsLine, IsReadBackAsItWasPrinted) {
  test::RandomInput random(10);
  TegrastatsLine reused;
  for (int cycle = 0; cycle < 2000; ++cycle) {
    const auto number = [&](std::uint32_t most) {
      return static_cast<std::uint32_t>(random.number(most));
    };
    const auto mb = [&] { return number(1U << 20); };
    // "off", "7%@1190", "7%" or "@1190".
    const auto load_of = [&] {
      TegrastatsLine::Load out;
      const std::uint64_t form = random.below(4);
      out.off = form == 0;
      if (form == 1 || form == 3) out.percent = number(100);
      if (form == 2 || form == 3) out.mhz = number(4000);
      return out;
    };
    TegrastatsLine needed;
    std::ostringstream text;
    if (random.one_in(2)) text << (needed.time = "11-20-2026 02:11:47") << ' ';
    // Not emplace(): Clang 14 does not see that these may be made without values.
    needed.ram = Line::Ram{mb(), mb(), {}, {}};
    text << "RAM " << needed.ram->used_mb << '/' << needed.ram->total_mb << "MB";
    if (random.one_in(2)) {
      const std::uint32_t megabytes = 1U << random.below(3);
      needed.ram->lfb_blocks = number(100'000);
      needed.ram->lfb_block_kb = megabytes * 1024;
      text << " (lfb " << *needed.ram->lfb_blocks << 'x' << megabytes << "MB)";
    }
    if (random.one_in(2)) {
      needed.swap = Line::Swap{mb(), mb(), mb()};
      text << " SWAP " << needed.swap->used_mb << '/' << needed.swap->total_mb << "MB (cached "
           << *needed.swap->cached_mb << "MB)";
    }
    for (std::uint64_t left = 1 + random.below(14); left > 0; --left) {
      Line::Core core;
      core.off = random.one_in(4);
      if (!core.off) core.percent = number(100);
      if (!core.off) core.mhz = number(4000);
      needed.cores.push_back(core);
    }
    text << " CPU [" << cores(needed) << ']';
    if (random.one_in(2)) text << " EMC_FREQ " << load(*(needed.emc = load_of()));
    for (const char* name : {"NVENC", "VIC", "APE"}) {
      if (random.one_in(2)) continue;
      needed.engines.push_back({name, load_of()});
      text << ' ' << name << ' ' << load(needed.engines.back().load);
    }
    for (const char* name : {"cpu", "soc0", "tj"}) {
      if (random.one_in(2)) continue;
      // In halves: exact as a double, and as it is printed.
      needed.zones.push_back({name, (static_cast<double>(random.below(500)) - 250) / 2, {}});
      text << ' ' << name << '@' << *needed.zones.back().celsius << 'C';
    }
    for (const char* name : {"VDD_IN", "VDD_CPU_GPU_CV"}) {
      if (random.one_in(2)) continue;
      Line::Rail& rail = needed.rails.emplace_back();
      rail.name = name;
      rail.now_mw = static_cast<std::int32_t>(number(100'000));
      rail.average_mw = static_cast<std::int32_t>(number(100'000));
      text << ' ' << name << ' ' << rail.now_mw << "mW/" << *rail.average_mw << "mW";
    }
    parse_tegrastats_line(text.str(), reused);
    EXPECT_TRUE(reused.unknown.empty()) << text.str() << "\nunknown: " << reused.unknown.front();
    needed.fields = reused.fields;
    needed.known_words = reused.known_words;
    ASSERT_EQ(reused, needed) << text.str();
  }
}

}  // namespace
}  // namespace jetmem
