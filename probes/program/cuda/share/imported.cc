// SPDX-License-Identifier: Apache-2.0
#include "probes/program/cuda/share/imported.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "probes/program/cuda/session.h"
#include "probes/program/cuda/share/exported.h"
#include "probes/program/gpu.h"

namespace jetmem::probe {

Imported::~Imported() {
  if (address_ != 0) cuda().cuMemFree_v2(address_);
  if (memory_ != nullptr) cuda().cuDestroyExternalMemory(memory_);
  close_if_left();
}

bool Imported::take(int dma_buf, std::uint64_t bytes) {
  return recorder_.step(step::kImport, 0, [&] {
    if (!import(dma_buf, bytes)) return false;
    driver::ExternalBuffer whole;
    whole.size = bytes;
    if (cuda_call(recorder_, "cuExternalMemoryGetMappedBuffer",
                  cuda().cuExternalMemoryGetMappedBuffer(&address_, memory_, &whole))) {
      return true;
    }
    address_ = 0;
    return false;
  });
}

bool Imported::import(int dma_buf, std::uint64_t bytes) {
  fd_ = ::fcntl(dma_buf, F_DUPFD_CLOEXEC, 3);
  if (!recorder_.call_errno("F_DUPFD_CLOEXEC", fd_ < 0 ? errno : 0)) return false;
  struct stat found {};
  if (::fstat(fd_, &found) == 0) inode_ = found.st_ino;
  driver::ExternalMemory needed;
  needed.type = driver::kExternalMemoryDmaBufFd;
  needed.handle.fd = fd_;
  needed.size = bytes;
  const driver::Result result = cuda().cuImportExternalMemory(&memory_, &needed);
  if (cuda_call(recorder_, "cuImportExternalMemory", result)) return true;
  memory_ = nullptr;
  // A driver that is older than the number of this type finds it wrong, not unsupported.
  const bool is_unknown = result == driver::kInvalidValue && gpu().driver && *gpu().driver < 13000;
  if (is_unknown) {
    recorder_.end_as(State::kUnsupported,
                     "a driver older than CUDA 13 imports no DMA-BUF: " + cuda().name_of(result) +
                         " (" + std::to_string(result) + ")");
  } else {
    end_if_refused(recorder_, result);
  }
  return false;
}

bool Imported::release_buffer() {
  bool well = true;
  if (address_ != 0) {
    const driver::Address address = std::exchange(address_, 0);
    well = cuda_call(recorder_, "cuMemFree", cuda().cuMemFree_v2(address));
  }
  if (memory_ != nullptr) {
    void* const memory = std::exchange(memory_, nullptr);
    well =
        cuda_call(recorder_, "cuDestroyExternalMemory", cuda().cuDestroyExternalMemory(memory)) &&
        well;
  }
  close_if_left();
  return well;
}

void Imported::close_if_left() {
  const int fd = std::exchange(fd_, -1);
  struct stat found {};
  if (fd >= 0 && ::fstat(fd, &found) == 0 && found.st_ino == inode_) ::close(fd);
}

}  // namespace jetmem::probe
