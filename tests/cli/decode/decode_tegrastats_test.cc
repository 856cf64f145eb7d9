// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "cli/exit_codes.h"
#include "tests/cli/command_run.h"
#include "tests/temp_dir.h"

namespace jetmem {
namespace {

using Json = nlohmann::json;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

constexpr std::string_view kOrin =
    "05-15-2025 18:30:28 RAM 6982/7620MB (lfb 5x1MB) SWAP 2640/16384MB (cached 202MB) CPU "
    "[97%@1984,off] EMC_FREQ 18%@3199 GR3D_FREQ 84%@[713,714] NVENC 1%@115 NVDEC off PVA0_FREQ off "
    "APE 174 cpu@47.9C/48.343C cv0@-256C PMIC@50C VDD_IN 17946mW/15710mW/20001mW NC 0mW/0mW NC "
    "0mW/0mW\n";

CommandRun decode_tegrastats(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), {"decode", "tegrastats"});
  return run_command(arguments);
}

CommandRun tegrastats_of(std::string_view input, std::vector<std::string> options = {}) {
  const TempDir dir;
  options.insert(options.begin(), dir.write("lines", input));
  CommandRun run = decode_tegrastats(options);
  EXPECT_EQ(run.status, 0);
  return run;
}

std::string text_of(std::string_view input) {
  const std::string text = tegrastats_of(input).out;
  EXPECT_LE(widest(text), 80U) << text;
  EXPECT_TRUE(has_none(text, {" \n"}));
  return text;
}

std::vector<Json> objects_of(std::string_view input) {
  return json_lines(tegrastats_of(input, {"--json"}).out);
}

Json object_of(std::string_view input) {
  const auto list = objects_of(input);
  EXPECT_EQ(list.size(), 1U);
  return list.empty() ? Json() : list[0];
}

TEST(DecodeTegrastats, JsonIsExactlyThis) {
  EXPECT_EQ(object_of(kOrin), Json::parse(R"({
    "time": "05-15-2025 18:30:28",
    "ram": {"used_mb": 6982, "total_mb": 7620, "lfb_blocks": 5, "lfb_block_kb": 1024},
    "swap": {"used_mb": 2640, "total_mb": 16384, "cached_mb": 202},
    "cpu": [{"percent": 97, "mhz": 1984}, null],
    "emc": {"percent": 18, "mhz": 3199},
    "gr3d": {"percent": 84, "mhz": [713, 714]},
    "engines": {"NVENC": {"percent": 1, "mhz": 115}, "NVDEC": "off", "PVA0": "off",
                "APE": {"mhz": 174}},
    "temperatures": {"cpu": 47.9, "PMIC": 50.0},
    "temperatures_max": {"cpu": 48.343},
    "rails": [{"name": "VDD_IN", "now_mw": 17946, "avg_mw": 15710, "max_mw": 20001},
              {"name": "NC", "now_mw": 0, "avg_mw": 0}, {"name": "NC", "now_mw": 0, "avg_mw": 0}],
    "unknown": []})"));
}

TEST(DecodeTegrastats, JsonOfOtherLines) {
  const std::pair<const char*, const char*> lines[] = {
      {"IRAM 4/252kB(lfb 248kB) cpu [12%,off]@1092 AVP 1%@81 VDE 0 GR3D 5%@72 MTS fg 2% bg 9% "
       "EDP limit 2065\n",
       R"({"iram": {"used_kb": 4, "total_kb": 252, "lfb_kb": 248},
           "cpu": [{"percent": 12, "mhz": 1092}, null],
           "gr3d": {"percent": 5, "mhz": [72]},
           "engines": {"AVP": {"percent": 1, "mhz": 81}, "VDE": {"mhz": 0}},
           "mts": {"fg_percent": 2, "bg_percent": 9},
           "edp_limit_mhz": 2065,
           "unknown": []})"},
      // Percentages without a clock.
      {"EMC_FREQ 0% GR3D_FREQ 39% VIC_FREQ 4%\n",
       R"({"emc": {"percent": 0, "quality": "unknown"},
           "gr3d": {"percent": 39, "quality": "unknown"},
           "engines": {"VIC": {"percent": 4, "quality": "unknown"}},
           "unknown": []})"},
      {"EMC_FREQ 3%\n", R"({"emc": {"percent": 3, "quality": "unknown"}, "unknown": []})"},
      {"EMC_FREQ 0%@204\n", R"({"emc": {"percent": 0, "mhz": 204}, "unknown": []})"},
      {"GR3D_FREQ @[0,314]\n", R"({"gr3d": {"mhz": [0, 314]}, "unknown": []})"},
      {"tegrastats started 12 4\n", R"({"unknown": ["tegrastats", "started", "12", "4"]})"},
      {"\n", R"({"unknown": []})"}};
  for (const auto& [line, object] : lines) EXPECT_EQ(object_of(line), Json::parse(object)) << line;
  EXPECT_EQ(tegrastats_of("", {"--json"}).out, "");
}

TEST(DecodeTegrastats, AnyBytesGiveValidJsonAndSafeText) {
  using std::string_literals::operator""s;
  const std::string bytes =
      "RAM 1/9MB \x01\x1b[31m \xff\xfe\x80\xc0 \x7f \xc2\x9bZ a\0b \xe2\x80\xae\n"s;
  const Json object = object_of(bytes);
  EXPECT_EQ(object["ram"]["total_mb"], 9);
  EXPECT_EQ(object["unknown"][0], "\x01") << "as it was, without the terminal's colour";
  EXPECT_EQ(object["unknown"].size(), 6U);
  for (const CommandRun& run : {tegrastats_of(bytes), tegrastats_of(bytes, {"--json"})}) {
    for (const char c : run.out) {
      EXPECT_TRUE(c == '\n' || static_cast<unsigned char>(c) >= 0x20) << static_cast<int>(c);
    }
    EXPECT_TRUE(has_none(run.out, {"\x7f", "\xc2\x9b", "\xe2\x80\xae"}));
  }
}

TEST(DecodeTegrastats, JsonCountsOmittedItems) {
  std::string text;
  for (int i = 0; i < 100; ++i) text += "what ";
  for (int i = 0; i < 70; ++i) text += "R" + std::to_string(i) + "A 1mW/2mW ";
  const Json object = object_of(std::string(200, 'x') + " " + text + "\n");
  EXPECT_EQ(object["unknown"].size(), 64U);
  EXPECT_EQ(object["unknown_more"], 37);
  EXPECT_EQ(object["unknown_cut"], 1);
  EXPECT_EQ(object["beyond_bound"], 6);
}

TEST(DecodeTegrastats, ALineLongerThanABufferIsCutAtAWord) {
  std::string text = "RAM 1/9MB ";
  while (text.size() < (64U << 10) - 5) text += "x ";
  text += "APE 150150 RAM\nRAM 2/9MB\n";
  const CommandRun run = tegrastats_of(text, {"--json"});
  EXPECT_THAT(run.err, HasSubstr("1 line longer than 64 KiB"));
  const std::vector<Json> lines = json_lines(run.out);
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_EQ(lines[0]["ram"]["used_mb"], 1);
  EXPECT_EQ(lines[0]["cut"], true);
  EXPECT_FALSE(lines[0].contains("engines")) << "a number that was cut is none";
  EXPECT_EQ(lines[1], Json::parse(R"({"ram":{"used_mb":2,"total_mb":9},"unknown":[]})"));
}

TEST(DecodeTegrastats, AnEndlessWordIsNotLost) {
  const Json object = object_of(std::string(200'000, 'x') + "\n");
  EXPECT_EQ(object["unknown"], Json::array({std::string(120, 'x')}));
  EXPECT_EQ(object["unknown_cut"], 1);
  EXPECT_EQ(object["cut"], true);
}

TEST(DecodeTegrastats, AnIncompleteLastLineIsReadAndReported) {
  const CommandRun run = tegrastats_of("RAM 1/9MB\nRAM 2/9MB", {"--json"});
  EXPECT_TRUE(gives(run, 0, {"\"used_mb\":2"}, {"the last line"}));
}

TEST(DecodeTegrastats, TextForPeople) {
  const std::string out = text_of(kOrin);
  EXPECT_THAT(out, StartsWith("line 1 [05-15-2025 18:30:28]\n"
                              "  RAM          6982 of 7620 MiB used (92 %)\n"
                              "  lfb          largest free block 1 MiB, 5 of that size\n"
                              "  swap         2640 of 16384 MiB used (16 %), 202 MiB of it cached\n"
                              "  CPU          2 cores, 1 off; load of each and its clock in MHz\n"
                              "                0:  97% 1984    1:  off\n"
                              "  EMC          18% of the bandwidth at 3199 MHz\n"
                              "  GPU          84% busy at 713, 714 MHz\n"
                              "  engines      NVENC 1% at 115 MHz, APE 174 MHz\n"
                              "  engines off  NVDEC, PVA0\n"
                              "  degrees C    cpu 47.9 (highest 48.34), cv0 off, PMIC 50\n"));
  EXPECT_THAT(out, testing::ContainsRegex(" +VDD_IN +17.9 W, average +15.7 W, highest +20.0 W"));
  EXPECT_TRUE(has_all(
      out, {"RAM is nearly full", "-256C: sensor powered off", "PMIC at 50 or 100 C is a constant",
            "not connected", "\n1 line read; RAM used 6982 of 7620 MiB; largest free block 1 MiB",
            "hottest cpu,\n47.9 C"}));
  EXPECT_TRUE(has_none(out, {"memory is fragmented", "could not be read"}));
}

TEST(DecodeTegrastats, WhatFreeBlocksSay) {
  EXPECT_THAT(text_of("RAM 3000/7620MB (lfb 5x1MB)\n"), HasSubstr("memory is fragmented"));
  // 1.8 GiB in such blocks; the rest may be page cache.
  EXPECT_THAT(text_of("RAM 18207/62841MB (lfb 466x4MB)\n"), Not(HasSubstr("few blocks")));
  EXPECT_THAT(text_of("RAM 18207/62841MB (lfb 40x4MB)\n"), HasSubstr("few blocks"));
}

TEST(DecodeTegrastats, ASampleThatAPageWrapped) {
  const auto list = objects_of(
      "> // RAM 1/9MB (lfb 1x4MB) SWAP 0/3MB\n> // CPU [1%@345,off]\n// EMC_FREQ 2%@102 cpu@35C\n"
      "RAM 2/9MB\nCPU [7%@345]\nRAM 3/9MB\n");
  ASSERT_EQ(list.size(), 3U);
  EXPECT_EQ(list[0]["cpu"].size(), 2U);
  EXPECT_EQ(list[0]["emc"]["percent"], 2);
  EXPECT_EQ(list[0]["unknown"].size(), 0U);
  EXPECT_EQ(list[1]["cpu"][0]["percent"], 7);
  EXPECT_EQ(list[2]["ram"]["used_mb"], 3);
}

TEST(DecodeTegrastats, ARemarkIsShownOnce) {
  const std::string out = text_of("EMC_FREQ 0%\nEMC_FREQ 0%\n");
  const std::string remark = "EMC 0% without a clock could not be read";
  EXPECT_NE(out.find(remark), std::string::npos);
  EXPECT_EQ(out.find(remark), out.rfind(remark));
  EXPECT_TRUE(has_all(out, {"line 1\n  EMC          could not be read",
                            "line 2\n  EMC          could not be read"}));
}

TEST(DecodeTegrastats, TheSummaryIsOfAllLines) {
  const std::string out = text_of(
      "RAM 100/900MB (lfb 3x4MB) cpu@50C VDD_IN 1mW/1mW\nwhat\nRAM 300/900MB (lfb 1x512kB) cpu@40C "
      "VDD_IN 2500mW/1mW\n");
  EXPECT_TRUE(has_all(out, {"\n  not known    what\n", "; RAM used 100 to 300 of", "512",
                            "hottest cpu, 50 C", "2.50 W"}));
  EXPECT_THAT(text_of("what\n"), HasSubstr("; 1 word not"));
}

TEST(DecodeTegrastats, LongLinesFitATerminal) {
  std::string text = "CPU [0%@1";
  for (int i = 1; i < 64; ++i) text += ",100%@100000";
  text += "] GR3D_FREQ 5%@[1";
  for (int i = 0; i < 12; ++i) text += ",100000";
  text += "]";
  for (int i = 0; i < 40; ++i)
    text += " z" + std::to_string(i) + "@1.123C/2.123C word" + std::to_string(i);
  text_of(text + "\n");
}

TEST(DecodeTegrastats, ReadsACapturedRoot) {
  EXPECT_TRUE(gives(decode_tegrastats({"--root", board("thor"), "--json"}), 0, {"\"soc012\""}));
  EXPECT_TRUE(gives(decode_tegrastats({"--root", board("x86-pc")}), kExitNoInput, {},
                    {"x86-pc/jetmem/tegrastats: No such file"}));
}

// One that is missing: tests/integration/test_exit_codes.py.
TEST(DecodeTegrastats, UnreadableInput) {
  const TempDir dir;
  EXPECT_TRUE(gives(decode_tegrastats({dir.path()}), kExitNoInput, {}, {dir.path()}));
  EXPECT_NE(decode_tegrastats({"--soc", "tegra234"}).status, 0);
}

TEST(DecodeTegrastats, WhatCarriedTheTextIsSeenThrough) {
  const std::string first = "RAM 1/9MB (lfb 1x4MB) CPU [1%@729]";
  const std::string second = "RAM 2/9MB (lfb 1x4MB) CPU [2%@729]";
  std::string wide = "\xff\xfe";
  for (const char c : first + "\r\n" + second + "\n") wide += std::string{c, '\0'};
  for (const std::string& text :
       {first + "\n" + second + "\n", first + "\r" + second + "\r",
        first + "\r\n" + second + "\r\n", first + " " + second + "\n", wide,
        "2025-10-26T05:10:54+00:00 " + first + " 10-26-2025 05:10:55 " + second + "\n",
        "Nov 28 18:49:14 orin tegrastats[812]: " + first + "\n2025-10-26T05:10:54.12Z orin " +
            "tegrastats[812]: " + second + "\n"}) {
    const std::vector<Json> samples = objects_of(text);
    ASSERT_EQ(samples.size(), 2U) << text;
    for (std::size_t i = 0; i < 2; ++i) {
      EXPECT_EQ(samples[i]["ram"]["used_mb"], i + 1) << text;
      EXPECT_EQ(samples[i]["unknown"].size(), 0U) << text;
    }
  }
}

}  // namespace
}  // namespace jetmem
