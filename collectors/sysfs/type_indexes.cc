// SPDX-License-Identifier: Apache-2.0
#include "collectors/sysfs/type_indexes.h"

#include <algorithm>
#include <utility>

namespace jetmem {

std::uint32_t TypeIndexes::of(std::string_view type, std::uint32_t number) {
  std::uint32_t index = 0;
  for (Entry& entry : entries_) {
    if (entry.type != type) continue;
    if (entry.number == number) {
      entry.seen = reading_;
      return entry.index;
    }
    index = std::max(index, entry.index + 1);
  }
  Entry entry{std::string(type), number, index, reading_};
  if (entries_.size() < bound_) {
    entries_.push_back(std::move(entry));
  } else {
    *std::min_element(entries_.begin(), entries_.end(), [](const Entry& a, const Entry& b) {
      return a.seen < b.seen;
    }) = std::move(entry);
  }
  return index;
}

}  // namespace jetmem
