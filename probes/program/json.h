// SPDX-License-Identifier: Apache-2.0
// Writes JSON: what little of it a result needs.
//
// This is the program's only JSON writer, in jetmem's build and in the stand-alone one. nlohmann
// would be a second one or a dependency: on a device the program builds from its own sources, a C++
// compiler alone, and it never reads JSON.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace jetmem::probe {

class JsonWriter {
 public:
  // A comma is put where one belongs; objects and arrays are closed by their end.
  JsonWriter& begin_object();
  JsonWriter& end_object();
  JsonWriter& begin_array();
  JsonWriter& end_array();
  JsonWriter& key(std::string_view name);

  JsonWriter& value(std::string_view text);
  JsonWriter& value(const char* text) { return value(std::string_view(text)); }
  JsonWriter& value(const std::string& text) { return value(std::string_view(text)); }
  JsonWriter& value(bool flag);
  JsonWriter& value(std::uint64_t number);
  JsonWriter& value(std::int64_t number);
  // null where it is no number.
  JsonWriter& value(double number);

  template <class T>
  JsonWriter& member(std::string_view name, const T& what) {
    return key(name).value(what);
  }

  const std::string& text() const { return text_; }

 private:
  JsonWriter& put(std::string_view token, bool comma_after = true);

  std::string text_;
  bool needs_comma_ = false;
};

}  // namespace jetmem::probe
