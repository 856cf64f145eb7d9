// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "base/text/text.h"
#include "report/diagnosis/cause_table.h"
#include "report/diagnosis/values.h"

namespace jetmem::diagnosis {
namespace {

bool holds(const FieldTest& test, std::string_view field, const EventFields& event) {
  using What = FieldTest::What;
  if (test.what == What::kPresent) return event.has(field);
  if (test.what == What::kAbsent) return !event.has(field);
  const std::string text = in_lower_case(event.text(field));
  return std::any_of(test.values.begin(), test.values.end(), [&](std::string_view value) {
    if (test.what == What::kHas) return contains(text, value);
    return test.what == What::kBegins ? text.starts_with(value) : event.is(field, value);
  });
}

bool holds(const FieldTest& test, const EventFields& event) {
  return std::any_of(test.fields.begin(), test.fields.end(),
                     [&](std::string_view field) { return holds(test, field, event); });
}

// "addr|address|'somewhere'", "used|slots_used:count": the first of these that is known.
std::optional<std::string> first_value(std::string_view names, const Case& it) {
  const std::size_t colon = names.find(':');
  const std::string_view format = colon == std::string_view::npos ? "" : names.substr(colon + 1);
  names = names.substr(0, colon);
  while (true) {
    const std::size_t end = names.find('|');
    const std::string_view name = names.substr(0, end);
    if (name.starts_with('\'')) return std::string(name.substr(1, name.size() - 2));
    if (auto value = format.empty() ? value_of(name, it) : formatted(name, format, it))
      return value;
    if (end == std::string_view::npos) return std::nullopt;
    names.remove_prefix(end + 1);
  }
}

// Up to the brace that closes what has been opened before `text`.
std::string_view part_of(std::string_view text) {
  std::size_t depth = 1;
  std::size_t end = 0;
  while (end < text.size() && depth > 0) {
    if (text[end] == '{') ++depth;
    if (text[end] == '}') --depth;
    ++end;
  }
  return text.substr(0, end == 0 ? 0 : end - 1);
}

bool is_known(std::string_view part, const Case& it) {
  for (std::size_t at = part.find('{'); at != std::string_view::npos; at = part.find('{')) {
    part.remove_prefix(at + 1);
    // A part within the part may be omitted by itself.
    if (part.starts_with('?')) {
      part.remove_prefix(part_of(part).size());
      continue;
    }
    if (!first_value(part.substr(0, part.find('}')), it)) return false;
  }
  return true;
}

}  // namespace

bool applies(const CauseEntry& entry, const Case& it) {
  const auto in_log = [&](std::string_view kind) { return it.log.kinds.contains(kind); };
  const auto in_backtrace = [&](std::string_view module) {
    return it.facts.backtrace_modules.contains(module);
  };
  const auto holds_here = [&](Condition each) { return each(it); };
  const bool of_event =
      entry.of.empty() || std::any_of(entry.of.begin(), entry.of.end(), [&](std::string_view each) {
        return each == it.event.kind() || each == it.event.message();
      });
  return of_event &&
         std::all_of(entry.when.begin(), entry.when.end(),
                     [&](const FieldTest& test) { return holds(test, it.event); }) &&
         (entry.log.empty() || std::any_of(entry.log.begin(), entry.log.end(), in_log)) &&
         std::none_of(entry.log_lacks.begin(), entry.log_lacks.end(), in_log) &&
         (entry.backtrace.empty() ||
          std::any_of(entry.backtrace.begin(), entry.backtrace.end(), in_backtrace)) &&
         std::all_of(entry.conditions.begin(), entry.conditions.end(), holds_here) &&
         std::none_of(entry.exceptions.begin(), entry.exceptions.end(), holds_here);
}

const CauseEntry* choose(const Case& it) {
  // Without fields nothing can be tested.
  if (!it.event.are_known()) return nullptr;
  for (const CauseEntry& each : shipped_causes()) {
    if (applies(each, it)) return &each;
  }
  return nullptr;
}

std::string fill(std::string_view text, const Case& it) {
  std::string out;
  while (!text.empty()) {
    const std::size_t open = text.find('{');
    out += text.substr(0, open);
    if (open == std::string_view::npos) break;
    text.remove_prefix(open + 1);
    const std::string_view part = part_of(text);
    text.remove_prefix(std::min(part.size() + 1, text.size()));
    if (part.starts_with('?')) {
      if (is_known(part.substr(1), it)) out += fill(part.substr(1), it);
      continue;
    }
    const auto value = first_value(part, it);
    out += value ? *value : part == "dev" ? "a device" : "an unknown value";
  }
  return out;
}

}  // namespace jetmem::diagnosis
