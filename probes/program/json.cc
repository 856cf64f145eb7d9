#include "probes/program/json.h"

#include <array>
#include <cmath>
#include <cstdio>

namespace jetmem::probe {

void JsonWriter::separate() {
  if (needs_comma_) text_.push_back(',');
  needs_comma_ = false;
}

JsonWriter& JsonWriter::begin_object() {
  separate();
  text_.push_back('{');
  return *this;
}

JsonWriter& JsonWriter::end_object() {
  text_.push_back('}');
  needs_comma_ = true;
  return *this;
}

JsonWriter& JsonWriter::begin_array() {
  separate();
  text_.push_back('[');
  return *this;
}

JsonWriter& JsonWriter::end_array() {
  text_.push_back(']');
  needs_comma_ = true;
  return *this;
}

JsonWriter& JsonWriter::key(std::string_view name) {
  value(name);
  text_.push_back(':');
  needs_comma_ = false;
  return *this;
}

// What is not ASCII, or controls a terminal, becomes a question mark: names of heaps, zones and
// devices come from outside.
JsonWriter& JsonWriter::value(std::string_view text) {
  separate();
  text_.push_back('"');
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      text_.push_back('\\');
      text_.push_back(c);
    } else {
      text_.push_back(byte < 0x20 || byte > 0x7E ? '?' : c);
    }
  }
  text_.push_back('"');
  needs_comma_ = true;
  return *this;
}

JsonWriter& JsonWriter::value(bool flag) {
  separate();
  text_ += flag ? "true" : "false";
  needs_comma_ = true;
  return *this;
}

JsonWriter& JsonWriter::value(std::uint64_t number) {
  separate();
  text_ += std::to_string(number);
  needs_comma_ = true;
  return *this;
}

JsonWriter& JsonWriter::value(std::int64_t number) {
  separate();
  text_ += std::to_string(number);
  needs_comma_ = true;
  return *this;
}

JsonWriter& JsonWriter::value(double number) {
  separate();
  std::array<char, 40> text{};
  std::snprintf(text.data(), text.size(), "%.6g", number);
  text_ += std::isfinite(number) ? text.data() : "null";
  needs_comma_ = true;
  return *this;
}

}  // namespace jetmem::probe
