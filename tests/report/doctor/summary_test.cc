// SPDX-License-Identifier: Apache-2.0
// Culprit and time: what the doctor makes of a past.
#include <gmock/gmock.h>

#include <chrono>
#include <cstdlib>

#include "report/doctor/doctor.h"
#include "tests/report/doctor/doctor_past.h"
#include "tests/time_zone.h"

namespace jetmem {
namespace {

using testing::HasSubstr;
using testing::Not;

class DoctorSummary : public testing::Test {
 protected:
  const TimeZone zone_{"UTC"};

  DoctorSummary() {
    past_.known.location = "/var/lib/jetmem/history.db";
    past_.known.newest = ns(kMorning);
    BootKnown boot;
    boot.boot_id = "b2";
    boot.wall_trusted = true;
    past_.known.boots = {boot};
  }

  // Three groups, of which python3 grows from 00:10 to 02:11 and is killed.
  void leak(double rate, const char* victim) {
    const double begin = kMorning - 8 * kHour + 600;
    const double end = kMorning - 8 * kHour + 2 * kHour + 660;
    const auto grown = [=](double t) { return t < begin || t >= end ? 0.0 : (t - begin) * rate; };
    const double from = kMorning - 12 * kHour;
    past_.series("jetmem_meminfo_MemAvailable_bytes", from, kMorning, 10,
                 [=](double t) { return 2 * kGiB - grown(t) + std::fmod(t * 7919, 5) * kMiB; });
    past_.series(group("resident", "python3", "vision.service"), from, kMorning, 60,
                 [=](double t) { return 300 * kMiB + grown(t) / 4; });
    past_.series(group("gpu", "python3", "vision.service"), from, kMorning, 60,
                 [=](double t) { return 200 * kMiB + 3 * grown(t) / 4; });
    past_.series(group("resident", "gst-launch-1.0"), from, kMorning, 60,
                 [=](double t) { return 900 * kMiB + std::fmod(t * 7919, 9) * kMiB; });
    past_.series(group("resident", "other"), from, kMorning, 60, [](double) { return 500 * kMiB; });
    if (*victim != '\0') past_.event(kernel_event("oom_kill", victim, end));
  }

  FakeHistory past_;
};

TEST_F(DoctorSummary, NamesTheGrowerWithTimesAndRate) {
  leak(12 * kMiB / 60, "python3");
  const auto begun = std::chrono::steady_clock::now();
  const DoctorAnswer answer = examine(healthy_device(), &past_);
  EXPECT_LT(std::chrono::steady_clock::now() - begun, std::chrono::milliseconds(500));
  EXPECT_TRUE(answer.step("oom")->happened);
  EXPECT_THAT(answer.conclusion, HasSubstr("python3 (vision.service) grew by 1.4 GiB from 00:"))
      << answer.conclusion;
  EXPECT_THAT(answer.conclusion, testing::ContainsRegex("from 00:(0[6-9]|1[0-4]):"));
  EXPECT_THAT(answer.conclusion, testing::ContainsRegex("to 02:(09|10|11):"));
  EXPECT_THAT(answer.conclusion, HasSubstr("(12 MiB/min)"));
  EXPECT_THAT(answer.conclusion, testing::ContainsRegex("(9[5-9]|100)% of the 1\\.4 GiB"));
  EXPECT_THAT(answer.conclusion, HasSubstr("at 02:11:00 the kernel killed python3"));
  EXPECT_THAT(answer.conclusion, Not(HasSubstr("another program grew")));
  EXPECT_LE(answer.history_queries, kMaxQuestions);
  EXPECT_EQ(answer.history_queries, static_cast<std::uint64_t>(past_.requested));
  ASSERT_GE(answer.timeline.size(), 3U);
  EXPECT_TRUE(std::is_sorted(answer.timeline.begin(), answer.timeline.end(),
                             [](const auto& a, const auto& b) { return a.time < b.time; }));
}

TEST_F(DoctorSummary, TheVictimIsNotTheCulprit) {
  leak(12 * kMiB / 60, "gst-launch-1.0");
  const DoctorAnswer answer = examine(healthy_device(), &past_);
  EXPECT_THAT(answer.conclusion, HasSubstr("python3 (vision.service) grew by 1.4 GiB"));
  EXPECT_THAT(answer.conclusion,
              HasSubstr("killed gst-launch-1.0 (out of memory), although another program grew"));
}

TEST_F(DoctorSummary, NamesWhoRequestedTheGpuMemoryThatAnotherWasKilledFor) {
  const auto conclusion = [](double before, const std::string& allocator, double next) {
    FakeHistory past;
    const double killed = kMorning - 5.8 * kHour;
    EventRecord invoked = kernel_event("oom_invoked", "model", killed - before);
    invoked.fields = R"({"comm":"model","allocator":")" + allocator + "\"}";
    past.event(invoked);
    invoked.fields = R"({"comm":"other"})";
    invoked.wall = ns(killed - next);
    if (next > 0) past.event(invoked);
    past.event(kernel_event("oom_kill", "innocent", killed));
    return examine(healthy_device(), &past).conclusion;
  };
  const auto names_it = HasSubstr(
      "model requested a GPU, camera or video buffer (nvmap) that did not fit, and the kernel "
      "killed innocent (out of memory)");
  EXPECT_THAT(conclusion(1, "nvmap", 0), names_it);
  EXPECT_THAT(conclusion(200, "nvmap", 0), Not(HasSubstr("requested"))) << "for another one";
  EXPECT_THAT(conclusion(1, "", 0), Not(HasSubstr("requested"))) << "ordinary memory";
  EXPECT_THAT(conclusion(3, "nvmap", 1), Not(HasSubstr("requested"))) << "killed for the second";
}

// A carve-out is no part of available memory.
TEST_F(DoctorSummary, TellsHowMemoryFellNotForACarveOut) {
  past_.series("jetmem_meminfo_MemAvailable_bytes", kMorning - 12 * kHour, kMorning, 10,
               [](double t) {
                 return 3 * kGiB - std::max(0.0, t - (kMorning - 2 * kHour)) / (2 * kHour) * kGiB;
               });
  DeviceNow now = healthy_device();
  raise_alert(now, "JetmemNvmapCarveoutFull", "firing");
  EXPECT_THAT(examine(now, &past_).conclusion, Not(HasSubstr("vailable memory")));
  raise_alert(now, "JetmemNvmapOrphansGrowing", "firing");
  EXPECT_THAT(examine(now, &past_).conclusion, HasSubstr("vailable memory"));
}

TEST_F(DoctorSummary, NoSingleProgramExplainsTheFall) {
  const double end = kMorning - 6 * kHour;
  const double from = kMorning - 14 * kHour;
  past_.series("jetmem_meminfo_MemAvailable_bytes", from, end, 10, [=](double t) {
    return 3 * kGiB - std::max(0.0, t - (end - 2 * kHour)) / (2 * kHour) * 2.5 * kGiB;
  });
  for (const char* name : {"a", "b", "c", "d", "e"}) {
    past_.series(group("resident", name), from, end, 60, [=](double t) {
      return 100 * kMiB + std::max(0.0, t - (end - 2 * kHour)) / (2 * kHour) * 250 * kMiB;
    });
  }
  past_.event(kernel_event("oom_kill", "a", end));
  const DoctorAnswer answer = examine(healthy_device(), &past_);
  EXPECT_THAT(answer.conclusion, HasSubstr("no single program explains it")) << answer.conclusion;
  EXPECT_THAT(answer.conclusion, testing::ContainsRegex("has (9\\.[0-9]|10)% of it"));
}

TEST_F(DoctorSummary, OrphanBuffersAreACulprit) {
  const double from = kMorning - 3 * kHour;
  past_.series("jetmem_meminfo_MemAvailable_bytes", from, kMorning, 10, [=](double t) {
    return 1.2 * kGiB - std::max(0.0, t - from - kHour) * 9 * kMiB / 60;
  });
  past_.series("jetmem_nvmap_orphan_bytes{heap=\"iovmm\"}", from, kMorning, 60, [=](double t) {
    return 28 * kMiB + std::max(0.0, t - from - kHour) * 9 * kMiB / 60;
  });
  past_.series(group("resident", "camera"), from, kMorning, 60, [](double) { return 100 * kMiB; });
  const DoctorAnswer answer =
      examine(healthy_device({{"jetmem_meminfo_MemAvailable_bytes", 160 * kMiB}}), &past_);
  EXPECT_EQ(answer.level, Verdict::kCritical);
  EXPECT_THAT(answer.conclusion, HasSubstr("(orphans) grew by 1")) << answer.conclusion;
  EXPECT_THAT(answer.conclusion,
              testing::ContainsRegex("by 1(\\.1)? GiB .*\\((8\\.9|9) MiB/min, still growing\\)"));
  EXPECT_THAT(answer.conclusion, testing::ContainsRegex("since 0(5:5[5-9]|6:0[0-5])"));
}

TEST_F(DoctorSummary, AProgramHiddenInOtherIsNotOverrated) {
  const double end = kMorning - kHour;
  const double from = end - 4 * kHour;
  const double start = end - kHour;
  past_.series("jetmem_meminfo_MemAvailable_bytes", from, end, 10,
               [=](double t) { return 2 * kGiB - (t < start ? 0 : 1.5 * kGiB); });
  past_.series(group("resident", "old"), from, end, 60, [](double) { return 100 * kMiB; });
  past_.series(group("resident", "other"), from, end, 60, [](double) { return 100 * kMiB; });
  past_.series(group("resident", "model"), start, end, 60, [](double) { return 1.5 * kGiB; });
  past_.event(kernel_event("oom_kill", "model", end));
  const DoctorAnswer answer = examine(healthy_device(), &past_);
  EXPECT_THAT(answer.conclusion, HasSubstr("model grew by at least 1.4 GiB")) << answer.conclusion;
}

// What of nvmap's buffers is resident too may not be known: the same bytes then count once.
TEST_F(DoctorSummary, OfUnknownMappingsTheGrowthIsALowerBound) {
  const double end = kMorning - kHour;
  const double from = end - 4 * kHour;
  const auto grown = [=](double t) {
    return std::clamp((t - end + kHour) / kHour, 0.0, 1.0) * 1.5 * kGiB;
  };
  past_.series("jetmem_meminfo_MemAvailable_bytes", from, end, 10,
               [=](double t) { return 2 * kGiB - grown(t); });
  for (const char* what : {"resident", "gpu"}) {
    past_.series(group(what, "model"), from, end, 60, grown);
  }
  past_.series("jetmem_nvmap_process_bytes{heap=\"iovmm\",process=\"model\"}", from, end, 60,
               grown);
  past_.event(kernel_event("oom_kill", "model", end));
  const std::string unknown = examine(healthy_device(), &past_).conclusion;
  EXPECT_THAT(unknown, HasSubstr("model grew by at least 1.5 GiB"));
  past_.series(group("mapped", "model"), from, end, 60, grown);
  const std::string known = examine(healthy_device(), &past_).conclusion;
  EXPECT_THAT(known, HasSubstr("model grew by 1.5 GiB"));
}

// The least that another can have grown by is not listed, and what it may have grown by is more.
TEST_F(DoctorSummary, WhoGrewMostIsNotKnownWhereMappingsAreNot) {
  const double end = kMorning - kHour;
  const double from = end - 4 * kHour;
  const auto grown = [=](double t) { return std::clamp((t - end + kHour) / kHour, 0.0, 1.0); };
  past_.series("jetmem_meminfo_MemAvailable_bytes", from, end, 10,
               [=](double t) { return 2 * kGiB - grown(t) * 1.5 * kGiB; });
  past_.series(group("resident", "small"), from, end, 60,
               [=](double t) { return 100 * kMiB + grown(t) * 150 * kMiB; });
  for (const char* what : {"resident", "gpu"}) {
    past_.series(group(what, "model"), from, end, 60,
                 [=](double t) { return kGiB + grown(t) * 500 * kMiB; });
  }
  past_.event(kernel_event("oom_kill", "model", end));
  const std::string without_nvmap = examine(healthy_device(), &past_).conclusion;
  EXPECT_THAT(without_nvmap, HasSubstr("model grew by 983 MiB"));
  past_.series("jetmem_nvmap_process_bytes{heap=\"iovmm\",process=\"model\"}", from, end, 60,
               [](double) { return kGiB; });
  const std::string unknown = examine(healthy_device(), &past_).conclusion;
  EXPECT_THAT(unknown, Not(HasSubstr("no single program")));
  EXPECT_THAT(unknown, HasSubstr("most growth seen: small grew by 148 MiB"));
  past_.series(group("mapped", "model"), from, end, 60,
               [=](double t) { return kGiB + grown(t) * 500 * kMiB; });
  EXPECT_THAT(examine(healthy_device(), &past_).conclusion, HasSubstr("model grew by 492 MiB"));
}

TEST_F(DoctorSummary, WhatBecameKnownMeanwhileDidNotGrow) {
  const double end = kMorning - kHour;
  const double from = end - 4 * kHour;
  const auto grown = [=](double t) { return std::clamp((t - end + kHour) / kHour, 0.0, 1.0); };
  past_.series("jetmem_meminfo_MemAvailable_bytes", from, end, 10,
               [=](double t) { return 2 * kGiB - grown(t) * 1.5 * kGiB; });
  past_.series(group("resident", "model"), from, end, 60,
               [=](double t) { return 100 * kMiB + grown(t) * 600 * kMiB; });
  past_.series(group("resident", "idle"), from, end, 60, [](double) { return 100 * kMiB; });
  past_.series(group("dmabuf", "idle"), from, end, 60, [](double) { return 100 * kMiB; });
  past_.series(group("dmabuf", "model"), end - kHour / 2, end, 60, [](double) { return kGiB; });
  past_.event(kernel_event("oom_kill", "model", end));
  EXPECT_THAT(examine(healthy_device(), &past_).conclusion,
              HasSubstr("model grew by at least 590 MiB"));
  // Nor what no program has: all of it may have been there before, or have come since.
  past_.series("jetmem_nvmap_orphan_bytes{heap=\"iovmm\"}", end - kHour / 2, end, 60,
               [](double) { return kGiB; });
  EXPECT_THAT(examine(healthy_device(), &past_).conclusion,
              HasSubstr("model grew by at least 590 MiB"));
}

TEST_F(DoctorSummary, CmaFellBelowAFrameBeforeTheFirstFailure) {
  const double failed = kMorning - 5 * kHour;
  const double fell = failed - 40 * 60;
  past_.series("jetmem_cma_frame_fit_ratio{area=\"linux,cma\"}", failed - 5 * kHour, failed + kHour,
               10, [=](double t) { return t < fell ? 3.0 : 0.8; });
  past_.series("jetmem_cma_used_bytes{area=\"linux,cma\"}", failed - 5 * kHour, failed + kHour, 10,
               [=](double t) { return t < fell - 600 ? 40 * kMiB : 160 * kMiB; });
  past_.series(group("dmabuf", "nvargus-daemon"), failed - 5 * kHour, failed + kHour, 60,
               [=](double t) { return t < fell - 600 ? 30 * kMiB : 140 * kMiB; });
  past_.event(kernel_event("dma_alloc_failure", "tegra-capture-vi", failed));
  past_.event(kernel_event("dma_alloc_failure", "tegra-capture-vi", failed + 300));
  const DoctorAnswer answer = examine(healthy_device(), &past_);
  EXPECT_TRUE(answer.step("cma")->happened);
  EXPECT_THAT(
      answer.conclusion,
      HasSubstr("The largest free block of CMA area linux,cma became too small for the largest "
                "request at 02:20:00, 40 min before the first failed allocation at 03:00:00"))
      << answer.conclusion;
  EXPECT_THAT(answer.conclusion, HasSubstr("nvargus-daemon grew by 110 MiB"));
}

// The refusal tells how much is wanted: what was recorded before is measured by it.
TEST_F(DoctorSummary, CmaIsMeasuredByTheFailedRequest) {
  const double failed = kMorning - kHour;
  const auto run = [=](double t) { return t < failed - 1200 ? 90 * kMiB : 11 * kMiB; };
  past_.series("jetmem_cma_frame_fit_ratio{area=\"linux,cma\"}", failed - kHour, failed + kHour, 10,
               [=](double t) { return run(t) / ((t < failed ? 3 : 12) * kMiB); });
  past_.series("jetmem_cma_largest_free_run_bytes{area=\"linux,cma\"}", failed - kHour,
               failed + kHour, 10, run);
  past_.event(kernel_event("dma_alloc_failure", "tegra-capture-vi", failed));
  const DoctorAnswer answer =
      examine(healthy_device({{"jetmem_cma_largest_free_run_bytes{area=\"linux,cma\"}", 11 * kMiB},
                              {"jetmem_cma_frame_fit_ratio{area=\"linux,cma\"}", 11.0 / 12}}),
              &past_);
  EXPECT_THAT(answer.conclusion, HasSubstr("20 min before the first failed allocation"));
  EXPECT_THAT(answer.conclusion, HasSubstr("shrank from 90 MiB"));
}

// Processes are read later than the rest: none of them grew from nothing.
TEST_F(DoctorSummary, ProcessesReadLateDidNotGrowFromZero) {
  const double killed = kMorning - kHour;
  const double from = killed - 40;
  past_.series("jetmem_meminfo_MemAvailable_bytes", from - 300, killed + 60, 5, [=](double t) {
    return (1500 - 1200 * std::clamp((t - from) / 40, 0.0, 1.0)) * kMiB;
  });
  past_.series(group("resident", "bystander"), killed - 3, killed + 60, 5,
               [](double) { return 3 * kGiB; });
  past_.event(kernel_event("oom_kill", "python3", killed));
  const DoctorAnswer answer = examine(healthy_device(), &past_);
  EXPECT_THAT(answer.conclusion, testing::Not(HasSubstr("bystander"))) << answer.conclusion;
  EXPECT_THAT(answer.conclusion, HasSubstr("too fast to attribute"));
}

// Where the history is of a later day than the capture, its last moment is now, and the recorder
// has the alerts of then.
TEST_F(DoctorSummary, AHistoryOfALaterDayThanTheCapture) {
  past_.series("jetmem_meminfo_MemAvailable_bytes", kMorning - kHour, kMorning, 10,
               [](double) { return 3 * kGiB; });
  EventRecord fired;
  fired.what = EventWhat::kAlert;
  fired.kind = "firing";
  fired.severity = "warning";
  fired.subject = "JetmemMemoryLeak";
  fired.summary = "Memory falls steadily and is used up in 2h";
  fired.wall = ns(kMorning - 600);
  past_.event(fired);
  DeviceNow now = healthy_device();
  now.by = SnapshotOrigin::kCapture;
  now.wall = kMorning - 400 * 86400.0;
  const DoctorAnswer answer = examine(now, &past_);
  EXPECT_EQ(answer.step("memory")->verdict, Verdict::kWarning);
  EXPECT_THAT(answer.reason, HasSubstr("Memory falls steadily"));
  EXPECT_EQ(answer.alert, "JetmemMemoryLeak");
  EXPECT_EQ(answer.since_seconds, 600);
  ASSERT_FALSE(answer.notes.empty());
  EXPECT_THAT(answer.notes.back(), HasSubstr("The history continues after the capture"));
}

// Only what has not ended since, in whatever way, and each of its alerts by itself.
TEST_F(DoctorSummary, RecordedAlertsThatHaveEnded) {
  past_.series("jetmem_meminfo_MemAvailable_bytes", kMorning - kHour, kMorning, 10,
               [](double) { return 3 * kGiB; });
  past_.known.boots.front().boot_id = "b2";
  past_.known.boots.front().number = 2;
  const auto change = [&](const char* alert, const char* kind, double at, const char* area = "a",
                          std::int64_t boot = 2) {
    EventRecord record;
    record.boot = boot;
    record.what = EventWhat::kAlert;
    record.kind = kind;
    record.severity = "critical";
    record.subject = alert;
    record.summary = std::string(alert) + " of " + area;
    record.fields = std::string("{\"labels\":{\"area\":\"") + area + "\"}}";
    record.wall = ns(at);
    past_.event(record);
  };
  change("JetmemSwapThrash", "firing", kMorning - 1000, "a", 1);
  change("JetmemMemoryLow", "firing", kMorning - 900);
  change("JetmemMemoryLow", "inhibited", kMorning - 800);
  change("JetmemCmaExhausted", "firing", kMorning - 700, "a");
  change("JetmemCmaExhausted", "firing", kMorning - 690, "b");
  change("JetmemCmaExhausted", "resolved", kMorning - 600, "b");
  DeviceNow now = healthy_device();
  now.by = SnapshotOrigin::kCapture;
  now.alerts->local_snapshot = true;
  const DoctorAnswer answer = examine(now, &past_);
  const std::string text = doctor_json(answer);
  EXPECT_THAT(text, Not(HasSubstr("JetmemSwapThrash has been firing"))) << "of the boot before";
  EXPECT_THAT(text, Not(HasSubstr("JetmemMemoryLow has been firing")));
  EXPECT_THAT(text, HasSubstr("JetmemCmaExhausted has been firing"));
  EXPECT_THAT(text, HasSubstr("JetmemCmaExhausted of a"));
  // In a boot of which nothing is recorded no alert is known to fire.
  now.boot_id = "b3";
  EXPECT_THAT(doctor_json(examine(now, &past_)), Not(HasSubstr("has been firing")));
}

// A history that somebody sent may say anything.
TEST_F(DoctorSummary, HostileTextOfAHistoryIsMadeSafe) {
  EventRecord event = kernel_event("smmu_context_fault", "vi\x1b[31m", kMorning - 60, 5);
  event.summary = "\x1b[2J\nkernel";
  past_.event(event);
  for (const char* severity : {"critical", "warning\x1b[31m"}) {
    event.what = EventWhat::kAlert;
    event.kind = "firing";
    event.severity = severity;
    event.subject = std::string("Own\x1b]0;x\a\n") + severity;
    past_.event(event);
  }
  past_.event(kernel_event("oom_kill", "\x1b[2Jx", kMorning - 50));
  DeviceNow now = healthy_device();
  now.by = SnapshotOrigin::kCapture;
  now.wall = kMorning - 400 * 86400.0;
  const std::string json = doctor_json(examine(now, &past_));
  EXPECT_THAT(json, HasSubstr("has been firing since"));
  EXPECT_THAT(json, Not(HasSubstr("\\u00")));
  EXPECT_THAT(json, Not(HasSubstr("\\n")));
}

TEST_F(DoctorSummary, FaultsAfterAProgramEnded) {
  const double at = kMorning - 2 * kHour;
  past_.series(group("resident", "nvargus-daemon"), at - kHour, at - 5, 10,
               [](double) { return 200 * kMiB; });
  past_.series(group("resident", "stays"), at - kHour, at + kHour, 10,
               [](double) { return 200 * kMiB; });
  past_.event(kernel_event("smmu_context_fault", "vi", at, 1));
  past_.event(kernel_event("smmu_context_fault", "vi", at + 60, 900));
  const DoctorAnswer answer = examine(healthy_device(), &past_);
  EXPECT_THAT(answer.conclusion, HasSubstr("901 SMMU faults from 06:00:00 to "
                                           "06:01:00; around the first one nvargus-daemon ended"))
      << answer.conclusion;
  EXPECT_THAT(answer.conclusion, Not(HasSubstr("stays")));
}

// Two seconds of heat lie between two values of the history; the kernel logged them.
TEST_F(DoctorSummary, AnAlarmOfTheTemperatureIsNoPowerLimit) {
  const double hot = kMorning - kHour;
  past_.series("jetmem_throttling", hot - kHour, kMorning, 10,
               [=](double t) { return t >= hot && t < hot + 10 ? 1 : 0; });
  past_.series("jetmem_thermal_zone_celsius{index=\"0\",zone=\"gpu-thermal\"}", hot - kHour,
               kMorning, 10, [](double) { return 47; });
  EXPECT_THAT(examine(healthy_device(), &past_).conclusion, HasSubstr("points to a power limit"));
  EventRecord alarm = kernel_event("thermal", "gpu-throttle-alert", hot - 3);
  alarm.fields = R"({"kind":"thermal","trip":"gpu-throttle-alert","state":1})";
  past_.event(alarm);
  const std::string text = examine(healthy_device(), &past_).conclusion;
  EXPECT_THAT(text, HasSubstr("alarm gpu-throttle-alert at 06:59:57"));
  EXPECT_THAT(text, Not(HasSubstr("power limit")));
}

TEST_F(DoctorSummary, AZoneAtItsLimitNeedsNoGuess) {
  const double hot = kMorning - kHour;
  past_.series("jetmem_throttling", hot - kHour, kMorning, 10,
               [=](double t) { return t >= hot && t < hot + 10 ? 1 : 0; });
  past_.series("jetmem_thermal_zone_celsius{index=\"0\",zone=\"tj-thermal\"}", hot - kHour,
               kMorning, 10, [](double) { return 101.5; });
  const auto text = [&](const std::string& kind, std::optional<double> bound) {
    const std::string labels = "{index=\"0\",kind=\"" + kind + "\",trip=\"1\",zone=\"tj-thermal\"}";
    std::map<std::string, double> values{{"jetmem_thermal_trip_celsius" + labels, 99}};
    if (bound) values["jetmem_thermal_trip_bound" + labels] = *bound;
    return examine(healthy_device(values), &past_).conclusion;
  };
  for (const std::string& with : {text("passive", 1), text("passive", {}), text("critical", {})}) {
    EXPECT_THAT(with, HasSubstr("at or above its trip point of 99 C"));
    EXPECT_THAT(with, Not(HasSubstr("power limit")));
  }
  for (const std::string& without : {text("passive", 0), text("active", 1)}) {
    EXPECT_THAT(without, HasSubstr("power limit"));
  }
}

TEST_F(DoctorSummary, TheEarliestCauseComesFirst) {
  leak(12 * kMiB / 60, "python3");
  past_.event(kernel_event("smmu_context_fault", "vi", kMorning - 7.99 * kHour, 5));
  past_.event(kernel_event("dma_alloc_failure", "vi", kMorning - 3 * kHour));
  const std::string text = examine(healthy_device(), &past_).conclusion;
  EXPECT_LT(text.find("vi accessed"), text.find("python3 ("));
  EXPECT_LT(text.find("python3 ("), text.find("allocation failed at"));
}

TEST_F(DoctorSummary, AQuietDayHasNoIncident) {
  leak(1 * kMiB / 60, "");
  const DoctorAnswer answer = examine(healthy_device(), &past_);
  EXPECT_EQ(answer.level, Verdict::kOk);
  EXPECT_EQ(answer.conclusion, "Nothing is wrong with this device's memory.");
}

TEST_F(DoctorSummary, WithoutHistoryTheStartIsUnknown) {
  DeviceNow now = healthy_device();
  now.events.push_back(kernel_event("oom_kill", "python3", kMorning - 6 * kHour));
  const DoctorAnswer answer = examine(now, nullptr, "the file is gone");
  EXPECT_EQ(
      answer.conclusion,
      "At 02:00:00 the kernel killed python3 (out of memory). When this began is unknown: the file "
      "is gone.");
}

TEST_F(DoctorSummary, AFailingHistoryIsNoted) {
  leak(12 * kMiB / 60, "python3");
  past_.broken = true;
  DeviceNow now = healthy_device();
  now.events.push_back(kernel_event("oom_kill", "python3", kMorning - 6 * kHour));
  const DoctorAnswer answer = examine(now, &past_);
  EXPECT_THAT(answer.conclusion, HasSubstr("the disk is gone."));
  EXPECT_LE(past_.requested, 60);
}

TEST_F(DoctorSummary, AnIncompleteHistoryIsNoted) {
  leak(12 * kMiB / 60, "python3");
  past_.lacking = "part of the past is missing: disk I/O error";
  DeviceNow now = healthy_device();
  now.events.push_back(kernel_event("oom_kill", "python3", kMorning - 6 * kHour));
  EXPECT_THAT(examine(now, &past_).notes,
              testing::Contains("The history could not be read completely: part of the past is "
                                "missing: disk I/O error"));
}

// The recorder writes each half hour: what jetmemd notes and the events that it has are later.
TEST_F(DoctorSummary, ARestartFollowsTheLastRecord) {
  BootKnown before;
  before.boot_id = "b1";
  before.number = 1;
  before.last_wall = ns(kMorning - 6 * kHour);
  past_.known.boots.front().number = 2;
  past_.known.boots.insert(past_.known.boots.begin(), before);
  DeviceNow now = healthy_device({{"jetmem_boot_last_shutdown{clean=\"yes\"}", 0},
                                  {"jetmem_boot_last_shutdown{clean=\"no\"}", 1},
                                  {"jetmem_boot_downtime_seconds", 900}});
  now.since_boot = 5.5 * kHour;
  EXPECT_THAT(examine(now, &past_).conclusion,
              HasSubstr("The device went down between 02:15:00 and 02:30:00 without"));
  EventRecord event = kernel_event("hung_task", "nvargus", kMorning - 5.6 * kHour);
  event.boot = 1;
  past_.event(event);
  event = kernel_event("thermal", "first of the new boot", kMorning - 5.5 * kHour - 1);
  event.boot = 2;
  past_.event(event);
  const DoctorAnswer answer = examine(now, &past_);
  EXPECT_THAT(answer.conclusion,
              HasSubstr("The device went down between 02:24:00 and 02:30:00 without"));
  for (const auto& each : answer.step("restart")->evidence) {
    EXPECT_THAT(each.text, Not(HasSubstr("15 minutes")));
  }
}

// A kill at night does not hide the leak of the morning.
TEST_F(DoctorSummary, ALeakAfterAKillIsReported) {
  leak(12 * kMiB / 60, "python3");
  const double begin = kMorning - 2 * kHour;
  const auto grown = [=](double t) { return std::max(0.0, t - begin) * 15 * kMiB / 60; };
  FakeHistory day;
  day.known = past_.known;
  SeriesQuery requested;
  requested.key = "jetmem_meminfo_MemAvailable_bytes";
  requested.to = ns(kMorning);
  requested.most = 100000;
  const auto copy = past_.past(requested);
  std::map<double, double> night;
  for (const HistoryPoint& each : copy->points) night[to_seconds(each.wall)] = each.average;
  day.series("jetmem_meminfo_MemAvailable_bytes", kMorning - 12 * kHour, kMorning, 10,
             [&](double t) { return night.lower_bound(t - 1)->second - grown(t); });
  const double killed = kMorning - 8 * kHour + 2 * kHour + 660;
  day.series(group("gpu", "python3", "vision.service"), kMorning - 12 * kHour, kMorning, 60,
             [=](double t) {
               const double from = kMorning - 8 * kHour + 600;
               return 500 * kMiB + (t < from || t >= killed ? 0 : (t - from) * 12 * kMiB / 60);
             });
  day.series(group("resident", "recorder"), kMorning - 12 * kHour, kMorning, 60,
             [=](double t) { return 100 * kMiB + grown(t); });
  day.event(kernel_event("oom_kill", "python3", killed));
  const DoctorAnswer answer =
      examine(healthy_device({{"jetmem_meminfo_MemAvailable_bytes", 200 * kMiB}}), &day);
  EXPECT_THAT(answer.conclusion, HasSubstr("at 02:11:00 the kernel killed python3"));
  EXPECT_THAT(answer.conclusion, HasSubstr("python3 (vision.service) grew by 1.4 GiB from 00:"));
  EXPECT_THAT(answer.conclusion,
              testing::ContainsRegex("recorder grew by 1\\.[78] GiB since 0[56]:"));
  EXPECT_LE(answer.history_queries, kMaxQuestions);
}

// In a capture the recorder's moments are rounded, and the log's own are not.
TEST_F(DoctorSummary, LogAndHistoryCountAnEventOnce) {
  past_.known.boots.front().number = 7;
  DeviceNow now = healthy_device();
  for (const double ago : {600.0, 300.0, 200.0}) {
    EventRecord event = kernel_event("smmu_context_fault", "vi", kMorning - ago + 0.7);
    event.at = ns(now.since_boot - ago + 0.7);
    now.events.push_back(event);
    event.boot = 7;
    event.at = ns(now.since_boot - ago);
    event.wall = ns(kMorning - ago);
    if (ago != 200) past_.event(event);
  }
  EXPECT_THAT(examine(now, &past_).conclusion, HasSubstr(": 3 SMMU faults from"));
}

TEST_F(DoctorSummary, SuppressedFaultMessagesAreMentioned) {
  DeviceNow now = healthy_device(
      {{"jetmem_kernel_events_suppressed_total{kind=\"smmu_context_fault\"}", 9000}});
  now.events.push_back(kernel_event("smmu_context_fault", "vi", kMorning - 600, 40));
  EXPECT_THAT(examine(now, &past_).conclusion,
              HasSubstr(": at least 40 SMMU faults at 07:50:00 (the kernel suppressed 9,000 more "
                        "messages since boot)"));
}

}  // namespace
}  // namespace jetmem
