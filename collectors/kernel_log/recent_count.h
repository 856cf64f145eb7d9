// SPDX-License-Identifier: Apache-2.0
// How many events of the last ten minutes, by when they were: fixed memory, whatever their number.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>

#include "base/clock.h"

namespace jetmem::kernel_log {

class RecentCount {
 public:
  static constexpr Nanoseconds kBucket = std::chrono::seconds(15);
  static constexpr std::size_t kBuckets = 40;
  static constexpr Nanoseconds kRecent = kBucket * static_cast<std::int64_t>(kBuckets);

  // Times may come in any order: what is too old for the newest known is ignored.
  void add(Nanoseconds when, std::uint64_t count) {
    if (when < Nanoseconds(0)) return;
    const std::int64_t id = when / kBucket;
    Bucket& bucket = buckets_[static_cast<std::size_t>(id) % kBuckets];
    if (bucket.id > id) return;
    if (bucket.id != id) bucket = {id, 0};
    bucket.count += std::min(count, std::numeric_limits<std::uint64_t>::max() - bucket.count);
  }

  // A bucket counts as a whole: an event does for 9:45 to 10:00 minutes.
  std::uint64_t sum(Nanoseconds now) const {
    const std::int64_t id = now / kBucket;
    std::uint64_t sum = 0;
    for (const Bucket& bucket : buckets_) {
      if (bucket.id > id - static_cast<std::int64_t>(kBuckets) && bucket.id <= id) {
        sum += bucket.count;
      }
    }
    return sum;
  }

 private:
  struct Bucket {
    std::int64_t id = -1;
    std::uint64_t count = 0;
  };
  std::array<Bucket, kBuckets> buckets_{};
};

}  // namespace jetmem::kernel_log
