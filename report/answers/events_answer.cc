#include "report/answers/events_answer.h"

#include "report/answers/answer_json.h"
#include "report/event_record_json.h"

namespace jetmem {
namespace {

// Room for what frames the list.
constexpr std::size_t kFrame = 16U << 10;
// What an event's indentation in the whole adds to it at most, for each of its bytes.
constexpr std::size_t kIndentation = 2;

}  // namespace

std::string events_json(const AnswerFrom& from, const EventsPast& past) {
  nlohmann::ordered_json out = answer_head(kEventsSchema, from);
  nlohmann::ordered_json& events = out["events"] = nlohmann::ordered_json::array();
  bool more = past.more;
  std::int64_t last = 0;
  std::size_t size = kFrame;
  for (const EventRecord& record : past.events) {
    nlohmann::ordered_json event = event_record_json(record);
    size += kIndentation *
            event.dump(1, ' ', false, nlohmann::ordered_json::error_handler_t::replace).size();
    if (size > kMaxEventsJson) {
      more = true;
      break;
    }
    last = record.id;
    events.push_back(std::move(event));
  }
  out["more"] = more;
  if (more && last > 0) out["next"] = last;
  if (!past.trouble.empty()) out["trouble"] = printable(past.trouble, 500);
  return answer_text(out);
}

Result<EventsPast> parse_events(std::string_view text) {
  const auto json = answer_json::parse(text, kEventsSchema, kMaxEventsJson);
  if (!json) return tl::unexpected(json.error());
  const nlohmann::json* const events = answer_json::at(*json, "events");
  if (events == nullptr || !events->is_array()) {
    return fail(Errc::kMalformed, "the answer has no events");
  }
  EventsPast out;
  std::size_t unknown = 0;
  for (const nlohmann::json& event : *events) {
    auto record = parse_event_record(event);
    if (!record && record.error().code == Errc::kAbsent) {
      ++unknown;
      continue;
    }
    if (!record) return tl::unexpected(std::move(record.error()));
    out.events.push_back(std::move(*record));
  }
  out.more = answer_json::flag(*json, "more");
  out.trouble = answer_json::text(*json, "trouble");
  if (unknown > 0) {
    out.trouble += (out.trouble.empty() ? "" : "; ") + std::to_string(unknown) +
                   " events of a kind that only a newer jetmem knows were left out";
  }
  return out;
}

}  // namespace jetmem
