// SPDX-License-Identifier: Apache-2.0
#include "history/history.h"

#include <algorithm>
#include <array>
#include <utility>

namespace jetmem {
namespace {

constexpr std::array<std::pair<Resolution, std::string_view>, 3> kResolutionNames{{
    {Resolution::kRaw, "raw"},
    {Resolution::kMinute, "1m"},
    {Resolution::kQuarter, "15m"},
}};

}  // namespace

std::string_view resolution_name(Resolution resolution) {
  for (const auto& [each, name] : kResolutionNames) {
    if (each == resolution) return name;
  }
  return "raw";
}

std::optional<Resolution> resolution_named(std::string_view name) {
  for (const auto& [each, known] : kResolutionNames) {
    if (known == name) return each;
  }
  return std::nullopt;
}

bool EventsQuery::wants(const EventRecord& event, std::optional<Nanoseconds> when) const {
  if (what && *what != event.what) return false;
  if (from && when && *when < *from) return false;
  if (to && when && *when > *to) return false;
  return kinds.empty() || std::find(kinds.begin(), kinds.end(), event.kind) != kinds.end();
}

Nanoseconds resolution_step(Resolution resolution, Nanoseconds raw_step) {
  if (resolution == Resolution::kMinute) return std::chrono::minutes(1);
  if (resolution == Resolution::kQuarter) return std::chrono::minutes(15);
  return raw_step;
}

}  // namespace jetmem
