// How calls of CUDA's runtime are made within a step: each with its name and its answer's name in
// the result.
#pragma once

#include <cuda_runtime_api.h>

#include "probes/program/run.h"

namespace jetmem::probe {

// recorder.step(step::kAllocate, 0, [&] {
//   return cuda_call(recorder, "cudaMalloc", cudaMalloc(&memory, bytes));
// });
inline bool cuda_call(Recorder& recorder, const char* name, cudaError_t answer) {
  return recorder.call(name, answer == cudaSuccess, cudaGetErrorName(answer),
                       cudaGetErrorString(answer));
}

// The probe's one stream, made when gpu() is; waiting for it sleeps, it does not spin.
cudaStream_t stream();

}  // namespace jetmem::probe
