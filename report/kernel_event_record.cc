#include "report/kernel_event_record.h"

#include <array>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "collectors/kernel_log/decode.h"
#include "config/settings.h"
#include "report/event_json.h"

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
  record.what = EventWhat::kKernel;
  record.kind = std::string(info.name);
  record.severity = std::string(log_level_name(info.level));
  record.origin = std::string(kernel_log::origin_name(origin));
  for (const std::string_view name : kSubjects) {
    if (const std::string_view text = event.text(name); !text.empty()) {
      record.subject = printable(text, 64);
      break;
    }
  }
  record.summary = printable(kernel_log::describe(event), EventRecord::kMaxText);
  std::string fields =
      event_json(event).dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
  if (fields.size() <= EventRecord::kMaxFields) record.fields = std::move(fields);
  record.at = at;
  return record;
}

}  // namespace jetmem
