// SPDX-License-Identifier: Apache-2.0
// A GPU made of host memory. FAKE_CUDA, words separated by commas, says which one and what goes
// wrong with it:
//
//   nano, orin, card     which GPU: its abilities
//   nodevice, olddriver, nokernel, stub     how it is not there
//   forbidden            olddriver's error of a driver that is new enough, behind closed device
//   nomanaged            its driver knows no attribute of managed memory
//   oom                  cudaHostAlloc and cudaMalloc give at most 1 MiB
//   lies                 its kernel forgets the last word
//   sticky               its kernel fails, and so does everything after
//   noprefetch, noregister, noattach        that call answers an error
//   nocopyback           copies from the GPU do nothing
//   badcopy              copies from the GPU have one word changed
//   nocopyto             copies to the GPU answer an error
//   noevents             no events can be made
//   stickyread           its kernel that reads fails, and so does everything after
//   cached               its cache holds pinned memory, which else takes ten times as long
//
// It holds the probe to the rules that only hardware would: managed memory that is attached to the
// stream kills a CPU that touches it, as does the GPU's own memory. What is against a rule, or not
// given back at the end, is reported on stderr.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>

#include "cuda_runtime_api.h"
#include "probes/program/cuda/kernels.h"

namespace {

bool is(const char* word) {
  const char* const text = std::getenv("FAKE_CUDA");
  const std::string words = std::string(",") + (text == nullptr ? "" : text) + ",";
  return words.find(std::string(",") + word + ",") != std::string::npos;
}

void wrong(const char* what) { std::fprintf(stderr, "fake CUDA: %s\n", what); }

enum class Kind { kDevice, kManaged, kPinned, kRegistered };
struct Memory {
  std::size_t bytes;
  Kind kind;
  bool for_cpu;
};

struct State {
  std::map<char*, Memory> memory;
  cudaError_t last = cudaSuccess;
  cudaError_t sticky = cudaSuccess;
  unsigned flags = 0;
  bool context = false;
  bool busy = false;        // launched, not waited for
  double milliseconds = 0;  // of the last kernel that only reads

  ~State() {
    if (!memory.empty()) wrong("memory was not given back");
  }
};
State state;

cudaError_t answer(cudaError_t error) {
  if (state.sticky != cudaSuccess) return state.sticky;
  if (error != cudaSuccess) state.last = error;
  return error;
}

void open(char* at, Memory& memory, bool for_cpu) {
  memory.for_cpu = for_cpu;
  ::mprotect(at, memory.bytes, for_cpu ? PROT_READ | PROT_WRITE : PROT_NONE);
}

cudaError_t take(void** out, std::size_t bytes, Kind kind, bool for_cpu) {
  if (is("oom") && bytes > (1U << 20)) return answer(cudaErrorMemoryAllocation);
  if (state.sticky != cudaSuccess) return state.sticky;
  auto* at = static_cast<char*>(
      ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  Memory& memory = state.memory[at] = {bytes, kind, for_cpu};
  open(at, memory, for_cpu);
  *out = at;
  return cudaSuccess;
}

cudaError_t release_buffer(void* memory) {
  const auto found = state.memory.find(static_cast<char*>(memory));
  if (found == state.memory.end()) return answer(cudaErrorInvalidValue);
  if (state.busy && state.sticky == cudaSuccess) wrong("freed while the GPU works");
  ::munmap(memory, found->second.bytes);
  state.memory.erase(found);
  return answer(cudaSuccess);
}

// The memory that holds this address; nullptr: host memory that CUDA does not know.
std::pair<char* const, Memory>* holder(const void* address) {
  const auto* at = static_cast<const char*>(address);
  for (auto& one : state.memory) {
    if (at >= one.first && at < one.first + one.second.bytes) return &one;
  }
  return nullptr;
}

// Opens the memory as the GPU sees it, for as long as this lives.
class AsGpu {
 public:
  explicit AsGpu(const void* address) : memory_(holder(address)) {
    if (memory_ == nullptr) return;
    was_for_cpu_ = memory_->second.for_cpu;
    open(memory_->first, memory_->second, true);
  }
  ~AsGpu() {
    if (memory_ != nullptr) open(memory_->first, memory_->second, was_for_cpu_);
  }
  bool known() const { return memory_ != nullptr; }
  bool reachable() const {
    return known() && (memory_->second.kind != Kind::kManaged || is("card") || !was_for_cpu_);
  }

 private:
  std::pair<char* const, Memory>* memory_;
  bool was_for_cpu_ = true;
};

}  // namespace

// In the C library's place.
extern "C" int open(const char* path, int flags, ...) {
  std::va_list arguments;
  va_start(arguments, flags);
  const int mode = (flags & O_CREAT) != 0 ? va_arg(arguments, int) : 0;
  va_end(arguments);
  if (is("forbidden") && std::strcmp(path, "/dev/nvmap") == 0) {
    errno = EACCES;
    return -1;
  }
  return static_cast<int>(::syscall(SYS_openat, AT_FDCWD, path, flags, mode));
}

#define NAMES(_)                     \
  _(cudaSuccess)                     \
  _(cudaErrorInvalidValue)           \
  _(cudaErrorMemoryAllocation)       \
  _(cudaErrorInsufficientDriver)     \
  _(cudaErrorNoDevice)               \
  _(cudaErrorInvalidDevice)          \
  _(cudaErrorNoKernelImageForDevice) \
  _(cudaErrorIllegalAddress)         \
  _(cudaErrorNotSupported)

const char* cudaGetErrorName(cudaError_t error) {
#define NAME(name) \
  if (error == (name)) return #name;
  NAMES(NAME)
  return "cudaErrorUnknown";
}
const char* cudaGetErrorString(cudaError_t error) { return error == cudaSuccess ? "" : "words"; }

cudaError_t cudaGetLastError() {
  const cudaError_t last = state.last;
  state.last = cudaSuccess;
  return state.sticky != cudaSuccess ? state.sticky : last;
}
cudaError_t cudaDriverGetVersion(int* version) {
  *version = 12060;
  if (is("forbidden")) *version = CUDART_VERSION;
  if (is("olddriver")) *version = CUDART_VERSION - 1000;
  return cudaSuccess;
}
cudaError_t cudaGetDeviceCount(int* count) {
  *count = 1;
  if (is("nodevice")) return answer(cudaErrorNoDevice);
  if (is("olddriver") || is("forbidden")) return answer(cudaErrorInsufficientDriver);
  if (is("stub")) return answer(static_cast<cudaError_t>(34));
  return cudaSuccess;
}
cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int) {
  const bool card = is("card");
  const bool nano = is("nano");
  switch (static_cast<int>(attribute)) {
    case 18:
      *value = card ? 0 : 1;
      break;
    case 75:
      *value = card ? 9 : nano ? 5 : 8;
      break;
    case 76:
      *value = card ? 0 : nano ? 3 : 7;
      break;
    case 38:
      *value = 512 << 10;
      break;
    case 83:
      if (is("nomanaged")) return answer(cudaErrorInvalidValue);
      *value = 1;
      break;
    case 19:
      *value = 1;
      break;
    case 89:
      *value = card ? 1 : 0;
      break;
    case 91:
    case 99:
      *value = nano ? 0 : 1;
      break;
    case 113:  // of which an old driver knows nothing
      if (nano) return answer(cudaErrorInvalidValue);
      *value = 0;
      break;
    default:
      *value = 0;
  }
  return cudaSuccess;
}
cudaError_t cudaSetDeviceFlags(unsigned flags) {
  state.flags = flags;
  if (state.context) wrong("flags after the context was made");
  return cudaSuccess;
}
cudaError_t cudaDeviceSynchronize() {
  state.busy = false;
  return answer(cudaSuccess);
}
cudaError_t cudaMemGetInfo(std::size_t* free, std::size_t* total) {
  *free = 20U << 20;
  *total = 64U << 20;
  return answer(cudaSuccess);
}
cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned) {
  *stream = reinterpret_cast<cudaStream_t>(&state);
  return answer(cudaSuccess);
}
cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  if (stream == nullptr) wrong("waits for the default stream");
  return cudaDeviceSynchronize();
}
cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned flags) {
  if ((flags & cudaEventBlockingSync) == 0) wrong("an event that spins");
  if (is("noevents")) return answer(cudaErrorMemoryAllocation);
  *event = reinterpret_cast<cudaEvent_t>(&state);
  return answer(cudaSuccess);
}
cudaError_t cudaEventDestroy(cudaEvent_t) { return answer(cudaSuccess); }
cudaError_t cudaEventRecord(cudaEvent_t, cudaStream_t) { return answer(cudaSuccess); }
cudaError_t cudaEventSynchronize(cudaEvent_t) { return cudaDeviceSynchronize(); }
cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t, cudaEvent_t) {
  *milliseconds = static_cast<float>(state.milliseconds);
  return answer(cudaSuccess);
}

cudaError_t cudaMalloc(void** memory, std::size_t bytes) {
  return take(memory, bytes, Kind::kDevice, false);
}
cudaError_t cudaMallocManaged(void** memory, std::size_t bytes, unsigned flags) {
  if (!is("card") && flags != cudaMemAttachHost) wrong("managed memory that starts as the GPU's");
  return take(memory, bytes, Kind::kManaged, true);
}
cudaError_t cudaFree(void* memory) {
  if (memory != nullptr) return release_buffer(memory);
  if ((state.flags & cudaDeviceScheduleBlockingSync) == 0) wrong("a context that spins");
  state.context = true;
  return answer(cudaSuccess);
}
cudaError_t cudaHostAlloc(void** memory, std::size_t bytes, unsigned) {
  return take(memory, bytes, Kind::kPinned, true);
}
cudaError_t cudaFreeHost(void* memory) {
  return memory == nullptr ? cudaSuccess : release_buffer(memory);
}
cudaError_t cudaHostGetDevicePointer(void** device, void* host, unsigned) {
  *device = host;
  return answer(holder(host) == nullptr ? cudaErrorInvalidValue : cudaSuccess);
}
cudaError_t cudaHostRegister(void* memory, std::size_t bytes, unsigned) {
  if (is("noregister")) return answer(cudaErrorNotSupported);
  state.memory[static_cast<char*>(memory)] = {bytes, Kind::kRegistered, true};
  return answer(cudaSuccess);
}
cudaError_t cudaHostUnregister(void* memory) {
  state.memory.erase(static_cast<char*>(memory));
  return answer(cudaSuccess);
}
cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind way,
                            cudaStream_t) {
  if (state.sticky != cudaSuccess) return state.sticky;
  if (is("nocopyback") && way == cudaMemcpyDeviceToHost) return cudaSuccess;
  if (is("nocopyto") && way == cudaMemcpyHostToDevice) return answer(cudaErrorInvalidValue);
  const AsGpu there(to);
  const AsGpu here(from);
  std::memcpy(to, from, bytes);
  if (is("badcopy") && way == cudaMemcpyDeviceToHost) static_cast<char*>(to)[bytes - 1] ^= 1;
  state.busy = true;
  return cudaSuccess;
}
cudaError_t cudaMemsetAsync(void* memory, int value, std::size_t bytes, cudaStream_t) {
  if (state.sticky != cudaSuccess) return state.sticky;
  const AsGpu there(memory);
  std::memset(memory, value, bytes);
  state.busy = true;
  return cudaSuccess;
}
cudaError_t cudaStreamAttachMemAsync(cudaStream_t stream, void* memory, std::size_t bytes,
                                     unsigned flags) {
  if (is("noattach")) return answer(cudaErrorNotSupported);
  auto* const found = holder(memory);
  if (stream == nullptr || found == nullptr || bytes != 0) return answer(cudaErrorInvalidValue);
  if (state.busy) wrong("attached while the GPU works");
  open(found->first, found->second, flags == cudaMemAttachHost);
  return answer(cudaSuccess);
}

namespace {
cudaError_t prefetch() {
  if (!is("card") || is("noprefetch")) return answer(cudaErrorInvalidDevice);
  return answer(cudaSuccess);
}
}  // namespace
#if CUDART_VERSION >= 13000
cudaError_t cudaMemPrefetchAsync(const void*, std::size_t, cudaMemLocation, unsigned,
                                 cudaStream_t) {
  return prefetch();
}
#else
cudaError_t cudaMemPrefetchAsync(const void*, std::size_t, int, cudaStream_t) { return prefetch(); }
#endif

namespace jetmem::probe {

cudaError_t load_kernels() {
  return is("nokernel") ? answer(cudaErrorNoKernelImageForDevice) : answer(cudaSuccess);
}

cudaError_t launch_modify(std::uint64_t* words, std::uint64_t count, cudaStream_t) {
  if (state.sticky != cudaSuccess) return state.sticky;
  state.busy = true;
  if (count == 0) return cudaSuccess;
  const AsGpu memory(words);
  if (is("sticky") || !memory.reachable()) {
    state.sticky = cudaErrorIllegalAddress;
    return cudaSuccess;  // the next call reports it
  }
  for (std::uint64_t i = 0; i + (is("lies") ? 1 : 0) < count; ++i) {
    words[i] = words[i] * kKernelFactor + kKernelTerm;
  }
  return cudaSuccess;
}

cudaError_t launch_read(const std::uint64_t* words, std::uint64_t, unsigned passes,
                        std::uint64_t* sum, cudaStream_t) {
  const bool slow = holder(words)->second.kind == Kind::kPinned && !is("cached");
  state.milliseconds = passes * (slow ? 0.01 : 0.001);
  if (!AsGpu(words).known() || !AsGpu(sum).known()) return answer(cudaErrorInvalidValue);
  state.busy = true;
  if (is("stickyread")) state.sticky = cudaErrorIllegalAddress;
  return cudaSuccess;  // the next call reports it
}

}  // namespace jetmem::probe
