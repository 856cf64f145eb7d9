// SPDX-License-Identifier: Apache-2.0
// The two kernels of kernels.cu, which this program carries twice: as machine code for some GPUs,
// where it was built with CUDA's toolkit, and as PTX, which the driver compiles for any other
// (docs/probe.md, Kernels).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "probes/program/cuda/driver.h"
#include "probes/program/gpu.h"

namespace jetmem::probe {

// Loads them into the current context, the machine code if there is some for this GPU, and measures
// what that takes. What was called is appended to `calls`. The state is kOk; kUnsupported where the
// driver compiles nothing, or not this text; kFailed otherwise.
Kernels load_kernels(std::vector<Call>& calls);

// Each word becomes word * kModifyFactor + kModifyTerm (pattern.h): the CPU can tell that the GPU
// read what the CPU wrote, and wrote what the CPU reads. Asynchronous, on gpu_stream().
driver::Result launch_modify(driver::Address words, std::uint64_t count);

// Reads all words `times` times over and adds up what it found at `sum`, in the GPU's own memory,
// so that no read can be optimised away.
driver::Result launch_read(driver::Address words, std::uint64_t count, unsigned times,
                           driver::Address sum);

// The text of kernels.ptx.
extern const char kKernelsPtx[];
// The machine code, a "fat binary" of CUDA's; size 0: none.
extern const unsigned char kKernelsFatbin[];
extern const std::size_t kKernelsFatbinSize;

}  // namespace jetmem::probe
