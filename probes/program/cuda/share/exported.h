// SPDX-License-Identifier: Apache-2.0
// A piece of the GPU's memory made a DMA-BUF: cuMemGetHandleForAddressRange(), CUDA 11.7 and later.
#pragma once

#include "probes/program/cuda/driver.h"

namespace jetmem::probe {

// Reports a kind, or one target of it, as not tried where this GPU's driver exports no memory, or
// cannot be asked for that. True: it exports.
bool can_export(Run& run, const char* kind, const char* target, const Driver& driver);

class Exported {
 public:
  Exported(Recorder& recorder, const Driver& driver) : recorder_(recorder), driver_(driver) {}
  // Closes the descriptor if release_buffer() did not.
  ~Exported();
  Exported(const Exported&) = delete;
  Exported& operator=(const Exported&) = delete;

  // A step. `address` and `bytes`: an allocation, all of it. That its size is what was requested is
  // seen on the descriptor.
  bool take(driver::Address address, std::uint64_t bytes);
  // Within a step.
  bool release_buffer();

  int fd() const { return fd_; }

 private:
  Recorder& recorder_;
  const Driver& driver_;
  int fd_ = -1;
};

// Within a step: ends the kind as unsupported where the driver says so of itself.
void end_if_refused(Recorder& recorder, const Driver& driver, driver::Result result);

}  // namespace jetmem::probe
