// What became of each kind of memory since the daemon's start, run by run: what a single result
// cannot tell. Bounded, whatever a program says.
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
#include "base/sample.h"
#include "collectors/probe/source.h"

namespace jetmem {

class ProbeLedger {
 public:
  // A kind and its target.
  static constexpr std::size_t kMaxEntries = 48;
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

  ProbeLedger();

  // Nothing: there is no room for one more entry, and it was counted as dropped.
  std::optional<Change> result(const ProbeRun::Probe& probe, Nanoseconds now);

  void write(SampleWriter& out, Nanoseconds now) const;

 private:
  struct Entry {
    std::string kind;
    std::string target;
    std::optional<ProbeState> state;
    std::optional<ProbeState> settled;
    std::array<std::uint64_t, kProbeStates> runs{};
    std::vector<std::pair<std::string, std::uint64_t>> errors;
    std::uint64_t other_errors = 0;
    std::optional<Nanoseconds> success;  // boot clock
    std::optional<Nanoseconds> skipped;
    std::optional<std::uint64_t> mismatched_words;
  };
  Entry* find(std::string_view kind, std::string_view target);
  static void count_error(Entry& entry, std::string_view error);

  std::vector<Entry> entries_;
  std::uint64_t dropped_ = 0;
};

std::span<const Descriptor> probe_ledger_metrics();

}  // namespace jetmem
