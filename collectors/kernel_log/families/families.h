// SPDX-License-Identifier: Apache-2.0
// The families, each defined in its own file beside this one. A new one is added here and to the
// list in decode.cc.
#pragma once

#include "collectors/kernel_log/families/common/family.h"

namespace jetmem::kernel_log {

extern const Family kSmmu;              // arm-smmu (v2) and arm-smmu-v3
extern const Family kMemoryController;  // tegra-mc, mc-err
extern const Family kGpu;               // nvgpu, NVRM
extern const Family kHost1x;            // host1x channels and syncpoints
extern const Family kOom;
extern const Family kAllocation;      // page, slab, vmalloc
extern const Family kCma;             // contiguous memory areas
extern const Family kDmaMemory;       // DMA, swiotlb, the kernel's nvmap
extern const Family kUserSpaceNvmap;  // libnvrm_mem's and NvBufSurface's own error lines
extern const Family kMemoryError;     // EDAC, GHES, memory failure, corruption, kmemleak
extern const Family kSwap;            // swap devices and zram
extern const Family kThermal;
extern const Family kStall;  // hung tasks, lock-ups, RCU stalls
extern const Family kCamera;
extern const Family kRateLimit;  // "N callbacks suppressed"

}  // namespace jetmem::kernel_log
