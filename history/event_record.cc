// SPDX-License-Identifier: Apache-2.0
#include "history/event_record.h"

#include <array>
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

}  // namespace

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
