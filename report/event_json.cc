#include "report/event_json.h"

#include "base/text.h"

namespace jetmem {

using kernel_log::Field;
using kernel_log::FieldType;

nlohmann::ordered_json event_json(const kernel_log::Event& event) {
  nlohmann::ordered_json json;
  json["kind"] = kernel_log::info_of(event.kind()).name;
  for (std::size_t i = 0; i < event.size(); ++i) {
    const Field& field = event[i];
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

}  // namespace jetmem
