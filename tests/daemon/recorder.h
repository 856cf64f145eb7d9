// SPDX-License-Identifier: Apache-2.0
// A log that keeps its entries.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/log.h"

namespace jetmem {

struct RecordedLog final : Log {
  void write(LogEntry entry) override { entries.push_back(std::move(entry)); }

  std::vector<LogEntry> entries;
};

// Empty where the entry has no such field.
inline std::string field(const LogEntry& entry, std::string_view name) {
  for (const auto& [field, value] : entry.fields) {
    if (field == name) return value;
  }
  return {};
}

}  // namespace jetmem
