// SPDX-License-Identifier: Apache-2.0
#include "probes/gates.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "collectors/proc/meminfo.h"
#include "collectors/proc/pressure.h"
#include "collectors/sysfs/cma.h"
#include "collectors/sysfs/throttle.h"
#include "probes/program/options.h"

namespace jetmem {
namespace {

SourceState absent(std::string_view /*source*/) { return SourceState::kAbsent; }

// A machine that can bear anything.
GateInputs idle() {
  GateInputs inputs;
  inputs.available_bytes = 4ULL << 30;
  inputs.free_bytes = 2ULL << 30;
  inputs.throttling = false;
  inputs.memory_stall = 0.0;
  inputs.uptime = std::chrono::hours(1);
  return inputs;
}

std::string_view reason(ProbeGroup group, const GateInputs& inputs, const GateLimits& limits = {}) {
  const auto closed = gate_refusal(group, inputs, limits);
  return closed ? gate_reason_name(closed->reason) : "open";
}

// The readings that gates are filled from, all valid.
struct GateReadings {
  explicit GateReadings(std::string_view text) {
    EXPECT_TRUE(parse_meminfo(text, meminfo));
    readings.add(Readings::tag<Meminfo>(), &meminfo);
    readings.add(Readings::tag<Throttle>(), &throttle);
    readings.add(Readings::tag<Pressure>(), &pressure);
    readings.add(Readings::tag<Cma>(), &cma);
    set_valid(true);
  }
  void set_valid(bool valid) {
    for (std::size_t i = 0; i < 4; ++i) readings.set_valid(i, valid);
  }
  GateInputs inputs(const SourceStates& states = absent) const {
    return gate_inputs(readings, states, 4096, std::chrono::hours(1));
  }
  Meminfo meminfo;
  Throttle throttle;
  Pressure pressure;
  Cma cma;
  Readings readings;
};

TEST(Gates, AnIdleMachineIsProbedAlsoWithoutPsiAndThrottling) {
  GateInputs inputs = idle();
  EXPECT_EQ(reason(ProbeGroup::kMemory, inputs), "open");
  EXPECT_EQ(reason(ProbeGroup::kCuda, inputs), "open");
  inputs.throttling.reset();
  inputs.memory_stall.reset();
  EXPECT_EQ(reason(ProbeGroup::kCuda, inputs), "open");
}

// "No such thing here" and "cannot tell now" look alike to whoever only asks for the reading.
TEST(Gates, WhatShouldBeKnownAndIsNotClosesThem) {
  GateReadings read("MemFree: 4194304 kB\nMemAvailable: 4194304 kB\n");
  read.pressure.memory.emplace().some.emplace();
  Readings& readings = read.readings;
  const auto closed = [&](const SourceStates& states) {
    return gate_refusal(ProbeGroup::kCuda, read.inputs(states), {});
  };
  const auto why = [&](const SourceStates& states) {
    return reason(ProbeGroup::kCuda, read.inputs(states));
  };
  EXPECT_EQ(why({}), "open") << "both are known; that not all could be read is no reason";
  for (const SourceState state : {SourceState::kPending, SourceState::kOk, SourceState::kDenied,
                                  SourceState::kFailed, SourceState::kDisabled}) {
    const auto is = [&](std::string_view needed) {
      return [=](std::string_view source) { return source == needed ? state : SourceState::kOk; };
    };
    readings.set_valid(1, false);
    EXPECT_EQ(why(is("throttle")), "throttling_unknown") << state_name(state);
    readings.set_valid(1, true);
    readings.set_valid(2, false);
    EXPECT_EQ(why(is("pressure")), "pressure_unknown") << state_name(state);
    readings.set_valid(2, true);
  }
  // What could slow it cannot be read: it is not known that nothing does.
  read.throttle.causes.push_back({"cpufreq-cpu0", Throttle::Kind::kThrottle, std::nullopt});
  EXPECT_EQ(why({}), "throttling_unknown");
  read.throttle.causes.clear();
  readings.set_valid(1, false);
  readings.set_valid(2, false);
  EXPECT_EQ(why(absent), "open") << "this board and kernel have neither";
  EXPECT_NE(why({}), "open") << "nobody knows";
  EXPECT_EQ(reason(ProbeGroup::kMemory, read.inputs({})), "open");
  const auto disabled = [](std::string_view) { return SourceState::kDisabled; };
  EXPECT_EQ(closed(disabled)->words,
            "whether the chip is throttled is unknown: the source throttle is disabled");
  readings.set_valid(1, true);
  const auto ok = [](std::string_view) { return SourceState::kOk; };
  EXPECT_EQ(
      closed(ok)->words,
      "how long processes wait for memory is unknown: the source pressure is incomplete or not "
      "up to date");
  // One file of three.
  readings.set_valid(2, true);
  read.pressure.memory.reset();
  read.pressure.absent_reason[0] = "denied";
  EXPECT_EQ(why(ok), "pressure_unknown");
  read.pressure.absent_reason[0] = "not_in_this_kernel";
  EXPECT_EQ(why(ok), "open");
}

TEST(Gates, MemoryThatIsNotKnownIsNotTaken) {
  GateInputs inputs = idle();
  inputs.free_bytes.reset();
  EXPECT_EQ(reason(ProbeGroup::kCuda, inputs), "memory_unknown");
  EXPECT_EQ(reason(ProbeGroup::kMemory, inputs), "open");
  inputs.available_bytes.reset();
  EXPECT_EQ(reason(ProbeGroup::kMemory, inputs), "memory_unknown");
  EXPECT_NE(gate_refusal(ProbeGroup::kMemory, inputs, {})->words.find("MemAvailable"),
            std::string::npos);
}

TEST(Gates, EachLimitIsAtItsEdge) {
  GateInputs inputs = idle();
  inputs.available_bytes = 512U << 20;
  inputs.free_bytes = 256U << 20;
  inputs.memory_stall = 0.1;
  inputs.uptime = std::chrono::minutes(5);
  EXPECT_EQ(reason(ProbeGroup::kCuda, inputs), "open");

  const auto with = [&](void (*change)(GateInputs&)) {
    GateInputs changed = inputs;
    change(changed);
    return reason(ProbeGroup::kCuda, changed);
  };
  EXPECT_EQ(with([](GateInputs& in) { --*in.available_bytes; }), "low_available");
  EXPECT_EQ(with([](GateInputs& in) { --*in.free_bytes; }), "low_free");
  EXPECT_EQ(with([](GateInputs& in) { in.memory_stall = 0.11; }), "pressure");
  EXPECT_EQ(with([](GateInputs& in) { in.throttling = true; }), "throttling");
  EXPECT_EQ(with([](GateInputs& in) { in.uptime -= std::chrono::seconds(1); }), "just_booted");
  --*inputs.available_bytes;
  EXPECT_EQ(gate_refusal(ProbeGroup::kCuda, inputs, {})->words,
            "MemAvailable minus free CMA is 511 MiB; 512 MiB is needed");
}

TEST(Gates, HostMemoryIsProbedWhereTheGpuIsNot) {
  GateInputs inputs = idle();
  inputs.available_bytes = 64U << 20;
  inputs.free_bytes = 1U << 20;
  inputs.throttling = true;
  inputs.memory_stall = 0.9;
  inputs.uptime = Nanoseconds(0);
  EXPECT_EQ(reason(ProbeGroup::kMemory, inputs), "open");
  inputs.available_bytes = (64U << 20) - 1;
  EXPECT_EQ(reason(ProbeGroup::kMemory, inputs), "low_available");
}

TEST(Gates, LimitsAreTheSettings) {
  GateInputs inputs = idle();
  inputs.available_bytes = 600U << 20;
  inputs.free_bytes = 300U << 20;
  const GateLimits frame{.frame_bytes = 200U << 20};
  EXPECT_EQ(reason(ProbeGroup::kMemory, inputs, frame), "low_available");
  EXPECT_EQ(reason(ProbeGroup::kCuda, inputs, frame), "low_available");
  EXPECT_EQ(reason(ProbeGroup::kCuda, inputs, {.min_available_bytes = 1U << 30}), "low_available");
  EXPECT_EQ(reason(ProbeGroup::kCuda, inputs, {.min_free_bytes = 301U << 20}), "low_free");
}

TEST(Gates, AreFilledFromWhatWasRead) {
  GateReadings read("MemTotal: 4096 kB\nMemFree: 1024 kB\nMemAvailable: 2048 kB\n");
  read.throttle.throttling = true;
  read.pressure.memory.emplace().some.emplace().average = {0.25, 0, 0};
  read.cma.areas.resize(2);
  read.cma.areas[0].name = "linux,cma";
  read.cma.areas[0].largest_run = 16;
  read.cma.areas[1].name = "unknown";
  read.set_valid(false);
  GateInputs inputs = read.inputs();
  EXPECT_FALSE(inputs.available_bytes || inputs.free_bytes || inputs.throttling ||
               inputs.memory_stall);
  EXPECT_TRUE(inputs.largest_runs.empty());

  read.set_valid(true);
  inputs = read.inputs();
  EXPECT_EQ(inputs.available_bytes, 2048U << 10);
  EXPECT_EQ(inputs.free_bytes, 1024U << 10);
  EXPECT_EQ(inputs.throttling, true);
  EXPECT_EQ(inputs.memory_stall, 0.25);
  EXPECT_EQ(inputs.uptime, std::chrono::hours(1));
  ASSERT_EQ(inputs.largest_runs.size(), 1U);
  EXPECT_EQ(inputs.largest_runs[0].first, "linux,cma");
  EXPECT_EQ(inputs.largest_runs[0].second, 65536U);
  read.cma.free_bytes = 4096;  // the rest is lent to pages that can move
  EXPECT_EQ(read.inputs().largest_runs[0].second, 4096U);
}

TEST(Gates, FreeCmaIsNoRoomForWhatCannotMove) {
  const GateInputs inputs =
      GateReadings("MemFree: 1024 kB\nMemAvailable: 3072 kB\nCmaFree: 2048 kB\n").inputs();
  EXPECT_EQ(inputs.available_bytes, 1024U << 10);
  EXPECT_EQ(inputs.free_bytes, 0U);
}

TEST(Gates, EveryKindIsInAGroup) {
  EXPECT_EQ(probe_group_of("host"), ProbeGroup::kMemory);
  EXPECT_EQ(probe_group_of("dmabuf"), ProbeGroup::kMemory);
  EXPECT_EQ(probe_group_of("dmabuf_import"), ProbeGroup::kCuda);
  EXPECT_FALSE(probe_group_of("hosts"));
  std::vector<std::string_view> kinds = probe_kinds(ProbeGroup::kMemory);
  for (const std::string_view kind : probe_kinds(ProbeGroup::kCuda)) kinds.push_back(kind);
  EXPECT_TRUE(std::ranges::equal(kinds, probe::kKinds));
}

}  // namespace
}  // namespace jetmem
