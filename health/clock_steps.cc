// SPDX-License-Identifier: Apache-2.0
#include "health/clock_steps.h"

#include <algorithm>

#include "collectors/device/boot/facts.h"

namespace jetmem {
namespace {

constexpr std::array kClockStepsMetrics{
    gauge("jetmem_clock_step_seconds",
          "Largest step of the wall clock, forward or back, in the last 10 min; 0: none of 2 s or "
          "more. Earlier times in logs and recordings are wrong by that much. The first setting of "
          "a clock that was before 2025 does not count."),
};

constexpr std::array<std::string_view, 1> kClockStepsSources{"boot"};

}  // namespace

const DerivedInfo ClockSteps::kInfo{.name = "clock_steps",
                                    .sources = kClockStepsSources,
                                    .metrics = kClockStepsMetrics,
                                    .write_at_once = true};

void ClockSteps::snapshot(Nanoseconds offset, Nanoseconds now) {
  const Nanoseconds moved = offset - offset_.value_or(offset);
  const Nanoseconds clock_step = moved < Nanoseconds(0) ? -moved : moved;
  offset_ = offset;
  const bool was_set = was_set_;
  was_set_ = was_set_ || now + offset >= kFirstPlausibleTime;
  if (clock_step < kLeast || !was_set) return;
  const std::int64_t id = now / kBucket;
  Bucket& bucket = buckets_[static_cast<std::size_t>(id) % buckets_.size()];
  if (bucket.id != id) bucket = {id, Nanoseconds(0)};
  bucket.clock_step = std::max(bucket.clock_step, clock_step);
}

Nanoseconds ClockSteps::largest(Nanoseconds now) const {
  const std::int64_t id = now / kBucket;
  Nanoseconds found{0};
  for (const Bucket& bucket : buckets_) {
    const bool is_recent = bucket.id >= 0 && id - bucket.id < static_cast<int>(buckets_.size());
    if (is_recent) found = std::max(found, bucket.clock_step);
  }
  return found;
}

void ClockSteps::write(SampleWriter& out, WriteContext& context) {
  const auto* facts = context.readings.get<BootFacts>();
  if (facts == nullptr) return;
  if (!facts->wall_offset) {
    context.absent.add("clock_not_followed");
    return;
  }
  snapshot(*facts->wall_offset, context.now);
  out.put(kClockStepsMetrics[0], to_seconds(largest(context.now)));
}

}  // namespace jetmem
