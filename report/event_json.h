// A kernel-log event as JSON: what `jetmem decode kernel-log --json` and `jetmem events --json`
// print, one object a line.
#pragma once

#include <nlohmann/json.hpp>

#include "collectors/kernel_log/event.h"

namespace jetmem {

// {"kind": ..., then each field at the top level: text, number, bool, null or list}. Untrusted
// texts are made printable().
nlohmann::ordered_json event_json(const kernel_log::Event& event);

}  // namespace jetmem
