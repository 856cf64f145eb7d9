// SPDX-License-Identifier: Apache-2.0
// Reads what CmaTrace is made of (trace.h), in jetmem-reader. Nothing is written and nothing taken
// out of the trace, and no file of tracefs stays open.
#pragma once

#include "base/root/gatherer.h"

namespace jetmem {

// 32 KiB for each of 64 CPUs make 4 MiB of text.
inline constexpr ReadLimits kCmaMapLimits{
    .file_bytes = 4U << 20, .total_bytes = 6U << 20, .files = 2048, .names = 4096};

void gather_cma_map(Gatherer& files);

}  // namespace jetmem
