// SPDX-License-Identifier: Apache-2.0
// A piece of the GPU's memory made a DMA-BUF: cuMemGetHandleForAddressRange(), CUDA 11.7 and later.
#pragma once

#include "probes/program/cuda/driver.h"
#include "probes/program/dmabuf/dmabuf_buffer.h"

namespace jetmem::probe {

// Reports a kind, or one target of it, as not tried where this GPU's driver exports no memory, or
// does not say whether it does. True: it exports.
bool can_export(Run& run, const char* kind, const char* target);

class Exported {
 public:
  explicit Exported(Recorder& recorder) : recorder_(recorder) {}

  // A step. `address` and `bytes`: an allocation, all of it. That its size is what was requested is
  // seen on the descriptor.
  bool take(driver::Address address, std::uint64_t bytes);
  // Within a step.
  bool release_buffer();

  int fd() const { return fd_.get(); }

 private:
  Recorder& recorder_;
  Fd fd_;
};

// Within a step: ends the kind as unsupported where the driver says so of itself.
void end_if_refused(Recorder& recorder, driver::Result result);
// As cuda_call(), with that.
bool refusable_call(Recorder& recorder, const char* name, driver::Result result);

}  // namespace jetmem::probe
