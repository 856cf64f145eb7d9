// SPDX-License-Identifier: Apache-2.0
#include "probes/program/cuda/device_buffer.h"

#include <cstring>
#include <utility>
#include <vector>

#include "probes/program/cuda/session.h"

namespace jetmem::probe {

DeviceBuffer::~DeviceBuffer() {
  if (address_ != 0) cuda().cuMemFree_v2(address_);
}

bool DeviceBuffer::settle(Recorder& recorder, HostBuffer& memory) {
  static auto& kept = *new std::vector<HostBuffer>;
  const bool settled = wait_for_gpu(recorder);
  if (!settled) kept.push_back(std::move(memory));
  return settled;
}

bool DeviceBuffer::allocate() {
  return recorder_.step(step::kAllocate, 0, [&] {
    if (cuda_call(recorder_, "cuMemAlloc", cuda().cuMemAlloc_v2(&address_, allocated_))) {
      return true;
    }
    address_ = 0;
    return false;
  });
}

bool DeviceBuffer::touch() {
  return recorder_.step(step::kFirstTouch, bytes_, [&] {
    return cuda_call(recorder_, "cuMemsetD8Async",
                     cuda().cuMemsetD8Async(address_, 0x5A, bytes_, gpu_stream())) &&
           wait_for_gpu(recorder_);
  });
}

bool DeviceBuffer::map_copy() {
  return recorder_.step(step::kMap, 0, [&] {
    if (!recorder_.call_errno("mmap", copy_.allocate(bytes_))) return false;
    touch_pages(copy_.get(), bytes_);
    return true;
  });
}

bool DeviceBuffer::write(const Pattern& pattern) {
  recorder_.write(pattern, copy_.get(), bytes_);
  return recorder_.step(step::kCopyToGpu, bytes_, [&] {
    const bool copied =
        cuda_call(recorder_, "cuMemcpyHtoDAsync",
                  cuda().cuMemcpyHtoDAsync_v2(address_, copy_.get(), bytes_, gpu_stream()));
    return settle(recorder_, copy_) && copied;
  });
}

bool DeviceBuffer::modify(Pattern& pattern, driver::Address address) {
  return gpu_modify(recorder_, pattern, address, bytes_);
}

bool DeviceBuffer::verify(const Pattern& pattern, driver::Address address) {
  // A copy that does nothing is seen.
  if (copy_.get() != nullptr && !recorder_.failed()) std::memset(copy_.get(), 0, bytes_);
  recorder_.step(step::kCopyFromGpu, bytes_, [&] {
    const bool copied =
        cuda_call(recorder_, "cuMemcpyDtoHAsync",
                  cuda().cuMemcpyDtoHAsync_v2(copy_.get(), address, bytes_, gpu_stream()));
    return settle(recorder_, copy_) && copied;
  });
  return recorder_.verify(pattern, copy_.get(), bytes_);
}

bool DeviceBuffer::free() {
  if (address_ == 0) return true;
  return recorder_.cleanup(step::kFree, [&] {
    const driver::Address address = address_;
    address_ = 0;
    return cuda_call(recorder_, "cuMemFree", cuda().cuMemFree_v2(address));
  });
}

void DeviceBuffer::use() {
  Pattern pattern;
  touch();
  map_copy();
  write(pattern);
  modify(pattern, address_);
  verify(pattern, address_);
}

}  // namespace jetmem::probe
