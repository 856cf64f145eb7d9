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

// A heap's node, or udmabuf's. Where it cannot be had, `state` and `reason` are the result's.
struct Node {
  Fd fd;
  State state = State::kOk;
  std::string reason;
  std::string error;
};
// Only a character device is opened: anything else might never open, or be somebody's file.
Node open_node(const std::string& path);

// Within a step. `heap` and `device` are the nodes' descriptors; false, and no buffer, on failure.
bool allocate_from_heap(Recorder& recorder, int heap, std::uint64_t bytes, Fd& buffer);
bool allocate_from_udmabuf(Recorder& recorder, int device, std::uint64_t bytes, Fd& buffer);

// Within a step: brackets what the CPU does with a mapped buffer, so that caches are cleaned and
// invalidated where devices do not see them.
// Always for reading and writing, whichever it is: udmabuf maps its pages for the direction of the
// first bracket, and one of another direction is a misuse then.
bool begin_access(Recorder& recorder, int buffer);
bool end_access(Recorder& recorder, int buffer);

}  // namespace jetmem::probe
