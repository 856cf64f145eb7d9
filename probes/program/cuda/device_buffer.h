// SPDX-License-Identifier: Apache-2.0
// A piece of the GPU's memory from the driver's allocator, and a copy of it that the CPU can reach:
// for the kinds that hand such memory on.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>

#include "probes/program/cuda/driver.h"
#include "probes/program/pattern.h"

namespace jetmem::probe {

class DeviceBuffer {
 public:
  // `bytes`: to be written and verified.
  DeviceBuffer(Recorder& recorder, const Driver& driver, std::uint64_t bytes);
  // Frees the memory if free() did not.
  ~DeviceBuffer();
  DeviceBuffer(const DeviceBuffer&) = delete;
  DeviceBuffer& operator=(const DeviceBuffer&) = delete;

  // Each a step.
  bool allocate();
  bool write(const Pattern& pattern);  // by the CPU, and copied to the GPU
  // By the GPU, at whichever address it has the memory (session.h, gpu_modify()).
  bool modify(Pattern& pattern, driver::Address address);
  // Copied from the GPU, and compared.
  bool verify(const Pattern& pattern, driver::Address address);
  bool free();
  // The CPU's copy, so that the caller needs no second buffer of that size; write() and verify()
  // are over then.
  std::unique_ptr<std::uint64_t[]> take_copy() { return std::move(copy_); }
  // It may still be in use: it stays until this process ends.
  void keep() { address_ = 0; }

  driver::Address address() const { return address_; }
  // What was allocated: whole pieces of 2 MiB, so that neither its begin nor its end shares a page
  // with anything else.
  std::uint64_t allocated_bytes() const { return allocated_; }

  // Within a step, after the GPU was given something to do with `memory`: waits until it has done
  // it. If that is unknown, `memory` is kept until this process ends.
  static bool settle(Recorder& recorder, const Driver& driver,
                     std::unique_ptr<std::uint64_t[]>& memory);

 private:
  Recorder& recorder_;
  const Driver& driver_;
  std::uint64_t bytes_;
  std::uint64_t allocated_ = 0;
  driver::Address address_ = 0;
  std::unique_ptr<std::uint64_t[]> copy_;
};

}  // namespace jetmem::probe
