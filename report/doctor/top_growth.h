// SPDX-License-Identifier: Apache-2.0
// Who grew between two moments: groups of processes, and what no process answers for.
#pragma once

#include <vector>

#include "report/doctor/correlate.h"

namespace jetmem::doctor {

enum class GrowthKind : std::uint8_t {
  kMemory,   // resident, GPU and DMA-BUF memory together; and what no process answers for
  kBuffers,  // GPU and DMA-BUF memory: what cameras and codecs take out of CMA is among it
};

// The largest growers, at most `most`, of `least` bytes or more. For each of them the past is asked
// once or a few times when it began.
std::vector<GrowthEntry> top_growth(Past& past, GrowthKind what, double from, double to,
                                    double least, std::size_t most);

}  // namespace jetmem::doctor
