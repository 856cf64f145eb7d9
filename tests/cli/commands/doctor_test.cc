// SPDX-License-Identifier: Apache-2.0
// jetmem doctor by one look; of each board: tests/cli/boards_test.cc.
#include <gmock/gmock.h>

#include <algorithm>

#include "cli/exit_codes.h"
#include "cli/text/doctor_text.h"
#include "cli/text/judgement_text.h"
#include "tests/cli/command_run.h"
#include "tests/time_zone.h"

namespace jetmem {
namespace {

using testing::HasSubstr;

TEST(DoctorCommand, OneStepHasItsOwnStatus) {
  const std::string root = board("orin-nano-8gb");
  const CommandRun versions = run_command({"--root", root, "doctor", "--step", "versions"});
  EXPECT_EQ(versions.status, 0);
  EXPECT_THAT(versions.out, testing::StartsWith("ok       Versions (versions)\n"));
  EXPECT_TRUE(gives(run_command({"--root", root, "doctor", "--step", "oom"}), 1,
                    {"python3 (PID 21877) was killed", "Runbook: oom-kill"}));
}

// What a person types next looks at the same device, not at this one.
TEST(DoctorCommand, ConfirmsWhereItLooked) {
  const std::string root = board("orin-nano-8gb");
  const CommandRun smmu = run_command({"--root", root, "doctor", "--step", "smmu", "--all"});
  std::string one_line = smmu.out;
  std::replace(one_line.begin(), one_line.end(), '\n', ' ');
  EXPECT_TRUE(has_all(one_line, {"Confirm: jetmem --root " + root + " events"}));
  EXPECT_TRUE(has_none(one_line, {"dmesg"}));
}

// What is wrong with the command line says nothing about the device.
TEST(DoctorCommand, UsageErrorsAreNoVerdict) {
  const std::string root = board("orin-nano-8gb");
  EXPECT_TRUE(gives(run_command({"--root", root, "doctor", "--step", "x"}), kExitUsage, {},
                    {": restart, hardware, memory, fragmentation, cma, dma, smmu, oom"}));
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
  EXPECT_TRUE(has_all(text, {"since 11:00:00: it broke", "2026-11-20 10:00:00 it begins",
                             "2026-11-20 11:00:00 it broke at 11:00:00", "of 2026-11-20 12:00:00",
                             "times are JST\n(UTC+09:00)"}));
  EXPECT_TRUE(has_none(text, {"CET"}));
}

TEST(DoctorText, StatusOfEachVerdict) {
  EXPECT_EQ(verdict_exit(Verdict::kOk), 0);
  EXPECT_EQ(verdict_exit(Verdict::kWarning), 1);
  EXPECT_EQ(verdict_exit(Verdict::kCritical), 2);
  EXPECT_EQ(verdict_exit(Verdict::kUnknown), 3);
}

}  // namespace
}  // namespace jetmem
