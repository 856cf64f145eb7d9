// SPDX-License-Identifier: Apache-2.0
#include "report/diagnosis/event_fields.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "base/text/text.h"

namespace jetmem::diagnosis {
namespace {

constexpr std::string_view kBetweenItems = ", ";

std::string text_of_field(const nlohmann::json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_array()) {
    std::string out;
    for (const nlohmann::json& each : value) {
      out += (out.empty() ? std::string() : std::string(kBetweenItems)) + text_of_field(each);
    }
    return out;
  }
  return value.is_null() ? std::string() : value.dump();
}

std::optional<double> number_in(std::string_view text) {
  const std::string whole(text);
  if (whole.empty()) return std::nullopt;
  char* end = nullptr;
  const double value = whole.starts_with("0x")
                           ? static_cast<double>(std::strtoull(whole.c_str(), &end, 16))
                           : std::strtod(whole.c_str(), &end);
  if (*end != '\0' || !std::isfinite(value)) return std::nullopt;
  return value;
}

bool is_same(std::string_view a, std::string_view b) {
  if (in_lower_case(a) == in_lower_case(b)) return true;
  const auto number = number_in(a);
  return number && number == number_in(b);
}

}  // namespace

std::string in_lower_case(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c + ('a' - 'A'));
  }
  return out;
}

EventFields::EventFields(const EventRecord& record) : kind_(record.kind) {
  const nlohmann::json json = nlohmann::json::parse(record.fields, nullptr, false);
  // A decoded event has its kind there, if nothing else.
  are_known_ = json.is_object() && !json.empty();
  if (!json.is_object()) return;
  for (const auto& [name, value] : json.items()) {
    if (name != "kind") fields_.emplace(name, text_of_field(value));
  }
}

std::string EventFields::device() const {
  for (const std::string_view name : {"dev", "device", "pci"}) {
    const std::string_view found = text(name);
    // A number is the GPU's index, not a name.
    const bool is_name = !std::all_of(found.begin(), found.end(), is_digit);
    if (is_name) return printable(found, 80);
  }
  return {};
}

std::string_view EventFields::text(std::string_view name) const {
  const auto found = fields_.find(name);
  return found == fields_.end() ? std::string_view() : std::string_view(found->second);
}

std::optional<double> EventFields::number(std::initializer_list<std::string_view> names) const {
  for (const std::string_view name : names) {
    if (const auto value = number_in(text(name))) return value;
  }
  return std::nullopt;
}

std::optional<double> EventFields::bytes(std::initializer_list<std::string_view> names) const {
  if (const auto whole = number(names)) return whole;
  for (const std::string_view name : names) {
    const std::string text(this->text(name));
    char* end = nullptr;
    const double value = std::strtod(text.c_str(), &end);
    if (end == text.c_str() || !std::isfinite(value) || value < 0) continue;
    while (*end == ' ') ++end;
    constexpr std::string_view kPrefixes = "KMGT";
    const char prefix = *end == 'k' ? 'K' : *end;
    const std::size_t power = prefix == '\0' ? std::string_view::npos : kPrefixes.find(prefix);
    if (power != std::string_view::npos) return std::ldexp(value, 10 * static_cast<int>(power + 1));
  }
  return std::nullopt;
}

int EventFields::errno_of() const {
  const auto value = number({"errno", "ret", "err"});
  if (!value || std::fabs(*value) > 4095) return 0;
  return static_cast<int>(std::fabs(*value));
}

bool EventFields::is(std::string_view name, std::string_view value) const {
  const auto found = fields_.find(name);
  if (found == fields_.end()) return false;
  std::string_view rest = found->second;
  if (is_same(rest, value)) return true;
  for (std::size_t end = rest.find(kBetweenItems); end != std::string_view::npos;
       end = rest.find(kBetweenItems)) {
    if (is_same(rest.substr(0, end), value)) return true;
    rest.remove_prefix(end + kBetweenItems.size());
    if (is_same(rest, value)) return true;
  }
  return false;
}

EventFields EventFields::with(std::string_view name, std::string value) const {
  EventFields out = *this;
  out.fields_.insert_or_assign(std::string(name), std::move(value));
  return out;
}

}  // namespace jetmem::diagnosis
