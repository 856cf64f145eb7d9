// SPDX-License-Identifier: Apache-2.0
// A piece of the GPU's memory, and a copy of it that the CPU can reach: for the kinds whose memory
// the CPU reaches only by a copy.
#pragma once

#include <cstdint>
#include <utility>

#include "probes/program/cuda/driver.h"
#include "probes/program/host_buffer.h"
#include "probes/program/pattern.h"

namespace jetmem::probe {

class DeviceBuffer {
 public:
  // Of memory that is handed on: whole pieces of it, so that neither its begin nor its end shares a
  // page with anything else.
  static constexpr std::uint64_t kSharedGrain = 2U << 20;

  // `bytes`: to be written and verified. What is allocated is a multiple of `grain`.
  DeviceBuffer(Recorder& recorder, std::uint64_t bytes, std::uint64_t grain = 1)
      : recorder_(recorder), bytes_(bytes), allocated_((bytes + grain - 1) / grain * grain) {}
  // Frees the memory if free() did not.
  ~DeviceBuffer();
  DeviceBuffer(const DeviceBuffer&) = delete;
  DeviceBuffer& operator=(const DeviceBuffer&) = delete;

  // Each a step.
  bool allocate();
  bool touch();  // by the GPU
  // The CPU's copy, with its pages, which are not what a copy is to be blamed for.
  bool map_copy();
  bool write(const Pattern& pattern);  // by the CPU, and copied to the GPU
  // By the GPU, at whichever address it has the memory (session.h, gpu_modify()).
  bool modify(Pattern& pattern, driver::Address address);
  // Copied from the GPU, and compared.
  bool verify(const Pattern& pattern, driver::Address address);
  bool free();
  // All of them but the first and the last.
  void use();

  // Memory that is allocated already.
  void adopt(driver::Address address) { address_ = address; }
  // The CPU's copy, so that the caller needs no second buffer of that size; write() and verify()
  // are over then.
  HostBuffer take_copy() { return std::move(copy_); }
  // It may still be in use, or another frees it: it is not freed here.
  void keep() { address_ = 0; }

  driver::Address address() const { return address_; }
  std::uint64_t allocated_bytes() const { return allocated_; }

  // Within a step, after the GPU was given something to do with `memory`: waits until it has done
  // it. If that is unknown, `memory` is kept until this process ends.
  static bool settle(Recorder& recorder, HostBuffer& memory);

 private:
  Recorder& recorder_;
  std::uint64_t bytes_;
  std::uint64_t allocated_;
  driver::Address address_ = 0;
  HostBuffer copy_;
};

}  // namespace jetmem::probe
