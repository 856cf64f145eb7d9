// SPDX-License-Identifier: Apache-2.0
// What the doctor says first: what fires, in the order of the runbooks, then what happened.
#include <gmock/gmock.h>

#include "report/doctor/doctor.h"
#include "tests/report/doctor/doctor_past.h"
#include "tests/time_zone.h"

namespace jetmem {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

// Crashed before this boot, and a task hung in the morning.
DeviceNow troubled_device() {
  DeviceNow now = healthy_device({{"jetmem_boot_last_shutdown{clean=\"yes\"}", 0},
                                  {"jetmem_boot_last_shutdown{clean=\"no\"}", 1},
                                  {"jetmem_boot_crash_recorded", 1}});
  now.events.push_back(kernel_event("hung_task", "nvargus", kMorning - 3600));
  return now;
}

std::vector<std::size_t> places(const std::string& text, const std::vector<std::string>& words) {
  std::vector<std::size_t> out;
  for (const std::string& word : words) out.push_back(text.find(word));
  return out;
}

class DoctorOrder : public testing::Test {
 protected:
  const TimeZone zone_{"UTC"};
};

TEST_F(DoctorOrder, WhatFiresComesBeforeWhatHappened) {
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
  const DoctorAnswer answer = examine(now, nullptr);
  EXPECT_THAT(answer.reason, StartsWith("JetmemMemoryStall is so (pending)"));
  EXPECT_EQ(answer.step("memory")->verdict, Verdict::kWarning);
}

// Memory that shrinks is no history, although no rule fires for it yet.
TEST_F(DoctorOrder, WhatGoesOnComesBeforeLesserWarnings) {
  FakeHistory past;
  past.known.location = "history.db";
  past.series("jetmem_meminfo_MemAvailable_bytes", kMorning - kHour, kMorning, 10,
              [](double t) { return (700 + (kMorning - t) / 2) * kMiB; });
  DeviceNow now = troubled_device();
  now.samples = healthy_device({{"jetmem_meminfo_MemAvailable_bytes", 700 * kMiB}}).samples;
  raise_alert(now, "JetmemProbeFailing", "firing", "warning");
  EXPECT_THAT(examine(now, &past).conclusion, StartsWith("Available memory has fallen by 1.8 GiB"));
}

TEST_F(DoctorOrder, CriticalComesBeforeWarning) {
  DeviceNow now = troubled_device();
  raise_alert(now, "JetmemMemoryLeak", "firing", "warning");
  raise_alert(now, "JetmemReservedMemoryFailed", "firing");
  const DoctorAnswer answer = examine(now, nullptr);
  EXPECT_THAT(answer.reason, StartsWith("JetmemReservedMemoryFailed is so"));
  EXPECT_EQ(answer.steps.front().name, "cma");
}

TEST_F(DoctorOrder, CriticalOnesFollowTheRunbooks) {
  DeviceNow now = troubled_device();
  // As the steps come, which is another order.
  for (const char* name : {"JetmemCmaExhausted", "JetmemSmmuStorm", "JetmemOomKill",
                           "JetmemKernelOops", "JetmemMemoryStall", "JetmemMemoryExhausting"}) {
    raise_alert(now, name, "firing");
  }
  const DoctorAnswer answer = examine(now, nullptr);
  EXPECT_THAT(answer.reason, StartsWith("JetmemKernelOops is so"));
  const std::vector<std::string> names{"JetmemOomKill", "JetmemMemoryExhausting",
                                       "JetmemSmmuStorm"};
  const std::vector<std::size_t> found = places(answer.conclusion, names);
  EXPECT_EQ(found.front(), 0U) << answer.conclusion;
  EXPECT_TRUE(std::is_sorted(found.begin(), found.end())) << answer.conclusion;
  EXPECT_THAT(answer.conclusion, HasSubstr("See also: cma, restart"));
  std::vector<std::string> steps;
  for (std::size_t i = 0; i < 5; ++i) steps.push_back(answer.steps[i].name);
  EXPECT_THAT(steps, testing::ElementsAre("stalls", "oom", "memory", "smmu", "cma"));
  // Within a step as well.
  EXPECT_EQ(answer.step("memory")->summary, "JetmemMemoryExhausting is so.");
  ASSERT_EQ(answer.step("memory")->alerts.size(), 2U);
  EXPECT_EQ(answer.step("memory")->alerts[1].alert, "JetmemMemoryStall");
}

// An alert that is kept for a while is not told as what is so now.
TEST_F(DoctorOrder, AKeptAlertIsNoLongerSo) {
  DeviceNow now = healthy_device();
  raise_alert(now, "JetmemMemoryExhausting", "firing");
  now.alerts->rules.back().alerts.front().kept = true;
  const DoctorAnswer answer = examine(now, nullptr);
  EXPECT_EQ(answer.level, Verdict::kCritical);
  EXPECT_THAT(answer.reason, StartsWith("JetmemMemoryExhausting is so (no longer so"));
  EXPECT_TRUE(answer.step("memory")->alerts.front().kept);
}

// Nobody reads on when ten seconds are left.
TEST_F(DoctorOrder, MemoryThatIsGoneSoonNamesWhatGrowsAndTheTimeLeft) {
  FakeHistory past;
  past.known.location = "history.db";
  past.known.newest = ns(kMorning);
  const double begin = kMorning - 1800;
  const auto grown = [=](double t) { return std::max(0.0, t - begin) * 2 * kMiB; };
  past.series("jetmem_meminfo_MemAvailable_bytes", kMorning - kHour, kMorning, 10,
              [=](double t) { return 3.6 * kGiB - grown(t); });
  past.series(
      "jetmem_process_group_resident_bytes{command=\"python3\",container=\"\",unit=\"vision."
      "service\"}",
      kMorning - kHour, kMorning, 10, [=](double t) { return kGiB + grown(t); });
  DeviceNow now = healthy_device({{"jetmem_meminfo_MemAvailable_bytes", 80 * kMiB},
                                  {"jetmem_boot_last_shutdown{clean=\"yes\"}", 0},
                                  {"jetmem_boot_crash_recorded", 1}});
  now.events.push_back(kernel_event("hung_task", "nvargus", kMorning - 3600));
  raise_alert(now, "JetmemMemoryExhausting", "firing");
  now.alerts->rules.back().alerts.front().summary =
      "Memory is shrinking fast; exhausted in about 40s: an OOM kill is imminent";
  const DoctorAnswer answer = examine(now, &past);
  const std::string& text = answer.conclusion;
  EXPECT_THAT(text, StartsWith("python3 (vision.service) grew by 3.5 GiB since 07:"));
  EXPECT_THAT(text.substr(0, text.find(". ")),
              HasSubstr("still growing), 100% of the 3.5 GiB by which available memory has "
                        "fallen"));
  EXPECT_THAT(answer.reason, StartsWith("Memory is shrinking fast; exhausted in about 40s"));
}

}  // namespace
}  // namespace jetmem
