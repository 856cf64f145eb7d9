// SPDX-License-Identifier: Apache-2.0
// Takes typed and bounded values out of JSON that comes from outside.
//
// The first value that is not what was expected is remembered with its path; whatever is taken from
// then on may be empty. So a parser reads as a list of what it takes, and asks for the error once,
// at its end. Nothing here throws.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/result.h"

namespace jetmem {

using Json = nlohmann::json;

// What a text may hold before a tree is made of it: a tree takes many times the text's memory.
struct JsonBounds {
  std::size_t bytes = 512U << 10;
  std::size_t depth = 16;
  std::size_t values = 65536;
};
Result<Json> parse_json(std::string_view text, const JsonBounds& bounds);

// A value and where it stands. What it stands within must outlive it.
struct JsonPath {
  const Json* value = nullptr;  // none: there is no such member
  const JsonPath* within = nullptr;
  std::string_view name{};  // of a member; else it is the item `index` of a list
  std::size_t index = 0;

  // A null means the same as a missing member.
  bool is_there() const { return value != nullptr && !value->is_null(); }
  std::string path() const;  // "probes[2].rungs[0].bytes"
};

class JsonTaker {
 public:
  JsonPath member(const JsonPath& object, std::string_view name);

  // Made printable; what is longer ends with "..." in place of its rest.
  std::string text(const JsonPath& at, std::size_t longest);
  double number(const JsonPath& at, double lowest = 0);
  std::uint64_t count(const JsonPath& at, std::uint64_t highest = UINT64_MAX);
  bool flag(const JsonPath& at);

  // The same where there may be none.
  std::string text_if_any(const JsonPath& at, std::size_t longest) {
    return at.is_there() ? text(at, longest) : std::string();
  }
  std::optional<double> number_if_any(const JsonPath& at, double lowest = 0) {
    return at.is_there() ? std::optional(number(at, lowest)) : std::nullopt;
  }
  std::optional<std::uint64_t> count_if_any(const JsonPath& at,
                                            std::uint64_t highest = UINT64_MAX) {
    return at.is_there() ? std::optional(count(at, highest)) : std::nullopt;
  }
  std::optional<bool> flag_if_any(const JsonPath& at) {
    return at.is_there() ? std::optional(flag(at)) : std::nullopt;
  }

  // work(JsonPath) for each item of a list; more than `most` are an error.
  template <class Work>
  void each(const JsonPath& list, std::size_t most, Work&& work) {
    if (!list.is_there() || !list.value->is_array()) return expected("a list", list);
    if (list.value->size() > most) return too_many(list, most);
    for (std::size_t i = 0; i < list.value->size(); ++i) {
      work(JsonPath{&(*list.value)[i], &list, {}, i});
    }
  }
  template <class Work>
  void each_if_any(const JsonPath& list, std::size_t most, Work&& work) {
    if (list.is_there()) each(list, most, std::forward<Work>(work));
  }
  // work(std::string_view name, JsonPath) for each member of an object that may be missing.
  template <class Work>
  void each_member(const JsonPath& object, std::size_t most, Work&& work) {
    if (!object.is_there()) return;
    if (!object.value->is_object()) return expected("an object", object);
    if (object.value->size() > most) return too_many(object, most);
    for (const auto& [name, value] : object.value->items()) {
      work(std::string_view(name), JsonPath{&value, &object, name});
    }
  }

  const std::optional<Error>& error() const { return error_; }

 private:
  void expected(std::string_view what, const JsonPath& found);
  void too_many(const JsonPath& list, std::size_t most);

  std::optional<Error> error_;
};

}  // namespace jetmem
