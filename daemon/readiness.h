// SPDX-License-Identifier: Apache-2.0
// The loop's state, for the web thread to answer /healthz and /readyz with even
// when the loop hangs.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/clock.h"

namespace jetmem {

class Readiness {
 public:
  // By the loop, each time it comes round.
  void beat(Nanoseconds boot_now) { beat_.store(boot_now.count(), std::memory_order_relaxed); }

  // By the loop: of its cheap sources that are switched on, how many are ok and fresh.
  void set_sources(std::uint32_t all, std::uint32_t good) {
    sources_.store(std::uint64_t{all} << 32 | good, std::memory_order_relaxed);
  }

  // By the loop, when its intervals change: how long it may be away before it counts as stuck, and
  // its last page as no longer true.
  void set_timeout(Nanoseconds timeout) {
    timeout_.store(timeout.count(), std::memory_order_relaxed);
  }
  Nanoseconds timeout() const { return Nanoseconds(timeout_.load(std::memory_order_relaxed)); }

  // Negative: the loop has not come round yet.
  Nanoseconds last_beat() const { return Nanoseconds(beat_.load(std::memory_order_relaxed)); }

  struct Sources {
    bool known = false;  // set_sources was called
    std::uint32_t all = 0;
    std::uint32_t good = 0;
  };
  Sources sources() const {
    const std::uint64_t both = sources_.load(std::memory_order_relaxed);
    if (both == kUnknown) return {};
    return {true, static_cast<std::uint32_t>(both >> 32), static_cast<std::uint32_t>(both)};
  }

 private:
  static constexpr std::uint64_t kUnknown = UINT64_MAX;

  std::atomic<std::int64_t> beat_{-1};
  std::atomic<std::int64_t> timeout_{Nanoseconds(std::chrono::seconds(10)).count()};
  // Both numbers in one word, so that no reader sees one old and one new.
  std::atomic<std::uint64_t> sources_{kUnknown};
};

}  // namespace jetmem
