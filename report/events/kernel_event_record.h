// SPDX-License-Identifier: Apache-2.0
// An event of the kernel log as the recorder stores it.
#pragma once

#include <optional>
#include <string_view>

#include "base/clock.h"
#include "collectors/kernel_log/event/event.h"
#include "collectors/kernel_log/tally.h"
#include "history/event_record.h"

namespace jetmem {

// Fields of a record: what the site's own message says of its cause and remedy.
inline constexpr std::string_view kMessageCause = "message_cause";
inline constexpr std::string_view kMessageRemedy = "message_remedy";

// `at` on the boot clock.
EventRecord kernel_event_record(const kernel_log::Event& event, kernel_log::Origin origin,
                                std::optional<Nanoseconds> at);

// Whether two records are of the same event, one from the recorder, the other from the kernel log.
// Their times are read one after the other and may be rounded to seconds.

// Between the log's timestamp and the recorder's.
constexpr Nanoseconds kSameEventSlack = std::chrono::seconds(2);

// Whether `recorded` stands for `of_log`. Boots are compared where both are known (boot 0 is not).
bool is_same_event(const EventRecord& recorded, const EventRecord& of_log);

}  // namespace jetmem
