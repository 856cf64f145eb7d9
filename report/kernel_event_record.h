// An event of the kernel's log as the recorder keeps it.
#pragma once

#include <optional>

#include "base/clock.h"
#include "collectors/kernel_log/event.h"
#include "collectors/kernel_log/tally.h"
#include "history/event_record.h"

namespace jetmem {

// `at` on the boot clock.
EventRecord kernel_event_record(const kernel_log::Event& event, kernel_log::Origin origin,
                                std::optional<Nanoseconds> at);

}  // namespace jetmem
