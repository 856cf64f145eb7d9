// SPDX-License-Identifier: Apache-2.0
// What the kinds do with memory of the GPU's that the CPU reaches only by a copy.
#pragma once

#include <cstdint>

#include "probes/program/cuda/driver.h"
#include "probes/program/cuda/host_buffer.h"
#include "probes/program/run.h"

namespace jetmem::probe {

// The GPU writes it first; then it goes there and back by way of `staging`, which this allocates
// and which must outlive the memory. Each copy is a step, to its completion.
void use_by_copies(Recorder& recorder, driver::Address memory, std::uint64_t bytes,
                   HostBuffer& staging);

}  // namespace jetmem::probe
