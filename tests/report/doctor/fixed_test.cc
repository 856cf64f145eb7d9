// SPDX-License-Identifier: Apache-2.0
// An incident that is over stays what it was, whenever the doctor is asked; one that is not is said
// to go on.
#include <gmock/gmock.h>

#include "report/diagnosis/format.h"
#include "report/doctor/correlate.h"
#include "report/doctor/doctor.h"
#include "report/doctor/moves.h"
#include "tests/aging_history.h"
#include "tests/report/doctor/doctor_past.h"
#include "tests/time_zone.h"

namespace jetmem {
namespace {

using testing::AllOf;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;

// Minutes after the end.
constexpr std::array<double, 4> kAsked{1, 40, 180, 24 * 60 - 10};
// A value that never rests, the same for the same moment.
double waver(double t, double size) { return size * std::sin(t * 0.7) * std::cos(t * 0.013); }

struct Asked {
  doctor::Findings found;
  DoctorAnswer answer;
};

class FixedIncident : public testing::Test {
 protected:
  const TimeZone zone_{"UTC"};

  FixedIncident() {
    set_facts(past_);
    past_.known.oldest = ns(kMorning - 4 * 86400);
  }

  // The device as it is `seconds` after `end_`.
  Asked ask(double seconds, std::map<std::string, double> changes = {},
            const std::optional<CmaMap>& map = {}) {
    Asked out;
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

  void series(const std::string& key, std::function<double(double)> value) {
    past_.series(key, kMorning - 4 * 86400, std::move(value));
  }
  void available(std::function<double(double)> value) {
    available_ = std::move(value);
    series("jetmem_meminfo_MemAvailable_bytes", available_);
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
    end_ = begin + grown / rate;
    available([=](double t) {
      return 4 * kGiB - std::clamp((t - begin) * rate, 0.0, grown) + waver(t, 6 * kMiB);
    });
    // Read once a minute.
    series(group("resident", "python3"), [=](double t) {
      const double read = std::floor(t / 60) * 60;
      return 300 * kMiB + std::clamp((read - begin) * rate, 0.0, grown);
    });
    series(group("resident", "gst"), [](double t) { return 700 * kMiB + waver(t, 4 * kMiB); });
  }

  AgingHistory past_;
  double end_ = kMorning;
  std::function<double(double)> available_ = [](double) { return 4 * kGiB; };
};

class FixedLeak : public FixedIncident, public testing::WithParamInterface<double> {};

// Of five minutes, an hour and five hours.
INSTANTIATE_TEST_SUITE_P(Seconds, FixedLeak, testing::Values(300, 3600, 5 * 3600));

TEST_P(FixedLeak, MemoryThatStaysLow) {
  const double grown = 3.8 * kGiB;
  memory_shrinks(kMorning - 86400 + 1234, grown / GetParam(), grown);
  const Asked first = ask(60 * kAsked[0]);
  ASSERT_TRUE(first.found.memory);
  const doctor::Move& move = first.found.memory->available;
  EXPECT_NEAR(move.from, end_ - GetParam(), 20 + 0.02 * GetParam());
  EXPECT_NEAR(move.to, end_, 20 + 0.02 * GetParam());
  EXPECT_NEAR(-move.change(), grown, 0.01 * grown);
  for (const double minutes : kAsked) {
    SCOPED_TRACE(minutes);
    const Asked later = ask(60 * minutes);
    ASSERT_TRUE(later.found.memory) << later.answer.conclusion;
    const doctor::Move& now = later.found.memory->available;
    is_same(move, now);
    const double rate = move.change() / (move.to - move.from);
    EXPECT_NEAR(now.change() / (now.to - now.from), rate,
                std::abs(rate) * (0.01 + 3 * now.step / GetParam()));
    ASSERT_FALSE(later.found.memory->top_growth.empty());
    EXPECT_EQ(later.found.memory->top_growth.front().command, "python3");
    EXPECT_NEAR(later.found.memory->top_growth.front().grown,
                first.found.memory->top_growth.front().grown, 0.05 * grown);
    EXPECT_EQ(later.answer.level, Verdict::kCritical);
    EXPECT_THAT(later.answer.conclusion,
                AllOf(HasSubstr("python3 grew by "), Not(HasSubstr("still"))));
    EXPECT_EQ(later.answer.conclusion.find("Only one-minute values remain") != std::string::npos,
              now.step > 0)
        << later.answer.conclusion;
  }
}

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
  available([=](double t) {
    return fall(t) + std::clamp((t - end - 600) * 30 * kMiB / 600, 0.0, 300 * kMiB);
  });
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
  available([=](double t) { return t < end ? fall(t) : 3.5 * kGiB + waver(t, kMiB); });
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
  series("jetmem_throttling", [=](double t) {
    return t >= begin && t < end && std::fmod(t - begin, 600) < 480 ? 1.0 : 0.0;
  });
  const auto zone = [&](const char* name, double peak) {
    series(std::string("jetmem_thermal_zone_celsius{index=\"0\",zone=\"") + name + "\"}",
           [=](double t) {
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

// A driver is refused at the end, where the requests of then fit no more.
class FixedCma : public FixedIncident {
 protected:
  void area(std::function<double(double)> run, std::function<double(double)> used) {
    series("jetmem_cma_largest_free_run_bytes" + kArea, std::move(run));
    if (used) series("jetmem_cma_used_bytes" + kArea, std::move(used));
    series("jetmem_cma_frame_fit_ratio" + kArea, [](double) { return 1.0; });
    past_.event(kernel_event("dma_alloc_failure", "tegra-capture-vi", end_));
  }
  const std::string kArea = "{area=\"linux,cma\"}";
  const std::map<std::string, double> now_{
      {"jetmem_cma_largest_free_run_bytes" + kArea, 3.2 * kMiB},
      {"jetmem_cma_frame_fit_ratio" + kArea, 3.2 / 12}};
};

TEST_F(FixedCma, AnAreaThatBecameTooSmall) {
  const double fell = kMorning - 86400 + 55;
  end_ = fell + 2400;
  const auto risen = [=](double t) { return std::clamp((t - fell + 3000) / 3000, 0.0, 1.1); };
  area([=](double t) { return 100 * kMiB - risen(t) * 88 * kMiB; },
       [=](double t) { return 40 * kMiB + risen(t) * 100 * kMiB; });
  const Asked first = ask(60, now_);
  ASSERT_TRUE(first.found.cma && first.found.cma->run && first.found.cma->used);
  EXPECT_NEAR(first.found.cma->fell.value_or(0), fell, 10);
  for (const double minutes : kAsked) {
    SCOPED_TRACE(minutes);
    const Asked later = ask(60 * minutes, now_);
    ASSERT_TRUE(later.found.cma && later.found.cma->run && later.found.cma->used);
    is_same(*first.found.cma->run, *later.found.cma->run);
    is_same(*first.found.cma->used, *later.found.cma->used);
    EXPECT_NEAR(later.found.cma->fell.value_or(0), *first.found.cma->fell,
                later.found.cma->run->step);
    EXPECT_EQ(later.found.cma->first_failure, end_);
  }
}

// Neither a program that has ended, nor one that allocated after the incident.
TEST_F(FixedCma, WhoTookAnArea) {
  const double begin = kMorning - 86400;
  end_ = begin + 2400;
  const auto risen = [=](double t) { return std::clamp((t - begin) / 1200, 0.0, 1.0); };
  area([=](double t) { return 110 * kMiB - risen(t) * 106 * kMiB; },
       [=](double t) { return 40 * kMiB + risen(t) * 106 * kMiB; });
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
                           {"jetmem_cma_area_bytes" + kArea, 256 * kMiB},
                           {"jetmem_cma_used_ratio" + kArea, 0.9},
                           {"jetmem_cma_largest_free_run_bytes" + kArea, 4 * kMiB},
                           {"jetmem_cma_frame_fit_ratio" + kArea, 4.0 / 12}},
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
TEST_F(FixedCma, AnAreaThatBecameTooSmallAgainAfterTheFailure) {
  const double fell = kMorning - 86400 + 50;
  end_ = fell + 20;
  area(
      [=, failed = end_](double t) {
        const bool is_free = t < fell || (t >= failed + 10 && t < failed + 30);
        return (is_free ? 100 : 3.2) * kMiB;
      },
      {});
  const Asked asked = ask(120, now_);
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

// One value each ten seconds.
doctor::Values values_of(double until, const std::function<double(double)>& at) {
  doctor::Values out;
  for (double time = 0; time <= until; time += 10) {
    const double value = at(time);
    out.push_back({time, value, value, value});
  }
  return out;
}

// 1000 until second 600, 400 from second 1200 on.
double fall(double time) { return time < 600 ? 1000 : time > 1200 ? 400 : 1600 - time; }

TEST(Move, OfAStepIsTheStep) {
  const auto move = doctor::move_of(
      values_of(3600, [](double time) { return time < 600 ? 1000 : 400; }), false, 100);
  ASSERT_TRUE(move);
  EXPECT_NEAR(move->from, 590, 1);
  EXPECT_NEAR(move->to, 600, 1);
}

TEST(Move, IsNoneWhereLittleChanges) {
  EXPECT_FALSE(doctor::move_of(values_of(1300, fall), false, 700));
  EXPECT_FALSE(doctor::move_of(values_of(1300, fall), true, 100));
}

}  // namespace
}  // namespace jetmem
