// SPDX-License-Identifier: Apache-2.0
#include "history/event_record.h"

#include <array>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/text/text.h"

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

bool is_hex(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

// Behind an address, "0x1f00", or a size or duration, "12 KiB"; the same text where there is none.
// Other numbers name things: a CPU, a module, an order, a process.
std::string_view behind_amount(std::string_view text) {
  std::string_view rest = text;
  if (take_prefix(rest, "0x")) {
    while (!rest.empty() && is_hex(rest.front())) rest.remove_prefix(1);
    return rest;
  }
  while (!rest.empty() && ((rest.front() >= '0' && rest.front() <= '9') || rest.front() == '.' ||
                           rest.front() == ',')) {
    rest.remove_prefix(1);
  }
  if (rest.size() == text.size()) return text;
  for (const std::string_view unit :
       {" B", " KiB", " MiB", " GiB", " bytes", " pages", " ms", " s"}) {
    if (rest.starts_with(unit)) return rest;
  }
  return text;
}

// "at 0x1f00 (12 pages)" and "at 0x2a10 (8 pages)": the same but for address and size.
bool differ_in_amounts_only(std::string_view a, std::string_view b) {
  char before = ' ';
  for (;;) {
    if (a.empty() || b.empty()) return a.empty() && b.empty();
    // Where a word begins.
    const bool may_begin = before == ' ' || before == '(' || before == '"';
    const std::string_view behind_a = may_begin ? behind_amount(a) : a;
    const std::string_view behind_b = may_begin ? behind_amount(b) : b;
    if (behind_a.size() < a.size() && behind_b.size() < b.size()) {
      a = behind_a;
      b = behind_b;
      before = '0';
      continue;
    }
    if (a.front() != b.front()) return false;
    before = a.front();
    a.remove_prefix(1);
    b.remove_prefix(1);
  }
}

}  // namespace

bool are_alike(const EventRecord& a, const EventRecord& b) {
  if (a.what != b.what || a.kind != b.kind || a.subject != b.subject || a.severity != b.severity) {
    return false;
  }
  return a.kind.starts_with("oom_kill") ? a.summary == b.summary
                                        : differ_in_amounts_only(a.summary, b.summary);
}

bool adds_up(const EventRecord& record) { return record.kind == kSuppressed; }

bool add_amounts(EventRecord& record, const EventRecord& more) {
  if (!adds_up(record)) return false;
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
