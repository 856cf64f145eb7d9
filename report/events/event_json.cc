// SPDX-License-Identifier: Apache-2.0
#include "report/events/event_json.h"

#include <nlohmann/json.hpp>
#include <set>

#include "base/text/text.h"

namespace jetmem {

using kernel_log::FieldType;

nlohmann::ordered_json event_json(const kernel_log::Event& event) {
  nlohmann::ordered_json json;
  json["kind"] = kernel_log::info_of(event.kind()).name;
  if (const std::string_view id = message_id(event); !id.empty()) json["message"] = id;
  if (event.is_guess()) json["known"] = false;
  for (std::size_t i = 0; i < event.size(); ++i) {
    const kernel_log::Field& field = event[i];
    auto& value = json[std::string(field.name)];
    switch (field.type) {
      case FieldType::kText:
        value = printable(event.text_of(field), kernel_log::Event::kMaxText);
        break;
      case FieldType::kNumber:
        value = field.number;
        break;
      case FieldType::kBool:
        value = field.number != 0;
        break;
      case FieldType::kNull:
        value = nullptr;
        break;
      case FieldType::kItem:
        if (!value.is_array()) value = nlohmann::ordered_json::array();
        value.push_back(printable(event.text_of(field), kernel_log::Event::kMaxText));
        break;
    }
  }
  return json;
}

void describe(json::Fields& v, EventRecord& record) {
  v.unless_empty("id", record.id);
  std::string category(v.reading() ? std::string_view() : event_what_name(record.what));
  v.required_text("category", category);
  if (const auto known = event_what_named(category)) {
    record.what = *known;
  } else if (!category.empty()) {
    v.skip();
  }
  v("kind", record.kind);
  v("severity", record.severity);
  v.unless_empty("origin", record.origin);
  v.unless_empty("subject", record.subject);
  v("summary", record.summary);
  v("time", record.wall);
  if (v.reading() || record.wall) v("time_trusted", record.wall_trusted);
  v.unless_empty("boot", record.boot);
  v("since_boot_seconds", record.at);
  if (v.reading() || record.count != 1) v("count", record.count);
  v("last_since_boot_seconds", record.until);
  v.embedded("fields", record.fields, EventRecord::kMaxFields);
  if (!v.reading()) return;
  record.count = std::max<std::uint64_t>(record.count, 1);
  for (std::string* text :
       {&record.kind, &record.severity, &record.origin, &record.subject, &record.summary}) {
    *text = printable(*text, EventRecord::kMaxText);
  }
}

std::vector<EventRecord> last_changes(std::vector<EventRecord> changes, std::int64_t boot) {
  std::set<std::string> seen;
  std::erase_if(changes, [&](const EventRecord& change) {
    if (boot != 0 && change.boot != 0 && change.boot != boot) return true;
    const auto fields = nlohmann::json::parse(change.fields, nullptr, /*allow_exceptions=*/false);
    const bool has_labels = fields.is_object() && fields.contains("labels");
    const std::string labels =
        has_labels ? fields["labels"].dump(-1, ' ', false, nlohmann::json::error_handler_t::replace)
                   : std::string();
    return !seen.insert(change.subject + "\n" + labels).second;
  });
  return changes;
}

std::string event_record_line(const EventRecord& record) { return json::write(record, -1); }

}  // namespace jetmem
