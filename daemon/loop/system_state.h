// SPDX-License-Identifier: Apache-2.0
// Whether the system is being shut down: asked of systemd over the system bus, by its property
// SystemState. Any user may ask, also from a sandbox; the unit is ordered after the bus, so that
// this is still there when jetmemd is stopped.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace jetmem {

enum class SystemState : std::uint8_t {
  kUnknown,   // nobody answered
  kRunsOn,    // running, degraded, starting, maintenance
  kStopping,  // a shutdown, reboot, halt or kexec has begun
};

// Takes no longer than `patience`, whatever the bus does. An empty address is the system bus.
SystemState query_system_state(std::chrono::milliseconds timeout, const std::string& address = {});

}  // namespace jetmem
