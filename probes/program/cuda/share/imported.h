// SPDX-License-Identifier: Apache-2.0
// A DMA-BUF as memory of the GPU: cuImportExternalMemory(), CUDA 13 and later, on some machines.
#pragma once

#include "probes/program/cuda/driver.h"

namespace jetmem::probe {

class Imported {
 public:
  explicit Imported(Recorder& recorder) : recorder_(recorder) {}
  // Gives back what release_buffer() did not.
  ~Imported();
  Imported(const Imported&) = delete;
  Imported& operator=(const Imported&) = delete;

  // A step. A refusal by the driver ends the kind as unsupported.
  bool take(int dma_buf, std::uint64_t bytes);
  // Within a step.
  bool release_buffer();

  bool is_there() const { return memory_ != nullptr; }
  // The GPU's address of it.
  driver::Address address() const { return address_; }

 private:
  bool import(int dma_buf, std::uint64_t bytes);
  // The driver may have taken the descriptor over, or not: no more than the DMA-BUF itself, if it
  // is still under that number, is closed.
  void close_if_left();

  Recorder& recorder_;
  void* memory_ = nullptr;
  driver::Address address_ = 0;
  int fd_ = -1;
  std::uint64_t inode_ = 0;
};

}  // namespace jetmem::probe
