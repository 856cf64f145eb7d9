// SPDX-License-Identifier: Apache-2.0
// What the kernel's log says while a probe runs is put down to the probe.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "base/clock.h"

namespace jetmem {

// Times are the boot clock's. Any may be empty: then nobody follows that log.
struct ProbeWindow {
  std::function<void(Nanoseconds at)> begins;
  std::function<void(Nanoseconds at)> ended;
  // Events put down to probes, since boot; nothing while nobody follows the log.
  std::function<std::optional<std::uint64_t>()> events;
};

}  // namespace jetmem
