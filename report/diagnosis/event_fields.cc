// SPDX-License-Identifier: Apache-2.0
#include "report/diagnosis/event_fields.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "base/text/text.h"

namespace jetmem::diagnosis {
namespace {

std::string text_of_field(const nlohmann::json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_array()) {
    std::string out;
    for (const nlohmann::json& each : value) {
      out += (out.empty() ? "" : " ") + text_of_field(each);
    }
    return out;
  }
  return value.is_null() ? std::string() : value.dump();
}

}  // namespace

std::string in_lower_case(std::string text) {
  for (char& c : text) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c + ('a' - 'A'));
  }
  return text;
}

EventFields::EventFields(const EventRecord& record) : kind_(record.kind), words_(record.summary) {
  const nlohmann::json json = nlohmann::json::parse(record.fields, nullptr, false);
  // A decoded event has its kind there, if nothing else.
  are_known_ = json.is_object() && !json.empty();
  if (json.is_object()) {
    for (const auto& [name, value] : json.items()) {
      if (name == "kind") continue;
      std::string text = text_of_field(value);
      if (!value.is_number()) words_ += "\n" + text;
      fields_.emplace(name, std::move(text));
    }
  }
  words_ = in_lower_case(std::move(words_));
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
    const auto found = fields_.find(name);
    if (found == fields_.end() || found->second.empty()) continue;
    char* end = nullptr;
    const bool is_hex = found->second.starts_with("0x");
    const double value = is_hex
                             ? static_cast<double>(std::strtoull(found->second.c_str(), &end, 16))
                             : std::strtod(found->second.c_str(), &end);
    if (*end == '\0' && std::isfinite(value)) return value;
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

bool EventFields::says(std::string_view part) const {
  return words_.find(in_lower_case(std::string(part))) != std::string::npos;
}

bool EventFields::says_any(std::initializer_list<std::string_view> parts) const {
  for (const std::string_view part : parts) {
    if (says(part)) return true;
  }
  return false;
}

bool EventFields::has_text(std::string_view part) const {
  const std::string wanted = in_lower_case(std::string(part));
  return std::any_of(fields_.begin(), fields_.end(), [&](const auto& each) {
    return in_lower_case(each.second).find(wanted) != std::string::npos;
  });
}

bool EventFields::says_word(std::string_view word) const {
  const auto is_of_word = [](char c) { return is_digit(c) || (c >= 'a' && c <= 'z'); };
  const std::string wanted = in_lower_case(std::string(word));
  for (std::size_t at = words_.find(wanted); at != std::string::npos;
       at = words_.find(wanted, at + 1)) {
    const std::size_t end = at + wanted.size();
    const bool begins = at == 0 || !is_of_word(words_[at - 1]);
    if (begins && (end == words_.size() || !is_of_word(words_[end]))) return true;
  }
  return false;
}

}  // namespace jetmem::diagnosis
