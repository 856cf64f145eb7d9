// SPDX-License-Identifier: Apache-2.0
// pinned: cuMemHostAlloc(), mapped: one memory for CPU and GPU, without a copy. What camera and
// zero-copy pipelines on these boards live on.
#include "probes/program/cuda/ratios.h"
#include "probes/program/cuda/session.h"
#include "probes/program/kinds.h"
#include "probes/program/pattern.h"

namespace jetmem::probe {
namespace {

bool allocate(Recorder& recorder, std::uint64_t bytes, void*& memory, driver::Address& for_gpu) {
  return recorder.step(step::kAllocate, 0, [&] {
    return cuda_call(recorder, "cuMemHostAlloc",
                     cuda().cuMemHostAlloc(&memory, bytes, driver::kHostAllocDeviceMap)) &&
           cuda_call(recorder, "cuMemHostGetDevicePointer",
                     cuda().cuMemHostGetDevicePointer_v2(&for_gpu, memory, 0));
  });
}

void free(Recorder& recorder, void* memory) {
  if (memory == nullptr) return;
  recorder.cleanup(step::kFree, [&] {
    return cuda_call(recorder, "cuMemFreeHost", cuda().cuMemFreeHost(memory));
  });
}

void use(Recorder& recorder, std::uint64_t bytes) {
  void* memory = nullptr;
  driver::Address for_gpu = 0;
  Pattern pattern;
  allocate(recorder, bytes, memory, for_gpu);
  // The pages exist already: there is no bandwidth to measure.
  recorder.touch(memory, bytes, 0);
  recorder.write(pattern, memory, bytes);
  gpu_modify(recorder, pattern, for_gpu, bytes);
  recorder.verify(pattern, memory, bytes);
  free(recorder, memory);
}

}  // namespace

void probe_pinned(Run& run) {
  if (!gpu_usable(run, "pinned")) return;
  if (run.options().bisect_limit > 0) {
    run.bisect("pinned", "", [](Recorder& recorder, std::uint64_t bytes) {
      void* memory = nullptr;
      driver::Address for_gpu = 0;
      allocate(recorder, bytes, memory, for_gpu);
      free(recorder, memory);
    });
    return;
  }
  Result& result = run.run_ladder("pinned", "", use);
  if (result.state == State::kOk) measure_ratios(run, result);
}

}  // namespace jetmem::probe
