// SPDX-License-Identifier: Apache-2.0
// One verdict: status and doctor say the same of one look, whatever the history knows besides.
#include "report/doctor/judgement.h"

#include <gmock/gmock.h>

#include "report/doctor/doctor.h"
#include "report/status/status_answer.h"
#include "tests/report/doctor/doctor_past.h"
#include "tests/time_zone.h"

namespace jetmem {
namespace {

using testing::HasSubstr;

class JudgementTest : public testing::Test {
 protected:
  void SetUp() override { past_.known.location = "history.db"; }

  const TimeZone zone_{"UTC"};
  FakeHistory past_;
};

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
  past_.series("jetmem_meminfo_MemAvailable_bytes", kMorning - kHour, kMorning, 10,
               [](double t) { return (700 + (kMorning - t) / 2) * kMiB; });
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

}  // namespace
}  // namespace jetmem
