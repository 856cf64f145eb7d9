// SPDX-License-Identifier: Apache-2.0
// The newest result of each group that still holds, and the text that the source makes of them.
#pragma once

#include <array>
#include <string>
#include <utility>

#include "base/clock.h"
#include "base/root/snapshot.h"
#include "daemon/probe/probe_schedule.h"
#include "probes/gates.h"

namespace jetmem {

class ProbeResults {
 public:
  // A result holds for so many of its group's intervals, as other sources' do.
  static constexpr int kStaleAfterIntervals = 3;

  void set(ProbeGroup group, std::string line, Nanoseconds now) {
    of(group) = {std::move(line), now};
  }
  bool has(ProbeGroup group) const { return !of(group).line.empty(); }
  bool has_any() const;
  // False: there was none.
  bool drop(ProbeGroup group) { return !std::exchange(of(group).line, {}).empty(); }
  // Also what was shown: the source has dropped it.
  void clear();
  bool drop_old(const ProbeSchedule& schedule, Nanoseconds now);

  // For the source. Null: nothing holds, nor did when it was called last.
  const Snapshot* update(Nanoseconds now);
  // The source shows results.
  bool is_reported() const { return is_reported_; }
  bool is_shown(ProbeGroup group, const ProbeSchedule& schedule, Nanoseconds now) const;
  Nanoseconds age(ProbeGroup group, Nanoseconds now) const { return now - of(group).at; }

 private:
  struct Result {
    std::string line;
    Nanoseconds at{0};  // boot clock
  };
  Result& of(ProbeGroup group) { return results_[static_cast<std::size_t>(group)]; }
  const Result& of(ProbeGroup group) const { return results_[static_cast<std::size_t>(group)]; }

  std::array<Result, kProbeGroups> results_;
  std::string text_;
  Snapshot snapshot_;
  bool is_reported_ = false;
  Nanoseconds reported_at_{0};  // boot clock
};

}  // namespace jetmem
