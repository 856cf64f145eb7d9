// SPDX-License-Identifier: Apache-2.0
#include "daemon/probe/probe_names.h"

#include <algorithm>
#include <initializer_list>
#include <set>
#include <string_view>

#include "base/text/text.h"
#include "daemon/probe/probe_stats.h"
#include "probes/gates.h"

namespace jetmem {
namespace {

constexpr Nanoseconds kNamesDay = std::chrono::hours(24);

std::string name_of(std::initializer_list<std::string_view> labels) {
  std::string all;
  for (const std::string_view label : labels) all.append(label).append(1, '\0');
  return all;
}

std::string name_of(const ProbeRun::Probe& probe) {
  return name_of({"probe", probe.kind, probe.target});
}

// As collectors/probe/source.cc labels them.
std::set<std::string> names_of(const ProbeRun& run) {
  std::set<std::string> names;
  const auto add = [&](std::initializer_list<std::string_view> labels) {
    names.insert(name_of(labels));
  };
  for (const ProbeRun::Probe& probe : run.probes) {
    names.insert(name_of(probe));
    if (!probe.failed_step.empty() || !probe.error.empty()) {
      add({"failed", probe.kind, probe.target, probe.failed_step, probe.error});
    }
    for (const ProbeRun::SizeStep& size_step : probe.size_steps) {
      add({"bytes", probe.kind, probe.target, std::to_string(size_step.bytes)});
      for (const ProbeRun::Step& step : size_step.steps) {
        add({"step", probe.kind, probe.target, step.step});
      }
    }
    for (const ProbeRun::Ratio& ratio : probe.ratios) {
      add({"ratio", probe.kind, probe.target, ratio.ratio});
    }
  }
  if (run.gpu) {
    const ProbeRun::Gpu& gpu = *run.gpu;
    add({"gpu", gpu.name, gpu.compute_capability, gpu.driver});
    for (const ProbeRun::Step& step : gpu.start) add({"start", step.step});
  }
  return names;
}

}  // namespace

Result<void> ProbeNames::take(const ProbeRun& run, Nanoseconds now) {
  if (now - day_ >= kNamesDay) {
    day_ = now;
    new_today_ = 0;
    new_targets_ = 0;
  }
  const auto count_new = [&](const std::set<std::string>& names) {
    return static_cast<std::size_t>(
        std::count_if(names.begin(), names.end(),
                      [&](const std::string& name) { return known_.count(name) == 0; }));
  };
  const std::set<std::string> names = names_of(run);
  std::set<std::string> targets;
  for (const ProbeRun::Probe& probe : run.probes) {
    if (!probe_group_of(probe.kind)) {
      return fail(Errc::kMalformed, "it has an unknown kind, " + printable(probe.kind));
    }
    if (!probe.target.empty()) targets.insert(name_of(probe));
  }
  const std::size_t count = count_new(names);
  const std::size_t of_targets = count_new(targets);
  if (targets.size() > ProbeStats::kMaxTargets) {
    return fail(Errc::kTooLarge, "it names more targets than are counted");
  }
  if (new_targets_ + of_targets > kNewTargetsPerDay) {
    return fail(Errc::kTooLarge, "it names more new targets than are taken in a day");
  }
  if (new_today_ + count > kNewPerDay) {
    return fail(Errc::kTooLarge, "it has " + std::to_string(count) +
                                     " names that were not there before, and not more than " +
                                     std::to_string(kNewPerDay) + " are taken in a day");
  }
  new_today_ += count;
  new_targets_ += of_targets;
  for (const std::string& name : names) {
    known_[name] = now;
    if (known_.size() <= kMaxKnown) continue;
    known_.erase(std::min_element(
        known_.begin(), known_.end(),
        [](const auto& one, const auto& other) { return one.second < other.second; }));
  }
  return {};
}

}  // namespace jetmem
