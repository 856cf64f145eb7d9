// An EventRecord as JSON: an element of /api/v1/events, `jetmem events --json` and /api/v1/now.
#pragma once

#include <nlohmann/json.hpp>

#include "base/result.h"
#include "history/event_record.h"

namespace jetmem {

nlohmann::ordered_json event_record_json(const EventRecord& record);
// Texts are made printable(). Errors: kAbsent where its `what` is a word that only a newer jetmem
// knows: it is to be left out and counted.
Result<EventRecord> parse_event_record(const nlohmann::json& json);

}  // namespace jetmem
