// SPDX-License-Identifier: Apache-2.0
// Settings that derived metrics need.
#pragma once

#include <cstdint>

namespace jetmem {

namespace kernel_log {
class Tally;
}

struct HealthOptions {
  std::uint64_t frame = 12U << 20;  // bytes of a camera's frame (setting probe.frame)
  // Knows when jetmemd's probe ran, whether or not the log is followed. Null: no probe runs.
  const kernel_log::Tally* probes = nullptr;
};

inline constexpr HealthOptions kDefaultHealthOptions{};

}  // namespace jetmem
