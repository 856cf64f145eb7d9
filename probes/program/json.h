// Writes JSON: what little of it a result needs. No library, so that this program needs none.
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
  void separate();

  std::string text_;
  bool needs_comma_ = false;
};

}  // namespace jetmem::probe
