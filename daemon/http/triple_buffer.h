// SPDX-License-Identifier: Apache-2.0
// Hands the newest of something from the loop to the web thread: three of them, one for each side
// and one between. Neither side ever waits: the loop always has one to fill, the web thread always
// has one to read, and one that is overtaken before it was looked at is simply filled again.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>

#include "report/alerts/alerts_now.h"

namespace jetmem {

// `Shared`, where there is one, is T's pointer to what rarely changes: it goes along from one to
// the next, so that the one that comes back to be filled need not build the same again.
template <class T, auto Shared = nullptr>
class TripleBuffer {
 public:
  // For exactly one producing thread. It is the producer's until publish().
  T& back() { return all_[back_]; }
  void publish() {
    if constexpr (std::is_null_pointer_v<decltype(Shared)>) {
      swap_buffers();
    } else {
      auto shared = all_[back_].*Shared;
      swap_buffers();
      if (all_[back_].*Shared != shared) all_[back_].*Shared = std::move(shared);
    }
  }

  // For exactly one consuming thread: the newest one published, or one never filled. Valid and
  // unchanged until the next call.
  const T& latest() {
    if ((between_.load(std::memory_order_relaxed) & kFresh) != 0) {
      front_ = between_.exchange(front_, std::memory_order_acq_rel) & kIndex;
    }
    return all_[front_];
  }

 private:
  // The index of the one in between, and whether the consumer has not seen it yet.
  static constexpr std::uint8_t kFresh = 4;
  static constexpr std::uint8_t kIndex = 3;

  void swap_buffers() {
    const auto mine = static_cast<std::uint8_t>(back_ | kFresh);
    back_ = between_.exchange(mine, std::memory_order_acq_rel) & kIndex;
  }

  std::array<T, 3> all_;
  std::uint8_t back_ = 0;   // the producer's
  std::uint8_t front_ = 1;  // the consumer's
  std::atomic<std::uint8_t> between_{2};
};

using AlertsBuffer = TripleBuffer<AlertsNow, &AlertsNow::texts>;

}  // namespace jetmem
