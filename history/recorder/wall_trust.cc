// SPDX-License-Identifier: Apache-2.0
#include <time.h>

#include "history/recorder/recorder.h"

namespace jetmem {
namespace {

// jetmem did not exist before: 2025-01-01.
constexpr time_t kBefore = 1'735'689'600;

}  // namespace

WallTrust wall_trust(bool is_synchronized) {
  timespec wall{};
  if (::clock_gettime(CLOCK_REALTIME, &wall) != 0 || wall.tv_sec < kBefore) {
    return WallTrust::kUnset;
  }
  return is_synchronized ? WallTrust::kSynced : WallTrust::kPlausible;
}

}  // namespace jetmem
