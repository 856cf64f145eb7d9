// Leaps of the wall clock against the boot clock, as the daemon sees them in the boot source's
// reading: it looks every ten seconds, and the source is read at once when the clock was set.
//
// A change of less than kLeast is that of a clock which is slewed. The first setting of a clock
// that says a year before 2020 is none: nobody took its time for the time. That a clock with a
// likely time was never set (one kept in a file over a reboot) cannot be told: its setting is a
// leap.
//
// Nothing of it outlives a restart.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "collectors/source.h"

namespace jetmem {

class ClockLeaps final : public Derivation {
 public:
  static constexpr Nanoseconds kLeast = std::chrono::seconds(2);

  std::string_view name() const override { return "clock_leaps"; }
  std::span<const std::string_view> sources() const override;
  std::span<const Descriptor> metrics() const override;
  void write(SampleWriter& out, WriteContext& context) override;

 private:
  static constexpr Nanoseconds kBucket = std::chrono::seconds(15);

  void look(Nanoseconds offset, Nanoseconds now);
  Nanoseconds largest(Nanoseconds now) const;

  std::optional<Nanoseconds> offset_;
  bool was_set_ = false;
  // The largest of each 15 s, for ten minutes.
  struct Bucket {
    std::int64_t id = -1;
    Nanoseconds leap{0};
  };
  std::array<Bucket, 40> buckets_{};
};

}  // namespace jetmem
