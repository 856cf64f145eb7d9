// SPDX-License-Identifier: Apache-2.0
#include "probes/program/cuda/kernels.h"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <optional>

#include "probes/program/cuda/session.h"
#include "probes/program/pattern.h"
#include "probes/program/process_limits.h"
#include "probes/program/small_file.h"

namespace jetmem::probe {
namespace {

static_assert(kModifyFactor == 6364136223846793005ULL && kModifyTerm == 1442695040888963407ULL,
              "the CPU looks for what kernels.cu makes");

constexpr unsigned kThreads = 256;  // as the shared memory in kernels.cu has room for
// Enough to keep the largest GPU's memory busy; the rest is done by the loop in the kernel.
constexpr std::uint64_t kMostBlocks = 1024;

driver::Function modify = nullptr;
driver::Function read = nullptr;

driver::Result launch(driver::Function function, std::uint64_t count, void** arguments) {
  const std::uint64_t blocks = (count + kThreads - 1) / kThreads;
  const auto grid =
      static_cast<unsigned>(std::min(std::max(blocks, std::uint64_t{1}), kMostBlocks));
  return cuda().cuLaunchKernel(function, grid, 1, 1, kThreads, 1, 1, 0, gpu_stream(), arguments,
                               nullptr);
}

// The compiler takes this process's memory, and briefly more than it keeps.
class ProcessMemory {
 public:
  ProcessMemory() {
    was_reset_ = reset_peak_memory();
    read(resident_, peak_);
  }
  void measure(Kernels& kernels) const {
    std::optional<std::uint64_t> resident;
    std::optional<std::uint64_t> peak;
    read(resident, peak);
    if (!resident_ || !peak_ || !resident || !peak) return;
    kernels.resident_bytes = *resident > *resident_ ? *resident - *resident_ : 0;
    // Without the reset only a higher peak than that of before is this one's.
    if (was_reset_ || *peak > *peak_) {
      kernels.peak_bytes = *peak > *resident_ ? *peak - *resident_ : 0;
    }
  }

 private:
  static void read(std::optional<std::uint64_t>& resident, std::optional<std::uint64_t>& peak) {
    const FileText status = read_small_file("/proc/self/status");
    resident = number_of(status.text, "VmRSS");
    peak = number_of(status.text, "VmHWM");
  }

  bool was_reset_ = false;
  std::optional<std::uint64_t> resident_;
  std::optional<std::uint64_t> peak_;
};

std::optional<std::uint64_t> free_on_gpu() {
  std::size_t free = 0;
  std::size_t total = 0;
  if (cuda().cuMemGetInfo_v2(&free, &total) != driver::kSuccess) return std::nullopt;
  return free;
}

// Why the driver compiles no text, or not this one; null where something else went wrong.
const char* no_compiler(driver::Result result) {
  switch (result) {
    case driver::kJitCompilationDisabled:
      return "kernel compilation is disabled (CUDA_DISABLE_PTX_JIT or CUDA_DISABLE_JIT is set)";
    case driver::kJitCompilerNotFound:
      return "the driver's compiler is missing (libnvidia-ptxjitcompiler.so.1: a container needs "
             "it too)";
    case driver::kInvalidPtx:
    case driver::kUnsupportedPtxVersion:
      return "the driver rejects the kernels (PTX 6.0, sm_53)";
    case driver::kInvalidImage:
    case driver::kNoBinaryForGpu:
      return "the driver cannot compile the kernels (PTX 6.0, sm_53) for this GPU";
    default:
      return nullptr;
  }
}

}  // namespace

Kernels load_kernels(std::vector<Call>& calls) {
  Kernels kernels;
  char log[512] = {};
  int options[] = {driver::kJitErrorLog, driver::kJitErrorLogBytes};
  void* values[] = {log, reinterpret_cast<void*>(sizeof log - 1)};
  driver::Module module = nullptr;
  const char* failed = "";
  const auto call = [&](const char* name, driver::Result answer) {
    calls.push_back({name, cuda().name_of(answer)});
    if (answer != driver::kSuccess) failed = name;
    return answer;
  };
  const auto free_before = free_on_gpu();
  const ProcessMemory memory;
  const auto begin = std::chrono::steady_clock::now();
  const auto load = [&](const void* image) {
    return call("cuModuleLoadDataEx",
                cuda().cuModuleLoadDataEx(&module, image, std::size(options), options, values));
  };
  kernels.code = "cubin";
  driver::Result answer = kKernelsFatbinSize > 0 ? load(kKernelsFatbin) : driver::kNoBinaryForGpu;
  if (answer != driver::kSuccess) {
    kernels.code = "ptx";
    answer = load(kKernelsPtx);
  }
  // A driver may put the work off until a function is asked for.
  if (answer == driver::kSuccess) {
    answer =
        call("cuModuleGetFunction", cuda().cuModuleGetFunction(&modify, module, "jetmem_modify"));
  }
  if (answer == driver::kSuccess) {
    answer = call("cuModuleGetFunction", cuda().cuModuleGetFunction(&read, module, "jetmem_read"));
  }
  kernels.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  memory.measure(kernels);
  const auto free_after = free_on_gpu();
  // More than before: others gave some back, and it is unknown how much this took.
  if (free_before && free_after && *free_after <= *free_before) {
    kernels.gpu_bytes = *free_before - *free_after;
  }
  if (answer == driver::kSuccess) {
    kernels.state = State::kOk;
    return kernels;
  }
  modify = read = nullptr;
  kernels.error = cuda().name_of(answer);
  const char* const why = no_compiler(answer);
  kernels.state = why != nullptr ? State::kUnsupported : State::kFailed;
  kernels.reason = std::string(why != nullptr ? why : failed) + ": " + cuda().described(answer);
  std::string words(log);
  words.erase(std::min(words.find('\n'), words.size()));
  if (!words.empty()) kernels.reason += ": " + words;
  return kernels;
}

driver::Result launch_modify(driver::Address words, std::uint64_t count) {
  void* arguments[] = {&words, &count};
  return launch(modify, count, arguments);
}

driver::Result launch_read(driver::Address words, std::uint64_t count, unsigned times,
                           driver::Address sum) {
  void* arguments[] = {&words, &count, &times, &sum};
  return launch(read, count, arguments);
}

}  // namespace jetmem::probe
