// SPDX-License-Identifier: Apache-2.0
// Steps of the wall clock against the boot clock, from the boot source: it is read every ten
// seconds, and at once when the clock was set.
//
// A change of less than kLeast is a clock being slewed. The first setting of a clock before 2025
// does not count: nobody relied on it. A plausible clock that was never set (restored from a file
// after a reboot) looks like any other: setting it is a step.
//
// A restart forgets all of it.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "collectors/source.h"

namespace jetmem {

class ClockSteps final : public DerivedMetric {
 public:
  static const DerivedInfo kInfo;
  static constexpr Nanoseconds kLeast = std::chrono::seconds(2);

  const DerivedInfo& info() const override { return kInfo; }
  void write(SampleWriter& out, WriteContext& context) override;

 private:
  static constexpr Nanoseconds kBucket = std::chrono::seconds(15);

  void snapshot(Nanoseconds offset, Nanoseconds now);
  Nanoseconds largest(Nanoseconds now) const;

  std::optional<Nanoseconds> offset_;
  bool was_set_ = false;
  // The largest of each 15 s, for ten minutes.
  struct Bucket {
    std::int64_t id = -1;
    Nanoseconds clock_step{0};
  };
  std::array<Bucket, 40> buckets_{};
};

}  // namespace jetmem
