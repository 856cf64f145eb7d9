#include <sys/timex.h>
#include <time.h>

#include "history/recorder.h"

namespace jetmem {
namespace {

// jetmem did not exist before: 2025-01-01.
constexpr time_t kBefore = 1'735'689'600;

}  // namespace

WallTrust wall_trust_now() {
  timespec wall{};
  if (::clock_gettime(CLOCK_REALTIME, &wall) != 0 || wall.tv_sec < kBefore) {
    return WallTrust::kUnset;
  }
  timex asked{};  // modes 0: nothing is set
  const int state = ::adjtimex(&asked);
  const bool is_synced = state >= 0 && state != TIME_ERROR && (asked.status & STA_UNSYNC) == 0;
  return is_synced ? WallTrust::kSynced : WallTrust::kPlausible;
}

}  // namespace jetmem
