// The three clocks, injected so that a test of a day takes a second.
#pragma once

#include <chrono>

namespace jetmem {

using Nanoseconds = std::chrono::nanoseconds;

class Clock {
 public:
  virtual ~Clock() = default;
  // Steady, stops in suspend: for how long something took.
  virtual Nanoseconds mono() const = 0;
  // Steady, runs on in suspend: for schedules and the age of data.
  virtual Nanoseconds boot() const = 0;
  // Since 1970, leaps: only to show.
  virtual Nanoseconds wall() const = 0;
};

class SystemClock final : public Clock {
 public:
  Nanoseconds mono() const override;
  Nanoseconds boot() const override;
  Nanoseconds wall() const override;
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
