// SPDX-License-Identifier: Apache-2.0
#include "history/event_record.h"

#include <array>
#include <nlohmann/json.hpp>
#include <utility>

namespace jetmem {
namespace {

constexpr std::array<std::pair<EventWhat, std::string_view>, 5> kWhatNames{{
    {EventWhat::kKernel, "kernel"},
    {EventWhat::kAlert, "alert"},
    {EventWhat::kDaemon, "daemon"},
    {EventWhat::kMark, "mark"},
    {EventWhat::kGuess, "guess"},
}};

// The kind whose `count` says how many messages of another kind there were.
constexpr std::string_view kSuppressed = "ratelimit_suppressed";

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_of_number(char c) {
  return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '.' || c == ',';
}

std::string_view after_number(std::string_view text) {
  std::size_t n = 0;
  while (n < text.size() && is_of_number(text[n])) ++n;
  return text.substr(n);
}

// "at 0x1f00 (12 pages)" and "at 0x2a10 (8 pages)": the same but for their numbers.
bool differ_in_numbers_only(std::string_view a, std::string_view b) {
  while (!a.empty() && !b.empty()) {
    if (is_digit(a.front()) && is_digit(b.front())) {
      a = after_number(a);
      b = after_number(b);
      continue;
    }
    if (a.front() != b.front()) return false;
    a.remove_prefix(1);
    b.remove_prefix(1);
  }
  return a.empty() && b.empty();
}

}  // namespace

bool are_alike(const EventRecord& a, const EventRecord& b) {
  if (a.what != b.what || a.kind != b.kind || a.subject != b.subject || a.severity != b.severity) {
    return false;
  }
  return a.kind.starts_with("oom_kill") ? a.summary == b.summary
                                        : differ_in_numbers_only(a.summary, b.summary);
}

bool add_amounts(EventRecord& record, const EventRecord& more) {
  if (record.kind != kSuppressed) return false;
  auto to = nlohmann::ordered_json::parse(record.fields, nullptr, /*allow_exceptions=*/false);
  const auto from = nlohmann::ordered_json::parse(more.fields, nullptr, false);
  const auto counts = [](const auto& json) {
    return json.is_object() && json.contains("count") && json["count"].is_number_unsigned();
  };
  if (!counts(to) || !counts(from)) return false;
  to["count"] =
      to["count"].template get<std::uint64_t>() + from["count"].template get<std::uint64_t>();
  record.fields = to.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
  return true;
}

std::string_view event_what_name(EventWhat what) {
  for (const auto& [each, name] : kWhatNames) {
    if (each == what) return name;
  }
  return "kernel";
}

std::optional<EventWhat> event_what_named(std::string_view name) {
  for (const auto& [each, known] : kWhatNames) {
    if (known == name) return each;
  }
  return std::nullopt;
}

}  // namespace jetmem
