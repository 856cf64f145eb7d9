// SPDX-License-Identifier: Apache-2.0
#include "probes/gates.h"

#include <algorithm>
#include <array>

#include "collectors/proc/meminfo.h"
#include "collectors/proc/pressure.h"
#include "collectors/sysfs/cma.h"
#include "collectors/sysfs/throttle.h"

namespace jetmem {
namespace {

constexpr std::uint64_t kLeastAvailable = 64U << 20;
constexpr std::uint64_t kFrames = 4;
constexpr double kMostStall = 0.1;
constexpr Nanoseconds kLeastUptime = std::chrono::minutes(5);

struct Kind {
  std::string_view name;
  ProbeGroup group;
};
// jetmem-probe's kinds, in the order in which it runs them (probes/program/options.h).
constexpr std::array kKinds{
    Kind{"host", ProbeGroup::kMemory},        Kind{"dmabuf", ProbeGroup::kMemory},
    Kind{"pinned", ProbeGroup::kCuda},        Kind{"managed", ProbeGroup::kCuda},
    Kind{"device", ProbeGroup::kCuda},        Kind{"registered", ProbeGroup::kCuda},
    Kind{"pool", ProbeGroup::kCuda},          Kind{"dmabuf_export", ProbeGroup::kCuda},
    Kind{"dmabuf_import", ProbeGroup::kCuda}, Kind{"nvbufsurface", ProbeGroup::kCuda},
    Kind{"eglstream", ProbeGroup::kCuda},
};

// Whole MiB, rounded down: for comparing at a glance.
std::string mebibytes(std::uint64_t bytes) { return std::to_string(bytes >> 20) + " MiB"; }

GateRefusal too_little(GateReason reason, std::string_view what, std::uint64_t bytes,
                       std::uint64_t needed) {
  return {reason, std::string(what) + " minus free CMA is " + mebibytes(bytes) + "; " +
                      mebibytes(needed) + " is needed"};
}

// Nothing when there is no such thing here, which closes no gate.
std::optional<SourceState> unknown_reason(const SourceStates& states, std::string_view source) {
  const SourceState state = states ? states(source) : SourceState::kPending;
  if (state == SourceState::kAbsent) return std::nullopt;
  return state;
}

GateRefusal unknown(GateReason reason, std::string_view what, std::string_view source,
                    SourceState state) {
  std::string words(what);
  words.append(" is unknown: the source ").append(source).append(" is ");
  words.append(state == SourceState::kOk ? "incomplete or not up to date" : state_name(state));
  return {reason, std::move(words)};
}

}  // namespace

std::string_view probe_group_name(ProbeGroup group) {
  return group == ProbeGroup::kMemory ? "memory" : "cuda";
}

std::optional<ProbeGroup> probe_group_of(std::string_view kind) {
  for (const Kind& known : kKinds) {
    if (known.name == kind) return known.group;
  }
  return std::nullopt;
}

std::vector<std::string_view> probe_kinds(ProbeGroup group) {
  std::vector<std::string_view> names;
  for (const Kind& known : kKinds) {
    if (known.group == group) names.push_back(known.name);
  }
  return names;
}

SourceStates source_states(const Sampler& sampler) {
  return [&sampler](std::string_view source) {
    for (std::size_t i = 0; i < sampler.size(); ++i) {
      if (sampler.info(i).name == source) return sampler.status(i).state;
    }
    return SourceState::kPending;
  };
}

GateInputs gate_inputs(const Readings& readings, const SourceStates& states,
                       std::uint64_t page_size, Nanoseconds boot_now) {
  GateInputs inputs;
  inputs.uptime = boot_now;
  if (const auto* meminfo = readings.get<Meminfo>()) {
    const std::uint64_t cma = meminfo->find("CmaFree").value_or(0);
    const auto less_cma = [&](std::string_view name) -> std::optional<std::uint64_t> {
      const auto bytes = meminfo->find(name);
      if (!bytes) return std::nullopt;
      return *bytes - std::min(*bytes, cma);
    };
    inputs.available_bytes = less_cma("MemAvailable");
    inputs.available_with_cma_bytes = meminfo->find("MemAvailable");
    inputs.free_bytes = less_cma("MemFree");
  }
  if (const auto* throttle = readings.get<Throttle>()) {
    inputs.throttling = throttle->throttling;
    const bool could_throttle =
        std::any_of(throttle->causes.begin(), throttle->causes.end(),
                    [](const auto& cause) { return cause.kind == Throttle::Kind::kThrottle; });
    // Part of it could not be read.
    if (!throttle->throttling && could_throttle) inputs.throttling_unknown = SourceState::kOk;
  } else {
    inputs.throttling_unknown = unknown_reason(states, ThrottleSource::kInfo.name);
  }
  if (const auto* pressure = readings.get<Pressure>()) {
    if (pressure->memory && pressure->memory->some) {
      inputs.memory_stall = pressure->memory->some->average[0];
    } else if (pressure->absent_reason[0] != "not_in_this_kernel") {
      inputs.stall_unknown = SourceState::kFailed;  // of its files, that one
    }
  } else {
    inputs.stall_unknown = unknown_reason(states, PressureSource::kInfo.name);
  }
  if (const auto* cma = readings.get<Cma>()) {
    for (const Cma::Area& area : cma->areas) {
      if (!area.largest_run) continue;
      // What nobody took through cma_alloc() may be lent to pages that would have to move first,
      // while the allocation waits.
      const std::uint64_t run = *area.largest_run * page_size;
      inputs.largest_runs.emplace_back(area.name, std::min(run, cma->free_bytes.value_or(run)));
    }
  }
  return inputs;
}

std::string_view gate_reason_name(GateReason reason) {
  static constexpr std::array<std::string_view, kGateReasons> kNames{
      "memory_unknown", "low_available", "low_free",           "throttling",
      "pressure",       "just_booted",   "throttling_unknown", "pressure_unknown"};
  return kNames[static_cast<std::size_t>(reason)];
}

std::optional<GateRefusal> gate_refusal(ProbeGroup group, const GateInputs& inputs,
                                        const GateLimits& limits) {
  const bool cuda = group == ProbeGroup::kCuda;
  if (!inputs.available_bytes || (cuda && !inputs.free_bytes)) {
    return GateRefusal{GateReason::kMemoryUnknown,
                       std::string(inputs.available_bytes ? "MemFree" : "MemAvailable") +
                           " is unknown (see the source meminfo)"};
  }
  std::uint64_t available = std::max(kLeastAvailable, kFrames * limits.frame_bytes);
  if (cuda) available = std::max(available, limits.min_available_bytes);
  if (*inputs.available_bytes < available) {
    return too_little(GateReason::kLowAvailable, "MemAvailable", *inputs.available_bytes,
                      available);
  }
  if (!cuda) return std::nullopt;
  if (*inputs.free_bytes < limits.min_free_bytes) {
    return too_little(GateReason::kLowFree, "MemFree", *inputs.free_bytes, limits.min_free_bytes);
  }
  if (inputs.throttling.value_or(false)) {
    return GateRefusal{GateReason::kThrottling, "the chip is being throttled"};
  }
  if (inputs.throttling_unknown) {
    return unknown(GateReason::kThrottlingUnknown, "whether the chip is throttled",
                   ThrottleSource::kInfo.name, *inputs.throttling_unknown);
  }
  if (inputs.stall_unknown) {
    return unknown(GateReason::kPressureUnknown, "how long processes wait for memory",
                   PressureSource::kInfo.name, *inputs.stall_unknown);
  }
  if (inputs.memory_stall && *inputs.memory_stall > kMostStall) {
    const auto percent = static_cast<int>(*inputs.memory_stall * 100);
    return GateRefusal{
        GateReason::kPressure,
        "processes wait for memory " + std::to_string(percent) + " % of the time (PSI some, 10 s)"};
  }
  if (inputs.uptime < kLeastUptime) {
    return GateRefusal{GateReason::kJustBooted, "the machine started less than 5 minutes ago"};
  }
  return std::nullopt;
}

}  // namespace jetmem
