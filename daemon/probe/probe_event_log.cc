// SPDX-License-Identifier: Apache-2.0
#include "daemon/probe/probe_event_log.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/text/text.h"
#include "base/text/units.h"

namespace jetmem {
namespace {

constexpr std::size_t kLongestReason = 160;
constexpr std::size_t kLongestSum = 1000;

bool is_fault(ProbeState state) {
  return state == ProbeState::kFailed || state == ProbeState::kMismatch;
}

// A heap that is omitted while there is no room comes and goes: once reported, that is no change of
// what is known of it.
bool is_new_event(const ProbeStats::Change& change) {
  if (change.now == ProbeState::kSkipped) return change.settled && !change.skipped_lately;
  if (is_fault(change.now)) return change.settled != change.now;
  return change.before && (change.settled ? change.settled : change.before) != change.now;
}

LogLevel probe_level(ProbeState state) {
  if (is_fault(state)) return LogLevel::kError;
  const bool worse = state == ProbeState::kUnsupported || state == ProbeState::kDenied;
  return worse ? LogLevel::kWarning : LogLevel::kInfo;
}

std::string megahertz(double hertz) { return std::to_string(std::llround(hertz / 1e6)) + "MHz"; }

// Whole MiB, rounded down: for comparing at a glance.
std::string mebibytes(std::uint64_t bytes) { return std::to_string(bytes >> 20) + "MiB"; }

std::string evidence(const GateInputs& memory, const ProbeRun* run) {
  std::string text;
  const auto add = [&](std::string_view what, const std::string& value) {
    text += (text.empty() ? "" : ", ") + std::string(what) + " " + value;
  };
  if (memory.available_bytes) add("MemAvailable", mebibytes(*memory.available_bytes));
  if (memory.free_bytes) add("MemFree", mebibytes(*memory.free_bytes));
  const auto largest =
      std::max_element(memory.largest_runs.begin(), memory.largest_runs.end(),
                       [](const auto& a, const auto& b) { return a.second < b.second; });
  if (largest != memory.largest_runs.end()) {
    add("largest CMA run", mebibytes(largest->second) + " in " + printable(largest->first, 64));
  }
  if (run == nullptr) return text;
  const ProbeRun::Conditions& then = run->after;
  if (then.cpu_max_hertz) add("CPU up to", megahertz(*then.cpu_max_hertz));
  if (then.gpu_hertz) add("GPU", megahertz(*then.gpu_hertz));
  if (then.emc_hertz) add("EMC", megahertz(*then.emc_hertz));
  if (then.temperature_celsius) {
    add(printable(then.hottest_zone, 64),
        std::to_string(std::llround(*then.temperature_celsius)) + "C");
  }
  if (then.power_mode) add("power mode", std::to_string(*then.power_mode));
  return text;
}

}  // namespace

std::string probe_name(const ProbeRun::Probe& probe) {
  std::string name = printable(probe.kind, 64);
  if (!probe.target.empty()) name += " " + printable(probe.target, 64);
  return name;
}

void ProbeEventLog::succeeded(ProbeGroup group, const ProbeRun& run) {
  if (std::exchange(logged_first_[static_cast<std::size_t>(group)], true)) return;
  std::string text = "probe, first results of " + std::string(probe_group_name(group)) + ": ";
  const char* separator = "";
  for (const ProbeRun::Probe& probe : run.probes) {
    text += separator + probe_name(probe) + " " + std::string(probe_state_name(probe.state));
    if (probe.state != ProbeState::kOk && !probe.reason.empty()) {
      text += " (" + printable(probe.reason, kLongestReason) + ")";
    }
    separator = ", ";
  }
  log_.log_message(LogLevel::kInfo, printable(text, kLongestSum));
}

void ProbeEventLog::result(const ProbeRun::Probe& probe, const ProbeStats::Change& change,
                           const GateInputs& memory, const ProbeRun* run) {
  if (!is_new_event(change)) return;
  const std::string_view now = probe_state_name(change.now);
  std::string text = "probe: " + probe_name(probe) + " is ";
  const auto before = change.settled ? change.settled : change.before;
  if (change.now == ProbeState::kOk) {
    text += "ok, was " + std::string(before ? probe_state_name(*before) : "unknown");
  } else {
    text += now;
    if (before && *before != change.now) text += ", was " + std::string(probe_state_name(*before));
    if (!probe.failed_step.empty()) {
      text += "; at " + printable(probe.failed_step, 64);
      if (probe.failed_bytes > 0) text += " of " + std::to_string(probe.failed_bytes) + " bytes";
    }
    if (!probe.error.empty()) text += "; " + printable(probe.error, 64);
    if (!probe.reason.empty()) text += ": " + printable(probe.reason, kLongestReason);
  }
  if (const std::string moment = evidence(memory, run); !moment.empty()) text += "; " + moment;
  ChildProcessLog::Fields fields{{"JETMEM_PROBE_KIND", printable(probe.kind, 64)},
                                 {"JETMEM_PROBE_TARGET", printable(probe.target, 64)},
                                 {"JETMEM_PROBE_STATE", std::string(now)}};
  if (!probe.failed_step.empty()) {
    fields.emplace_back("JETMEM_PROBE_STEP", printable(probe.failed_step, 64));
  }
  if (!probe.error.empty()) fields.emplace_back("JETMEM_PROBE_ERROR", printable(probe.error, 64));
  log_.log_message(probe_level(change.now), std::move(text), std::move(fields));
}

}  // namespace jetmem
