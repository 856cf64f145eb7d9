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

namespace jetmem {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;
using Line = TegrastatsLine;

Line parsed(std::string_view text) {
  Line line;
  parse_tegrastats_line(text, line);
  return line;
}

const Line::Engine* engine(const Line& line, std::string_view name) {
  for (const Line::Engine& one : line.engines) {
    if (one.name == name) return &one;
  }
  return nullptr;
}

std::string load(const Line::Load& load) {
  if (load.off) return "off";
  std::string text = load.percent ? std::to_string(*load.percent) + "%" : "";
  if (load.mhz) text += "@" + std::to_string(*load.mhz);
  return text;
}
std::string engine_load(const Line& line, std::string_view name) {
  const Line::Engine* one = engine(line, name);
  return one == nullptr ? "none" : load(one->load);
}

std::string rails(const Line& line) {
  std::string text;
  for (const Line::Rail& rail : line.rails) {
    text += (text.empty() ? "" : " ") + rail.name + "=" + std::to_string(rail.now_mw);
    if (rail.average_mw) text += "/" + std::to_string(*rail.average_mw);
    if (rail.max_mw) text += "/" + std::to_string(*rail.max_mw);
  }
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
  return out.str() + rails(line);
}

TEST(TegrastatsLine, OfEveryGeneration) {
  struct Generation {
    const char* of;  // from the first line that people have published to the last
    const char* printed;
    const char* read;
  };
  for (const Generation& each : {
           Generation{
               "TK1 of 21",
               "RAM 702/1876MB (lfb 120x4MB) SWAP 0/1024MB (cached 0MB) cpu "
               "[12%,off,3%,off]@1092 EMC 4%@528 AVP 1%@81 VDE 120 GR3D 0%@72 EDP limit 2065",
               "RAM 702/1876 120x4096 SWAP 0/1024 0 CPU 12%@1092,off,3%@1092,off EMC 4%@528 "
               "GR3D 0%@72 AVP 1%@81 VDE @120 EDP 2065 "},
           Generation{"TX1 of 28, with its encoder",
                      "RAM 1540/3983MB (lfb 9x4MB) IRAM 4/252kB(lfb 248kB) cpu "
                      "[40%,45%]@1734 EMC 55%@1600 APE 25 NVDEC 716 MSENC 600 GR3D 12%@76 PLL@37C "
                      "VDD_IN 2532/2698",
                      "RAM 1540/3983 9x4096 IRAM 4/252 248 CPU 40%@1734,45%@1734 EMC 55%@1600 GR3D "
                      "12%@76 APE @25 NVDEC @716 MSENC @600 PLL 37 VDD_IN=2532/2698"},
           Generation{
               "TX2, which has MTS and cores that are off",
               "RAM 2586/7846MB (lfb 1x512kB) CPU [10%@960,off,off,20%@959] EMC_FREQ 10%@665 "
               "GR3D_FREQ 53%@140 APE 150 MTS fg 2% bg 9% BCPU@41C thermal@40.25C VDD_WIFI 0/19",
               "RAM 2586/7846 1x512 CPU 10%@960,off,off,20%@959 EMC 10%@665 GR3D 53%@140 APE "
               "@150 MTS 2/9 BCPU 41 thermal 40.25 VDD_WIFI=0/19"},
           // One name is core list, zone and rail.
           Generation{"AGX Xavier without root",
                      "RAM 1903/15692MB (lfb 3251x4MB) CPU [1%@1190,2%@1190] EMC_FREQ 0% GR3D_FREQ "
                      "39% GPU@32C CPU@33.5C PMIC@100C GPU 0/16 CPU 216/300 SYS5V 1889/1850",
                      "RAM 1903/15692 3251x4096 CPU 1%@1190,2%@1190 EMC 0% GR3D 39% GPU 32 CPU "
                      "33.5 PMIC 100 GPU=0/16 CPU=216/300 SYS5V=1889/1850"},
           // -256 is no temperature.
           Generation{
               "Xavier NX of 35",
               "03-09-2023 07:08:09 RAM 4412/6989MB (lfb 237x4MB) SWAP 139/3494MB (cached "
               "2MB) CPU [9%@1190,6%@1190] EMC_FREQ 10%@1600 GR3D_FREQ 62%@[306] VIC_FREQ 115 "
               "APE 150 MTS fg 0% bg 0% AO@41.5C GPU@-256C VDD_IN 4067mW/4100mW",
               "03-09-2023 07:08:09 RAM 4412/6989 237x4096 SWAP 139/3494 2 CPU "
               "9%@1190,6%@1190 EMC 10%@1600 GR3D 62%@306 VIC @115 APE @150 MTS 0/0 AO 41.5 "
               "GPU - VDD_IN=4067/4100"},
           Generation{
               "AGX Orin of 35, with a second GPC and NC twice",
               "RAM 1282/62795MB (lfb 15152x4MB) GR3D_FREQ 7%@306 GR3D2_FREQ 7%@408 VIC_FREQ "
               "729 NVDLA0_FREQ @1600 NC 0mW/0mW VDDQ_VDD2_1V8AO 301mW/302mW NC 1mW/0mW ",
               "RAM 1282/62795 15152x4096 GR3D 7%@306 GR3D2 7%@408 VIC @729 NVDLA0 @1600 "
               "NC=0/0 VDDQ_VDD2_1V8AO=301/302 NC=1/0"},
           Generation{
               "Orin of 36, as root",
               "05-15-2025 18:30:28 RAM 6982/7620MB (lfb 5x1MB) CPU [97%@1984] EMC_FREQ "
               "18%@3199 GR3D_FREQ 84%@[713,714] NVENC 1%@115 NVJPG1 off OFA off PVA0_FREQ off "
               "APE 174 cv0@63.031C",
               "05-15-2025 18:30:28 RAM 6982/7620 5x1024 CPU 97%@1984 EMC 18%@3199 GR3D "
               "84%@713@714 NVENC 1%@115 NVJPG1 off OFA off PVA0 off APE @174 cv0 63.031 "},
           Generation{"Orin of 36 without root, which has no EMC at all",
                      "RAM 775/7620MB (lfb 3x4MB) CPU [1%@729] GR3D_FREQ 0% tj@49.156C ",
                      "RAM 775/7620 3x4096 CPU 1%@729 GR3D 0% tj 49.156 "},
           Generation{"Orin of 39, which has maxima",
                      "GR3D_FREQ 12%@[1300,1300] NVENC0 off cpu@47.906C/48.343C gpu@-256C/44C "
                      "cv0@-256C/-256C VDD_GPU_SOC 3034mW/3049mW/3412mW",
                      "GR3D 12%@1300@1300 NVENC0 off cpu 47.906/48.343 gpu -/44 cv0 - "
                      "VDD_GPU_SOC=3034/3049/3412"},
           // This release prints clocks and no load.
           Generation{
               "Thor of 38",
               "RAM 4208/125773MB (lfb 31x4MB) CPU [1%@972] EMC_FREQ @665 GR3D_FREQ "
               "@[0,314,1098] NVENC0_FREQ @0 OFA_FREQ @315 soc012@33.781C VDD_GPU -392mW/0mW VIN "
               "19780mW/20000mW",
               "RAM 4208/125773 31x4096 CPU 1%@972 EMC @665 GR3D @0@314@1098 NVENC0 @0 OFA "
               "@315 soc012 33.781 VDD_GPU=-392/0 VIN=19780/20000"},
       }) {
    const Line line = parsed(each.printed);
    EXPECT_EQ(all(line), each.read) << each.of;
    EXPECT_THAT(line.unknown, IsEmpty()) << each.of;
  }
}

TEST(TegrastatsLine, CoresThatAreOffAndLoadsWithoutClocks) {
  EXPECT_EQ(parsed("CPU [10%@960,off,off,20%@959]").cores_off(), 2U);
  const Line line = parsed("EMC_FREQ 0% GR3D_FREQ 39%");
  EXPECT_TRUE(line.emc->quality_unknown() && line.gr3d.quality_unknown());
  EXPECT_FALSE(parsed("GR3D_FREQ 62%@[306]").gr3d.quality_unknown());
}

TEST(TegrastatsLine, AndroidAsFarAsItIsKnown) {
  const Line line = parsed(
      "E/TegraStats( 42): RAM 250/490MB (lfb 17x1MB) GART 28/32MB (lfb 4MB) IRAM 36/256kB (lfb "
      "128kb) | DFS(%@MHz): cpu [61%,45%]@835 avp 17%@100 emc 25%@333");
  EXPECT_EQ(all(line),
            "RAM 250/490 17x1024 IRAM 36/256 128 CPU 61%@835,45%@835 EMC 25%@333 avp 17%@100 ");
  EXPECT_EQ(line.fields, 5U);
  EXPECT_THAT(line.unknown, ElementsAre("E/TegraStats(", "42):", "GART", "28/32MB", "(lfb", "4MB)",
                                        "|", "DFS(%@MHz):"));
}

// Whatever order, whatever is missing.

TEST(TegrastatsLine, FieldsStandInAnyOrder) {
  const Line forward = parsed("RAM 1/2MB (lfb 3x4MB) CPU [5%@6] SWAP 7/8MB (cached 9MB) APE 10");
  const Line backward = parsed("APE 10 SWAP 7/8MB (cached 9MB) CPU [5%@6] RAM 1/2MB (lfb 3x4MB)");
  EXPECT_EQ(forward, backward);
  EXPECT_EQ(forward.fields, 4U);
}

TEST(TegrastatsLine, PartsThatMayBeMissing) {
  EXPECT_EQ(parsed("RAM 1/2MB").ram, (Line::Ram{1, 2, {}, {}}));
  EXPECT_EQ(parsed("SWAP 1/2MB").swap, (Line::Swap{1, 2, {}}));
  EXPECT_EQ(parsed("IRAM 1/2kB").iram, (Line::Iram{1, 2, {}}));
  EXPECT_EQ(cores(parsed("CPU [6%,1%,off]")), "6%,1%,off");
  EXPECT_EQ(cores(parsed("CPU [6%@1, off,\t1%@2]")), "6%@1,off,1%@2");
  const Line line = parsed("RAM 1/2MB (lfb much)");
  EXPECT_EQ(line.ram, (Line::Ram{1, 2, {}, {}}));
  EXPECT_THAT(line.unknown, ElementsAre("(lfb", "much)"));
}

TEST(TegrastatsLine, EveryFormOfALoad) {
  EXPECT_EQ(load(*parsed("EMC 408").emc), "@408");
  EXPECT_TRUE(parsed("GR3D_FREQ off").gr3d.off);
  EXPECT_THAT(parsed("GR3D_FREQ 408").gr3d.mhz, ElementsAre(408));
  EXPECT_EQ(engine_load(parsed("VIC_FREQ 0%@115"), "VIC"), "0%@115");
  EXPECT_EQ(engine_load(parsed("VIC_FREQ 4%"), "VIC"), "4%");
}

TEST(TegrastatsLine, EmcAt0WithoutAClockWasNotRead) {
  EXPECT_FALSE(parsed("EMC_FREQ 0%").emc_percent_is_known());
  EXPECT_TRUE(parsed("EMC_FREQ 1%").emc_percent_is_known());
  EXPECT_TRUE(parsed("EMC_FREQ 0%@204").emc_percent_is_known());
  EXPECT_FALSE(parsed("EMC_FREQ @204").emc_percent_is_known());
}

// Engines that no release has yet.
TEST(TegrastatsLine, NewEnginesAreKnownByTheirForm) {
  EXPECT_EQ(engine_load(parsed("NVENC7 716"), "NVENC7"), "@716");
  EXPECT_EQ(engine_load(parsed("NEWONE off"), "NEWONE"), "off");
  EXPECT_EQ(engine_load(parsed("NEWONE_FREQ 100"), "NEWONE"), "@100");
  EXPECT_EQ(engine_load(parsed("NEWONE 3%@100"), "NEWONE"), "3%@100");
}

// Zones and rails of carrier boards are called as their makers like.
TEST(TegrastatsLine, NamesOfZonesAndRails) {
  const Line line = parsed("thermal-fan-est@46.5C 1-004c@30C VDD_3.3V 5mW/6mW Vdd-Cam 7mW/8mW");
  EXPECT_THAT(line.unknown, IsEmpty());
  EXPECT_EQ(all(line), "thermal-fan-est 46.5 1-004c 30 VDD_3.3V=5/6 Vdd-Cam=7/8");
  EXPECT_THAT(parsed("@33C").unknown, ElementsAre("@33C"));
  EXPECT_THAT(parsed("12 5%@6").unknown, ElementsAre("12", "5%@6"));
}

// A number behind a name that nobody knows could be anything.
TEST(TegrastatsLine, NumbersWithoutAFormAreNotGuessed) {
  EXPECT_THAT(parsed("ERRORS 7").unknown, ElementsAre("ERRORS", "7"));
  EXPECT_THAT(parsed("LOAD 7%").unknown, ElementsAre("LOAD", "7%"));
  EXPECT_THAT(parsed("light off").unknown, ElementsAre("light", "off"));
  EXPECT_THAT(parsed("page 3/9").unknown, ElementsAre("page", "3/9"));
  EXPECT_THAT(parsed("_FREQ 5").unknown, ElementsAre("_FREQ", "5"));
}

TEST(TegrastatsLine, AFieldThatStandsTwiceCountsOnce) {
  const Line line = parsed(
      "RAM 1/2MB RAM 3/4MB CPU [1%@2] CPU [3%@4] EMC_FREQ 1%@2 EMC_FREQ 3%@4 GR3D_FREQ 1%@2 "
      "GR3D_FREQ 3%@4 APE 1 APE 2 VIC off VIC_FREQ off gpu@1C gpu@2C 01-02-2026 03:04:05 "
      "01-02-2026 "
      "03:04:06");
  EXPECT_EQ(line.ram->used_mb, 1U);
  EXPECT_EQ(cores(line), "1%@2");
  EXPECT_EQ(line.time, "01-02-2026 03:04:05");
  EXPECT_THAT(line.engines, SizeIs(2));
  EXPECT_THAT(line.unknown,
              ElementsAre("RAM", "3/4MB", "CPU", "[3%@4]", "EMC_FREQ", "3%@4", "GR3D_FREQ", "3%@4",
                          "APE", "2", "VIC_FREQ", "off", "gpu@2C", "01-02-2026", "03:04:06"));
}

TEST(TegrastatsLine, PrefixesOfLogsAreUnknownAndTheRestIsNot) {
  const Line line = parsed("[2026-08-23 16:30:36] : RAM 4923/7850MB (lfb 360x4MB) VDD_IN 1/2");
  EXPECT_EQ(line.fields, 2U);
  EXPECT_THAT(line.unknown, ElementsAre("[2026-08-23", "16:30:36]", ":"));
  const Line twice = parsed("05-06-2026 07:08:09.123456789 05-06-2026 07:08:10 RAM 1/2MB");
  EXPECT_EQ(twice.time, "05-06-2026 07:08:10");
  EXPECT_THAT(twice.unknown, ElementsAre("05-06-2026", "07:08:09.123456789"));
}

TEST(TegrastatsLine, AnyWhiteSpaceStandsBetweenWords) {
  const Line line = parsed("  RAM   1/2MB\t(lfb   3x4MB)\t\tAPE\v5 \r");
  EXPECT_EQ(line.ram, (Line::Ram{1, 2, 3, 4096}));
  EXPECT_EQ(engine_load(line, "APE"), "@5");
  EXPECT_THAT(line.unknown, IsEmpty());
}

// As wrappers and people print it anew.
TEST(TegrastatsLine, SpacesWithinAField) {
  EXPECT_EQ(parsed("RAM 5528/7620 MB").ram, (Line::Ram{5528, 7620, {}, {}}));
  EXPECT_EQ(parsed("SWAP 471/3810 MB").swap, (Line::Swap{471, 3810, {}}));
  EXPECT_EQ(parsed("RAM: 5528 / 7620 MiB (lfb 12 x 4 MB )").ram, (Line::Ram{5528, 7620, 12, 4096}));
  EXPECT_EQ(parsed("RAM 5528MB/7620MB ( lfb 1x512 kB)").ram, (Line::Ram{5528, 7620, 1, 512}));
  EXPECT_EQ(parsed("SWAP 1/2 MB (cached 3 MB)").swap, (Line::Swap{1, 2, 3}));
  EXPECT_EQ(parsed("IRAM 0/252 kB (lfb 252 kB)").iram, (Line::Iram{0, 252, 252}));
  const Line line = parsed(
      "CPU [5 % @ 729, off] EMC_FREQ 3 %@ 2133 GR3D_FREQ 7% @ [305, 306] NVENC @ 0 cpu @ 47.5 C "
      "tj@ 48C VDD_IN 4067 mW / 4100 mW VDD_SOC 5/6");
  EXPECT_THAT(line.unknown, IsEmpty());
  EXPECT_EQ(all(line),
            "CPU 5%@729,off EMC 3%@2133 GR3D 7%@305@306 NVENC @0 cpu 47.5 tj 48 "
            "VDD_IN=4067/4100 VDD_SOC=5/6");
}

TEST(TegrastatsLine, ASizeIsNoRail) {
  for (const std::string_view text :
       {"RAM 5528/7620", "SWAP 471/3810 pages", "CMA 12/256", "ram 1mW/2mW", "GPU 512/1024 MB",
        "GPU 512/1024MB", "NVMAP 5/6 kB", "VIC 5/6 GiB", "FREE 5/6 M"}) {
    const Line line = parsed(text);
    EXPECT_EQ(rails(line), "") << text;
    EXPECT_FALSE(line.unknown.empty()) << text;
  }
  EXPECT_EQ(rails(parsed("GPU 512/1024 M2 5/6")), "GPU=512/1024 M2=5/6");
}

// The ugly ladder.

TEST(TegrastatsLine, NothingAtAll) {
  for (const std::string_view text : {"", " ", "\t \r"}) {
    EXPECT_EQ(parsed(text), Line()) << '"' << text << '"';
  }
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

TEST(TegrastatsLine, NumbersBeyondAnySense) {
  for (const std::string_view text :
       {"RAM 1/99999999999999999999MB", "EMC_FREQ 5000%@408", "EMC_FREQ 5%@4294967296", "cpu@1001C",
        "cpu@1.1234567891C", "VDD_IN 10000000000mW/1mW", "APE 18446744073709551616",
        "MTS fg 99999999999% bg 1%", "EDP limit 1e9", "cpu@C", "cpu@.5C", "cpu@5.C", "cpu@--5C",
        "VDD_IN -/-", "RAM -1/2MB", "GR3D_FREQ 0x1%", "CPU [-1%@5]"}) {
    const Line line = parsed(text);
    EXPECT_EQ(line.fields, 0U) << text;
    EXPECT_FALSE(line.unknown.empty()) << text;
  }
}

TEST(TegrastatsLine, BracketsThatDoNotMatch) {
  for (const std::string_view text :
       {"CPU [5%@729", "CPU [", "CPU []", "CPU [,]", "CPU [5%@729,]", "CPU [5%@729]]",
        "CPU [[5%@729]", "CPU 5%@729]", "GR3D_FREQ 1%@[305", "GR3D_FREQ 1%@305]", "GR3D_FREQ @[]",
        "cpu [5%]@", "CPU [5%@729]x"}) {
    const Line line = parsed(text);
    EXPECT_EQ(line.fields, 0U) << text;
    EXPECT_FALSE(line.unknown.empty()) << text;
  }
  const Line line = parsed("CPU [5%@729,6%@729 APE 150");
  EXPECT_EQ(engine_load(line, "APE"), "@150") << "what is behind is still read";
  EXPECT_THAT(line.unknown, ElementsAre("CPU", "[5%@729,6%@729"));
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

TEST(TegrastatsLine, AnyBytes) {
  const std::string_view text("RAM\0 1/2MB \x01\xff\xfe\x80 CPU [1%@2\0] \x1b[31m APE\x7f 5", 40);
  const Line line = parsed(text);
  EXPECT_EQ(line.fields, 0U);
  EXPECT_THAT(line.unknown, ElementsAre(std::string("RAM\0", 4), "1/2MB", "\x01\xff\xfe\x80", "CPU",
                                        std::string("[1%@2\0]", 7), "\x1b[31m", "APE\x7f", "5"));
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

}  // namespace
}  // namespace jetmem
