// SPDX-License-Identifier: Apache-2.0
// jetmem doctor on every board of tests/fixtures, by one look: what an expert would say of what is
// in the tree, and the exit status.
#include <gmock/gmock.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <regex>

#include "cli/exit_codes.h"
#include "cli/text/doctor_text.h"
#include "cli/text/judgement_text.h"
#include "tests/boards.h"
#include "tests/cli/command_run.h"
#include "tests/time_zone.h"

namespace jetmem {
namespace {

using testing::HasSubstr;
using testing::Not;

struct JudgedBoard {
  const char* name;
  int status;
  // Steps that are not fine, beside the alerts: one look cannot judge all of them.
  std::map<std::string, std::string> verdicts;
};

// Or ctest shows its bytes.
void PrintTo(const JudgedBoard& board, std::ostream* out) { *out << board.name; }

const JudgedBoard kJudgedBoards[] = {
    {"agx-orin",
     3,
     {{"camera", "unknown"},
      {"cma", "unknown"},
      {"daemon", "unknown"},
      {"dma", "unknown"},
      {"gpu", "unknown"},
      {"gpu_memory", "unknown"},
      {"hardware", "unknown"},
      {"smmu", "unknown"},
      {"stalls", "unknown"},
      {"storage", "unknown"}}},
    {"nano-4gb",
     1,
     {{"camera", "warning"},
      {"cma", "warning"},
      {"fragmentation", "warning"},
      {"smmu", "warning"}}},
    {"orin", 1, {{"restart", "warning"}}},
    {"orin-nano-8gb",
     1,
     {{"cma", "warning"}, {"oom", "warning"}, {"probes", "warning"}, {"restart", "warning"}}},
    {"raspberry-pi-5", 1, {{"cma", "warning"}, {"restart", "unknown"}, {"thermal", "warning"}}},
    {"thor", 3, {}},
    {"x86-pc",
     3,
     {{"camera", "unknown"},
      {"dma", "unknown"},
      {"gpu", "unknown"},
      {"hardware", "unknown"},
      {"restart", "unknown"},
      {"smmu", "unknown"},
      {"stalls", "unknown"},
      {"storage", "unknown"}}},
    {"xavier-nx", 1, {{"cma", "warning"}, {"restart", "warning"}}},
    {"agx-orin-industrial", 3, {{"probes", "unknown"}, {"restart", "unknown"}}},
    {"dgx-spark", 1, {{"gpu_memory", "warning"}, {"probes", "unknown"}, {"restart", "unknown"}}},
    {"igx-orin", 3, {{"probes", "unknown"}, {"restart", "unknown"}, {"versions", "unknown"}}},
    {"imx8mp-evk", 3, {{"cma", "unknown"}, {"probes", "unknown"}, {"restart", "unknown"}}},
    {"raspberry-pi-zero-2w",
     1,
     {{"cma", "warning"}, {"probes", "unknown"}, {"restart", "unknown"}}},
    {"rb3gen2", 3, {{"cma", "unknown"}, {"probes", "unknown"}, {"restart", "unknown"}}},
    {"rock-5b",
     1,
     {{"cma", "unknown"}, {"dma", "warning"}, {"probes", "unknown"}, {"restart", "unknown"}}},
    {"thor-t4000", 3, {{"probes", "unknown"}, {"restart", "unknown"}}},
};

class DoctorOfBoards : public testing::TestWithParam<JudgedBoard> {};

TEST_P(DoctorOfBoards, MatchTheBoard) {
  const std::string root = std::string(JETMEM_FIXTURES) + "/" + GetParam().name;
  const CommandRun run = run_command({"--root", root, "doctor", "--json"});
  EXPECT_EQ(run.err, "");
  const auto answer = nlohmann::json::parse(run.out);
  EXPECT_EQ(answer["schema"], "jetmem-doctor/1");
  std::map<std::string, std::string> verdicts;
  for (const auto& step : answer["steps"]) {
    if (step["verdict"] != "ok") verdicts[step["step"]] = step["verdict"];
    EXPECT_NE(step["summary"], "") << step["step"];
  }
  auto expected = GetParam().verdicts;
  expected["alerts"] = "unknown";
  EXPECT_EQ(verdicts, expected);
  EXPECT_EQ(run.status, GetParam().status);

  const CommandRun text = run_command({"--root", root, "doctor", "--all"});
  EXPECT_EQ(text.status, run.status);
  EXPECT_THAT(text.out, Not(HasSubstr("\x1b")));
  EXPECT_FALSE(std::regex_search(text.out, std::regex("[^.][.][.]([^.]|$)")))
      << "a sentence that ends twice";
  EXPECT_THAT(text.out, Not(HasSubstr("unknown B")));
}

INSTANTIATE_TEST_SUITE_P(Boards, DoctorOfBoards, testing::ValuesIn(kJudgedBoards), BoardName());

TEST(DoctorCommand, OneStepHasItsOwnStatus) {
  const std::string root = std::string(JETMEM_FIXTURES) + "/orin-nano-8gb";
  const CommandRun versions = run_command({"--root", root, "doctor", "--step", "versions"});
  EXPECT_EQ(versions.status, 0);
  EXPECT_THAT(versions.out, testing::StartsWith("ok       Versions (versions)\n"));
  const CommandRun oom = run_command({"--root", root, "doctor", "--step", "oom"});
  EXPECT_EQ(oom.status, 1);
  EXPECT_THAT(oom.out, HasSubstr("python3 (PID 21877) was killed"));
  EXPECT_THAT(oom.out, HasSubstr("Runbook: oom-kill"));
}

// What a person types next looks at the same device, not at this one.
TEST(DoctorCommand, ConfirmsWhereItLooked) {
  const std::string root = std::string(JETMEM_FIXTURES) + "/orin-nano-8gb";
  const CommandRun smmu = run_command({"--root", root, "doctor", "--step", "smmu", "--all"});
  std::string one_line = smmu.out;
  std::replace(one_line.begin(), one_line.end(), '\n', ' ');
  EXPECT_THAT(one_line, HasSubstr("Confirm: jetmem --root " + root + " events"));
  EXPECT_THAT(smmu.out, Not(HasSubstr("dmesg")));
}

// What is wrong with the command line says nothing about the device.
TEST(DoctorCommand, UsageErrorsAreNoVerdict) {
  const std::string root = std::string(JETMEM_FIXTURES) + "/orin-nano-8gb";
  const CommandRun step = run_command({"--root", root, "doctor", "--step", "x"});
  EXPECT_EQ(step.status, kExitUsage);
  EXPECT_THAT(step.err,
              HasSubstr(": restart, hardware, memory, fragmentation, cma, dma, smmu, oom"));
  EXPECT_EQ(run_command({"--root", root, "doctor", "--daemon", "unix:/x"}).status, kExitUsage);
  EXPECT_EQ(run_command({"--root", "/nowhere", "doctor"}).status, kExitNoInput);
  EXPECT_EQ(run_command({"doctor", "--daemon", "unix:/nowhere/s"}).status, kExitUnknown);
}

TEST(DoctorText, ColoursOnlyWhenAsked) {
  DoctorAnswer answer;
  answer.level = Verdict::kCritical;
  answer.reason = "it broke";
  answer.conclusion = "It broke at noon.";
  DoctorAnswer::Step& step = answer.steps.emplace_back();
  step.name = "oom";
  step.title = "Out of memory";
  step.verdict = Verdict::kCritical;
  EXPECT_THAT(doctor_text(answer, {}),
              testing::StartsWith("CRITICAL it broke\n\nIt broke at noon.\n"));
  DoctorTextOptions colored;
  colored.style.color = true;
  EXPECT_THAT(doctor_text(answer, colored), HasSubstr("\x1b["));
}

// The daemon's sentences have its own times, wherever they are read.
TEST(DoctorText, AllTimesAreInTheZoneOfItsSentences) {
  const TimeZone here(kBerlin);
  constexpr double kNoon = 1795143600;  // 2026-11-20 12:00:00 in Tokyo
  DoctorAnswer answer;
  answer.level = Verdict::kCritical;
  answer.reason = "it broke";
  answer.since_seconds = 3600;
  answer.from.wall = kNoon;
  answer.zone = "JST";
  answer.utc_offset = 9 * 3600;
  answer.timeline = {{"it begins", kNoon - 7200}, {"it broke at 11:00:00", kNoon - 3600}};
  const std::string text = doctor_text(answer, {});
  EXPECT_THAT(text, HasSubstr("since 11:00:00: it broke"));
  EXPECT_THAT(text, HasSubstr("2026-11-20 10:00:00 it begins"));
  EXPECT_THAT(text, HasSubstr("2026-11-20 11:00:00 it broke at 11:00:00"));
  EXPECT_THAT(text, HasSubstr("of 2026-11-20 12:00:00"));
  EXPECT_THAT(text, HasSubstr("times are JST\n(UTC+09:00)"));
  EXPECT_THAT(text, Not(HasSubstr("CET")));
}

TEST(DoctorText, StatusOfEachVerdict) {
  EXPECT_EQ(verdict_exit(Verdict::kOk), 0);
  EXPECT_EQ(verdict_exit(Verdict::kWarning), 1);
  EXPECT_EQ(verdict_exit(Verdict::kCritical), 2);
  EXPECT_EQ(verdict_exit(Verdict::kUnknown), 3);
}

}  // namespace
}  // namespace jetmem
