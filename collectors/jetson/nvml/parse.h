// SPDX-License-Identifier: Apache-2.0
// Bounds of what is taken from jetmem-nvml's text; its format stands in source.h.
#pragma once

#include <cstdint>

namespace jetmem::nvml {

inline constexpr std::uint32_t kMaxGpus = 16;
// Of all GPUs together; beyond it they are counted, not kept. The program prints no others either.
inline constexpr std::uint32_t kMaxProcesses = 4096;
inline constexpr std::size_t kMaxName = 96;
inline constexpr std::size_t kMaxText = 256U << 10;

}  // namespace jetmem::nvml
