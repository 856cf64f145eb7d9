// SPDX-License-Identifier: Apache-2.0
// How calls of CUDA's runtime are made within a step: each with its name and its answer's name in
// the result.
#pragma once

#include <cuda_runtime_api.h>

#include "probes/program/cuda/kernels.h"
#include "probes/program/gpu.h"
#include "probes/program/pattern.h"
#include "probes/program/run.h"

namespace jetmem::probe {

static_assert(kKernelFactor == kModifyFactor && kKernelTerm == kModifyTerm,
              "the CPU looks for what the GPU makes");

// recorder.step(step::kAllocate, 0, [&] {
//   return cuda_call(recorder, "cudaMalloc", cudaMalloc(&memory, bytes));
// });
inline bool cuda_call(Recorder& recorder, const char* name, cudaError_t answer) {
  return recorder.call(name, answer == cudaSuccess, cudaGetErrorName(answer),
                       cudaGetErrorString(answer));
}

// The probe's one stream, made when gpu() is; waiting for it sleeps, it does not spin.
cudaStream_t stream();

// Within a step: waits until the stream's work is done.
inline bool wait_for_gpu(Recorder& recorder) {
  return cuda_call(recorder, "cudaStreamSynchronize", cudaStreamSynchronize(stream()));
}

// Whether a kind can be tried. If there is no GPU, or one that an earlier kind left with an error
// that every later call would repeat, that is `kind`'s result.
bool gpu_usable(Run& run, const char* kind);

// Whether gpu() has this ability (gpu.h); false also where the driver does not know of it.
bool gpu_can(const char* what);

// The step of the GPU, to its completion. `for_gpu`: the address that the GPU knows.
bool gpu_modify(Recorder& recorder, void* for_gpu, std::uint64_t bytes);

// The step of the CPU after it: looks for what the GPU must have made of `pattern`.
inline void cpu_verify_modified(Recorder& recorder, Pattern& pattern, const void* memory,
                                std::uint64_t bytes) {
  pattern.modify();
  recorder.verify(pattern, memory, bytes);
}

}  // namespace jetmem::probe
