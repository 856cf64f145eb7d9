// SPDX-License-Identifier: Apache-2.0
#include "daemon/probe/probe_results.h"

#include <algorithm>

namespace jetmem {
namespace {

// Where a captured tree keeps the text, and so what the source looks for.
constexpr std::string_view kPath = "/jetmem/probe";

}  // namespace

bool ProbeResults::has_any() const {
  return std::any_of(results_.begin(), results_.end(),
                     [](const Result& result) { return !result.line.empty(); });
}

void ProbeResults::clear() {
  for (Result& result : results_) result.line.clear();
  is_reported_ = false;
}

bool ProbeResults::drop_old(const ProbeSchedule& schedule, Nanoseconds now) {
  bool dropped = false;
  for (const ProbeGroup group : {ProbeGroup::kMemory, ProbeGroup::kCuda}) {
    if (age(group, now) > kStaleAfterIntervals * schedule.set_interval(group)) {
      dropped |= drop(group);
    }
  }
  return dropped;
}

const Snapshot* ProbeResults::update(Nanoseconds now) {
  text_.clear();
  for (const Result& result : results_) {
    if (!result.line.empty()) text_.append(result.line).append("\n");
  }
  // What was reported before must not stay when none of it holds.
  const bool has_results = !text_.empty();
  if (!has_results && !is_reported_) return nullptr;
  is_reported_ = has_results;
  if (!has_results) text_.append("\n");
  snapshot_.clear();
  snapshot_.add(kPath, text_, 0);
  reported_at_ = now;
  return &snapshot_;
}

bool ProbeResults::is_shown(ProbeGroup group, const ProbeSchedule& schedule,
                            Nanoseconds now) const {
  // The source drops what was reported too long ago.
  return has(group) && is_reported_ &&
         now - reported_at_ <= kStaleAfterIntervals * schedule.set_interval(ProbeGroup::kMemory);
}

}  // namespace jetmem
