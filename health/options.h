// What the settings say and derivations need.
#pragma once

#include <cstdint>

namespace jetmem {

struct HealthOptions {
  std::uint64_t frame = 12U << 20;  // bytes of a camera's frame (setting probe.frame)
};

inline constexpr HealthOptions kDefaultHealthOptions{};

}  // namespace jetmem
