// The reference of kernel-log events (docs/kernel-events.md) out of the code's own table.
#pragma once

#include <string>

namespace jetmem {

// Markdown: every kind with its weight, group, key fields, MESSAGE_ID and usual meaning.
std::string render_kernel_events_reference();

}  // namespace jetmem
