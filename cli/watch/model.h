// SPDX-License-Identifier: Apache-2.0
// The data of jetmem watch: the last read, why a newer one failed, and the last minutes of the main
// values.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>

#include "base/result.h"
#include "report/answers/memory_budget.h"
#include "report/device/device_now.h"

namespace jetmem::watch {

enum class Quantity : std::uint8_t {
  kAvailable,
  kGpu,
  kCmaUsed,
  kSwapUsed,
  kPressure,
  kTemperature,
  kCount,
};

// Absent if the read has no such value.
std::optional<double> value_of_group(const DeviceNow& now, const MemoryBudget& budget,
                                     Quantity quantity);

class Model {
 public:
  // Points kept of each figure: 20 minutes at 2 s.
  static constexpr std::size_t kPast = 600;
  using Past = std::deque<std::optional<double>>;

  // A read that ended at `at` (seconds, monotonic) and took so long. A failed read keeps the last
  // good one and adds a gap and its error.
  void checked(Result<DeviceNow> style, double at, double elapsed);

  const DeviceNow* now() const { return now_ ? &*now_ : nullptr; }
  // The whole memory, as status shows it.
  const MemoryBudget& budget() const { return budget_; }
  double at() const { return at_; }
  double elapsed() const { return elapsed_; }
  const std::string& error() const { return error_; }
  std::uint64_t snapshots() const { return looks_; }
  const Past& past(Quantity quantity) const { return past_[static_cast<std::size_t>(quantity)]; }

 private:
  std::optional<DeviceNow> now_;
  MemoryBudget budget_;
  double at_ = 0;
  double elapsed_ = 0;
  std::string error_;
  std::uint64_t looks_ = 0;
  std::array<Past, static_cast<std::size_t>(Quantity::kCount)> past_;
};

// When to read next. Querying the daemon is cheap; reading everything here takes allocator locks,
// so it happens at most every 10 s and for at most a quarter of the time.
constexpr double kMinSnapshotInterval = 10;
double next_snapshot(const Model& model, double interval);

}  // namespace jetmem::watch
