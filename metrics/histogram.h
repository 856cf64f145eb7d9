// SPDX-License-Identifier: Apache-2.0
// Durations as a histogram of Prometheus': how many took at most so long, and their sum.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "metrics/sample.h"

namespace jetmem {

class DurationHistogram {
 public:
  // Buckets, the sum and the count.
  static constexpr std::uint16_t kSeries = 10;

  void add(double seconds) {
    std::size_t i = 0;
    while (i < kBounds.size() && seconds > kBounds[i].seconds) ++i;
    ++counts_[i];
    sum_ += seconds;
  }

  // `labels`: those in front of "le".
  template <class... L>
  void write(SampleWriter& out, const Descriptor& descriptor, const L&... labels) const {
    std::uint64_t count = 0;
    for (std::size_t i = 0; i < counts_.size(); ++i) {
      count += counts_[i];
      out.put(descriptor, count, "bucket", labels..., i < kBounds.size() ? kBounds[i].le : "+Inf");
    }
    out.put(descriptor, count, "count", labels...);
    out.put(descriptor, sum_, "sum", labels...);
  }

 private:
  struct Bound {
    double seconds;
    std::string_view le;
  };
  // No whole number among them: Prometheus' formats differ in how they write those.
  static constexpr std::array<Bound, 7> kBounds{{{0.0001, "0.0001"},
                                                 {0.0005, "0.0005"},
                                                 {0.0025, "0.0025"},
                                                 {0.01, "0.01"},
                                                 {0.05, "0.05"},
                                                 {0.25, "0.25"},
                                                 {2.5, "2.5"}}};
  std::array<std::uint64_t, kBounds.size() + 1> counts_{};
  double sum_ = 0;
  static_assert(kSeries == kBounds.size() + 3);
};

}  // namespace jetmem
