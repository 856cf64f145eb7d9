// SPDX-License-Identifier: Apache-2.0
// An incident that is over stays what it was, whenever the doctor is asked; one that is not is said
// to go on.
#include <gmock/gmock.h>

#include "report/diagnosis/format.h"
#include "report/doctor/correlate.h"
#include "report/doctor/doctor.h"
#include "tests/aging_history.h"
#include "tests/report/doctor/doctor_past.h"
#include "tests/time_zone.h"

namespace jetmem {
namespace {

using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;

// Minutes after the end.
constexpr std::array<double, 4> kAsked{1, 40, 180, 24 * 60 - 10};
// A value that never rests, the same for the same moment.
double waver(double t, double size) { return size * std::sin(t * 0.7) * std::cos(t * 0.013); }

struct Asked {
  double minutes = 0;
  doctor::Findings found;
  DoctorAnswer answer;
};

class FixedIncident : public testing::Test {
 protected:
  const TimeZone zone_{"UTC"};

  FixedIncident() {
    past_.known.location = "history.db";
    past_.known.oldest = ns(kMorning - 4 * 86400);
    BootKnown boot;
    boot.boot_id = "b2";
    boot.wall_trusted = true;
    past_.known.boots = {boot};
  }

  // The device as it is `seconds` after `end_`.
  Asked ask(double seconds, std::map<std::string, double> changes = {},
            const std::optional<CmaMap>& map = {}) {
    Asked out;
    out.minutes = seconds / 60;
    const double now = end_ + seconds;
    past_.set_now(now);
    changes.emplace("jetmem_meminfo_MemAvailable_bytes", available_(now));
    DeviceNow device = healthy_device(changes);
    device.wall = now;
    device.since_boot = now - (kMorning - 4 * 86400);
    device.cma_map = map;
    doctor::Past past(&past_, kMaxQuestions);
    out.found = doctor::correlate(device, past);
    out.answer = examine(device, &past_);
    EXPECT_LE(out.answer.history_queries, kMaxQuestions);
    EXPECT_THAT(out.answer.notes, Not(testing::Contains(HasSubstr("limit of queries"))));
    return out;
  }

  // The same move within what the recorder still has of it, and if that is less, it is said.
  static void is_same(const doctor::Move& first, const doctor::Move& later) {
    const double slack = later.step > 0 ? 1.5 * later.step : 0;
    EXPECT_NEAR(later.from, first.from, slack);
    EXPECT_NEAR(later.to, first.to, slack);
    EXPECT_NEAR(later.before, first.before, 0.01 * std::abs(first.change()));
    EXPECT_NEAR(later.after, first.after, 0.01 * std::abs(first.change()));
    EXPECT_FALSE(later.is_ongoing);
  }

  void memory_shrinks(double begin, double rate, double grown) {
    const double length = grown / rate;
    end_ = begin + length;
    available_ = [=](double t) {
      return 4 * kGiB - std::clamp((t - begin) * rate, 0.0, grown) + waver(t, 6 * kMiB);
    };
    past_.series("jetmem_meminfo_MemAvailable_bytes", kMorning - 4 * 86400, available_);
    // Read once a minute.
    past_.series(
        "jetmem_process_group_resident_bytes{command=\"python3\",container=\"\",unit=\"\"}",
        kMorning - 4 * 86400, [=](double t) {
          const double read = std::floor(t / 60) * 60;
          return 300 * kMiB + std::clamp((read - begin) * rate, 0.0, grown);
        });
    past_.series("jetmem_process_group_resident_bytes{command=\"gst\",container=\"\",unit=\"\"}",
                 kMorning - 4 * 86400, [](double t) { return 700 * kMiB + waver(t, 4 * kMiB); });
  }

  AgingHistory past_;
  double end_ = kMorning;
  std::function<double(double)> available_ = [](double) { return 4 * kGiB; };
};

struct Leak {
  const char* name;
  double seconds;
};
void PrintTo(const Leak& each, std::ostream* out) { *out << each.name; }

class FixedLeak : public FixedIncident, public testing::WithParamInterface<Leak> {};

TEST_P(FixedLeak, MemoryThatStaysLow) {
  const double grown = 3.8 * kGiB;
  memory_shrinks(kMorning - 86400 + 1234, grown / GetParam().seconds, grown);
  const Asked first = ask(60 * kAsked[0]);
  ASSERT_TRUE(first.found.memory);
  const doctor::Move& move = first.found.memory->available;
  EXPECT_NEAR(move.from, end_ - GetParam().seconds, 20 + 0.02 * GetParam().seconds);
  EXPECT_NEAR(move.to, end_, 20 + 0.02 * GetParam().seconds);
  EXPECT_NEAR(-move.change(), grown, 0.01 * grown);
  for (const double minutes : kAsked) {
    SCOPED_TRACE(minutes);
    const Asked later = ask(60 * minutes);
    ASSERT_TRUE(later.found.memory) << later.answer.conclusion;
    const doctor::Move& now = later.found.memory->available;
    is_same(move, now);
    const double rate = move.change() / (move.to - move.from);
    EXPECT_NEAR(now.change() / (now.to - now.from), rate,
                std::abs(rate) * (0.01 + 3 * now.step / GetParam().seconds));
    ASSERT_FALSE(later.found.memory->top_growth.empty());
    EXPECT_EQ(later.found.memory->top_growth.front().command, "python3");
    EXPECT_NEAR(later.found.memory->top_growth.front().grown,
                first.found.memory->top_growth.front().grown, 0.05 * grown);
    EXPECT_EQ(later.answer.level, Verdict::kCritical);
    EXPECT_THAT(later.answer.conclusion, HasSubstr("python3 grew by ")) << minutes;
    EXPECT_THAT(later.answer.conclusion, Not(HasSubstr("still")));
    const bool is_coarse = now.step > 0;
    EXPECT_EQ(later.answer.conclusion.find("Only one-minute values remain") != std::string::npos,
              is_coarse)
        << later.answer.conclusion;
  }
}

INSTANTIATE_TEST_SUITE_P(Leaks, FixedLeak,
                         testing::Values(Leak{"FiveMinutes", 300}, Leak{"AnHour", 3600},
                                         Leak{"FiveHours", 5 * 3600.0}),
                         [](const auto& each) { return std::string(each.param.name); });

TEST_F(FixedIncident, AFallThatGoesOnIsSaidToGoOn) {
  memory_shrinks(kMorning - 2 * kHour, kMiB / 2, 3.8 * kGiB);
  const Asked running = ask(-60);
  ASSERT_TRUE(running.found.memory);
  EXPECT_TRUE(running.found.memory->available.is_ongoing);
  EXPECT_THAT(running.answer.conclusion,
              ContainsRegex("python3 grew by 3\\.[678] GiB since .*, still growing"));
  EXPECT_THAT(ask(300).answer.conclusion, Not(HasSubstr("still")));
}

// What comes back afterwards is no part of it.
TEST_F(FixedIncident, ThePeakStaysWhenAPartComesBack) {
  memory_shrinks(kMorning - 10 * kHour, kMiB, 3.8 * kGiB);
  const auto fall = available_;
  const double end = end_;
  available_ = [=](double t) {
    return fall(t) + std::clamp((t - end - 600) * 30 * kMiB / 600, 0.0, 300 * kMiB);
  };
  past_.series("jetmem_meminfo_MemAvailable_bytes", kMorning - 4 * 86400, available_);
  const Asked first = ask(60 * kAsked[0]);
  ASSERT_TRUE(first.found.memory);
  for (const double minutes : {40.0, 180.0}) {
    SCOPED_TRACE(minutes);
    const Asked later = ask(60 * minutes);
    ASSERT_TRUE(later.found.memory);
    is_same(first.found.memory->available, later.found.memory->available);
  }
}

TEST_F(FixedIncident, AKillAndWhatLedToIt) {
  memory_shrinks(kMorning - 86400, 2 * kMiB, 3.7 * kGiB);
  const auto fall = available_;
  const double end = end_;
  available_ = [=](double t) { return t < end ? fall(t) : 3.5 * kGiB + waver(t, kMiB); };
  past_.series("jetmem_meminfo_MemAvailable_bytes", kMorning - 4 * 86400, available_);
  past_.event(kernel_event("oom_kill", "python3", end));
  const Asked first = ask(60);
  ASSERT_TRUE(first.found.memory_then);
  for (const double minutes : kAsked) {
    SCOPED_TRACE(minutes);
    const Asked later = ask(60 * minutes);
    ASSERT_TRUE(later.found.memory_then);
    is_same(first.found.memory_then->available, later.found.memory_then->available);
    EXPECT_THAT(later.answer.conclusion, HasSubstr("the kernel killed python3"));
  }
}

TEST_F(FixedIncident, AHotSpell) {
  const double begin = kMorning - 86400 + 777;
  end_ = begin + 2400;
  const double end = end_;
  // It comes and goes: eight minutes of ten.
  past_.series("jetmem_throttling", kMorning - 4 * 86400, [=](double t) {
    return t >= begin && t < end && std::fmod(t - begin, 600) < 480 ? 1.0 : 0.0;
  });
  const auto zone = [&](const char* name, double peak) {
    past_.series(std::string("jetmem_thermal_zone_celsius{index=\"0\",zone=\"") + name + "\"}",
                 kMorning - 4 * 86400, [=](double t) {
                   if (t < begin - 1200 || t > end + 900) return 50.0;
                   return 50 + (peak - 50) * std::clamp((t - begin + 1200) / 2000, 0.0, 1.0);
                 });
  };
  zone("gpu-thermal", 103);
  zone("cpu-thermal", 97);
  const Asked running = ask(-1100);
  ASSERT_TRUE(running.found.heat);
  EXPECT_TRUE(running.found.heat->is_ongoing);
  EXPECT_THAT(running.answer.conclusion,
              ContainsRegex("The chip has throttled since 08:13:00, for 18 min so far, after "
                            "gpu-thermal warmed from 50 to 82 C since 07:52:50;"));
  for (const double minutes : kAsked) {
    SCOPED_TRACE(minutes);
    const Asked later = ask(60 * minutes);
    ASSERT_TRUE(later.found.heat);
    const doctor::Heat& heat = *later.found.heat;
    const double slack = 10 + 1.5 * heat.step;
    EXPECT_FALSE(heat.is_ongoing);
    EXPECT_NEAR(heat.began, begin, slack);
    EXPECT_NEAR(heat.ended, end - 120, slack);
    EXPECT_NEAR(heat.throttled, 4 * 480, 50);
    EXPECT_EQ(heat.peak, 103);
    EXPECT_EQ(heat.peak_zone, "gpu-thermal");
    EXPECT_NEAR(heat.peak_time, begin + 800, slack);
    EXPECT_EQ(heat.step > 0, minutes > 300);
    EXPECT_THAT(later.answer.conclusion,
                ContainsRegex("throttled from .* to .*, for 32 min in all, after gpu-thermal "
                              "warmed from 50 to .* the peak was 103 C in gpu-thermal at"))
        << later.answer.conclusion;
  }
}

TEST_F(FixedIncident, AStormOfFaults) {
  const double begin = kMorning - 86400 + 100;
  end_ = begin + 5400;
  for (double t = begin; t <= end_; t += 60) {
    past_.event(kernel_event("smmu_context_fault", "vi", t, 50));
  }
  EXPECT_THAT(ask(-600).answer.conclusion, HasSubstr("and they continue"));
  for (const double minutes : kAsked) {
    SCOPED_TRACE(minutes);
    const Asked later = ask(60 * minutes);
    ASSERT_TRUE(later.found.smmu);
    EXPECT_EQ(later.found.smmu->first, begin);
    EXPECT_EQ(later.found.smmu->last, end_);
    EXPECT_EQ(later.found.smmu->count, 91 * 50);
    EXPECT_EQ(later.found.smmu->is_ongoing, minutes < 2);
  }
}

TEST_F(FixedIncident, AnAreaThatBecameTooSmall) {
  const double fell = kMorning - 86400 + 55;
  end_ = fell + 2400;
  const double begin = fell - 3000;
  past_.series("jetmem_cma_largest_free_run_bytes{area=\"linux,cma\"}", kMorning - 4 * 86400,
               [=](double t) {
                 return 100 * kMiB - std::clamp((t - begin) / (fell - begin), 0.0, 1.1) * 88 * kMiB;
               });
  past_.series("jetmem_cma_used_bytes{area=\"linux,cma\"}", kMorning - 4 * 86400, [=](double t) {
    return 40 * kMiB + std::clamp((t - begin) / (fell - begin), 0.0, 1.1) * 100 * kMiB;
  });
  past_.series("jetmem_cma_frame_fit_ratio{area=\"linux,cma\"}", kMorning - 4 * 86400,
               [](double) { return 1.0; });
  past_.event(kernel_event("dma_alloc_failure", "tegra-capture-vi", end_));
  const std::map<std::string, double> changes{
      {"jetmem_cma_largest_free_run_bytes{area=\"linux,cma\"}", 3.2 * kMiB},
      {"jetmem_cma_frame_fit_ratio{area=\"linux,cma\"}", 3.2 / 12}};
  const Asked first = ask(60, changes);
  ASSERT_TRUE(first.found.cma && first.found.cma->run && first.found.cma->used);
  EXPECT_NEAR(first.found.cma->fell.value_or(0), fell, 10);
  for (const double minutes : kAsked) {
    SCOPED_TRACE(minutes);
    const Asked later = ask(60 * minutes, changes);
    ASSERT_TRUE(later.found.cma && later.found.cma->run && later.found.cma->used);
    is_same(*first.found.cma->run, *later.found.cma->run);
    is_same(*first.found.cma->used, *later.found.cma->used);
    EXPECT_NEAR(later.found.cma->fell.value_or(0), *first.found.cma->fell,
                later.found.cma->run->step);
    EXPECT_EQ(later.found.cma->first_failure, end_);
  }
}

// Neither a program that has ended, nor one that allocated after the incident.
TEST_F(FixedIncident, WhoTookAnArea) {
  const double begin = kMorning - 86400;
  end_ = begin + 2400;
  const std::string area = "{area=\"linux,cma\"}";
  const auto risen = [=](double t) { return std::clamp((t - begin) / 1200, 0.0, 1.0); };
  past_.series("jetmem_cma_largest_free_run_bytes" + area, kMorning - 4 * 86400,
               [=](double t) { return 110 * kMiB - risen(t) * 106 * kMiB; });
  past_.series("jetmem_cma_used_bytes" + area, kMorning - 4 * 86400,
               [=](double t) { return 40 * kMiB + risen(t) * 106 * kMiB; });
  past_.series("jetmem_cma_frame_fit_ratio" + area, kMorning - 4 * 86400,
               [](double) { return 1.0; });
  past_.event(kernel_event("dma_alloc_failure", "tegra-capture-vi", end_));
  CmaMap map;
  map.page_bytes = 4096;
  map.owners = {{400, "camera", "gst-launch-1.0", 400, "camera.service", "", "", false},
                {500, "argus", "argus", 500, "", "", "", true},
                {600, "viewer", "viewer", 600, "", "", "", false},
                {700, "display", "display", 700, "", "", "", false}};
  const auto boot_clock = [](double wall) { return ns(wall - (kMorning - 4 * 86400)); };
  using State = CmaPiece::State;
  map.areas.push_back({"linux,cma",
                       0x1000,
                       65536,
                       0,
                       {{0x1000, 45 * 256, State::kTaken, 0, boot_clock(begin + 300)},
                        {0x3d00, 0x300, State::kFree, 0, {}},
                        {0x4000, 46 * 256, State::kTaken, 1, boot_clock(begin + 400)},
                        {0x6e00, 0x200, State::kFree, 0, {}},
                        {0x7000, 60 * 256, State::kTaken, 2, boot_clock(end_ + 900)},
                        {0xac00, 0x400, State::kFree, 0, {}},
                        {0xb000, 92 * 256, State::kTaken, 3, boot_clock(begin - 4000)},
                        {0x10c00, 0x400, State::kFree, 0, {}}},
                       4});
  map.now = boot_clock(end_ + 1800);
  const Asked asked = ask(1800,
                          {{"jetmem_cma_areas", 1},
                           {"jetmem_cma_area_bytes" + area, 256 * kMiB},
                           {"jetmem_cma_used_ratio" + area, 0.9},
                           {"jetmem_cma_largest_free_run_bytes" + area, 4 * kMiB},
                           {"jetmem_cma_frame_fit_ratio" + area, 4.0 / 12}},
                          map);
  ASSERT_TRUE(asked.found.cma && asked.found.cma->used);
  EXPECT_EQ(asked.found.cma->taker, "gst-launch-1.0 (PID 400, camera.service)");
  EXPECT_EQ(asked.found.cma->taken, 45 * kMiB);
  EXPECT_THAT(asked.answer.conclusion,
              HasSubstr("45 MiB that gst-launch-1.0 (PID 400, camera.service) allocated then are "
                        "still not released"));
  // What makes most room, and enough.
  EXPECT_THAT(asked.answer.step("cma")->remedy,
              testing::ContainsRegex("^Restart display .PID 700, 92 MiB .* grows from 4 MiB to "
                                     "100 MiB, and the request fits. jetmem cma shows"));
}

// Given back and taken again after the failure: the later time is not when it became too small.
TEST_F(FixedIncident, AnAreaThatBecameTooSmallAgainAfterTheFailure) {
  const double fell = kMorning - 86400 + 50;
  end_ = fell + 20;
  past_.series("jetmem_cma_largest_free_run_bytes{area=\"linux,cma\"}", kMorning - 4 * 86400,
               [=, failed = end_](double t) {
                 const bool is_free = t < fell || (t >= failed + 10 && t < failed + 30);
                 return (is_free ? 100 : 3.2) * kMiB;
               });
  past_.series("jetmem_cma_frame_fit_ratio{area=\"linux,cma\"}", kMorning - 4 * 86400,
               [](double) { return 1.0; });
  past_.event(kernel_event("dma_alloc_failure", "tegra-capture-vi", end_));
  const Asked asked =
      ask(120, {{"jetmem_cma_largest_free_run_bytes{area=\"linux,cma\"}", 3.2 * kMiB},
                {"jetmem_cma_frame_fit_ratio{area=\"linux,cma\"}", 3.2 / 12}});
  ASSERT_TRUE(asked.found.cma);
  EXPECT_EQ(asked.found.cma->first_failure, end_);
  EXPECT_NEAR(asked.found.cma->fell.value_or(0), fell, 10);
}

// The events of the boot before are asked for by its end, however long that is ago.
TEST_F(FixedIncident, ARestart) {
  end_ = kMorning - 86400;
  BootKnown before;
  before.boot_id = "b1";
  before.number = 1;
  before.last_wall = ns(end_ - 300);
  past_.known.boots.insert(past_.known.boots.begin(), before);
  past_.known.boots.back().number = 2;
  past_.event(kernel_event("hung_task", "nvargus", end_ - 340));
  for (const double minutes : {1.0, 40.0, 180.0, 1430.0, 3 * 1440.0}) {
    const double now = end_ + 60 * minutes;
    past_.set_now(now);
    DeviceNow device = healthy_device({{"jetmem_boot_last_shutdown{clean=\"yes\"}", 0},
                                       {"jetmem_boot_last_shutdown{clean=\"no\"}", 1}});
    device.wall = now;
    device.since_boot = 60 * minutes;
    EXPECT_THAT(examine(device, &past_).conclusion,
                ContainsRegex("down between (2026-11-19 )?07:55:00 and (2026-11-19 )?08:00:00 "
                              "without being shut down; shortly before, the kernel logged: "
                              "hung_task of nvargus"))
        << minutes;
  }
}

}  // namespace
}  // namespace jetmem
