// Who grew between two moments: groups of processes, and what no process answers for.
#pragma once

#include <vector>

#include "report/doctor/correlate.h"

namespace jetmem::doctor {

enum class GrowthOf : std::uint8_t {
  kMemory,   // resident, GPU and DMA-BUF memory together; and what no process answers for
  kBuffers,  // GPU and DMA-BUF memory: what cameras and codecs take out of CMA is among it
};

// The largest growers, at most `most`, of `least` bytes or more. For each of them the past is asked
// once or a few times when it began.
std::vector<Grower> growers(Past& past, GrowthOf what, double from, double to, double least,
                            std::size_t most);

}  // namespace jetmem::doctor
