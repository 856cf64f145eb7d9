// SPDX-License-Identifier: Apache-2.0
// How much of a processor this thread has taken: what a test may compare while others run beside
// it.
#pragma once

#include <chrono>
#include <ctime>

namespace jetmem {

inline std::chrono::nanoseconds cpu_time() {
  timespec time{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
}

}  // namespace jetmem
