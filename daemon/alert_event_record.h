// A change of an alert as the recorder keeps it.
#pragma once

#include "health/rules/transition.h"
#include "history/event_record.h"

namespace jetmem {

EventRecord alert_event_record(const Transition& transition);

}  // namespace jetmem
