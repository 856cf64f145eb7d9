// SPDX-License-Identifier: Apache-2.0
// What the kinds that use CUDA's driver need of its runtime, without its headers: tests stand in
// for these.
#pragma once

#include <cstdint>

#include "probes/program/run.h"

namespace jetmem::probe {

// Of calls.h, where they are described.
bool gpu_usable(Run& run, const char* kind);
bool gpu_modify(Recorder& recorder, void* for_gpu, std::uint64_t bytes);

// The probe's stream, for functions of the driver. Copies go through it as well: the one stream
// does what it is given in order, and it alone is waited for.
void* gpu_stream();

}  // namespace jetmem::probe
