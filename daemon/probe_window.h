// What the kernel's log says while a probe runs is put down to the probe.
#pragma once

#include <cstdint>
#include <functional>

#include "base/clock.h"

namespace jetmem {

// Times are the boot clock's. Any may be empty: then nobody follows that log.
struct ProbeWindow {
  std::function<void(Nanoseconds at)> begins;
  std::function<void(Nanoseconds at)> ended;
  // Events put down to probes, since boot.
  std::function<std::uint64_t()> events;
};

}  // namespace jetmem
