#include "daemon/probe_ledger.h"

#include "base/text.h"

namespace jetmem {
namespace {

constexpr std::size_t kLongestName = 64;
constexpr Nanoseconds kLately = std::chrono::hours(6);
constexpr std::uint16_t kMax = ProbeLedger::kMaxEntries;

constexpr std::array kMetrics{
    Descriptor{.name = "jetmem_probe_runs_total",
               .type = MetricType::kCounter,
               .help =
                   "Probes of this kind of memory since the daemon started, by how they ended. "
                   "failed: it could not be had or used, or jetmem-probe did not come back from "
                   "it; mismatch: CPU and GPU did not see the same bytes.",
               .labels = {"kind", "target", "state"},
               .max_series = kMax * kProbeStates},
    Descriptor{.name = "jetmem_probe_failures_total",
               .type = MetricType::kCounter,
               .help = "Probes of this kind that failed, by the error's name as the API has it. Of "
                       "jetmem-probe itself, while it was at this kind: hung, killed (when memory "
                       "runs short the kernel takes it first), died, flood.",
               .labels = {"kind", "target", "error"},
               .max_series = kMax * (ProbeLedger::kMaxErrors + 1)},
    Descriptor{.name = "jetmem_probe_since_success_seconds",
               .type = MetricType::kGauge,
               .help = "Time since memory of this kind could last be had and used, suspend "
                       "included. Missing before the first success since the daemon started.",
               .labels = {"kind", "target"},
               .max_series = kMax},
    Descriptor{.name = "jetmem_probe_mismatched_words_total",
               .type = MetricType::kCounter,
               .help = "64-bit words that were not what had been written, of all probes of this "
                       "kind. Any at all is a fault of memory, caches or driver: do not trust what "
                       "the GPU computes. Missing where nothing was ever compared.",
               .labels = {"kind", "target"},
               .max_series = kMax},
    Descriptor{.name = "jetmem_probe_ledger_dropped_total",
               .type = MetricType::kCounter,
               .help = "Results not counted because there were more kinds and targets than jetmem "
                       "keeps."},
};
enum Metric : std::size_t { kRuns, kFailures, kSinceSuccess, kMismatchedWords, kDropped };

// Always shown, so that their growth from nothing is seen; the others from their first time on.
bool is_always_shown(ProbeState state) {
  return state == ProbeState::kOk || state == ProbeState::kFailed || state == ProbeState::kMismatch;
}

}  // namespace

ProbeLedger::ProbeLedger() { entries_.reserve(kMaxEntries); }

ProbeLedger::Entry* ProbeLedger::find(std::string_view kind, std::string_view target) {
  const std::string shown_kind = printable(kind, kLongestName);
  const std::string shown_target = printable(target, kLongestName);
  for (Entry& entry : entries_) {
    if (entry.kind == shown_kind && entry.target == shown_target) return &entry;
  }
  if (entries_.size() == kMaxEntries) {
    ++dropped_;
    return nullptr;
  }
  entries_.push_back({shown_kind, shown_target, {}, {}, {}, {}, 0, {}, {}, {}});
  return &entries_.back();
}

void ProbeLedger::count_error(Entry& entry, std::string_view error) {
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

std::optional<ProbeLedger::Change> ProbeLedger::result(const ProbeRun::Probe& probe,
                                                       Nanoseconds now) {
  Entry* entry = find(probe.kind, probe.target);
  if (entry == nullptr) return std::nullopt;
  if (const auto words = probe.mismatches()) {
    entry->mismatched_words = entry->mismatched_words.value_or(0) + *words;
  }
  if (probe.state == ProbeState::kOk) entry->success = now;
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

void ProbeLedger::write(SampleWriter& out, Nanoseconds now) const {
  const auto put = [&](Metric metric, const Entry& entry, double value, auto... label) {
    out.put(kMetrics[metric], value, entry.kind, entry.target, label...);
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
    if (entry.success) put(kSinceSuccess, entry, to_seconds(now - *entry.success));
    if (entry.mismatched_words) {
      put(kMismatchedWords, entry, static_cast<double>(*entry.mismatched_words));
    }
  }
  out.put(kMetrics[kDropped], static_cast<double>(dropped_));
}

std::span<const Descriptor> probe_ledger_metrics() { return kMetrics; }

}  // namespace jetmem
