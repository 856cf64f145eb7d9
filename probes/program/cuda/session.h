// SPDX-License-Identifier: Apache-2.0
// CUDA in this process: its driver, its one context and stream, and what the kinds do with them.
// gpu.h is what was found.
#pragma once

#include <cstdint>
#include <string>

#include "probes/program/cuda/driver.h"
#include "probes/program/pattern.h"
#include "probes/program/run.h"

namespace jetmem::probe {

// The device and the stream, made when gpu() is. All work goes through it: the one stream does
// what it is given in order, and it alone is waited for; waiting sleeps, it does not spin.
driver::Device gpu_device();
driver::Stream gpu_stream();

// Within a step: waits until the stream's work is done.
bool wait_for_gpu(Recorder& recorder);

// Whether a kind can be tried. If there is no GPU, or one that an earlier kind left with an error
// that every later call would repeat, that is `kind`'s result.
bool gpu_usable(Run& run, const char* kind);

// Whether gpu() has this ability (gpu.h); false also where the driver does not know of it.
bool gpu_can(const char* what);
// The same; where it has not, that is `kind`'s result: "this GPU has no `name` (`attribute` is 0)".
bool has_ability(Run& run, const char* kind, const char* what, const std::string& name,
                 const std::string& attribute);

// The step of the GPU, to its completion: it changes every word, and `pattern` is from then on what
// it must have made of them. Where the kernels could not be loaded there is no such step, the
// result says that the GPU's access was not checked, and the words stay as they are. `for_gpu`: the
// address that the GPU knows.
bool gpu_modify(Recorder& recorder, Pattern& pattern, driver::Address for_gpu, std::uint64_t bytes);

}  // namespace jetmem::probe
