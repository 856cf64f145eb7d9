// SPDX-License-Identifier: Apache-2.0
// Whether the last evaluation of the rules is recent enough.
#pragma once

#include <chrono>
#include <string>

#include "base/clock.h"
#include "report/alerts/alerts_now.h"

namespace jetmem {

inline std::string whole_seconds(Nanoseconds t) {
  return std::to_string(std::chrono::duration_cast<std::chrono::seconds>(t).count()) + " s";
}

// Empty: it is. `timeout`: of the loop, as for /metrics.
inline std::string alert_engine_problem(const AlertsNow& alerts, Nanoseconds now,
                                        Nanoseconds timeout) {
  // Missed evaluations before the last result is too old to be shown.
  constexpr int kMissedSteps = 3;
  if (!alerts.texts) return "the rules have not been evaluated yet";
  const Nanoseconds age = now - alerts.evaluated;
  if (age <= timeout + kMissedSteps * alerts.texts->interval) return {};
  return "the rules were last evaluated " + whole_seconds(age) +
         " ago; it is unknown what fires now";
}

}  // namespace jetmem
