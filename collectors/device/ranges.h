// SPDX-License-Identifier: Apache-2.0
// Ranges of physical addresses, and sets of them in which what overlaps counts once.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace jetmem::device {

// [begin, end).
struct Range {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;

  std::uint64_t size() const { return end - begin; }
  bool empty() const { return end <= begin; }
  bool operator==(const Range&) const = default;
};

// Nothing when the end does not fit into 64 bits.
inline std::optional<Range> range_of(std::uint64_t begin, std::uint64_t size) {
  if (size > UINT64_MAX - begin) return std::nullopt;
  return Range{begin, begin + size};
}

inline Range common_part(Range a, Range b) {
  const Range both{std::max(a.begin, b.begin), std::min(a.end, b.end)};
  return both.empty() ? Range{} : both;
}

// Sorted, disjoint, never touching. On the stack or within a reading: no storage of its own.
class RangeSet {
 public:
  static constexpr std::size_t kMaxRanges = 256;

  // False, and nothing added, when there would be more than kMaxRanges.
  [[nodiscard]] bool add(Range range);
  void clear() { size_ = 0; }

  bool empty() const { return size_ == 0; }
  std::size_t size() const { return size_; }
  const Range* begin() const { return ranges_.data(); }
  const Range* end() const { return ranges_.data() + size_; }

  // Cannot overflow: the ranges are disjoint and each fits into 64 bits.
  std::uint64_t bytes() const;
  // How much of `range` is in the set.
  std::uint64_t overlap(Range range) const;

  bool operator==(const RangeSet& other) const {
    return std::equal(begin(), end(), other.begin(), other.end());
  }

 private:
  std::array<Range, kMaxRanges> ranges_{};
  std::size_t size_ = 0;
};

}  // namespace jetmem::device
