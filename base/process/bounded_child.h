// SPDX-License-Identifier: Apache-2.0
// Work on what somebody else made, in a child process that the kernel bounds: libraries that read
// archives and databases can be made to run for hours or to take all memory, within one call.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>

#include "base/result.h"

namespace jetmem {

// Their shadow memory is far larger than any bound.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kSanitized = true;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
inline constexpr bool kSanitized = true;
#else
inline constexpr bool kSanitized = false;
#endif
#else
inline constexpr bool kSanitized = false;
#endif

struct ChildBounds {
  std::chrono::seconds cpu{10};
  std::chrono::seconds wall{60};
  std::uint64_t memory = 256U << 20;      // address space, beyond what this process has
  std::size_t answer_bytes = 128U << 20;  // beyond it the child is killed
};

// What `work` returns in a forked child, its error in printable words. Only effects outside the
// process remain. Errors of the outer result name the bound that was reached, or how the child
// ended: kTooLarge, kTimeout, kMalformed for a crash.
// Call it only where no other thread runs: the child has copies of their locks, and nobody to
// release them. Under a sanitizer memory has no bound.
Result<Result<std::string>> run_bounded(const ChildBounds& bounds,
                                        const std::function<Result<std::string>()>& work);

}  // namespace jetmem
