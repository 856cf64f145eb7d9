// SPDX-License-Identifier: Apache-2.0
// Pageable memory of the CPU's, freed at the end.
#pragma once

#include <sys/mman.h>

#include <cerrno>
#include <cstdint>
#include <utility>

namespace jetmem::probe {

class HostBuffer {
 public:
  HostBuffer() = default;
  HostBuffer(HostBuffer&& other) noexcept
      : memory_(std::exchange(other.memory_, nullptr)), bytes_(other.bytes_) {}
  HostBuffer& operator=(HostBuffer&&) = delete;
  ~HostBuffer() { free(); }

  // 0, or the errno.
  int allocate(std::uint64_t bytes) {
    void* const memory =
        ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return errno;
    memory_ = memory;
    bytes_ = bytes;
    return 0;
  }
  // 0, or the errno.
  int free() {
    if (memory_ == nullptr) return 0;
    const int error = ::munmap(memory_, bytes_) != 0 ? errno : 0;
    memory_ = nullptr;
    return error;
  }
  // nullptr: none.
  void* get() const { return memory_; }

 private:
  void* memory_ = nullptr;
  std::uint64_t bytes_ = 0;
};

}  // namespace jetmem::probe
