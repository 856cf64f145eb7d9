// SPDX-License-Identifier: Apache-2.0
// Buffers of DMA heaps and of udmabuf, as steps of a probe; also for those that import them.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "probes/program/run.h"

namespace jetmem::probe {

// A descriptor, closed when it goes.
class Fd {
 public:
  Fd() = default;
  explicit Fd(int fd) : fd_(fd) {}
  Fd(Fd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Fd& operator=(Fd&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Fd() { close(); }

  explicit operator bool() const { return fd_ >= 0; }
  int get() const { return fd_; }
  int close();  // 0 or its errno

 private:
  int fd_ = -1;
};

// A heap's node, or udmabuf's. Where it cannot be opened, `state` and `reason` are the result's.
struct Node {
  Fd fd;
  State state = State::kOk;
  std::string reason;
  std::string error;
};
// Only a character device is opened: anything else might never open, or be an ordinary file.
Node open_node(const std::string& path);

// Within a step. `node` is the heap's or udmabuf's descriptor; false, and no buffer, on failure.
using AllocateDmabuf = bool (*)(Recorder& recorder, int node, std::uint64_t bytes, Fd& buffer);
bool allocate_from_heap(Recorder& recorder, int node, std::uint64_t bytes, Fd& buffer);
bool allocate_from_udmabuf(Recorder& recorder, int node, std::uint64_t bytes, Fd& buffer);

// One buffer, mapped for the CPU. Each member is a step.
//
// What the CPU does with the mapping is bracketed by DMA_BUF_IOCTL_SYNC, so that caches are cleaned
// and invalidated where devices do not see them. Always for reading and writing, whichever it is:
// udmabuf maps its pages for the direction of the first bracket, and another direction is then a
// misuse.
class MappedDmabuf {
 public:
  MappedDmabuf(Recorder& recorder, std::uint64_t bytes) : recorder_(recorder), bytes_(bytes) {}
  ~MappedDmabuf();
  MappedDmabuf(const MappedDmabuf&) = delete;
  MappedDmabuf& operator=(const MappedDmabuf&) = delete;

  bool allocate(int node, AllocateDmabuf take);
  void map();
  void touch();
  void write(const Pattern& pattern);
  void verify(const Pattern& pattern);
  void unmap_and_free();

  int fd() const { return buffer_.get(); }

 private:
  template <class Work>
  void access(const char* step, std::uint64_t moved, Work&& work);

  Recorder& recorder_;
  std::uint64_t bytes_;
  Fd buffer_;
  void* memory_ = nullptr;
};

}  // namespace jetmem::probe
