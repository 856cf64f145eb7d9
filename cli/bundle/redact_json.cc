#include "cli/bundle/redact_json.h"

#include <nlohmann/json.hpp>

namespace jetmem {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kDepth = 32;

// False: it is too deep to be ours.
bool redact_value(Json& value, Redacted& counts, int depth) {
  if (depth > kDepth) return false;
  if (value.is_string()) {
    value = redact_text(value.get_ref<const std::string&>(), counts);
    return true;
  }
  if (value.is_array()) {
    for (Json& each : value) {
      if (!redact_value(each, counts, depth + 1)) return false;
    }
  }
  if (value.is_object()) {
    for (auto& [key, each] : value.items()) {
      if (key.ends_with("boot_id")) continue;
      if (!redact_value(each, counts, depth + 1)) return false;
    }
  }
  return true;
}

}  // namespace

std::string redact_json(std::string_view json, Redacted& counts, int indent) {
  Json value = Json::parse(json, nullptr, /*allow_exceptions=*/false);
  if (value.is_discarded()) return redact_text(json, counts);
  Redacted now = counts;
  if (!redact_value(value, now, 0)) return redact_text(json, counts);
  counts = now;
  return value.dump(indent, ' ', false, Json::error_handler_t::replace);
}

}  // namespace jetmem
