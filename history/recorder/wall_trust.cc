// SPDX-License-Identifier: Apache-2.0
#include <time.h>

#include "base/clock.h"
#include "history/recorder/recorder.h"

namespace jetmem {

WallTrust wall_trust(bool is_synchronized) {
  timespec wall{};
  if (::clock_gettime(CLOCK_REALTIME, &wall) != 0 || wall.tv_sec < kFirstPlausibleSecond) {
    return WallTrust::kUnset;
  }
  return is_synchronized ? WallTrust::kSynced : WallTrust::kPlausible;
}

}  // namespace jetmem
