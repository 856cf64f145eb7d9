// SPDX-License-Identifier: Apache-2.0
// The functions over a window, as Prometheus 2.42 computes them (promql/functions.go), to the last
// bit: the same additions in the same order.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "rules/model/rules.h"

namespace jetmem {

struct TimedValue {
  std::int64_t at = 0;  // milliseconds
  double value = 0;
};

// `samples`: those of the window that ends at `now`, oldest first, at least one. Nothing where
// Prometheus gives nothing: rate, increase, delta, slope and predict need two.
std::optional<double> over_window(Function function, std::span<const TimedValue> samples,
                                  std::int64_t now, std::chrono::milliseconds window,
                                  std::chrono::milliseconds ahead);

}  // namespace jetmem
