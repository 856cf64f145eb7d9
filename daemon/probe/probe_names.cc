// SPDX-License-Identifier: Apache-2.0
#include "daemon/probe/probe_names.h"

#include <algorithm>
#include <functional>
#include <initializer_list>
#include <string>
#include <string_view>

namespace jetmem {
namespace {

constexpr Nanoseconds kNamesDay = std::chrono::hours(24);

// Two names with one hash are merely taken for one.
std::uint64_t hash_of(std::initializer_list<std::string_view> labels) {
  std::string all;
  for (const std::string_view label : labels) all.append(label).append(1, '\0');
  return std::hash<std::string>()(all);
}

}  // namespace

// As collectors/probe/source.cc labels them.
void ProbeNames::collect(const ProbeRun& run) {
  of_run_.clear();
  const auto add = [&](std::initializer_list<std::string_view> labels) {
    of_run_.push_back(hash_of(labels));
  };
  for (const ProbeRun::Probe& probe : run.probes) {
    add({"probe", probe.kind, probe.target});
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
  std::sort(of_run_.begin(), of_run_.end());
  of_run_.erase(std::unique(of_run_.begin(), of_run_.end()), of_run_.end());
}

Result<void> ProbeNames::take(const ProbeRun& run, Nanoseconds now) {
  collect(run);
  if (now - day_ >= kNamesDay) {
    day_ = now;
    new_today_ = 0;
  }
  const auto before = [](const Known& known, std::uint64_t hash) { return known.hash < hash; };
  const auto find = [&](std::uint64_t hash) {
    const auto at = std::lower_bound(known_.begin(), known_.end(), hash, before);
    return at != known_.end() && at->hash == hash ? at : known_.end();
  };
  const auto is_new = [&](std::uint64_t hash) { return find(hash) == known_.end(); };
  const auto count =
      static_cast<std::size_t>(std::count_if(of_run_.begin(), of_run_.end(), is_new));
  if (new_today_ + count > kNewPerDay) {
    return fail(Errc::kTooLarge, "it has " + std::to_string(count) +
                                     " names that were not there before, and not more than " +
                                     std::to_string(kNewPerDay) + " are taken in a day");
  }
  new_today_ += count;
  for (const std::uint64_t hash : of_run_) {
    if (const auto at = find(hash); at != known_.end()) {
      at->seen = now;
      continue;
    }
    if (known_.size() == kMaxKnown) {
      known_.erase(std::min_element(
          known_.begin(), known_.end(),
          [](const Known& one, const Known& other) { return one.seen < other.seen; }));
    }
    known_.insert(std::lower_bound(known_.begin(), known_.end(), hash, before), {hash, now});
  }
  return {};
}

}  // namespace jetmem
