// SPDX-License-Identifier: Apache-2.0
// Copies between the CPU's memory and the GPU's, each a step, to its completion.
#pragma once

#include <cstdint>

#include "probes/program/cuda/driver.h"
#include "probes/program/run.h"

namespace jetmem::probe {

// The GPU's first write: to memory that the CPU cannot reach.
bool gpu_first_touch(Recorder& recorder, driver::Address memory, std::uint64_t bytes);
bool copy_to_gpu(Recorder& recorder, driver::Address to, const void* from, std::uint64_t bytes);
// Clears `to` before, so that a copy that does nothing is seen.
bool copy_from_gpu(Recorder& recorder, void* to, driver::Address from, std::uint64_t bytes);

}  // namespace jetmem::probe
