// What the settings say and derivations need.
#pragma once

#include <cstdint>

namespace jetmem {

namespace kernel_log {
class Tally;
}

struct HealthOptions {
  std::uint64_t frame = 12U << 20;  // bytes of a camera's frame (setting probe.frame)
  // Knows when jetmemd's probe ran, whether or not the log is followed. Null: none is run.
  const kernel_log::Tally* probes = nullptr;
};

inline constexpr HealthOptions kDefaultHealthOptions{};

}  // namespace jetmem
