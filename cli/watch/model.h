// SPDX-License-Identifier: Apache-2.0
// The data of jetmem watch: the last look at the device or into its recorder, why a newer one
// failed, and the last minutes of the main values.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>

#include "base/clock.h"
#include "base/result.h"
#include "report/device/device_now.h"
#include "report/status/status_answer.h"

namespace jetmem::watch {

enum class Quantity : std::uint8_t { kAvailable, kCmaUsed, kCount };

struct Point {
  double at = 0;      // seconds
  double stands = 0;  // for so long, where none follows
  std::optional<double> value;
};
using Past = std::deque<Point>;  // by time
using Pasts = std::array<Past, static_cast<std::size_t>(Quantity::kCount)>;

// What the recorder covers, on the wall clock.
struct Recorded {
  std::optional<Nanoseconds> oldest;
  std::optional<Nanoseconds> newest;
  Nanoseconds step{std::chrono::seconds(10)};  // around the moment that is shown
};

struct Look {
  DeviceNow now;
  std::optional<Nanoseconds> as_of;  // a moment of the recorder; absent: live
  std::optional<Recorded> recorded;
  // The minutes before, with times relative to this look (at most 0); absent: not queried.
  std::optional<Pasts> past;
  double past_seconds = 600;  // that they cover
};

// Absent if the look has no such value.
std::optional<double> value_of(const StatusAnswer& status, Quantity quantity);

class Model {
 public:
  // Points kept of each value: 20 minutes at 2 s.
  static constexpr std::size_t kPast = 600;

  // A look that ended at `at` (seconds, monotonic) and took so long; the next one is due in
  // `interval`. A failed one keeps the last good one and adds a gap and its error.
  void checked(Result<Look> look, double at, double elapsed, double interval = 2);

  const DeviceNow* now() const { return now_ ? &*now_ : nullptr; }
  // Absent: it is live.
  const std::optional<Nanoseconds>& as_of() const { return as_of_; }
  const std::optional<Recorded>& recorded() const { return recorded_; }
  const StatusAnswer& status() const { return status_; }
  double at() const { return at_; }
  double elapsed() const { return elapsed_; }
  const std::string& error() const { return error_; }
  std::uint64_t snapshots() const { return looks_; }
  const Past& past(Quantity quantity) const { return past_[static_cast<std::size_t>(quantity)]; }
  double past_seconds() const { return past_seconds_; }

 private:
  std::optional<DeviceNow> now_;
  std::optional<Nanoseconds> as_of_;
  std::optional<Recorded> recorded_;
  StatusAnswer status_;
  double at_ = 0;
  double elapsed_ = 0;
  std::string error_;
  std::uint64_t looks_ = 0;
  Pasts past_;
  double past_seconds_ = 600;
};

// When to read next. Querying the daemon is cheap; reading everything here takes allocator locks,
// so it happens at most every 10 s and for at most a quarter of the time.
constexpr double kMinSnapshotInterval = 10;
double next_snapshot(const Model& model, double interval);

}  // namespace jetmem::watch
