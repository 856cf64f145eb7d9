#include "health/rules/transition.h"

namespace jetmem {

std::string_view alert_state_name(AlertState state) {
  switch (state) {
    case AlertState::kInactive:
      return "inactive";
    case AlertState::kPending:
      return "pending";
    case AlertState::kFiring:
      return "firing";
  }
  return "inactive";
}

std::string_view change_name(Change change) {
  switch (change) {
    case Change::kPending:
      return "pending";
    case Change::kFiring:
      return "firing";
    case Change::kResolved:
      return "resolved";
    case Change::kDropped:
      return "dropped";
    case Change::kUnknown:
      return "unknown";
    case Change::kSilenced:
      return "silenced";
    case Change::kWithdrawn:
      return "withdrawn";
  }
  return "unknown";
}

}  // namespace jetmem
