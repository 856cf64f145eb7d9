// Reading the JSON of an answer that came from elsewhere: what is of another kind is not there.
#pragma once

#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/result.h"
#include "base/text.h"

namespace jetmem::answer_json {

using nlohmann::json;

// The whole document, of this schema and of at most `most` bytes.
inline Result<json> parse(std::string_view text, std::string_view schema, std::size_t most) {
  if (text.size() > most) return fail(Errc::kTooLarge, "an answer of more than 4 MiB");
  json out = json::parse(text, nullptr, false);
  if (out.is_discarded()) {
    return fail(Errc::kMalformed, "the answer is no JSON; is another program listening there?");
  }
  const auto found = out.is_object() ? out.find("schema") : out.end();
  if (!out.is_object() || found == out.end() || *found != schema) {
    return fail(Errc::kMalformed, "the answer is no " + std::string(schema));
  }
  return out;
}

inline const json* at(const json& from, const char* key) {
  if (!from.is_object()) return nullptr;
  const auto found = from.find(key);
  return found == from.end() ? nullptr : &*found;
}

inline std::string text(const json& from, const char* key, std::size_t most = 500) {
  const json* const value = at(from, key);
  if (value == nullptr || !value->is_string()) return {};
  return printable(value->get_ref<const std::string&>(), most);
}

inline std::optional<double> number(const json& from, const char* key) {
  const json* const value = at(from, key);
  if (value == nullptr || !value->is_number()) return std::nullopt;
  return value->get<double>();
}

inline std::uint64_t count(const json& from, const char* key) {
  const json* const value = at(from, key);
  return value != nullptr && value->is_number_unsigned() ? value->get<std::uint64_t>() : 0;
}

inline std::int64_t integer(const json& from, const char* key) {
  const json* const value = at(from, key);
  return value != nullptr && value->is_number_integer() ? value->get<std::int64_t>() : 0;
}

inline bool flag(const json& from, const char* key) {
  const json* const value = at(from, key);
  return value != nullptr && value->is_boolean() && value->get<bool>();
}

// Beyond this, seconds are no moment that nanoseconds can hold.
inline std::optional<Nanoseconds> moment(double seconds) {
  constexpr double kMost = 9e9;
  if (!(std::fabs(seconds) <= kMost)) return std::nullopt;
  return Nanoseconds(std::llround(seconds * 1e9));
}

inline std::optional<Nanoseconds> moment(const json& from, const char* key) {
  const auto seconds = number(from, key);
  if (!seconds) return std::nullopt;
  return moment(*seconds);
}

}  // namespace jetmem::answer_json
