// SPDX-License-Identifier: Apache-2.0
// Searches the largest size that can be allocated.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

namespace jetmem::probe {

inline constexpr unsigned kMaxBisectTries = 24;
// Never taken: the rest of the device needs it.
inline constexpr std::uint64_t kBisectReserve = 512ULL << 20;

struct Sizes {
  std::uint64_t largest = 0;   // that succeeded; 0: none
  std::uint64_t smallest = 0;  // that failed; 0: none did
  unsigned tries = 0;
};
// First `frame`, or the limit where that is less; then twice as large each, up to the limit, or,
// when already the frame fails, one page; then halfway between what is known, until that is within
// 1 MiB or 1 %. All sizes are multiples of `page`.
// kStop: tried, and the search ends; kNotTried: not even tried, and the search ends.
enum class Attempt { kAllocated, kNotAllocated, kStop, kNotTried };
Sizes search_largest(std::uint64_t frame, std::uint64_t limit, std::uint64_t page,
                     const std::function<Attempt(std::uint64_t bytes)>& attempt);

// What of `asked` may be tried, in whole pages: not what must stay available. Where it is not known
// what is available, all.
std::uint64_t bisect_bound(std::uint64_t requested, std::optional<std::uint64_t> available,
                           std::uint64_t page);

}  // namespace jetmem::probe
