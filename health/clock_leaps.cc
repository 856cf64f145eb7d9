#include "health/clock_leaps.h"

#include <algorithm>

#include "collectors/boot/facts.h"

namespace jetmem {
namespace {

constexpr std::array kMetrics{
    Descriptor{.name = "jetmem_clock_recent_leap_seconds",
               .type = MetricType::kGauge,
               .help = "Largest leap of the wall clock, forward or back, that jetmem saw in the "
                       "last ten minutes; 0: none of 2 s or more. Times in logs and recordings "
                       "from before are wrong by that. The first setting of a clock that was in "
                       "the years before 2020 does not count."},
};

constexpr std::array<std::string_view, 1> kSources{"boot"};

}  // namespace

std::span<const std::string_view> ClockLeaps::sources() const { return kSources; }

std::span<const Descriptor> ClockLeaps::metrics() const { return kMetrics; }

void ClockLeaps::look(Nanoseconds offset, Nanoseconds now) {
  const Nanoseconds moved = offset - offset_.value_or(offset);
  const Nanoseconds leap = moved < Nanoseconds(0) ? -moved : moved;
  offset_ = offset;
  const bool was_set = was_set_;
  was_set_ = was_set_ || now + offset >= std::chrono::seconds(boot::Moment::kPlausible);
  if (leap < kLeast || !was_set) return;
  const std::int64_t id = now / kBucket;
  Bucket& bucket = buckets_[static_cast<std::size_t>(id) % buckets_.size()];
  if (bucket.id != id) bucket = {id, Nanoseconds(0)};
  bucket.leap = std::max(bucket.leap, leap);
}

Nanoseconds ClockLeaps::largest(Nanoseconds now) const {
  const std::int64_t id = now / kBucket;
  Nanoseconds found{0};
  for (const Bucket& bucket : buckets_) {
    const bool is_recent = bucket.id >= 0 && id - bucket.id < static_cast<int>(buckets_.size());
    if (is_recent) found = std::max(found, bucket.leap);
  }
  return found;
}

void ClockLeaps::write(SampleWriter& out, WriteContext& context) {
  const auto* facts = context.readings.get<BootFacts>();
  if (facts == nullptr) return;
  if (!facts->wall_offset) {
    context.absent.add("clock_not_followed");
    return;
  }
  look(*facts->wall_offset, context.now);
  out.put(kMetrics[0], to_seconds(largest(context.now)));
}

}  // namespace jetmem
