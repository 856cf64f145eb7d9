// What happens to an alert: the one thing that the journal, the hook and the remedy are told.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "config/rules.h"

namespace jetmem {

enum class AlertState : std::uint8_t { kInactive, kPending, kFiring };

// "inactive", "pending", "firing".
std::string_view alert_state_name(AlertState state);

enum class Change : std::uint8_t {
  kPending,    // its conditions hold, for less than `for`
  kFiring,     // they have held for long enough
  kResolved,   // they no longer hold, as far as was seen
  kDropped,    // pending, and they no longer hold
  kUnknown,    // firing or pending, and its source went blind: nobody knows whether they hold
  kSilenced,   // firing or pending, and an alert named by `unless` began to fire
  kWithdrawn,  // firing or unknown, and its rule is no more
};

// "pending", "firing", "resolved", "dropped", "unknown", "silenced", "withdrawn".
std::string_view change_name(Change change);

struct Transition {
  const Rule* rule = nullptr;
  Change change = Change::kPending;
  AlertState from = AlertState::kInactive;  // before the change
  // The labels of the series that the rule's first condition found, sorted by name.
  std::vector<std::pair<std::string, std::string>> labels;
  double value = 0;             // of the first condition, when last seen
  Nanoseconds at{0};            // boot clock, the step of judgement
  Nanoseconds active_since{0};  // when it became pending
  std::string reason;           // of kUnknown, kSilenced, kWithdrawn: "source thermal is denied"
};

}  // namespace jetmem
