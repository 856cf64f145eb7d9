// SPDX-License-Identifier: Apache-2.0
#include "rules/engine/transition.h"

#include "config/named.h"

namespace jetmem {
namespace {

constexpr std::array kStates{Named<AlertState>{AlertState::kInactive, "inactive"},
                             Named<AlertState>{AlertState::kPending, "pending"},
                             Named<AlertState>{AlertState::kFiring, "firing"}};
constexpr std::array kChanges{
    Named<Change>{Change::kPending, "pending"},     Named<Change>{Change::kFiring, "firing"},
    Named<Change>{Change::kResolved, "resolved"},   Named<Change>{Change::kCleared, "cleared"},
    Named<Change>{Change::kUnknown, "unknown"},     Named<Change>{Change::kInhibited, "inhibited"},
    Named<Change>{Change::kWithdrawn, "withdrawn"},
};

}  // namespace

std::string_view alert_state_name(AlertState state) { return name_in(kStates, state); }
std::string_view change_name(Change change) { return name_in(kChanges, change); }

}  // namespace jetmem
