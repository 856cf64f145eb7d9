// SPDX-License-Identifier: Apache-2.0
// Stands in for libcuda.so.1: a GPU made of host memory, which the real jetmem-probe finds through
// LD_LIBRARY_PATH. FAKE_CUDA, words separated by commas, says which one and what goes wrong with
// it:
//
//   cuda10.2, cuda11.2, cuda11.4, cuda12.6, cuda13.0
//                        how old the driver is: which attributes and errors it knows. Which
//                        functions it has: test_probe_cuda.py takes them away
//   nano, orin, card     which GPU: its abilities
//   twogpus              a card, and a second GPU that shares the CPU's memory
//   nodevice, unknown, stub                 how cuInit() fails
//   forbidden            closed device nodes behind it; needs this library in LD_PRELOAD
//   closednode           closed device nodes that CUDA does without; likewise
//   contextoom           there is no memory for a context
//   cubin                it is a GPU that the machine code is for
//   nojit, nocompiler, oldptx, badptx, nobinary      its compiler takes no kernels
//   jitoom               its compiler finds no memory
//   nomanaged, nopools   its driver knows no attribute of managed memory; its GPU has no pools
//   oom                  memory is had up to 1 MiB
//   lies                 its kernel forgets the last word
//   sticky               its kernel fails, and so does everything after
//   noprefetch, noregister, notpermitted, noattach   that call answers an error
//   onewayprefetch       ... only when it goes to the CPU
//   nocopyback           copies from the GPU do nothing
//   badcopy              copies from the GPU have one word changed
//   nocopyto             copies to the GPU answer an error
//   noflags              the context takes no flags
//   noevents             no events can be made
//   stickyread           its kernel that reads fails, and so does everything after
//   cached               its cache holds pinned memory, which else takes ten times as long
//   poolkeeps            its pool keeps what was freed until it is trimmed
//   poolleaks            ... and then, too
//
// It holds the probe to the rules that only hardware would: managed memory that is attached to the
// stream kills a CPU that touches it, as does the GPU's own memory; what needs a context fails
// without one. What is against a rule, or not given back at the end, is reported on stderr.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>

#include "probes/program/pattern.h"

namespace {

using jetmem::probe::kModifyFactor;
using jetmem::probe::kModifyTerm;

bool is(const char* word) {
  const char* const text = std::getenv("FAKE_CUDA");
  const std::string words = std::string(",") + (text == nullptr ? "" : text) + ",";
  return words.find(std::string(",") + word + ",") != std::string::npos;
}

// Of two GPUs the first is a card.
bool is_card(int device) { return is("twogpus") ? device == 0 : is("card"); }

int version() {
  if (is("cuda10.2")) return 10020;
  if (is("cuda11.2")) return 11020;
  if (is("cuda11.4")) return 11040;
  if (is("cuda13.0")) return 13000;
  return 12060;
}

void wrong(const char* what) { std::fprintf(stderr, "fake CUDA: %s\n", what); }

// CUresult, each with the version of CUDA that knows its name.
struct Error {
  int number;
  const char* name;
  int since;
};
constexpr Error kErrors[] = {
    {0, "CUDA_SUCCESS", 0},
    {1, "CUDA_ERROR_INVALID_VALUE", 0},
    {2, "CUDA_ERROR_OUT_OF_MEMORY", 0},
    {3, "CUDA_ERROR_NOT_INITIALIZED", 0},
    {34, "CUDA_ERROR_STUB_LIBRARY", 11010},
    {100, "CUDA_ERROR_NO_DEVICE", 0},
    {101, "CUDA_ERROR_INVALID_DEVICE", 0},
    {201, "CUDA_ERROR_INVALID_CONTEXT", 0},
    {209, "CUDA_ERROR_NO_BINARY_FOR_GPU", 0},
    {218, "CUDA_ERROR_INVALID_PTX", 0},
    {221, "CUDA_ERROR_JIT_COMPILER_NOT_FOUND", 0},
    {222, "CUDA_ERROR_UNSUPPORTED_PTX_VERSION", 11010},
    {223, "CUDA_ERROR_JIT_COMPILATION_DISABLED", 11020},
    {400, "CUDA_ERROR_INVALID_HANDLE", 0},
    {500, "CUDA_ERROR_NOT_FOUND", 0},
    {700, "CUDA_ERROR_ILLEGAL_ADDRESS", 0},
    {800, "CUDA_ERROR_NOT_PERMITTED", 0},
    {801, "CUDA_ERROR_NOT_SUPPORTED", 0},
    {999, "CUDA_ERROR_UNKNOWN", 0},
};
const Error* known(int number) {
  for (const Error& error : kErrors) {
    if (error.number == number && error.since <= version()) return &error;
  }
  return nullptr;
}

constexpr int kInvalidValue = 1;
constexpr int kOutOfMemory = 2;
constexpr int kIllegalAddress = 700;

enum class Kind { kDevice, kManaged, kPinned, kRegistered, kPool };
struct Memory {
  std::size_t bytes;
  Kind kind;
  bool for_cpu;
};

constexpr std::uint64_t kGranule = 32U << 20;

struct State {
  std::map<char*, Memory> memory;
  std::string entries;  // of the module that was loaded
  int sticky = 0;
  unsigned flags = 0;
  bool initialized = false;
  bool context = false;  // there is one, of:
  int device = -1;
  bool current = false;
  bool busy = false;        // launched, not waited for
  double milliseconds = 0;  // of the last kernel that only reads
  std::uint64_t pool_used = 0;
  std::uint64_t pool_reserved = 0;
  int events = 0;

  ~State() {
    if (!memory.empty()) wrong("memory was not given back");
    if (events != 0) wrong("events were not destroyed");
  }
};
State state;

// Of a call that needs the context: what is left of an earlier error comes first.
int answer(int error) {
  if (!state.initialized) return 3;
  if (!state.current) return 201;
  return state.sticky != 0 ? state.sticky : error;
}
#define NEEDS_CONTEXT()                    \
  do {                                     \
    if (const int e = answer(0)) return e; \
  } while (false)

void* map(std::size_t bytes) {
  return ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}
void open_memory(char* at, Memory& memory, bool for_cpu) {
  memory.for_cpu = for_cpu;
  ::mprotect(at, memory.bytes, for_cpu ? PROT_READ | PROT_WRITE : PROT_NONE);
}

// `out`: a pointer or an address.
template <class Out>
int take(Out* out, std::size_t bytes, Kind kind, bool for_cpu) {
  NEEDS_CONTEXT();
  if (bytes == 0) return kInvalidValue;
  if (is("oom") && bytes > (1U << 20)) return kOutOfMemory;
  void* const at = map(bytes);
  if (at == MAP_FAILED) return kOutOfMemory;
  Memory& memory = state.memory[static_cast<char*>(at)] = {bytes, kind, for_cpu};
  open_memory(static_cast<char*>(at), memory, for_cpu);
  std::memcpy(out, &at, sizeof at);
  static_assert(sizeof *out == sizeof at);
  return 0;
}

char* pointer(std::uint64_t address) {
  return reinterpret_cast<char*>(static_cast<std::uintptr_t>(address));
}
std::uint64_t address_of(const void* memory) { return reinterpret_cast<std::uintptr_t>(memory); }

int give_back(void* memory, bool in_order = false) {
  const auto found = state.memory.find(static_cast<char*>(memory));
  if (found == state.memory.end()) return answer(kInvalidValue);
  if (state.busy && !in_order && state.sticky == 0) wrong("freed while the GPU works");
  ::munmap(memory, found->second.bytes);
  state.memory.erase(found);
  return answer(0);
}

// The memory that holds these bytes; nullptr: host memory that CUDA does not know.
std::pair<char* const, Memory>* holder(const void* address, std::uint64_t bytes = 1) {
  const auto* at = static_cast<const char*>(address);
  for (auto& one : state.memory) {
    if (at >= one.first && at + bytes <= one.first + one.second.bytes) return &one;
  }
  return nullptr;
}

// Opens the memory as the GPU sees it, for as long as this lives.
class AsGpu {
 public:
  AsGpu(const void* address, std::uint64_t bytes) : memory_(holder(address, bytes)) {
    if (memory_ == nullptr) return;
    was_for_cpu_ = memory_->second.for_cpu;
    open_memory(memory_->first, memory_->second, true);
  }
  ~AsGpu() {
    if (memory_ != nullptr) open_memory(memory_->first, memory_->second, was_for_cpu_);
  }
  AsGpu(const AsGpu&) = delete;
  AsGpu& operator=(const AsGpu&) = delete;
  bool known() const { return memory_ != nullptr; }
  bool reachable() const {
    return known() &&
           (memory_->second.kind != Kind::kManaged || is_card(state.device) || !was_for_cpu_);
  }

 private:
  std::pair<char* const, Memory>* memory_;
  bool was_for_cpu_ = true;
};

bool pool_keeps() { return is("poolkeeps") || is("poolleaks"); }
// To what is used, in whole granules.
void trim() { state.pool_reserved = (state.pool_used + kGranule - 1) / kGranule * kGranule; }

int synchronize() {
  NEEDS_CONTEXT();
  state.busy = false;
  if (!pool_keeps()) trim();
  return 0;
}

// Not one by the other: a test may take one away.
int set_flags(int device, unsigned flags) {
  if (!state.initialized) return 3;
  if (state.context && state.device == device) wrong("flags after the context was made");
  // How to wait, and 16, CU_CTX_LMEM_RESIZE_TO_MAX: others are refused, as drivers do.
  if (is("noflags") || (flags & ~0x17U) != 0) return kInvalidValue;
  state.flags = flags;
  return 0;
}

const char kModify[] = "jetmem_modify";
const char kRead[] = "jetmem_read";

int modify(std::uint64_t address, std::uint64_t count) {
  if (count == 0) return 0;
  const AsGpu memory(pointer(address), count * 8);
  if (is("sticky") || !memory.reachable()) {
    state.sticky = kIllegalAddress;
    return 0;  // the next call reports it
  }
  auto* const words = reinterpret_cast<std::uint64_t*>(pointer(address));
  const std::uint64_t changed = is("lies") ? count - 1 : count;
  for (std::uint64_t i = 0; i < changed; ++i) words[i] = words[i] * kModifyFactor + kModifyTerm;
  return 0;
}

int read(std::uint64_t address, std::uint64_t count, unsigned passes, std::uint64_t sum) {
  auto* const found = holder(pointer(address), count * 8);
  const AsGpu memory(pointer(address), count * 8);
  const AsGpu result(pointer(sum), 8);
  if (!memory.reachable() || !result.known() || is("stickyread")) {
    state.sticky = kIllegalAddress;
    return 0;  // the next call reports it
  }
  const bool slow = found->second.kind == Kind::kPinned && !is("cached");
  state.milliseconds = passes * (slow ? 0.01 : 0.001);
  const auto* const words = reinterpret_cast<const std::uint64_t*>(pointer(address));
  auto& total = *reinterpret_cast<std::uint64_t*>(pointer(sum));
  for (unsigned pass = 0; pass < passes; ++pass) {
    for (std::uint64_t i = 0; i < count; ++i) total += words[i] ^ pass;
  }
  return 0;
}

template <class T>
T argument(void** arguments, int which) {
  T value;
  std::memcpy(&value, arguments[which], sizeof value);
  return value;
}

}  // namespace

// In the C library's place, where this library is preloaded.
extern "C" int open(const char* path, int flags, ...) {
  std::va_list arguments;
  va_start(arguments, flags);
  const int mode = (flags & O_CREAT) != 0 ? va_arg(arguments, int) : 0;
  va_end(arguments);
  if ((is("forbidden") || is("closednode")) && std::strcmp(path, "/dev/nvmap") == 0) {
    errno = EACCES;
    return -1;
  }
  return static_cast<int>(::syscall(SYS_openat, AT_FDCWD, path, flags, mode));
}

extern "C" {

int cuGetErrorName(int error, const char** name) {
  const Error* const found = known(error);
  *name = found == nullptr ? nullptr : found->name;
  return found == nullptr ? kInvalidValue : 0;
}
int cuGetErrorString(int error, const char** text) {
  *text = known(error) == nullptr ? nullptr : "words";
  return *text == nullptr ? kInvalidValue : 0;
}

int cuInit(unsigned flags) {
  if (flags != 0) return kInvalidValue;
  if (is("nodevice")) return 100;
  if (is("stub")) return 34;
  if (is("unknown") || is("forbidden")) return 999;
  state.initialized = true;
  return 0;
}
int cuDriverGetVersion(int* out) {
  *out = version();
  return 0;
}
int cuDeviceGetCount(int* count) {
  *count = is("sixgpus") ? 6 : is("twogpus") ? 2 : 1;
  return state.initialized ? 0 : 3;
}
int cuDeviceGet(int* device, int ordinal) {
  if (!state.initialized) return 3;
  *device = ordinal;
  return ordinal == 0 || (ordinal == 1 && is("twogpus")) || is("sixgpus") ? 0 : 101;
}
int cuDeviceGetName(char* name, int size, int device) {
  std::snprintf(name, static_cast<std::size_t>(size), device == 0 ? "Stand-in" : "Second");
  return 0;
}
int cuDeviceGetAttribute(int* value, int attribute, int device) {
  if (!state.initialized) return 3;
  if (device != 0 && !is("twogpus")) return 101;
  const int card = is_card(device) ? 1 : 0;
  const bool nano = is("nano");
  // Each with the version of CUDA that knows it.
  const struct {
    int number, value, since;
  } attributes[] = {{18, 1 - card, 0},
                    {19, 1, 0},
                    {38, 512 << 10, 0},
                    {75,
                     card == 1 ? 9
                     : nano    ? 5
                               : 8,
                     0},
                    {76,
                     card == 1 ? 0
                     : nano    ? 3
                               : 7,
                     0},
                    {83, 1, is("nomanaged") ? INT_MAX : 0},
                    {88, 0, 0},
                    {89, card, 0},
                    {91, nano ? 0 : 1, 0},
                    {99, nano ? 0 : 1, 0},
                    {100, 0, 0},
                    {113, 0, 11010},
                    {115, is("nopools") ? 0 : 1, 11020},
                    {124, 1, 11070}};
  for (const auto& one : attributes) {
    if (one.number != attribute) continue;
    *value = one.value;
    return version() >= one.since ? 0 : kInvalidValue;
  }
  wrong("an attribute that nobody knows");
  return kInvalidValue;
}

int cuDevicePrimaryCtxSetFlags(int device, unsigned flags) { return set_flags(device, flags); }
int cuDevicePrimaryCtxSetFlags_v2(int device, unsigned flags) { return set_flags(device, flags); }
int cuDevicePrimaryCtxRetain(void** context, int device) {
  if (!state.initialized) return 3;
  if (is("contextoom")) return 2;
  if ((state.flags & 4) == 0 && !is("noflags")) wrong("a context that spins");
  state.context = true;
  state.device = device;
  *context = &state;
  return 0;
}
int cuCtxSetCurrent(void* context) {
  state.current = context == &state;
  return state.current ? 0 : 201;
}
int cuCtxGetDevice(int* device) {
  *device = state.device;
  return answer(0);
}
int cuCtxSynchronize() { return synchronize(); }
int cuMemGetInfo_v2(std::size_t* free, std::size_t* total) {
  *free = 20U << 20;
  *total = 64U << 20;
  return answer(0);
}

int cuModuleLoadDataEx(void** module, const void* image, unsigned count, int* options,
                       void** values) {
  NEEDS_CONTEXT();
  const auto log = [&](const char* words) {
    char* buffer = nullptr;
    std::size_t size = 0;
    for (unsigned i = 0; i < count; ++i) {
      if (options[i] == 5) buffer = static_cast<char*>(values[i]);
      if (options[i] == 6) size = reinterpret_cast<std::size_t>(values[i]);
    }
    if (buffer != nullptr) std::snprintf(buffer, size, "%s", words);
  };
  static const unsigned char kFatbin[] = {0x50, 0xed, 0x55, 0xba};
  if (std::memcmp(image, kFatbin, sizeof kFatbin) == 0) {
    if (!is("cubin")) return 209;
    state.entries = ".entry jetmem_modify( .entry jetmem_read(";
    *module = &state;
    return answer(0);
  }
  // As the driver does it; the unit must not pass this on.
  const char* const disabled = std::getenv("CUDA_DISABLE_PTX_JIT");
  if (is("nojit") || (disabled != nullptr && std::strcmp(disabled, "1") == 0)) return 223;
  if (is("nocompiler")) return 221;
  if (is("oldptx")) return 222;
  if (is("nobinary")) return 209;
  if (is("jitoom")) return kOutOfMemory;
  if (is("badptx")) {
    log("ptxas application ptx input, line 1; fatal   : made up\nmore");
    return 218;
  }
  const std::string text = static_cast<const char*>(image);
  // A driver of CUDA 9 knows no later text, and Maxwell's integrated GPU no later target.
  if (text.find("\n.version 6.0\n") == text.npos) return 222;
  if (text.find("\n.target sm_53\n") == text.npos) return 209;
  // What a compiler needs: for a moment, and for good.
  constexpr std::size_t kBriefly = 16U << 20;
  constexpr std::size_t kForGood = 2U << 20;
  void* const briefly = map(kBriefly);
  static void* const for_good = map(kForGood);
  std::memset(briefly, 1, kBriefly);
  std::memset(for_good, 1, kForGood);
  ::usleep(20'000);
  ::munmap(briefly, kBriefly);
  state.entries = text;
  *module = &state;
  return 0;
}
int cuModuleGetFunction(void** function, void* module, const char* name) {
  NEEDS_CONTEXT();
  if (module != &state) return 400;
  if (state.entries.find(std::string(".entry ") + name + "(") == std::string::npos) return 500;
  if (std::strcmp(name, kModify) != 0 && std::strcmp(name, kRead) != 0) return 500;
  *function = const_cast<char*>(std::strcmp(name, kModify) == 0 ? kModify : kRead);
  return 0;
}

int cuLaunchKernel(void* function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                   unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared,
                   void* stream, void** arguments, void** extra) {
  NEEDS_CONTEXT();
  if (function != kModify && function != kRead) return 400;
  if (grid_x == 0 || grid_y != 1 || grid_z != 1 || block_x != 256 || block_y != 1 || block_z != 1 ||
      shared != 0 || extra != nullptr || stream == nullptr) {
    wrong("a launch that the kernels are not made for");
    return kInvalidValue;
  }
  state.busy = true;
  const auto address = argument<std::uint64_t>(arguments, 0);
  const auto count = argument<std::uint64_t>(arguments, 1);
  if (function == kModify) return modify(address, count);
  return read(address, count, argument<unsigned>(arguments, 2),
              argument<std::uint64_t>(arguments, 3));
}

int cuStreamCreate(void** stream, unsigned flags) {
  if (flags != 1) wrong("a stream that waits for the default one");
  *stream = &state;
  return answer(0);
}
int cuStreamSynchronize(void* stream) {
  if (stream == nullptr) wrong("waits for the default stream");
  return synchronize();
}
int cuEventCreate(void** event, unsigned flags) {
  NEEDS_CONTEXT();
  if ((flags & 1) == 0) wrong("an event that spins");
  if (is("noevents")) return kOutOfMemory;
  ++state.events;
  *event = &state.events;
  return 0;
}
int cuEventDestroy_v2(void*) {
  --state.events;
  return answer(0);
}
int cuEventRecord(void*, void*) { return answer(0); }
int cuEventSynchronize(void*) { return synchronize(); }
int cuEventElapsedTime(float* milliseconds, void*, void*) {
  *milliseconds = static_cast<float>(state.milliseconds);
  return answer(0);
}

int cuMemAlloc_v2(std::uint64_t* address, std::size_t bytes) {
  return take(address, bytes, Kind::kDevice, false);
}
int cuMemFree_v2(std::uint64_t address) { return address == 0 ? 0 : give_back(pointer(address)); }
int cuMemAllocManaged(std::uint64_t* address, std::size_t bytes, unsigned flags) {
  constexpr unsigned kHost = 2;
  if (!is_card(state.device) && flags != kHost) wrong("managed memory that starts as the GPU's");
  return take(address, bytes, Kind::kManaged, true);
}
int cuMemHostAlloc(void** memory, std::size_t bytes, unsigned flags) {
  if ((flags & 2) == 0) wrong("pinned memory that the GPU does not reach");
  return take(memory, bytes, Kind::kPinned, true);
}
int cuMemFreeHost(void* memory) { return give_back(memory); }
int cuMemHostGetDevicePointer_v2(std::uint64_t* address, void* host, unsigned) {
  *address = address_of(host);
  return answer(holder(host) == nullptr ? kInvalidValue : 0);
}
int cuMemHostRegister_v2(void* memory, std::size_t bytes, unsigned flags) {
  NEEDS_CONTEXT();
  if (flags != 2) return kInvalidValue;
  if (is("noregister")) return 801;
  if (is("notpermitted")) return 800;
  state.memory[static_cast<char*>(memory)] = {bytes, Kind::kRegistered, true};
  return 0;
}
int cuMemHostUnregister(void* memory) {
  return answer(state.memory.erase(static_cast<char*>(memory)) == 1 ? 0 : kInvalidValue);
}

int cuMemcpyHtoDAsync_v2(std::uint64_t to, const void* from, std::size_t bytes, void*) {
  NEEDS_CONTEXT();
  if (is("nocopyto")) return kInvalidValue;
  const AsGpu there(pointer(to), bytes);
  const AsGpu here(from, bytes);
  if (!there.known()) return kInvalidValue;
  std::memcpy(pointer(to), from, bytes);
  state.busy = true;
  return 0;
}
int cuMemcpyDtoHAsync_v2(void* to, std::uint64_t from, std::size_t bytes, void*) {
  NEEDS_CONTEXT();
  if (is("nocopyback")) return 0;
  const AsGpu there(to, bytes);
  const AsGpu here(pointer(from), bytes);
  if (!here.known()) return kInvalidValue;
  std::memcpy(to, pointer(from), bytes);
  if (is("badcopy")) static_cast<char*>(to)[bytes - 1] ^= 1;
  state.busy = true;
  return 0;
}
int cuMemcpy2DAsync_v2(const void*, void*) { return answer(801); }
int cuMemsetD8Async(std::uint64_t address, unsigned char value, std::size_t bytes, void*) {
  NEEDS_CONTEXT();
  const AsGpu there(pointer(address), bytes);
  if (!there.known()) return kInvalidValue;
  std::memset(pointer(address), value, bytes);
  state.busy = true;
  return 0;
}
int cuStreamAttachMemAsync(void* stream, std::uint64_t address, std::size_t bytes, unsigned flags) {
  NEEDS_CONTEXT();
  if (is("noattach")) return 801;
  auto* const found = holder(pointer(address));
  if (stream == nullptr || found == nullptr || bytes != 0) return kInvalidValue;
  if (state.busy) wrong("attached while the GPU works");
  constexpr unsigned kHost = 2;
  open_memory(found->first, found->second, flags == kHost);
  return 0;
}
int cuMemPrefetchAsync(std::uint64_t address, std::size_t bytes, int device, void*) {
  if (!is_card(state.device) || is("noprefetch")) return answer(101);
  if (device != state.device && device != -1) return answer(101);
  if (is("onewayprefetch") && device == -1) return answer(801);
  return answer(holder(pointer(address), bytes) == nullptr ? kInvalidValue : 0);
}

int cuDeviceGetDefaultMemPool(void** pool, int) {
  *pool = &state.pool_used;
  return answer(is("nopools") ? 801 : 0);
}
int cuMemAllocFromPoolAsync(std::uint64_t* address, std::size_t bytes, void* pool, void* stream) {
  if (pool != &state.pool_used || stream == nullptr) return answer(kInvalidValue);
  if (const int error = take(address, bytes, Kind::kPool, false)) return error;
  state.busy = true;
  state.pool_used += bytes;
  if (state.pool_reserved < state.pool_used) trim();
  return 0;
}
int cuMemFreeAsync(std::uint64_t address, void*) {
  const auto found = state.memory.find(pointer(address));
  if (found == state.memory.end() || found->second.kind != Kind::kPool) return kInvalidValue;
  state.pool_used -= found->second.bytes;
  const int error = give_back(pointer(address), true);
  state.busy = true;
  return error;
}
int cuMemPoolGetAttribute(void* pool, int attribute, void* value) {
  NEEDS_CONTEXT();
  if (attribute != 4 && attribute != 5 && attribute != 7) return kInvalidValue;
  if (pool != &state.pool_used || (attribute > 4 && version() < 11030)) return kInvalidValue;
  const std::uint64_t threshold = pool_keeps() ? UINT64_MAX : 0;
  const std::uint64_t out = attribute == 4   ? threshold
                            : attribute == 5 ? state.pool_reserved
                                             : state.pool_used;
  std::memcpy(value, &out, sizeof out);
  return 0;
}
int cuMemPoolTrimTo(void* pool, std::size_t keep) {
  NEEDS_CONTEXT();
  if (pool != &state.pool_used || keep != 0) return kInvalidValue;
  if (state.busy) wrong("trimmed while the GPU works");
  if (!is("poolleaks")) trim();
  return 0;
}

}  // extern "C"
