// SPDX-License-Identifier: Apache-2.0
// Counts the results of each kind of memory since the daemon's start, which a single result cannot
// show. Bounded, whatever a program reports.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "collectors/probe/source.h"
#include "metrics/histogram.h"
#include "metrics/sample.h"
#include "probes/gates.h"

namespace jetmem {

class ProbeStats {
  // Those that probes/gates.h knows, and some to come.
  static constexpr std::size_t kAllProbeKinds = 16;

 public:
  // A kind and its target. A kind without a target always has room; of the others the one unseen
  // for longest makes room for a new one.
  static constexpr std::size_t kMaxEntries = 48;
  static constexpr std::size_t kMaxTargets = kMaxEntries - kAllProbeKinds;
  // Of one entry; what comes on top is counted as "other".
  static constexpr std::size_t kMaxErrors = 6;

  // What a result changed.
  struct Change {
    std::optional<ProbeState> before;  // absent: its first result
    ProbeState now = ProbeState::kOk;
    // The last state that was not `skipped`.
    std::optional<ProbeState> settled;
    // It was skipped within the last hours already.
    bool skipped_lately = false;
  };

  ProbeStats();

  // Nothing: the kind is none of jetmem-probe's; it was counted as dropped.
  std::optional<Change> result(const ProbeRun::Probe& probe, Nanoseconds now);

  // By group. Nothing can succeed of what is switched off.
  using SwitchedOn = std::array<bool, kProbeGroups>;
  void write(SampleWriter& out, Nanoseconds now, SwitchedOn on = {true, true}) const;

 private:
  struct Entry {
    std::string kind;
    std::string target;
    ProbeGroup group = ProbeGroup::kMemory;
    Nanoseconds seen{0};  // boot clock
    std::optional<ProbeState> state;
    std::optional<ProbeState> settled;
    std::array<std::uint64_t, kProbeStates> runs{};
    std::vector<std::pair<std::string, std::uint64_t>> errors;
    std::uint64_t other_errors = 0;
    std::optional<Nanoseconds> success;  // boot clock
    std::optional<Nanoseconds> skipped;
    std::optional<std::uint64_t> mismatched_words;
    std::optional<DurationHistogram> allocations;
  };
  Entry* find(std::string_view kind, std::string_view target);
  Entry* add(std::string kind, std::string target);
  static void count_error(Entry& entry, std::string_view error);

  std::vector<Entry> entries_;
  std::uint64_t dropped_ = 0;
};

std::span<const Descriptor> probe_stats_metrics();

}  // namespace jetmem
