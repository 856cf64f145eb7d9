// SPDX-License-Identifier: Apache-2.0
// The three clocks, injected so that a test of a day takes a second.
#pragma once

#include <chrono>
#include <cstdint>

namespace jetmem {

using Nanoseconds = std::chrono::nanoseconds;

// The latest that is taken from outside for a time since 1970 or since boot, in seconds: 2112. Two
// of them still add up within Nanoseconds, which end in 2262.
inline constexpr std::int64_t kLastSecond = 4'500'000'000;

// A wall clock before this was never set: it shows 1970, or when the system's image was built.
inline constexpr std::int64_t kFirstPlausibleSecond = 1'735'689'600;  // 2025
inline constexpr Nanoseconds kFirstPlausibleTime = std::chrono::seconds(kFirstPlausibleSecond);

class Clock {
 public:
  virtual ~Clock() = default;
  // Steady, stops in suspend: for how long something took.
  virtual Nanoseconds mono() const = 0;
  // Steady, runs on in suspend: for schedules and the age of data.
  virtual Nanoseconds boot() const = 0;
  // Since 1970, leaps: only to show.
  virtual Nanoseconds wall() const = 0;

  // Seconds of boot() and wall() in one of the kernel's: 1 unless a replay runs faster.
  virtual double speed() const { return 1; }
  // What the kernel's CLOCK_BOOTTIME shows when boot() comes to `boot`: a timer is armed with it.
  virtual Nanoseconds real_until(Nanoseconds boot) const { return boot; }
};

class SystemClock final : public Clock {
 public:
  Nanoseconds mono() const override;
  Nanoseconds boot() const override;
  Nanoseconds wall() const override;
};
inline const SystemClock kSystemClock;

// Runs fast from now on, for a machine whose files are played just as fast: then hours of it pass
// in seconds. mono() stays the kernel's, as what jetmem itself does takes its own time: reads,
// answers, pauses between two pages.
class FastClock final : public Clock {
 public:
  // `real` is to outlive it. Slower than 1, or no number, is taken for 1.
  FastClock(const Clock& real, double speed);

  Nanoseconds mono() const override { return real_.mono(); }
  Nanoseconds boot() const override;
  // A leap of the real one is a leap of this one, as large.
  Nanoseconds wall() const override;
  double speed() const override { return speed_; }
  Nanoseconds real_until(Nanoseconds boot) const override;

 private:
  Nanoseconds gained(Nanoseconds real_boot) const;

  const Clock& real_;
  double speed_;
  Nanoseconds start_;
};

// Stands still until it is moved.
class ManualClock final : public Clock {
 public:
  Nanoseconds mono() const override { return mono_; }
  Nanoseconds boot() const override { return boot_; }
  Nanoseconds wall() const override { return wall_; }

  void advance(Nanoseconds by) {
    mono_ += by;
    boot_ += by;
    wall_ += by;
  }
  void suspend(Nanoseconds by) {
    boot_ += by;
    wall_ += by;
  }
  void set_wall(Nanoseconds wall) { wall_ = wall; }

 private:
  Nanoseconds mono_{0};
  Nanoseconds boot_{0};
  Nanoseconds wall_{0};
};

inline double to_seconds(Nanoseconds t) { return std::chrono::duration<double>(t).count(); }

}  // namespace jetmem
