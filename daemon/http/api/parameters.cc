// SPDX-License-Identifier: Apache-2.0
#include "daemon/http/api/parameters.h"

#include <algorithm>

#include "base/text/text.h"

namespace jetmem {
namespace {

// The furthest moment that counts: nanoseconds since 1970 hold till 2262.
constexpr std::int64_t kMaxSeconds = 9'000'000'000;

std::string quoted(std::string_view text) { return "\"" + printable(text, 60) + "\""; }

tl::unexpected<Error> wrong(std::string_view name, std::string_view value, std::string_view want) {
  return fail(Errc::kInvalid, std::string(name) + "=" + quoted(value) + " is " + std::string(want));
}

}  // namespace

std::optional<Nanoseconds> parse_seconds(std::string_view text) {
  const bool is_negative = !text.empty() && text.front() == '-';
  if (is_negative) text.remove_prefix(1);
  std::int64_t whole = 0;
  std::size_t i = 0;
  for (; i < text.size() && is_digit(text[i]); ++i) {
    whole = whole * 10 + (text[i] - '0');
    if (whole > kMaxSeconds) return std::nullopt;
  }
  if (i == 0) return std::nullopt;
  std::int64_t nanoseconds = whole * 1'000'000'000;
  if (i < text.size()) {
    if (text[i++] != '.' || i == text.size()) return std::nullopt;
    std::int64_t unit = 100'000'000;
    for (; i < text.size() && is_digit(text[i]); ++i, unit /= 10) {
      nanoseconds += unit * (text[i] - '0');
    }
    if (i < text.size()) return std::nullopt;
  }
  return Nanoseconds(is_negative ? -nanoseconds : nanoseconds);
}

Result<void> Parameters::only(std::span<const std::string_view> names) const {
  if (all_.size() > kMost) {
    return fail(Errc::kInvalid, "more than " + std::to_string(kMost) + " parameters");
  }
  for (auto each = all_.begin(); each != all_.end(); ++each) {
    const std::string_view name = each->name;
    if (std::find(names.begin(), names.end(), name) == names.end()) {
      return fail(Errc::kInvalid, "there is no parameter " + quoted(name) + " here");
    }
    if (each->value.size() > kMaxValue) {
      return fail(Errc::kInvalid, std::string(name) + " is longer than 4096 bytes");
    }
    const auto is_same = [&](const Parameter& other) { return other.name == name; };
    if (std::find_if(all_.begin(), each, is_same) != each) {
      return fail(Errc::kInvalid, std::string(name) + " is given twice");
    }
  }
  return {};
}

std::string Parameters::text() const {
  std::string out;
  // What stands in a request's URL holds no such byte, or ends there.
  for (const Parameter& each : all_) {
    out.append(each.name).append(1, '\0').append(each.value).append(1, '\0');
  }
  return out;
}

const std::string_view* Parameters::find(std::string_view name) const {
  for (const Parameter& each : all_) {
    if (each.name == name) return &each.value;
  }
  return nullptr;
}

Result<std::size_t> Parameters::count(std::string_view name, std::size_t otherwise,
                                      std::size_t most) const {
  const std::string_view* const text = find(name);
  if (text == nullptr) return otherwise;
  const auto value = parse_u64(*text);
  if (!value || *value == 0 || *value > most) {
    return wrong(name, *text, "not a whole number from 1 to " + std::to_string(most));
  }
  return static_cast<std::size_t>(*value);
}

Result<std::optional<std::int64_t>> Parameters::number(std::string_view name) const {
  const std::string_view* const text = find(name);
  if (text == nullptr) return std::optional<std::int64_t>();
  const auto value = parse_i64(*text);
  if (!value) return wrong(name, *text, "not a whole number");
  return value;
}

Result<std::optional<Moment>> Parameters::moment(std::string_view name) const {
  const std::string_view* const text = find(name);
  if (text == nullptr) return std::optional<Moment>();
  const auto value = parse_seconds(*text);
  if (!value) {
    return wrong(name, *text,
                 "not a time: seconds since 1970, or with a minus before now, without exponent");
  }
  return Moment{*value, text->front() == '-'};
}

Result<std::optional<Nanoseconds>> Parameters::duration(std::string_view name) const {
  const std::string_view* const text = find(name);
  if (text == nullptr) return std::optional<Nanoseconds>();
  const auto value = parse_seconds(*text);
  if (!value || *value < Nanoseconds(0)) return wrong(name, *text, "no number of seconds");
  return value;
}

}  // namespace jetmem
