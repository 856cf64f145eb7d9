// SPDX-License-Identifier: Apache-2.0
#include "daemon/probe/probe_stats.h"

#include <algorithm>
#include <iterator>

#include "base/text/text.h"

namespace jetmem {
namespace {

constexpr std::size_t kLongestName = 64;
constexpr Nanoseconds kLately = std::chrono::hours(6);
constexpr std::uint16_t kMax = ProbeStats::kMaxEntries;

constexpr std::array kProbeStatsMetrics{
    counter("jetmem_probe_runs_total",
            "Probes of this kind of memory since the daemon started, by how they ended. failed: "
            "the test allocation failed, or jetmem-probe hung or exited during it; mismatch: CPU "
            "and GPU did not see the same bytes.",
            {"kind", "target", "state"}, kMax* kProbeStates),
    counter("jetmem_probe_failures_total",
            "Probes of this kind that failed, by the error's name as the API has it. Of "
            "jetmem-probe itself, while it probed this kind: timeout, killed (the OOM killer picks "
            "it first), exited, flood.",
            {"kind", "target", "error"}, kMax*(ProbeStats::kMaxErrors + 1)),
    gauge("jetmem_probe_since_success_seconds",
          "Time since the last successful test allocation of this kind, suspend included. Absent "
          "before the first success since the daemon started, and while its group is disabled.",
          {"kind", "target"}, kMax),
    counter("jetmem_probe_mismatched_words_total",
            "64-bit words that were not what had been written, of all probes of this kind. Any at "
            "all is a fault of memory, caches or driver: do not trust what the GPU computes. "
            "Absent where nothing was ever compared.",
            {"kind", "target"}, kMax),
    counter("jetmem_probe_results_dropped_total", "Results not counted: their kind is unknown."),
    histogram("jetmem_probe_allocation_duration_seconds_*",
              "Durations of the test allocations of this kind, of each size, in probes that "
              "succeeded.",
              {"kind", "target", "le"}, kMax* DurationHistogram::kSeries),
};
enum ProbeStatsMetric : std::size_t {
  kRuns,
  kFailures,
  kSinceSuccess,
  kMismatchedWords,
  kRunsDropped,
  kAllocations,
};

// Always shown, so that their growth from nothing is seen; the others from their first time on.
bool is_always_shown(ProbeState state) {
  return state == ProbeState::kOk || state == ProbeState::kFailed || state == ProbeState::kMismatch;
}

}  // namespace

ProbeStats::ProbeStats() { entries_.reserve(kMaxEntries); }

ProbeStats::Entry* ProbeStats::find(std::string_view kind, std::string_view target) {
  std::string shown_kind = printable(kind, kLongestName);
  std::string shown_target = printable(target, kLongestName);
  for (Entry& entry : entries_) {
    if (entry.kind == shown_kind && entry.target == shown_target) return &entry;
  }
  Entry* entry = add(std::move(shown_kind), std::move(shown_target));
  if (entry == nullptr) ++dropped_;
  return entry;
}

ProbeStats::Entry* ProbeStats::add(std::string kind, std::string target) {
  const auto group = probe_group_of(kind);
  if (!group) return nullptr;
  if (!target.empty()) {
    const auto has_target = [](const Entry& entry) { return !entry.target.empty(); };
    const auto targets = std::count_if(entries_.begin(), entries_.end(), has_target);
    if (static_cast<std::size_t>(targets) == kMaxTargets) {
      // Of those seen together the newest goes first.
      const auto oldest = std::min_element(entries_.rbegin(), entries_.rend(),
                                           [&](const Entry& one, const Entry& other) {
                                             if (!has_target(one)) return false;
                                             return !has_target(other) || one.seen < other.seen;
                                           });
      entries_.erase(std::next(oldest).base());
    }
  }
  Entry& entry = entries_.emplace_back();
  entry.kind = std::move(kind);
  entry.target = std::move(target);
  entry.group = *group;
  return &entry;
}

void ProbeStats::count_error(Entry& entry, std::string_view error) {
  const std::string name = error.empty() ? "unknown" : printable(error, kLongestName);
  for (auto& [known, count] : entry.errors) {
    if (known != name) continue;
    ++count;
    return;
  }
  if (entry.errors.size() == kMaxErrors) {
    ++entry.other_errors;
  } else {
    entry.errors.emplace_back(name, 1);
  }
}

std::optional<ProbeStats::Change> ProbeStats::result(const ProbeRun::Probe& probe,
                                                     Nanoseconds now) {
  Entry* entry = find(probe.kind, probe.target);
  if (entry == nullptr) return std::nullopt;
  entry->seen = now;
  if (const auto words = probe.mismatches()) {
    entry->mismatched_words = entry->mismatched_words.value_or(0) + *words;
  }
  if (probe.state == ProbeState::kOk) {
    entry->success = now;
    for (const ProbeRun::SizeStep& size_step : probe.size_steps) {
      for (const ProbeRun::Step& step : size_step.steps) {
        if (step.step != "allocate") continue;
        if (!entry->allocations) entry->allocations.emplace();
        entry->allocations->add(step.seconds);
      }
    }
  }
  if (probe.state == ProbeState::kFailed || probe.state == ProbeState::kMismatch) {
    count_error(*entry, probe.error);
  }
  const bool skipped_lately = entry->skipped && now - *entry->skipped < kLately;
  const Change change{entry->state, probe.state, entry->settled, skipped_lately};
  ++entry->runs[static_cast<std::size_t>(probe.state)];
  entry->state = probe.state;
  if (probe.state == ProbeState::kSkipped) {
    entry->skipped = now;
  } else {
    entry->settled = probe.state;
  }
  return change;
}

void ProbeStats::write(SampleWriter& out, Nanoseconds now, SwitchedOn on) const {
  const auto put = [&](ProbeStatsMetric metric, const Entry& entry, double value, auto... label) {
    out.put(kProbeStatsMetrics[metric], value, entry.kind, entry.target, label...);
  };
  for (const Entry& entry : entries_) {
    for (std::size_t i = 0; i < kProbeStates; ++i) {
      const auto state = static_cast<ProbeState>(i);
      if (entry.runs[i] == 0 && !is_always_shown(state)) continue;
      put(kRuns, entry, static_cast<double>(entry.runs[i]), probe_state_name(state));
    }
    for (const auto& [error, count] : entry.errors) {
      put(kFailures, entry, static_cast<double>(count), std::string_view(error));
    }
    if (entry.other_errors > 0) {
      put(kFailures, entry, static_cast<double>(entry.other_errors), std::string_view("other"));
    }
    const bool is_on = on[static_cast<std::size_t>(entry.group)];
    if (entry.success && is_on) put(kSinceSuccess, entry, to_seconds(now - *entry.success));
    if (entry.mismatched_words) {
      put(kMismatchedWords, entry, static_cast<double>(*entry.mismatched_words));
    }
    if (entry.allocations) {
      entry.allocations->write(out, kProbeStatsMetrics[kAllocations], entry.kind, entry.target);
    }
  }
  out.put(kProbeStatsMetrics[kRunsDropped], static_cast<double>(dropped_));
}

std::span<const Descriptor> probe_stats_metrics() { return kProbeStatsMetrics; }

}  // namespace jetmem
