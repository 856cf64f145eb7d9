// What happened, as /api/v1/events gives it, newest first. docs/api.md has the form.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "history/history.h"
#include "report/answers/answer_head.h"

namespace jetmem {

inline constexpr std::string_view kEventsSchema = "jetmem-events/1";
constexpr std::size_t kMaxEventsJson = 4U << 20;

// What does not fit is left for the next page: `more` is true then.
std::string events_json(const AnswerFrom& from, const EventsPast& past);
// Texts are made printable(): who answers may be anybody.
Result<EventsPast> parse_events(std::string_view json);

}  // namespace jetmem
