// SPDX-License-Identifier: Apache-2.0
// How many new series results may make, in a day. What a program calls its steps and ratios is
// its own affair, and each name is a series in somebody's Prometheus for weeks: one that is out of
// its mind, or nobody's friend, must not make ever more of them.
#pragma once

#include <cstdint>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "collectors/probe/source.h"

namespace jetmem {

class ProbeNames {
 public:
  // Of a machine with all heaps and kinds there are some 450.
  static constexpr std::size_t kNewPerDay = 640;
  // The one unseen for longest goes first.
  static constexpr std::size_t kMaxKnown = 2048;

  // All of a run or, as an error, nothing of it.
  Result<void> take(const ProbeRun& run, Nanoseconds now);

 private:
  struct Known {
    std::uint64_t hash;
    Nanoseconds seen;  // boot clock
  };
  void collect(const ProbeRun& run);

  std::vector<Known> known_;           // sorted by hash
  std::vector<std::uint64_t> of_run_;  // sorted, each once
  Nanoseconds day_{0};                 // boot clock; when the present day began
  std::size_t new_today_ = 0;
};

}  // namespace jetmem
