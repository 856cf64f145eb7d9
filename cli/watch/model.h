// What jetmem watch knows: the last look, why a newer one failed, and the last minutes of the main
// figures.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>

#include "base/result.h"
#include "report/answers/memory_budget.h"
#include "report/device_now.h"

namespace jetmem::watch {

enum class Figure : std::uint8_t {
  kAvailable,
  kGpu,
  kCmaUsed,
  kSwapUsed,
  kPressure,
  kTemperature,
  kCount,
};

// Absent where the look has no such value.
std::optional<double> figure_of(const DeviceNow& now, const MemoryBudget& budget, Figure figure);

class Model {
 public:
  // Points kept of each figure: 20 minutes at 2 s.
  static constexpr std::size_t kPast = 600;
  using Past = std::deque<std::optional<double>>;

  // A look that ended at `at` (seconds, a clock that never leaps) and took so long. A failed one
  // leaves the last good one where it is, a gap in the past, and its error.
  void looked(Result<DeviceNow> look, double at, double took);

  const DeviceNow* now() const { return now_ ? &*now_ : nullptr; }
  // The whole memory, as status shows it.
  const MemoryBudget& budget() const { return budget_; }
  double at() const { return at_; }
  double took() const { return took_; }
  const std::string& error() const { return error_; }
  std::uint64_t looks() const { return looks_; }
  const Past& past(Figure figure) const { return past_[static_cast<std::size_t>(figure)]; }

 private:
  std::optional<DeviceNow> now_;
  MemoryBudget budget_;
  double at_ = 0;
  double took_ = 0;
  std::string error_;
  std::uint64_t looks_ = 0;
  std::array<Past, static_cast<std::size_t>(Figure::kCount)> past_;
};

// When to look next. A look of the daemon costs it little; where a command reads everything itself,
// files that take the allocator's locks among them, it does so every 10 s at most, and never spends
// more than a quarter of its time on it.
constexpr double kLeastOwnLook = 10;
double next_look(const Model& model, double interval);

}  // namespace jetmem::watch
