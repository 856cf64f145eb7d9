// SPDX-License-Identifier: Apache-2.0
#include "probes/program/cuda/device_buffer.h"

#include <cerrno>
#include <cstring>
#include <new>
#include <utility>
#include <vector>

#include "probes/program/cuda/session.h"

namespace jetmem::probe {
namespace {

constexpr std::uint64_t kPiece = 2U << 20;

}  // namespace

DeviceBuffer::DeviceBuffer(Recorder& recorder, const Driver& driver, std::uint64_t bytes)
    : recorder_(recorder), driver_(driver), bytes_(bytes) {}

DeviceBuffer::~DeviceBuffer() {
  if (address_ != 0) driver_.cuMemFree_v2(address_);
}

bool DeviceBuffer::settle(Recorder& recorder, const Driver& driver,
                          std::unique_ptr<std::uint64_t[]>& memory) {
  static auto& kept = *new std::vector<std::unique_ptr<std::uint64_t[]>>;
  const bool settled =
      driver.call(recorder, "cuStreamSynchronize", driver.cuStreamSynchronize(gpu_stream()));
  if (!settled) kept.push_back(std::move(memory));
  return settled;
}

bool DeviceBuffer::allocate() {
  recorder_.step(step::kAllocate, 0, [&] {
    allocated_ = (bytes_ + kPiece - 1) / kPiece * kPiece;
    if (driver_.call(recorder_, "cuMemAlloc", driver_.cuMemAlloc_v2(&address_, allocated_))) {
      return true;
    }
    address_ = 0;
    return false;
  });
  // The host's copy, touched so that its first use is not measured with the copying.
  return recorder_.step(step::kMap, 0, [&] {
    copy_.reset(new (std::nothrow) std::uint64_t[bytes_ / 8]);
    if (copy_ == nullptr) return recorder_.call_errno("malloc", ENOMEM);
    touch_pages(copy_.get(), bytes_);
    return true;
  });
}

bool DeviceBuffer::write(const Pattern& pattern) {
  recorder_.write(pattern, copy_.get(), bytes_);
  return recorder_.step(step::kCopyToGpu, bytes_, [&] {
    const bool copied =
        driver_.call(recorder_, "cuMemcpyHtoDAsync",
                     driver_.cuMemcpyHtoDAsync_v2(address_, copy_.get(), bytes_, gpu_stream()));
    return settle(recorder_, driver_, copy_) && copied;
  });
}

bool DeviceBuffer::modify(Pattern& pattern, driver::Address address) {
  return gpu_modify(recorder_, pattern, address, bytes_);
}

bool DeviceBuffer::verify(const Pattern& pattern, driver::Address address) {
  // A copy that does nothing is seen.
  if (copy_ != nullptr && !recorder_.failed()) std::memset(copy_.get(), 0, bytes_);
  recorder_.step(step::kCopyFromGpu, bytes_, [&] {
    const bool copied =
        driver_.call(recorder_, "cuMemcpyDtoHAsync",
                     driver_.cuMemcpyDtoHAsync_v2(copy_.get(), address, bytes_, gpu_stream()));
    return settle(recorder_, driver_, copy_) && copied;
  });
  return recorder_.verify(pattern, copy_.get(), bytes_);
}

bool DeviceBuffer::free() {
  if (address_ == 0) return true;
  return recorder_.cleanup(step::kFree, [&] {
    const driver::Address address = address_;
    address_ = 0;
    return driver_.call(recorder_, "cuMemFree", driver_.cuMemFree_v2(address));
  });
}

}  // namespace jetmem::probe
