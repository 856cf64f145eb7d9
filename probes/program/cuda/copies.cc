// SPDX-License-Identifier: Apache-2.0
#include "probes/program/cuda/copies.h"

#include <cstring>

#include "probes/program/cuda/session.h"
#include "probes/program/pattern.h"

namespace jetmem::probe {
namespace {

bool gpu_first_touch(Recorder& recorder, driver::Address memory, std::uint64_t bytes) {
  return recorder.step(step::kFirstTouch, bytes, [&] {
    return cuda_call(recorder, "cuMemsetD8Async",
                     cuda().cuMemsetD8Async(memory, 0x5A, bytes, gpu_stream())) &&
           wait_for_gpu(recorder);
  });
}

bool copy_to_gpu(Recorder& recorder, driver::Address to, const void* from, std::uint64_t bytes) {
  return recorder.step(step::kCopyToGpu, bytes, [&] {
    return cuda_call(recorder, "cuMemcpyHtoDAsync",
                     cuda().cuMemcpyHtoDAsync_v2(to, from, bytes, gpu_stream())) &&
           wait_for_gpu(recorder);
  });
}

// Clears `to` before, so that a copy that does nothing is seen.
bool copy_from_gpu(Recorder& recorder, void* to, driver::Address from, std::uint64_t bytes) {
  if (recorder.failed()) return false;
  std::memset(to, 0, bytes);
  return recorder.step(step::kCopyFromGpu, bytes, [&] {
    return cuda_call(recorder, "cuMemcpyDtoHAsync",
                     cuda().cuMemcpyDtoHAsync_v2(to, from, bytes, gpu_stream())) &&
           wait_for_gpu(recorder);
  });
}

}  // namespace

void use_by_copies(Recorder& recorder, driver::Address memory, std::uint64_t bytes,
                   HostBuffer& staging) {
  Pattern pattern;
  gpu_first_touch(recorder, memory, bytes);
  // With its pages, which are not what a copy is to be blamed for.
  recorder.step(step::kMap, 0, [&] {
    if (!recorder.call_errno("mmap", staging.allocate(bytes))) return false;
    touch_pages(staging.get(), bytes);
    return true;
  });
  recorder.write(pattern, staging.get(), bytes);
  copy_to_gpu(recorder, memory, staging.get(), bytes);
  gpu_modify(recorder, pattern, memory, bytes);
  copy_from_gpu(recorder, staging.get(), memory, bytes);
  recorder.verify(pattern, staging.get(), bytes);
}

}  // namespace jetmem::probe
