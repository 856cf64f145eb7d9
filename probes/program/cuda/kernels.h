// SPDX-License-Identifier: Apache-2.0
// The two kernels, from kernels.ptx, which this program carries as text: the driver compiles it for
// the GPU that there is when it is loaded (docs/probe.md says why).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "probes/program/cuda/driver.h"
#include "probes/program/gpu.h"

namespace jetmem::probe {

// Compiles and loads them into the current context, and measures what that takes. What was called
// is appended to `calls`. The state is kOk; kUnsupported where the driver compiles nothing, or not
// this text; kFailed otherwise.
Kernels load_kernels(const Driver& driver, std::vector<Call>& calls);

// Each word becomes word * kModifyFactor + kModifyTerm (pattern.h): the CPU can tell that the GPU
// read what the CPU wrote, and wrote what the CPU reads. Asynchronous, on `stream`.
driver::Result launch_modify(const Driver& driver, driver::Address words, std::uint64_t count,
                             driver::Stream stream);

// Reads all words `times` times over and adds up what it found at `sum`, in the GPU's own memory,
// so that no read can be optimised away.
driver::Result launch_read(const Driver& driver, driver::Address words, std::uint64_t count,
                           unsigned times, driver::Address sum, driver::Stream stream);

// The text of kernels.ptx.
extern const char kKernelsPtx[];

}  // namespace jetmem::probe
