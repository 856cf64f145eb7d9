// SPDX-License-Identifier: Apache-2.0
#include "collectors/device/ranges.h"

namespace jetmem::device {

bool RangeSet::add(Range range) {
  if (range.empty()) return true;
  // From the first that reaches up to `range` to the first behind it: these become one with it.
  std::size_t first = 0;
  while (first < size_ && ranges_[first].end < range.begin) ++first;
  std::size_t last = first;
  while (last < size_ && ranges_[last].begin <= range.end) {
    range.begin = std::min(range.begin, ranges_[last].begin);
    range.end = std::max(range.end, ranges_[last].end);
    ++last;
  }
  const auto at = [&](std::size_t i) { return ranges_.begin() + static_cast<std::ptrdiff_t>(i); };
  if (first == last) {
    if (size_ == kMaxRanges) return false;
    std::move_backward(at(first), at(size_), at(size_ + 1));
    ++size_;
  } else {
    std::move(at(last), at(size_), at(first + 1));
    size_ -= last - first - 1;
  }
  ranges_[first] = range;
  return true;
}

std::uint64_t RangeSet::bytes() const {
  std::uint64_t sum = 0;
  for (const Range& range : *this) sum += range.size();
  return sum;
}

std::uint64_t RangeSet::overlap(Range range) const {
  std::uint64_t sum = 0;
  for (const Range& mine : *this) sum += common_part(mine, range).size();
  return sum;
}

}  // namespace jetmem::device
