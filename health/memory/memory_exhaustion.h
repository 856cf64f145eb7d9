// SPDX-License-Identifier: Apache-2.0
// How long memory lasts if it shrinks on as in the last half minute: for what is gone within
// minutes, before a trend over hours (trends.h) or a rule's `for` can tell.
//
// What can run out is MemAvailable together with SwapFree (/proc/meminfo, one reading a second):
// when memory is short, MemAvailable hardly moves any more while swap fills, and the kernel kills
// when both are used up.
//
// The rate is the smallest of those over the last 30 s, over the last 3 s, and over the 3 s before
// these: memory that stopped shrinking is not gone soon, and a single allocation is no trend. A
// pause of more than twelve seconds (suspend, a failed source) starts anew.
//
// Reasons for absent values: meminfo_unknown, line_unknown (no MemAvailable, as before Linux 3.14,
// or an impossible one), too_few_readings (less than six seconds of them), not_shrinking (at this
// rate, not within ten minutes).
#pragma once

#include <cstdint>
#include <vector>

#include "collectors/source.h"

namespace jetmem {

class MemoryExhaustion final : public DerivedMetric {
 public:
  static const DerivedInfo kInfo;
  static constexpr Nanoseconds kWindow = std::chrono::seconds(30);
  static constexpr Nanoseconds kRecent = std::chrono::seconds(3);
  static constexpr Nanoseconds kLeastSpan = 2 * kRecent;
  // Of meminfo read every ten seconds, which may come late.
  static constexpr Nanoseconds kLongestGap = std::chrono::seconds(12);
  static constexpr Nanoseconds kSpacing = std::chrono::milliseconds(900);
  static constexpr double kMostSeconds = 600;

  MemoryExhaustion() { readings_.reserve(kMost); }

  const DerivedInfo& info() const override { return kInfo; }
  void write(SampleWriter& out, WriteContext& context) override;

 private:
  struct Reading {
    Nanoseconds at{0};
    double left = 0;  // bytes
  };
  static constexpr std::size_t kMost = 40;  // at kSpacing, and one from before the window

  void add(Nanoseconds now, double left);
  // The newest that is at least so old: readings come late where the machine stalls.
  const Reading& since(Nanoseconds age) const;

  std::uint64_t number_ = 0;       // of the reading of meminfo that was added last
  std::vector<Reading> readings_;  // the newest last
};

}  // namespace jetmem
