// SPDX-License-Identifier: Apache-2.0
// A change of an alert as the recorder keeps it.
#pragma once

#include "history/event_record.h"
#include "rules/engine/transition.h"

namespace jetmem {

EventRecord alert_event_record(const Transition& transition);

}  // namespace jetmem
