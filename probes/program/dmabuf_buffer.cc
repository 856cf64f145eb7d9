#include "probes/program/dmabuf_buffer.h"

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
  BufferSync wanted{kSyncRead | kSyncWrite | end};
  return recorder.call_errno("DMA_BUF_IOCTL_SYNC", ask(buffer, kBufferSync, &wanted));
}

// A driver that answers yes without a descriptor must not cost this process its own.
bool keep(Recorder& recorder, const char* name, int fd, Fd& buffer) {
  if (fd > STDERR_FILENO) {
    buffer = Fd(fd);
    return recorder.call_errno(name, 0);
  }
  return recorder.call(name, false, "EBADF", "it answered without a buffer");
}

std::string who_may(const struct stat& node) {
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
    // To allocate, reading is right enough, and some systems grant no more.
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
      node.reason += found.st_mode != 0 ? "; " + who_may(found) : "; a folder on the way is closed";
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

bool allocate_from_heap(Recorder& recorder, int heap, std::uint64_t bytes, Fd& buffer) {
  HeapAllocation wanted{bytes, 0, O_RDWR | O_CLOEXEC, 0};
  const char* const name = "DMA_HEAP_IOCTL_ALLOC";
  if (const int error = ask(heap, kHeapAllocate, &wanted)) {
    if (error == ENOTTY) recorder.end_as(State::kUnsupported, "a device that is no DMA heap");
    return recorder.call_errno(name, error);
  }
  return keep(recorder, name, static_cast<int>(wanted.fd), buffer);
}

bool allocate_from_udmabuf(Recorder& recorder, int device, std::uint64_t bytes, Fd& buffer) {
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
  UdmabufCreate wanted{static_cast<std::uint32_t>(file.get()), kUdmabufCloseOnExec, 0, bytes};
  const char* const name = "UDMABUF_CREATE";
  int fd = -1;
  if (const int error = ask(device, kUdmabufCreate, &wanted, &fd)) {
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

bool begin_access(Recorder& recorder, int buffer) { return sync(recorder, buffer, 0); }

bool end_access(Recorder& recorder, int buffer) { return sync(recorder, buffer, kSyncEnd); }

}  // namespace jetmem::probe
