// SPDX-License-Identifier: Apache-2.0
// How many new series results may make, in a day. What a program calls its steps and ratios is
// its own affair, and each name is a series in somebody's Prometheus for weeks: one that is out of
// its mind, or nobody's friend, must not make ever more of them.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "base/clock.h"
#include "base/result.h"
#include "collectors/probe/source.h"

namespace jetmem {

class ProbeNames {
 public:
  // Of a machine with all heaps and kinds there are some 450.
  static constexpr std::size_t kNewPerDay = 640;
  static constexpr std::size_t kNewTargetsPerDay = 32;
  // The one unseen for longest goes first.
  static constexpr std::size_t kMaxKnown = 2048;

  // All of a run or, as an error, nothing of it: also one with an unknown kind, or with more
  // targets than ProbeStats keeps.
  Result<void> take(const ProbeRun& run, Nanoseconds now);

 private:
  std::map<std::string, Nanoseconds> known_;  // when seen, on the boot clock
  Nanoseconds day_{0};                        // boot clock; when the present day began
  std::size_t new_today_ = 0;
  std::size_t new_targets_ = 0;  // of them
};

}  // namespace jetmem
