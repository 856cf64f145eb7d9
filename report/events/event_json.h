// SPDX-License-Identifier: Apache-2.0
// A kernel-log event as JSON: what `jetmem decode kernel-log --json` and `jetmem events --json`
// print, one object a line.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "base/json/fields.h"
#include "collectors/kernel_log/event/event.h"
#include "history/event_record.h"

namespace jetmem {

// {"kind": ..., then each field at the top level: text, number, bool, null or list}. Untrusted
// texts are made printable().
nlohmann::ordered_json event_json(const kernel_log::Event& event);

// An EventRecord as JSON: an element of /api/v1/events, `jetmem events --json` and /api/v1/now.

// Reading: an event of a category that only a newer jetmem knows is skipped and counted.
void describe(json::Fields& v, EventRecord& record);
// On one line, which it ends.
std::string event_record_line(const EventRecord& record);

// Of changes of alerts, the newest first: the newest of each alert. Those of other boots than
// `boot` do not count; 0: which one is unknown.
std::vector<EventRecord> last_changes(std::vector<EventRecord> changes, std::int64_t boot);

}  // namespace jetmem
