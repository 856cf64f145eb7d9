// SPDX-License-Identifier: Apache-2.0
#include "probes/program/dmabuf/dmabuf_buffer.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "probes/program/small_file.h"

namespace jetmem::probe {
namespace {

// As the kernel has them (linux/dma-heap.h, dma-buf.h, udmabuf.h), whose headers the older systems
// that this is built on lack.
struct HeapAllocation {
  std::uint64_t len;
  std::uint32_t fd;
  std::uint32_t fd_flags;
  std::uint64_t heap_flags;
};
struct BufferSync {
  std::uint64_t flags;
};
struct UdmabufCreate {
  std::uint32_t memfd;
  std::uint32_t flags;
  std::uint64_t offset;
  std::uint64_t size;
};
constexpr unsigned long kHeapAllocate = _IOWR('H', 0x0, HeapAllocation);
constexpr unsigned long kBufferSync = _IOW('b', 0, BufferSync);
constexpr unsigned long kUdmabufCreate = _IOW('u', 0x42, UdmabufCreate);
constexpr std::uint64_t kSyncRead = 1;
constexpr std::uint64_t kSyncWrite = 2;
constexpr std::uint64_t kSyncEnd = 4;
constexpr std::uint32_t kUdmabufCloseOnExec = 1;
constexpr unsigned kNoExecSeal = 8;  // MFD_NOEXEC_SEAL, 6.3

constexpr int kMaxAttempts = 100;

// 0 or the errno of the last attempt; `value`: what the call returned.
int ask(int fd, unsigned long request, void* argument, int* value = nullptr) {
  for (int attempt = 1;; ++attempt) {
    const int answer = ::ioctl(fd, request, argument);
    if (value != nullptr) *value = answer;
    if (answer >= 0) return 0;
    const int error = errno;
    if ((error != EINTR && error != EAGAIN) || attempt == kMaxAttempts) return error;
    const timespec pause{0, 1'000'000};
    ::nanosleep(&pause, nullptr);
  }
}

bool sync(Recorder& recorder, int buffer, std::uint64_t end) {
  BufferSync needed{kSyncRead | kSyncWrite | end};
  return recorder.call_errno("DMA_BUF_IOCTL_SYNC", ask(buffer, kBufferSync, &needed));
}

// A driver that answers yes without a descriptor must not cost this process its own.
bool keep(Recorder& recorder, const char* name, int fd, Fd& buffer) {
  if (fd > STDERR_FILENO) {
    buffer = Fd(fd);
    return recorder.call_errno(name, 0);
  }
  return recorder.call(name, false, "EBADF", "it answered without a buffer");
}

std::string allowed_users(const struct stat& node) {
  std::string mode(4, '0');
  for (int i = 0; i < 4; ++i) {
    mode[3U - static_cast<unsigned>(i)] = static_cast<char>('0' + ((node.st_mode >> (3 * i)) & 7U));
  }
  const std::string what = "its mode is " + mode + ", its group " + std::to_string(node.st_gid);
  if (node.st_gid != 0 && (node.st_mode & S_IRGRP) != 0) {
    return what + ": whoever runs the probe must be in that group";
  }
  return what + ": a udev rule that gives it to a group, such as video, would open it";
}

}  // namespace

int Fd::close() {
  if (fd_ < 0) return 0;
  return ::close(std::exchange(fd_, -1)) == 0 ? 0 : errno;
}

Node open_node(const std::string& path) {
  Node node;
  struct stat found {};
  int error = ::stat(path.c_str(), &found) != 0 ? errno : 0;
  const auto is_device = [&] { return S_ISCHR(found.st_mode); };
  if (error == 0 && is_device()) {
    // Read access is enough to allocate, and some systems grant only that.
    node.fd = Fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
    error = node.fd ? 0 : errno;
  }
  // What was opened may be another than what was looked at.
  if (node.fd && ::fstat(node.fd.get(), &found) != 0) error = errno;
  if (error == 0 && is_device()) return node;
  node.fd.close();
  if (error == 0) {
    node.state = State::kUnsupported;
    node.reason = path + " is no character device";
    return node;
  }
  node.error = errno_name(error);
  node.reason = path + ": " + std::strerror(error) + " (" + node.error + ")";
  switch (error) {
    case ENOENT:
    case ENOTDIR:
    case ENXIO:
    case ENODEV:
      node.state = State::kUnsupported;
      break;
    case EACCES:
      node.state = State::kDenied;
      node.reason +=
          found.st_mode != 0 ? "; " + allowed_users(found) : "; a folder on the way is closed";
      break;
    case EPERM:
      node.state = State::kDenied;
      node.reason +=
          "; the devices that a service or container may open are limited: allow this one "
          "(DeviceAllow= of its unit)";
      break;
    default:
      node.state = State::kFailed;
  }
  return node;
}

bool allocate_from_heap(Recorder& recorder, int node, std::uint64_t bytes, Fd& buffer) {
  HeapAllocation needed{bytes, 0, O_RDWR | O_CLOEXEC, 0};
  const char* const name = "DMA_HEAP_IOCTL_ALLOC";
  if (const int error = ask(node, kHeapAllocate, &needed)) {
    if (error == ENOTTY) recorder.end_as(State::kUnsupported, "a device that is no DMA heap");
    return recorder.call_errno(name, error);
  }
  return keep(recorder, name, static_cast<int>(needed.fd), buffer);
}

bool allocate_from_udmabuf(Recorder& recorder, int node, std::uint64_t bytes, Fd& buffer) {
  // Some systems refuse files that might be run; older kernels do not know of it.
  Fd file(::memfd_create("jetmem-probe", MFD_CLOEXEC | MFD_ALLOW_SEALING | kNoExecSeal));
  if (!file && errno == EINVAL) {
    file = Fd(::memfd_create("jetmem-probe", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  }
  if (!recorder.call_errno("memfd_create", file ? 0 : errno)) return false;
  const int sized = ::ftruncate(file.get(), static_cast<off_t>(bytes));
  if (!recorder.call_errno("ftruncate", sized != 0 ? errno : 0)) return false;
  const int sealed = ::fcntl(file.get(), F_ADD_SEALS, F_SEAL_SHRINK);
  if (!recorder.call_errno("F_ADD_SEALS", sealed != 0 ? errno : 0)) return false;
  UdmabufCreate needed{static_cast<std::uint32_t>(file.get()), kUdmabufCloseOnExec, 0, bytes};
  const char* const name = "UDMABUF_CREATE";
  int fd = -1;
  if (const int error = ask(node, kUdmabufCreate, &needed, &fd)) {
    if (error == ENOTTY) recorder.end_as(State::kUnsupported, "a device that is not udmabuf");
    const auto limit = number_in("/sys/module/udmabuf/parameters/size_limit_mb");
    if (error == EINVAL && limit.number && bytes > *limit.number << 20) {
      recorder.end_as(State::kUnsupported, "udmabuf makes buffers of at most " +
                                               std::to_string(*limit.number) +
                                               " MiB (its parameter size_limit_mb)");
    }
    return recorder.call_errno(name, error);
  }
  return keep(recorder, name, fd, buffer);
}

MappedDmabuf::~MappedDmabuf() {
  if (memory_ != nullptr) ::munmap(memory_, bytes_);
}

bool MappedDmabuf::allocate(int node, AllocateDmabuf take) {
  recorder_.step(step::kAllocate, 0, [&] { return take(recorder_, node, bytes_, buffer_); });
  return static_cast<bool>(buffer_);
}

void MappedDmabuf::map() {
  recorder_.step(step::kMap, 0, [&] {
    void* const memory =
        ::mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED, buffer_.get(), 0);
    if (memory == MAP_FAILED) return recorder_.call_errno("mmap", errno);
    memory_ = memory;
    return recorder_.call_errno("mmap", 0);
  });
}

template <class Work>
void MappedDmabuf::access(const char* step, std::uint64_t moved, Work&& work) {
  recorder_.step(step, moved, [&] {
    if (!sync(recorder_, buffer_.get(), 0)) return false;
    work();
    return sync(recorder_, buffer_.get(), kSyncEnd);
  });
}

// The pages exist already: there is no bandwidth to measure.
void MappedDmabuf::touch() {
  access(step::kFirstTouch, 0, [&] { touch_pages(memory_, bytes_); });
}

void MappedDmabuf::write(const Pattern& pattern) {
  access(step::kCpuWrite, bytes_, [&] { pattern.write(memory_, bytes_); });
}

void MappedDmabuf::verify(const Pattern& pattern) {
  access(step::kCpuVerify, bytes_,
         [&] { recorder_.mismatches(pattern.count_mismatches(memory_, bytes_)); });
}

void MappedDmabuf::unmap_and_free() {
  if (memory_ != nullptr) {
    recorder_.cleanup(step::kUnmap, [&] {
      void* const memory = std::exchange(memory_, nullptr);
      return recorder_.call_errno("munmap", ::munmap(memory, bytes_) != 0 ? errno : 0);
    });
  }
  recorder_.cleanup(step::kFree, [&] { return recorder_.call_errno("close", buffer_.close()); });
}

}  // namespace jetmem::probe
