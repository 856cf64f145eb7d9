// Whether what the rules found last still says how things are.
#pragma once

#include <chrono>
#include <string>

#include "base/clock.h"
#include "report/alerts_now.h"

namespace jetmem {

inline std::string whole_seconds(Nanoseconds t) {
  return std::to_string(std::chrono::duration_cast<std::chrono::seconds>(t).count()) + " s";
}

// Empty: it does. `patience`: of the loop, as for /metrics.
inline std::string alerts_trouble(const AlertsNow& alerts, Nanoseconds now, Nanoseconds patience) {
  // Steps of judgement that may be late before what the last one found is no longer told.
  constexpr int kMissedSteps = 3;
  if (!alerts.texts) return "the rules have not been judged yet";
  const Nanoseconds age = now - alerts.judged;
  if (age <= patience + kMissedSteps * alerts.texts->interval) return {};
  return "the rules were last judged " + whole_seconds(age) + " ago; nobody can say now what fires";
}

}  // namespace jetmem
