// SPDX-License-Identifier: Apache-2.0
// The screens: they fit, say what is not known, and stay what they are whatever a name holds.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text/text.h"
#include "cli/draw/bars.h"
#include "cli/draw/number_text.h"
#include "cli/draw/table.h"
#include "cli/exit_codes.h"
#include "cli/text/status_text.h"
#include "tests/cli/command_run.h"
#include "tests/temp_dir.h"

namespace jetmem {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

const ScreenStyle kPlain{80, false, false};

std::size_t widest(const std::string& text) {
  std::size_t most = 0;
  Lines lines(text);
  std::string_view line;
  while (lines.next(line)) most = std::max(most, shown_width(line));
  return most;
}

std::size_t lines_of(const std::string& text) {
  return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
}

TEST(Figures, NumberTexts) {
  EXPECT_EQ(bytes_text(512.0), "512 B");
  EXPECT_EQ(bytes_text(1.25 * (1 << 30)), "1.2 GiB");
  EXPECT_EQ(bytes_text(340.0 * (1 << 20)), "340 MiB");
  EXPECT_EQ(bytes_text(8.5 * (1 << 20)), "8.5 MiB");
  EXPECT_EQ(bytes_text(1023.9 * (1 << 20)), "1.0 GiB");
  EXPECT_EQ(bytes_text(std::optional<double>()), "-");
  EXPECT_EQ(ratio_text(0.62), "62%");
  EXPECT_EQ(ratio_text(0.004), "0.4%");
  EXPECT_EQ(ratio_text(0.0), "0%");
  EXPECT_EQ(ratio_text(1e-9), "under 0.1%");
  EXPECT_EQ(duration_text(90 * 60), "1h30m");
  EXPECT_EQ(duration_text(3 * 86400 + 4 * 3600 + 59), "3d4h");
  EXPECT_EQ(duration_text(0.003), "3ms");
  EXPECT_EQ(rate_text(12.0 * (1 << 20) / 60), "12 MiB/min");
  EXPECT_EQ(celsius_text(71.52), "71.5 C");
  EXPECT_EQ(number_text(0.5), "0.5");
}

TEST(StatusBrief, RoundsTemperaturesBelowZeroToo) {
  StatusAnswer answer;
  answer.thermal.zones.emplace_back().celsius = -5.2;
  EXPECT_THAT(status_brief(answer, "orin"), HasSubstr(", -5 C"));
  answer.thermal.zones.front().celsius = -0.4;
  EXPECT_THAT(status_brief(answer, "orin"), HasSubstr(", 0 C"));
  answer.thermal.zones.front().celsius = 71.5;
  EXPECT_THAT(status_brief(answer, "orin"), HasSubstr(", 72 C"));
}

TEST(Bars, ShowSmallAndNearlyFullShares) {
  EXPECT_EQ(bar(kPlain, 0.0, 12), "[..........]");
  EXPECT_EQ(bar(kPlain, 0.001, 12), "[#.........]");
  EXPECT_EQ(bar(kPlain, 0.999, 12), "[#########.]");
  EXPECT_EQ(bar(kPlain, 1.0, 12), "[##########]");
  EXPECT_EQ(bar(kPlain, std::nullopt, 12), "[not known ]");
  EXPECT_EQ(bar(kPlain, 7.0, 12), "[##########]");
  EXPECT_EQ(stacked_bar(kPlain, {{'A', 0.5, 0}, {'B', 0.001, 0}}, 12), "[AAAAAB    ]");
  EXPECT_EQ(stacked_bar(kPlain, {{'A', 0.9, 0}, {'B', 0.9, 0}}, 12), "[AAAAAAAAAB]");
  EXPECT_EQ(heat_cell(kPlain, 0.0, 3), "-  ");
  EXPECT_EQ(heat_cell(kPlain, 0.5, 3), "###");
  EXPECT_EQ(heat_cell(kPlain, std::nullopt, 3), "?  ");
}

TEST(Table, CutsOnlyColumnsThatAllowIt) {
  Table table;
  table.column("NAME", Table::Align::kLeft, Table::Narrow::kCut);
  table.column("BYTES", Table::Align::kRight);
  table.row({std::string(100, 'x'), "12"});
  table.row({"a"});
  const std::string text = table.text(40);
  EXPECT_LE(widest(text), 40U);
  EXPECT_THAT(text, HasSubstr("12\n"));
  EXPECT_THAT(text, StartsWith("NAME"));
  EXPECT_EQ(lines_of(text), 3U);
}

TEST(StatusCommand, OfAnEmptyTreeIsUnknown) {
  const TempDir dir;
  const CommandRun run = run_command({"--root", dir.path(), "status"});
  EXPECT_EQ(run.status, 3) << run.err;
  EXPECT_THAT(run.out, HasSubstr("UNKNOWN"));
  for (const char* name : {"cma", "fragmentation", "thermal"}) {
    const CommandRun other = run_command({"--root", dir.path(), name});
    EXPECT_FALSE(other.out.empty()) << name;
  }
}

TEST(StatusCommand, WithoutADeviceIsUnknownAndNotCritical) {
  const CommandRun run = run_command({"--root", "/nowhere/at/all", "status", "--brief"});
  EXPECT_EQ(run.status, kExitNoInput);
  EXPECT_THAT(run.out, StartsWith("UNKNOWN all: "));
  EXPECT_EQ(lines_of(run.out), 1U);
  const CommandRun asked =
      run_command({"status", "--brief", "--daemon", "unix:/nowhere/api.socket"});
  EXPECT_EQ(asked.status, kExitUnknown);
  EXPECT_THAT(asked.out, StartsWith("UNKNOWN "));
}

class StatusOfFixtures : public testing::TestWithParam<const char*> {};

TEST_P(StatusOfFixtures, FitsAScreen) {
  const std::string root = std::string(JETMEM_FIXTURES) + "/" + GetParam();
  const CommandRun run = run_command({"--root", root, "status"});
  EXPECT_LE(widest(run.out), 80U) << run.out;
  EXPECT_LE(lines_of(run.out), 40U) << run.out;
  EXPECT_THAT(run.out, Not(HasSubstr("\x1b")));
  const CommandRun brief = run_command({"--root", root, "status", "--brief"});
  EXPECT_EQ(brief.status, run.status);
  EXPECT_EQ(lines_of(brief.out), 1U);
  EXPECT_THAT(brief.out, HasSubstr(std::string(" ") + GetParam() + ": mem "));
  for (const char* name : {"cma", "fragmentation", "thermal"}) {
    const CommandRun other = run_command({"--root", root, name});
    EXPECT_EQ(other.status, 0) << name << other.out << other.err;
    EXPECT_LE(widest(other.out), 80U) << name << "\n" << other.out;
  }
}

INSTANTIATE_TEST_SUITE_P(All, StatusOfFixtures,
                         testing::Values("agx-orin", "nano-4gb", "orin", "orin-nano-8gb",
                                         "raspberry-pi-5", "thor", "x86-pc", "xavier-nx"),
                         [](const auto& board) {
                           std::string name = board.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

TEST(StatusCommand, BriefOfAFixture) {
  const std::string root = std::string(JETMEM_FIXTURES) + "/orin-nano-8gb";
  const CommandRun run = run_command({"--root", root, "status", "--brief"});
  EXPECT_EQ(run.status, 1);
  EXPECT_THAT(run.out, StartsWith("WARNING orin-nano-8gb: mem 79% used 1.5 GiB avail, "
                                  "cma 60% largest 36 MiB"));
}

TEST(StatusText, CutsNamesAndKeepsToItsWidth) {
  DeviceNow now;
  now.by = SnapshotOrigin::kDaemon;
  const std::string hostile = std::string(150, 'n') + "\x1b[31m\n";
  SeriesName name{"jetmem_nvmap_process_bytes", {{"heap", "iovmm"}, {"process", hostile}}};
  now.samples.add(std::move(name), 5e9);
  now.samples.add({"jetmem_nvmap_heap_bytes", {{"heap", "iovmm"}}}, 5e9);
  now.samples.add({"jetmem_cma_area_bytes", {{"area", hostile}}}, 5e9);
  now.samples.add({"jetmem_thermal_zone_celsius", {{"index", "0"}, {"zone", hostile}}}, 50);
  now.samples.sort();
  const std::string text = status_text(status_answer(now), kPlain);
  EXPECT_LE(widest(text), 80U) << text;
  EXPECT_THAT(text, Not(HasSubstr("\x1b")));
}

}  // namespace
}  // namespace jetmem
