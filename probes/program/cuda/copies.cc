// SPDX-License-Identifier: Apache-2.0
#include "probes/program/cuda/copies.h"

#include <cstring>

#include "probes/program/cuda/session.h"

namespace jetmem::probe {

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

bool copy_from_gpu(Recorder& recorder, void* to, driver::Address from, std::uint64_t bytes) {
  if (recorder.failed()) return false;
  std::memset(to, 0, bytes);
  return recorder.step(step::kCopyFromGpu, bytes, [&] {
    return cuda_call(recorder, "cuMemcpyDtoHAsync",
                     cuda().cuMemcpyDtoHAsync_v2(to, from, bytes, gpu_stream())) &&
           wait_for_gpu(recorder);
  });
}

}  // namespace jetmem::probe
