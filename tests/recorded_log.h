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
  // The last entry that holds this; null: none.
  const LogEntry* find(std::string_view text) const {
    const LogEntry* found = nullptr;
    for (const LogEntry& entry : entries) {
      if (entry.message.find(text) != std::string::npos) found = &entry;
    }
    return found;
  }
  bool has(std::string_view text) const { return find(text) != nullptr; }
  std::size_t count(std::string_view text) const {
    std::size_t count = 0;
    for (const LogEntry& entry : entries) {
      if (entry.message.find(text) != std::string::npos) ++count;
    }
    return count;
  }
  std::string all() const {
    std::string text;
    for (const LogEntry& entry : entries) text += entry.message + "\n";
    return text;
  }

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
