// SPDX-License-Identifier: Apache-2.0
#include "probes/program/json.h"

#include <array>
#include <cmath>
#include <cstdio>

namespace jetmem::probe {

JsonWriter& JsonWriter::put(std::string_view token, bool comma_after) {
  if (needs_comma_ && token != "}" && token != "]") text_.push_back(',');
  text_ += token;
  needs_comma_ = comma_after;
  return *this;
}

JsonWriter& JsonWriter::begin_object() { return put("{", false); }
JsonWriter& JsonWriter::end_object() { return put("}"); }
JsonWriter& JsonWriter::begin_array() { return put("[", false); }
JsonWriter& JsonWriter::end_array() { return put("]"); }

JsonWriter& JsonWriter::key(std::string_view name) {
  value(name);
  text_.push_back(':');
  needs_comma_ = false;
  return *this;
}

// What is not printable ASCII becomes a question mark: names of heaps, zones and devices come from
// outside.
JsonWriter& JsonWriter::value(std::string_view text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') quoted.push_back('\\');
    quoted.push_back(c < ' ' || c > '~' ? '?' : c);
  }
  return put(quoted + "\"");
}

JsonWriter& JsonWriter::value(bool flag) { return put(flag ? "true" : "false"); }
JsonWriter& JsonWriter::value(std::uint64_t number) { return put(std::to_string(number)); }
JsonWriter& JsonWriter::value(std::int64_t number) { return put(std::to_string(number)); }

JsonWriter& JsonWriter::value(double number) {
  std::array<char, 40> text{};
  std::snprintf(text.data(), text.size(), "%.6g", number);
  return put(std::isfinite(number) ? text.data() : "null");
}

}  // namespace jetmem::probe
