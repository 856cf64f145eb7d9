// SPDX-License-Identifier: Apache-2.0
// The one rule of all parsers: an odd field costs that field. What is not in the format, or cannot
// be, is absent and counted by its reason in jetmem_source_absent_values; the rest stands. Only a
// text that was cut, or is no text of its file at all, fails the source.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/result.h"
#include "collectors/source.h"

namespace jetmem {

// Reasons of what is there and cannot be used.
inline constexpr std::string_view kMalformed = "malformed";    // not in the format, or twice
inline constexpr std::string_view kImpossible = "impossible";  // below 0, or more than there can be
inline constexpr std::string_view kBeyondBound = "beyond_bound";

// A count that went below 0 is printed as 2^63 and more; none that did not comes near it.
inline constexpr std::uint64_t kMostNumber = (std::uint64_t{1} << 63) - 1;
// More memory than any machine has.
inline constexpr std::uint64_t kMostMemory = std::uint64_t{1} << 50;

// Takes the fields of one text, and counts those that are lost.
class Fields {
 public:
  explicit Fields(AbsentValues& absent) : absent_(absent) {}

  // The number that `word` is; blanks around it do not matter. Without one, why is counted.
  std::optional<std::uint64_t> number(std::string_view word, std::uint64_t most = kMostNumber);
  // Drops a part that exceeds its whole. `slack`: counters that CPUs keep apart may be read so much
  // too large.
  void bound(std::optional<std::uint64_t>& part, const std::optional<std::uint64_t>& whole,
             std::uint64_t slack = 0);

  void kept() { ++kept_; }
  void lost(std::string_view reason = kMalformed);

  // Whether `text` was one of this file, and whole. `form`: of its lines, "name number".
  Result<void> finish(std::string_view text, std::string_view form) const;

 private:
  AbsentValues& absent_;
  std::size_t kept_ = 0;
  std::size_t malformed_ = 0;
};

}  // namespace jetmem
