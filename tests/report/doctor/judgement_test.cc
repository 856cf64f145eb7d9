// SPDX-License-Identifier: Apache-2.0
// One verdict: status and doctor say the same of one look, whatever the history knows besides.
// First what fires, in the order of the runbooks, then what happened.
#include "report/doctor/judgement.h"

#include <gmock/gmock.h>

#include "report/doctor/doctor.h"
#include "report/status/status_answer.h"
#include "tests/report/doctor/doctor_past.h"
#include "tests/time_zone.h"

namespace jetmem {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

class JudgementTest : public testing::Test {
 protected:
  JudgementTest() { set_facts(past_); }
  void memory_shrinks() {
    past_.series("jetmem_meminfo_MemAvailable_bytes", kMorning - kHour, kMorning, 10,
                 [](double t) { return (700 + (kMorning - t) / 2) * kMiB; });
  }

  const TimeZone zone_{"UTC"};
  FakeHistory past_;
};

// Crashed before this boot, and a task hung in the morning.
DeviceNow troubled_device(std::map<std::string, double> changes = {}) {
  changes.insert({{"jetmem_boot_last_shutdown{clean=\"yes\"}", 0},
                  {"jetmem_boot_last_shutdown{clean=\"no\"}", 1},
                  {"jetmem_boot_crash_recorded", 1}});
  DeviceNow now = healthy_device(changes);
  now.events.push_back(kernel_event("hung_task", "nvargus", kMorning - 3600));
  return now;
}

void expect_one_voice(const DeviceNow& now, History* past) {
  const StatusAnswer status = status_answer(now);
  const DoctorAnswer doctor = examine(now, past);
  EXPECT_EQ(status.level, doctor.level);
  EXPECT_EQ(status.reason, doctor.reason);
  EXPECT_EQ(status.alert, doctor.alert);
  EXPECT_EQ(status.found_by, doctor.found_by);
  EXPECT_EQ(status.since_seconds, doctor.since_seconds);
  EXPECT_EQ(status.cause, doctor.cause);
  EXPECT_EQ(status.remedy, doctor.remedy);
  EXPECT_EQ(status.act, doctor.act);
  EXPECT_EQ(status.who.has_value(), doctor.who.has_value());
  Verdict worst = Verdict::kOk;
  for (const DoctorAnswer::Step& step : doctor.steps) worst = std::max(worst, step.verdict);
  if (doctor.level >= Verdict::kWarning || worst >= Verdict::kWarning) {
    EXPECT_EQ(worst, doctor.level);
  }
}

TEST_F(JudgementTest, IsTheSameWithAHistory) {
  // The kill is in the history alone.
  past_.event(kernel_event("oom_kill", "python3", kMorning - 2 * kHour));
  memory_shrinks();
  DeviceNow now = healthy_device();
  expect_one_voice(now, &past_);
  EXPECT_THAT(examine(now, &past_).conclusion, HasSubstr("killed python3"));
  now.events.push_back(kernel_event("hung_task", "nvargus", kMorning - kHour));
  expect_one_voice(now, &past_);
  raise_alert(now, "JetmemDmaAllocationFailing", "firing", "critical", "jetmem_dma_x",
              {{"device", "isp"}});
  expect_one_voice(now, &past_);
  EXPECT_EQ(status_answer(now).who->role, "refused");
  raise_alert(now, "JetmemMemoryStall", "pending");
  expect_one_voice(now, &past_);
}

TEST_F(JudgementTest, RulesThatWaitForTheFirstProbeAreNotBlind) {
  DeviceNow now = healthy_device();
  AlertsAnswer::Rule& waits = now.alerts->rules.emplace_back();
  waits.name = "JetmemProbeSlow";
  waits.severity = "warning";
  waits.state = "unknown";
  waits.conditions.emplace_back().expression = "jetmem_probe_slowdown_ratio";
  for (SourceNow& source : now.sources) {
    if (source.name == "probe") source.state = "pending";
  }
  EXPECT_EQ(judge(now).level, Verdict::kOk) << judge(now).reason;
  EXPECT_THAT(judge(now).reason, HasSubstr("1 of 2 rules waits"));
  waits.conditions.front().expression = "jetmem_thermal_margin_celsius";
  EXPECT_EQ(judge(now).level, Verdict::kUnknown);
}

// An OOM kill is over; low memory is not.
TEST_F(JudgementTest, WhatIsAcknowledgedLeavesTheVerdictUntilItHappensAgain) {
  const std::string ack =
      "jetmem_acknowledged_timestamp_seconds{by=\"ann\",finding=\"oom\",why=\"limit is set\"}";
  const auto with = [&](double at) {
    DeviceNow now = healthy_device({{ack, at}});
    now.events.push_back(kernel_event("oom_kill", "python3", kMorning - 2 * kHour));
    raise_alert(now, "JetmemOomKill", "firing", "critical", "jetmem_kernel_recent_events");
    return now;
  };
  EXPECT_EQ(judge(with(kMorning - 3 * kHour)).level, Verdict::kCritical);
  const DeviceNow known = with(kMorning);
  EXPECT_EQ(judge(known).level, Verdict::kOk) << judge(known).reason;
  expect_one_voice(known, &past_);
  const DoctorAnswer answer = examine(known, nullptr);
  EXPECT_THAT(answer.step("oom")->evidence.front().text, HasSubstr("by ann: limit is set."));
  DeviceNow low = healthy_device(
      {{"jetmem_acknowledged_timestamp_seconds{by=\"\",finding=\"memory\",why=\"x\"}", kMorning}});
  raise_alert(low, "JetmemMemoryStall", "firing", "critical", "jetmem_pressure_stall_ratio");
  EXPECT_EQ(judge(low).level, Verdict::kCritical);
}

TEST_F(JudgementTest, RestartsOnlyWhatIsToBlame) {
  Who who;
  who.role = "growing";
  who.container = "9c0f5e7a41d2";
  EXPECT_EQ(restart_command(who), "docker restart 9c0f5e7a41d2");
  who.container = "a b; rm";
  who.unit = "llm.service";
  EXPECT_EQ(restart_command(who), "sudo systemctl restart llm.service");
  who.unit = "--now.service";
  EXPECT_EQ(restart_command(who), "");
  who.pid = 12;
  EXPECT_EQ(restart_command(who), "sudo kill 12");
  who.role = "largest holder";
  EXPECT_EQ(restart_command(who), "");
  who.role = "refused";
  who.unit = "camera.service";
  EXPECT_EQ(restart_command(who), "");
}

TEST_F(JudgementTest, WhatFiresComesBeforeWhatHappened) {
  for (const char* severity : {"critical", "warning"}) {
    DeviceNow now = troubled_device();
    raise_alert(now, "JetmemDeviceRebootedUncleanly", "firing", "warning");
    raise_alert(now, "JetmemCpuStall", "firing", "warning");
    raise_alert(now, "JetmemProbeFailing", "firing", severity);
    const DoctorAnswer answer = examine(now, nullptr);
    EXPECT_THAT(answer.reason, StartsWith("JetmemProbeFailing is so")) << severity;
    EXPECT_EQ(answer.alert, "JetmemProbeFailing");
    EXPECT_THAT(answer.conclusion, HasSubstr("JetmemDeviceRebootedUncleanly is so."));
    EXPECT_EQ(answer.steps.front().name, "probes");
  }
  DeviceNow now = troubled_device();
  EXPECT_THAT(examine(now, nullptr).reason,
              testing::AnyOf(HasSubstr("crashed"), HasSubstr("hung")));
  raise_alert(now, "JetmemMemoryStall", "pending");
  EXPECT_THAT(examine(now, nullptr).reason, StartsWith("JetmemMemoryStall is so (pending)"));
  EXPECT_EQ(examine(now, nullptr).step("memory")->verdict, Verdict::kWarning);
}

// Memory that shrinks is no history, although no rule fires for it yet.
TEST_F(JudgementTest, WhatGoesOnComesBeforeLesserWarnings) {
  memory_shrinks();
  DeviceNow now = troubled_device({{"jetmem_meminfo_MemAvailable_bytes", 700 * kMiB}});
  raise_alert(now, "JetmemProbeFailing", "firing", "warning");
  EXPECT_THAT(examine(now, &past_).conclusion,
              StartsWith("Available memory has fallen by 1.8 GiB"));
}

TEST_F(JudgementTest, CriticalOnesFollowTheRunbooks) {
  DeviceNow now = troubled_device();
  // As the steps come, which is another order.
  raise_alert(now, "JetmemMemoryLeak", "firing", "warning");
  for (const char* name : {"JetmemCmaExhausted", "JetmemSmmuStorm", "JetmemOomKill",
                           "JetmemKernelOops", "JetmemMemoryStall", "JetmemMemoryExhausting"}) {
    raise_alert(now, name, "firing");
  }
  const DoctorAnswer answer = examine(now, nullptr);
  EXPECT_THAT(answer.reason, StartsWith("JetmemKernelOops is so"));
  EXPECT_THAT(answer.conclusion,
              testing::MatchesRegex("JetmemOomKill.*JetmemMemoryExhausting.*JetmemSmmuStorm.*"));
  EXPECT_THAT(answer.conclusion, HasSubstr("See also: cma, restart"));
  std::vector<std::string> steps;
  for (std::size_t i = 0; i < 5; ++i) steps.push_back(answer.steps[i].name);
  EXPECT_THAT(steps, testing::ElementsAre("stalls", "oom", "memory", "smmu", "cma"));
  // Within a step as well.
  EXPECT_EQ(answer.step("memory")->summary, "JetmemMemoryExhausting is so.");
  ASSERT_EQ(answer.step("memory")->alerts.size(), 3U);
  EXPECT_EQ(answer.step("memory")->alerts[1].alert, "JetmemMemoryStall");
}

// An alert that is kept for a while is not told as what is so now.
TEST_F(JudgementTest, AKeptAlertIsNoLongerSo) {
  DeviceNow now = healthy_device();
  raise_alert(now, "JetmemMemoryExhausting", "firing");
  now.alerts->rules.back().alerts.front().kept = true;
  const DoctorAnswer answer = examine(now, nullptr);
  EXPECT_EQ(answer.level, Verdict::kCritical);
  EXPECT_THAT(answer.reason, StartsWith("JetmemMemoryExhausting is so (no longer so"));
  EXPECT_TRUE(answer.step("memory")->alerts.front().kept);
}

// Nobody reads on when ten seconds are left.
TEST_F(JudgementTest, MemoryThatIsGoneSoonNamesWhatGrowsAndTheTimeLeft) {
  const double begin = kMorning - 1800;
  const auto grown = [=](double t) { return std::max(0.0, t - begin) * 2 * kMiB; };
  past_.series("jetmem_meminfo_MemAvailable_bytes", kMorning - kHour, kMorning, 10,
               [=](double t) { return 3.6 * kGiB - grown(t); });
  past_.series(group("resident", "python3", "vision.service"), kMorning - kHour, kMorning, 10,
               [=](double t) { return kGiB + grown(t); });
  DeviceNow now = troubled_device({{"jetmem_meminfo_MemAvailable_bytes", 80 * kMiB}});
  raise_alert(now, "JetmemMemoryExhausting", "firing");
  now.alerts->rules.back().alerts.front().summary =
      "Memory is shrinking fast; exhausted in about 40s: an OOM kill is imminent";
  const DoctorAnswer answer = examine(now, &past_);
  const std::string& text = answer.conclusion;
  EXPECT_THAT(text, StartsWith("python3 (vision.service) grew by 3.5 GiB since 07:"));
  EXPECT_THAT(text.substr(0, text.find(". ")),
              HasSubstr("still growing), 100% of the 3.5 GiB by which available memory has "
                        "fallen"));
  EXPECT_THAT(answer.reason, StartsWith("Memory is shrinking fast; exhausted in about 40s"));
}

}  // namespace
}  // namespace jetmem
