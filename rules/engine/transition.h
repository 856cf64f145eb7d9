// SPDX-License-Identifier: Apache-2.0
// A change of an alert, for the journal, the notifier and captures.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "rules/model/rules.h"

namespace jetmem {

enum class AlertState : std::uint8_t { kInactive, kPending, kFiring };

// "inactive", "pending", "firing".
std::string_view alert_state_name(AlertState state);

enum class Change : std::uint8_t {
  kPending,    // its conditions are true, for less than `for`
  kFiring,     // they were true for long enough
  kResolved,   // they are no longer true
  kCleared,    // pending, cleared before firing
  kUnknown,    // firing or pending, and its source is unavailable
  kInhibited,  // firing or pending, and an alert named by `unless` began to fire
  kWithdrawn,  // firing or unknown, and its rule was removed
};

inline constexpr std::array kAllChanges{Change::kPending, Change::kFiring,    Change::kResolved,
                                        Change::kCleared, Change::kUnknown,   Change::kInhibited,
                                        Change::kWithdrawn};

// "pending", "firing", "resolved", "cleared", "unknown", "inhibited", "withdrawn".
std::string_view change_name(Change change);

struct Transition {
  const Rule* rule = nullptr;
  Change change = Change::kPending;
  AlertState from = AlertState::kInactive;  // before the change
  // The labels of the series that the rule's first condition found, sorted by name.
  std::vector<std::pair<std::string, std::string>> labels;
  double value = 0;             // of the first condition, when last seen
  Nanoseconds at{0};            // boot clock, the evaluation step
  Nanoseconds active_since{0};  // when it became pending
  std::string reason;           // of kUnknown, kInhibited, kWithdrawn: "source thermal is denied"
};

}  // namespace jetmem
