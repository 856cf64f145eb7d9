// SPDX-License-Identifier: Apache-2.0
#include "report/events/kernel_event_record.h"

#include <array>
#include <nlohmann/json.hpp>

#include "base/text/text.h"
#include "collectors/kernel_log/catalogue/message.h"
#include "collectors/kernel_log/decode/decode.h"
#include "config/settings.h"
#include "report/events/event_json.h"

namespace jetmem {
namespace {

// The field that says who: by the first that the event has.
constexpr std::array<std::string_view, 7> kSubjects{"client", "comm",   "process", "area",
                                                    "zone",   "device", "dev"};

}  // namespace

EventRecord kernel_event_record(const kernel_log::Event& event, kernel_log::Origin origin,
                                std::optional<Nanoseconds> at) {
  const kernel_log::KindInfo& info = kernel_log::info_of(event.kind());
  EventRecord record;
  record.what = event.is_guess() ? EventWhat::kGuess : EventWhat::kKernel;
  record.kind = std::string(info.name);
  record.severity = std::string(log_level_name(event.is_guess() ? LogLevel::kInfo : info.level));
  record.origin = std::string(kernel_log::origin_name(origin));
  for (const std::string_view name : kSubjects) {
    if (const std::string_view text = event.text(name); !text.empty()) {
      record.subject = printable(text, 64);
      break;
    }
  }
  // Whatever else they have in common, these are not of one kind.
  if (event.kind() == kernel_log::EventKind::kCustom) {
    record.subject =
        std::string(message_id(event)) + (record.subject.empty() ? "" : " ") + record.subject;
  }
  record.summary = printable(kernel_log::describe(event), EventRecord::kMaxText);
  nlohmann::ordered_json json = event_json(event);
  // Who explains it later, on another machine perhaps, does not have the message.
  if (const kernel_log::Message* const message = event.message()) {
    if (!message->cause.empty()) json[std::string(kMessageCause)] = message->cause;
    if (!message->remedy.empty()) json[std::string(kMessageRemedy)] = message->remedy;
  }
  std::string fields = json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
  if (fields.size() <= EventRecord::kMaxFields) record.fields = std::move(fields);
  record.at = at;
  return record;
}

namespace {

bool is_within(Nanoseconds at, Nanoseconds from, Nanoseconds to) {
  return at >= from - kSameEventSlack && at <= to + kSameEventSlack;
}

}  // namespace

bool is_same_event(const EventRecord& recorded, const EventRecord& of_log) {
  if (recorded.id > 0 && recorded.id == of_log.id) return true;
  if (!are_alike(recorded, of_log)) return false;
  if (recorded.boot > 0 && of_log.boot > 0 && recorded.boot != of_log.boot) return false;
  if (recorded.at && of_log.at) {
    // The boot clock restarts with each boot: it compares only events of the same known boot.
    const bool same_boot = recorded.boot > 0 && recorded.boot == of_log.boot;
    if (same_boot && is_within(*of_log.at, *recorded.at, recorded.until.value_or(*recorded.at))) {
      return true;
    }
  }
  if (recorded.wall && of_log.wall) {
    return is_within(*of_log.wall, *recorded.wall, *recorded.last_wall());
  }
  return !recorded.at && !of_log.at && recorded.summary == of_log.summary;
}

}  // namespace jetmem
