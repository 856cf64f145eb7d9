#include "base/clock.h"

#include <ctime>

namespace jetmem {
namespace {

Nanoseconds read_clock(clockid_t id) {
  timespec t{};
  ::clock_gettime(id, &t);
  return std::chrono::seconds(t.tv_sec) + Nanoseconds(t.tv_nsec);
}

}  // namespace

Nanoseconds SystemClock::mono() const { return read_clock(CLOCK_MONOTONIC); }
Nanoseconds SystemClock::boot() const { return read_clock(CLOCK_BOOTTIME); }
Nanoseconds SystemClock::wall() const { return read_clock(CLOCK_REALTIME); }

}  // namespace jetmem
