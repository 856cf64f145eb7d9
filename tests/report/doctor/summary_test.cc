// SPDX-License-Identifier: Apache-2.0
// Culprit and time: what the doctor makes of a past.
#include <gmock/gmock.h>

#include <chrono>
#include <cstdlib>
#include <functional>

#include "report/doctor/doctor.h"
#include "tests/report/doctor/doctor_past.h"
#include "tests/time_zone.h"

namespace jetmem {
namespace {

using testing::AllOf;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;
using ValueAt = std::function<double(double)>;

class DoctorSummary : public testing::Test {
 protected:
  const TimeZone zone_{"UTC"};

  DoctorSummary() { set_facts(past_); }

  void available(double from, double to, const ValueAt& value) {
    past_.series("jetmem_meminfo_MemAvailable_bytes", from, to, 10, value);
  }
  void resident(const char* command, double from, double to, const ValueAt& value) {
    past_.series(group("resident", command), from, to, 60, value);
  }
  void logged(const char* kind, const char* subject, double wall, std::uint64_t count = 1) {
    past_.event(kernel_event(kind, subject, wall, count));
  }
  std::string conclusion(const std::map<std::string, double>& changes = {}) {
    return examine(healthy_device(changes), &past_).conclusion;
  }

  // Three groups, of which python3 grows from 00:10 to 02:11 and is killed.
  void leak(double rate, const char* victim) {
    const double begin = kMorning - 8 * kHour + 600;
    const double end = kMorning - 8 * kHour + 2 * kHour + 660;
    const auto grown = [=](double t) { return t < begin || t >= end ? 0.0 : (t - begin) * rate; };
    const double from = kMorning - 12 * kHour;
    available(from, kMorning,
              [=](double t) { return 2 * kGiB - grown(t) + std::fmod(t * 7919, 5) * kMiB; });
    past_.series(group("resident", "python3", "vision.service"), from, kMorning, 60,
                 [=](double t) { return 300 * kMiB + grown(t) / 4; });
    past_.series(group("gpu", "python3", "vision.service"), from, kMorning, 60,
                 [=](double t) { return 200 * kMiB + 3 * grown(t) / 4; });
    resident("gst-launch-1.0", from, kMorning,
             [=](double t) { return 900 * kMiB + std::fmod(t * 7919, 9) * kMiB; });
    resident("other", from, kMorning, [](double) { return 500 * kMiB; });
    if (*victim != '\0') logged("oom_kill", victim, end);
  }

  FakeHistory past_;
};

TEST_F(DoctorSummary, NamesTheGrowerWithTimesAndRate) {
  leak(12 * kMiB / 60, "python3");
  const auto begun = std::chrono::steady_clock::now();
  const DoctorAnswer answer = examine(healthy_device(), &past_);
  EXPECT_LT(std::chrono::steady_clock::now() - begun, std::chrono::milliseconds(500));
  EXPECT_TRUE(answer.step("oom")->happened);
  EXPECT_THAT(answer.conclusion,
              AllOf(HasSubstr("python3 (vision.service) grew by 1.4 GiB from 00:"),
                    ContainsRegex("from 00:(0[6-9]|1[0-4]):"), ContainsRegex("to 02:(09|10|11):"),
                    HasSubstr("(12 MiB/min)"), ContainsRegex("(9[5-9]|100)% of the 1\\.4 GiB"),
                    HasSubstr("at 02:11:00 the kernel killed python3"),
                    Not(HasSubstr("another program grew"))));
  EXPECT_LE(answer.history_queries, kMaxQuestions);
  EXPECT_EQ(answer.history_queries, static_cast<std::uint64_t>(past_.requested));
  ASSERT_GE(answer.timeline.size(), 3U);
  EXPECT_TRUE(std::is_sorted(answer.timeline.begin(), answer.timeline.end(),
                             [](const auto& a, const auto& b) { return a.time < b.time; }));
}

TEST_F(DoctorSummary, TheVictimIsNotTheCulprit) {
  leak(12 * kMiB / 60, "gst-launch-1.0");
  EXPECT_THAT(
      conclusion(),
      AllOf(HasSubstr("python3 (vision.service) grew by 1.4 GiB"),
            HasSubstr("killed gst-launch-1.0 (out of memory), although another program grew")));
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
  available(kMorning - 12 * kHour, kMorning, [](double t) {
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
  const auto grown = [=](double t) { return std::max(0.0, t - (end - 2 * kHour)) / (2 * kHour); };
  available(from, end, [=](double t) { return 3 * kGiB - grown(t) * 2.5 * kGiB; });
  for (const char* name : {"a", "b", "c", "d", "e"}) {
    resident(name, from, end, [=](double t) { return 100 * kMiB + grown(t) * 250 * kMiB; });
  }
  logged("oom_kill", "a", end);
  EXPECT_THAT(conclusion(), AllOf(HasSubstr("no single program explains it"),
                                  ContainsRegex("has (9\\.[0-9]|10)% of it")));
}

TEST_F(DoctorSummary, OrphanBuffersAreACulprit) {
  const double from = kMorning - 3 * kHour;
  const auto grown = [=](double t) { return std::max(0.0, t - from - kHour) * 9 * kMiB / 60; };
  available(from, kMorning, [=](double t) { return 1.2 * kGiB - grown(t); });
  past_.series("jetmem_nvmap_orphan_bytes{heap=\"iovmm\"}", from, kMorning, 60,
               [=](double t) { return 28 * kMiB + grown(t); });
  resident("camera", from, kMorning, [](double) { return 100 * kMiB; });
  const DoctorAnswer answer =
      examine(healthy_device({{"jetmem_meminfo_MemAvailable_bytes", 160 * kMiB}}), &past_);
  EXPECT_EQ(answer.level, Verdict::kCritical);
  EXPECT_THAT(answer.conclusion,
              AllOf(HasSubstr("(orphans) grew by 1"),
                    ContainsRegex("by 1(\\.1)? GiB .*\\((8\\.9|9) MiB/min, still growing\\)"),
                    ContainsRegex("since 0(5:5[5-9]|6:0[0-5])")));
}

// A program is killed at 07:00; available memory has fallen by 1.5 GiB in the hour before.
class DoctorSummaryOfAnHour : public DoctorSummary {
 protected:
  DoctorSummaryOfAnHour() {
    available(from_, end_, [this](double t) { return 2 * kGiB - grown(t) * 1.5 * kGiB; });
    logged("oom_kill", "model", end_);
  }
  double grown(double t) const { return std::clamp((t - end_ + kHour) / kHour, 0.0, 1.0); }
  // Of `least` at first, and of `growth` more at the end.
  void grows(const std::string& key, double least, double growth) {
    past_.series(key, from_, end_, 60, [=, this](double t) { return least + grown(t) * growth; });
  }

  const double end_ = kMorning - kHour;
  const double from_ = end_ - 4 * kHour;
};

TEST_F(DoctorSummaryOfAnHour, AProgramHiddenInOtherIsNotOverrated) {
  grows(group("resident", "old"), 100 * kMiB, 0);
  grows(group("resident", "other"), 100 * kMiB, 0);
  resident("model", end_ - kHour, end_, [](double) { return 1.5 * kGiB; });
  EXPECT_THAT(conclusion(), HasSubstr("model grew by at least 1.4 GiB"));
}

// What of nvmap's buffers is resident too may not be known: the same bytes then count once.
TEST_F(DoctorSummaryOfAnHour, OfUnknownMappingsTheGrowthIsALowerBound) {
  for (const std::string& key :
       {group("resident", "model"), group("gpu", "model"),
        std::string("jetmem_nvmap_process_bytes{heap=\"iovmm\",process=\"model\"}")}) {
    grows(key, 0, 1.5 * kGiB);
  }
  EXPECT_THAT(conclusion(), HasSubstr("model grew by at least 1.5 GiB"));
  grows(group("mapped", "model"), 0, 1.5 * kGiB);
  EXPECT_THAT(conclusion(), HasSubstr("model grew by 1.5 GiB"));
}

// The least that another can have grown by is not listed, and what it may have grown by is more.
TEST_F(DoctorSummaryOfAnHour, WhoGrewMostIsNotKnownWhereMappingsAreNot) {
  grows(group("resident", "small"), 100 * kMiB, 150 * kMiB);
  grows(group("resident", "model"), kGiB, 500 * kMiB);
  grows(group("gpu", "model"), kGiB, 500 * kMiB);
  EXPECT_THAT(conclusion(), HasSubstr("model grew by 983 MiB"));
  grows("jetmem_nvmap_process_bytes{heap=\"iovmm\",process=\"model\"}", kGiB, 0);
  EXPECT_THAT(conclusion(), AllOf(Not(HasSubstr("no single program")),
                                  HasSubstr("most growth seen: small grew by 148 MiB")));
  grows(group("mapped", "model"), kGiB, 500 * kMiB);
  EXPECT_THAT(conclusion(), HasSubstr("model grew by 492 MiB"));
}

TEST_F(DoctorSummaryOfAnHour, WhatBecameKnownMeanwhileDidNotGrow) {
  const auto has_a_gib = [](double) { return kGiB; };
  grows(group("resident", "model"), 100 * kMiB, 600 * kMiB);
  grows(group("resident", "idle"), 100 * kMiB, 0);
  grows(group("dmabuf", "idle"), 100 * kMiB, 0);
  past_.series(group("dmabuf", "model"), end_ - kHour / 2, end_, 60, has_a_gib);
  EXPECT_THAT(conclusion(), HasSubstr("model grew by at least 590 MiB"));
  // Nor what no program has: all of it may have been there before, or have come since.
  past_.series("jetmem_nvmap_orphan_bytes{heap=\"iovmm\"}", end_ - kHour / 2, end_, 60, has_a_gib);
  EXPECT_THAT(conclusion(), HasSubstr("model grew by at least 590 MiB"));
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
  logged("dma_alloc_failure", "tegra-capture-vi", failed);
  logged("dma_alloc_failure", "tegra-capture-vi", failed + 300);
  const DoctorAnswer answer = examine(healthy_device(), &past_);
  EXPECT_TRUE(answer.step("cma")->happened);
  EXPECT_THAT(
      answer.conclusion,
      HasSubstr("The largest free block of CMA area linux,cma became too small for the largest "
                "request at 02:20:00, 40 min before the first failed allocation at 03:00:00"));
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
  logged("dma_alloc_failure", "tegra-capture-vi", failed);
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
  logged("oom_kill", "python3", killed);
  EXPECT_THAT(conclusion(), AllOf(Not(HasSubstr("bystander")), HasSubstr("too fast to attribute")));
}

// Where the history is of a later day than the capture, its last moment is now, and the recorder
// has the alerts of then.
TEST_F(DoctorSummary, AHistoryOfALaterDayThanTheCapture) {
  available(kMorning - kHour, kMorning, [](double) { return 3 * kGiB; });
  past_.event(alert_event("firing", "JetmemMemoryLeak", kMorning - 600, "warning"));
  DeviceNow now = healthy_device();
  now.by = SnapshotOrigin::kCapture;
  now.wall = kMorning - 400 * 86400.0;
  const DoctorAnswer answer = examine(now, &past_);
  EXPECT_EQ(answer.step("memory")->verdict, Verdict::kWarning);
  EXPECT_THAT(answer.reason, HasSubstr("JetmemMemoryLeak is so"));
  EXPECT_EQ(answer.alert, "JetmemMemoryLeak");
  EXPECT_EQ(answer.since_seconds, 600);
  ASSERT_FALSE(answer.notes.empty());
  EXPECT_THAT(answer.notes.back(), HasSubstr("The history continues after the capture"));
}

// Only what has not ended since, in whatever way, and each of its alerts by itself.
TEST_F(DoctorSummary, RecordedAlertsThatHaveEnded) {
  available(kMorning - kHour, kMorning, [](double) { return 3 * kGiB; });
  past_.known.boots.front().number = 2;
  const auto change = [&](const char* alert, const char* kind, double at, const char* area = "a",
                          std::int64_t boot = 2) {
    EventRecord record = alert_event(kind, alert, at);
    record.boot = boot;
    record.summary = std::string(alert) + " of " + area;
    record.fields = std::string("{\"labels\":{\"area\":\"") + area + "\"}}";
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
  for (const std::string severity : {"critical", "warning\x1b[31m"}) {
    past_.event(alert_event("firing", "Own\x1b]0;x\a\n" + severity, kMorning - 60, severity));
  }
  logged("oom_kill", "\x1b[2Jx", kMorning - 50);
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
  logged("smmu_context_fault", "vi", at, 1);
  logged("smmu_context_fault", "vi", at + 60, 900);
  EXPECT_THAT(conclusion(),
              AllOf(HasSubstr("901 SMMU faults from 06:00:00 to 06:01:00; around the first one "
                              "nvargus-daemon ended"),
                    Not(HasSubstr("stays"))));
}

// Throttled for ten seconds at 07:00, with one zone that is recorded.
class DoctorSummaryOfHeat : public DoctorSummary {
 protected:
  void zone_has(const std::string& zone, double celsius) {
    past_.series("jetmem_throttling", hot_ - kHour, kMorning, 10,
                 [this](double t) { return t >= hot_ && t < hot_ + 10 ? 1 : 0; });
    past_.series("jetmem_thermal_zone_celsius{index=\"0\",zone=\"" + zone + "\"}", hot_ - kHour,
                 kMorning, 10, [=](double) { return celsius; });
  }
  const double hot_ = kMorning - kHour;
};

// Two seconds of heat lie between two values of the history; the kernel logged them.
TEST_F(DoctorSummaryOfHeat, AnAlarmOfTheTemperatureIsNoPowerLimit) {
  zone_has("gpu-thermal", 47);
  EXPECT_THAT(conclusion(), HasSubstr("points to a power limit"));
  EventRecord alarm = kernel_event("thermal", "gpu-throttle-alert", hot_ - 3);
  alarm.fields = R"({"kind":"thermal","trip":"gpu-throttle-alert","state":1})";
  past_.event(alarm);
  EXPECT_THAT(conclusion(), AllOf(HasSubstr("alarm gpu-throttle-alert at 06:59:57"),
                                  Not(HasSubstr("power limit"))));
}

TEST_F(DoctorSummaryOfHeat, AZoneAtItsLimitNeedsNoGuess) {
  zone_has("tj-thermal", 101.5);
  const auto text = [&](const std::string& kind, std::optional<double> bound) {
    const std::string labels = "{index=\"0\",kind=\"" + kind + "\",trip=\"1\",zone=\"tj-thermal\"}";
    std::map<std::string, double> values{{"jetmem_thermal_trip_celsius" + labels, 99}};
    if (bound) values["jetmem_thermal_trip_bound" + labels] = *bound;
    return conclusion(values);
  };
  for (const std::string& with : {text("passive", 1), text("passive", {}), text("critical", {})}) {
    EXPECT_THAT(with, AllOf(HasSubstr("at or above its trip point of 99 C"),
                            Not(HasSubstr("power limit"))));
  }
  for (const std::string& without : {text("passive", 0), text("active", 1)}) {
    EXPECT_THAT(without, HasSubstr("power limit"));
  }
}

TEST_F(DoctorSummary, TheEarliestCauseComesFirst) {
  leak(12 * kMiB / 60, "python3");
  logged("smmu_context_fault", "vi", kMorning - 7.99 * kHour, 5);
  logged("dma_alloc_failure", "vi", kMorning - 3 * kHour);
  const std::string text = conclusion();
  EXPECT_LT(text.find("vi accessed"), text.find("python3 ("));
  EXPECT_LT(text.find("python3 ("), text.find("allocation failed at"));
}

TEST_F(DoctorSummary, AQuietDayHasNoIncident) {
  leak(1 * kMiB / 60, "");
  const DoctorAnswer answer = examine(healthy_device(), &past_);
  EXPECT_EQ(answer.level, Verdict::kOk);
  EXPECT_EQ(answer.conclusion, "Nothing is wrong with this device's memory.");
}

// python3 was killed at 02:00; why it was, the history may not say.
class DoctorSummaryOfAKill : public DoctorSummary {
 protected:
  DoctorSummaryOfAKill() {
    leak(12 * kMiB / 60, "python3");
    now_.events.push_back(kernel_event("oom_kill", "python3", kMorning - 6 * kHour));
  }
  DeviceNow now_ = healthy_device();
};

TEST_F(DoctorSummaryOfAKill, WithoutHistoryTheStartIsUnknown) {
  EXPECT_EQ(examine(now_, nullptr, "the file is gone").conclusion,
            "At 02:00:00 the kernel killed python3 (out of memory). When this began is unknown: "
            "the file is gone.");
}

TEST_F(DoctorSummaryOfAKill, AFailingHistoryIsNoted) {
  past_.broken = true;
  EXPECT_THAT(examine(now_, &past_).conclusion, HasSubstr("the disk is gone."));
  EXPECT_LE(past_.requested, 60);
}

TEST_F(DoctorSummaryOfAKill, AnIncompleteHistoryIsNoted) {
  past_.lacking = "part of the past is missing: disk I/O error";
  EXPECT_THAT(examine(now_, &past_).notes,
              testing::Contains("The history could not be read completely: " + past_.lacking));
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
  const double from = kMorning - 12 * kHour;
  const double night = kMorning - 8 * kHour + 600;
  const double killed = night + 2 * kHour + 60;
  const double morning = kMorning - 2 * kHour;
  const auto grown_at_night = [=](double t) {
    return t < night || t >= killed ? 0 : (t - night) * 12 * kMiB / 60;
  };
  const auto grown = [=](double t) { return std::max(0.0, t - morning) * 15 * kMiB / 60; };
  available(from, kMorning, [=](double t) {
    return 2 * kGiB - grown_at_night(t) - grown(t) + std::fmod(t * 7919, 5) * kMiB;
  });
  past_.series(group("gpu", "python3", "vision.service"), from, kMorning, 60,
               [=](double t) { return 500 * kMiB + grown_at_night(t); });
  resident("recorder", from, kMorning, [=](double t) { return 100 * kMiB + grown(t); });
  logged("oom_kill", "python3", killed);
  const DoctorAnswer answer =
      examine(healthy_device({{"jetmem_meminfo_MemAvailable_bytes", 200 * kMiB}}), &past_);
  EXPECT_THAT(answer.conclusion,
              AllOf(HasSubstr("at 02:11:00 the kernel killed python3"),
                    HasSubstr("python3 (vision.service) grew by 1.4 GiB from 00:"),
                    ContainsRegex("recorder grew by 1\\.[78] GiB since 0[56]:")));
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
