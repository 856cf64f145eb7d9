// SPDX-License-Identifier: Apache-2.0
// Finds the GPU and makes the one context and stream of this process.
//
// In this order: everything that can be asked without a context first, since a context costs some
// 100 MB, and on some drivers a flood in the kernel's log.
#include "probes/program/cuda/session.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string>
#include <utility>
#include <vector>

#include "probes/program/cuda/device_attributes.h"
#include "probes/program/cuda/kernels.h"
#include "probes/program/gpu.h"

namespace jetmem::probe {
namespace {

// Of more a result would have no room.
constexpr int kMaxGpus = 4;

bool requested = false;
driver::Device the_device = 0;
driver::Stream the_stream = nullptr;
std::vector<driver::Device> devices;  // integrated ones first
unsigned omitted = 0;                 // beyond kMaxGpus
std::deque<Gpu> found;                // of those in use so far

// What a GPU's device node that this process may not open says of it; empty where there is none.
// Only after CUDA failed, whose errors seldom say why.
std::string forbidden() {
  for (const char* node : {"/dev/nvmap", "/dev/nvhost-ctrl-gpu", "/dev/nvhost-gpu",
                           "/dev/nvgpu/igpu0/ctrl", "/dev/nvidiactl", "/dev/nvidia0"}) {
    const int fd = ::open(node, O_RDWR | O_CLOEXEC | O_NONBLOCK);
    const int error = fd < 0 ? errno : 0;
    if (fd >= 0) ::close(fd);
    const std::string text = std::string("may not open ") + node;
    if (error == EACCES)
      return text + " (EACCES): the groups video and render may, on most systems";
    if (error == EPERM) return text + " (EPERM): the device policy of a service or container";
  }
  return "";
}

class Start {
 public:
  explicit Start(Gpu& gpu) : gpu_(gpu) {}

  // Times one step and keeps it. `work` is a bool().
  template <class Work>
  bool step(const char* name, Work&& work) {
    return timed_step(gpu_.start, name, 0, std::forward<Work>(work));
  }

  bool call(const char* name, driver::Result answer) {
    gpu_.start.back().calls.push_back({name, cuda().name_of(answer)});
    if (answer == driver::kSuccess) return true;
    if (answer == driver::kStubLibrary) {
      return end(State::kUnsupported,
                 "libcuda.so.1 is the toolkit's stub, not a driver: " + cuda().described(answer));
    }
    // A node that CUDA does without may be closed, too: memory was short all the same.
    const std::string why = answer == driver::kOutOfMemory ? "" : forbidden();
    if (!why.empty()) {
      return end(State::kDenied, why + "; CUDA's error: " + cuda().described(answer));
    }
    if (answer == driver::kNoDevice) {
      return end(State::kUnsupported, "no GPU that CUDA can use: " + cuda().described(answer));
    }
    return end(State::kFailed,
               std::string(gpu_.start.back().step) + ": " + name + ": " + cuda().described(answer));
  }

  bool end(State state, std::string reason) {
    gpu_.state = state;
    gpu_.reason = std::move(reason);
    return false;
  }

 private:
  Gpu& gpu_;
};

bool load_driver(Gpu& gpu, Start& start) {
  const std::string& why = cuda().problem();
  gpu.start.back().calls.push_back({"dlopen libcuda.so.1", why.empty() ? "ok" : "failed"});
  if (is_missing_library(why, {"libcuda.so.1"})) {
    return start.end(State::kUnsupported,
                     "no CUDA driver on this machine (libcuda.so.1 is not there)");
  }
  if (!why.empty()) {
    return start.end(State::kFailed, "the CUDA driver cannot be loaded: " + why);
  }
  if (!cuda().base_problem().empty()) {
    return start.end(State::kUnsupported,
                     cuda().base_problem() + ", which every driver since CUDA 9 has");
  }
  return true;
}

bool list_devices(Start& start) {
  int count = 0;
  if (!start.call("cuDeviceGetCount", cuda().cuDeviceGetCount(&count))) return false;
  if (count <= 0) return start.call("cuDeviceGetCount", driver::kNoDevice);
  omitted = static_cast<unsigned>(std::max(count - kMaxGpus, 0));
  for (int i = 0; i < std::min(count, kMaxGpus); ++i) {
    driver::Device device = 0;
    if (!start.call("cuDeviceGet", cuda().cuDeviceGet(&device, i))) return false;
    devices.push_back(device);
  }
  std::stable_partition(devices.begin(), devices.end(), [](driver::Device device) {
    int integrated = 0;
    return cuda().cuDeviceGetAttribute(&integrated, driver::kAttributeIntegrated, device) ==
               driver::kSuccess &&
           integrated != 0;
  });
  return true;
}

bool find(Gpu& gpu, Start& start, unsigned number) {
  const auto well = start.step("driver", [&] {
    if (!load_driver(gpu, start)) return false;
    // It answers before cuInit() does, also where that fails.
    int version = 0;
    if (!start.call("cuDriverGetVersion", cuda().cuDriverGetVersion(&version))) return false;
    if (version > 0) gpu.driver = version;
    if (number == 0 && !(start.call("cuInit", cuda().cuInit(0)) && list_devices(start)))
      return false;
    the_device = devices[number];
    return true;
  });
  return well && start.step("attributes", [&] {
    Step& step = gpu.start.back();
    return read_attributes(the_device, gpu, step) ||
           start.end(State::kFailed, step.calls.back().call + ": " + step.calls.back().result);
  });
}

// Whoever waits then sleeps, in place of spinning. Before the context is made: it has its flags for
// good. A refusal is noted, and costs CPU time, no more. A primary context takes no
// CU_CTX_MAP_HOST: with one address space for CPU and GPU, which every Jetson has, pinned memory is
// always mapped.
void set_flags(Gpu& gpu) {
  const auto set = cuda().cuDevicePrimaryCtxSetFlags_v2 != nullptr
                       ? cuda().cuDevicePrimaryCtxSetFlags_v2
                       : cuda().cuDevicePrimaryCtxSetFlags;
  gpu.start.back().calls.push_back(
      {"cuDevicePrimaryCtxSetFlags",
       set == nullptr ? "no such function"
                      : cuda().name_of(set(the_device, driver::kContextBlockingSync))});
}

bool make_context(Gpu& gpu, Start& start) {
  const bool well = start.step("context", [&] {
    driver::Context context = nullptr;
    set_flags(gpu);
    return start.call("cuDevicePrimaryCtxRetain",
                      cuda().cuDevicePrimaryCtxRetain(&context, the_device)) &&
           start.call("cuCtxSetCurrent", cuda().cuCtxSetCurrent(context)) &&
           start.call("cuStreamCreate",
                      cuda().cuStreamCreate(&the_stream, driver::kStreamNonBlocking));
  });
  if (!well) return false;
  start.step("kernels", [&] {
    gpu.kernels = load_kernels(gpu.start.back().calls);
    return gpu.kernels->state == State::kOk;
  });
  if (gpu.kernels->state == State::kFailed) {
    return start.end(State::kFailed, "kernels: " + gpu.kernels->reason);
  }
  if (gpu.kernels->state == State::kOk && !start.step("launch", [&] {
        // Of no words: it touches no memory. Some drivers bring a kernel's code to the GPU only
        // now.
        return start.call("cuLaunchKernel", launch_modify(0, 0)) &&
               start.call("cuStreamSynchronize", cuda().cuStreamSynchronize(the_stream));
      })) {
    return false;
  }
  return start.step("memory", [&] {
    std::size_t free = 0;
    std::size_t total = 0;
    if (!start.call("cuMemGetInfo", cuda().cuMemGetInfo_v2(&free, &total))) return false;
    gpu.free_bytes = free;
    gpu.total_bytes = total;
    return true;
  });
}

void start_gpu(unsigned number) {
  Gpu& gpu = found.emplace_back();
  Start start(gpu);
  the_stream = nullptr;
  if (find(gpu, start, number) && make_context(gpu, start)) gpu.state = State::kOk;
}

}  // namespace

const Gpu& gpu() {
  requested = true;
  if (found.empty()) start_gpu(0);
  return found.back();
}

unsigned more_gpus() { return devices.empty() ? 0 : static_cast<unsigned>(devices.size()) - 1; }

unsigned omitted_gpus() { return omitted; }

void use_gpu(unsigned number) { start_gpu(number); }

const std::deque<Gpu>& used_gpus() { return found; }

bool gpu_was_queried() { return requested; }

const Driver& cuda() {
  static const Driver driver("");
  return driver;
}

driver::Device gpu_device() { return the_device; }

driver::Stream gpu_stream() { return the_stream; }

bool wait_for_gpu(Recorder& recorder) {
  return cuda_call(recorder, "cuStreamSynchronize", cuda().cuStreamSynchronize(the_stream));
}

bool gpu_usable(Run& run, const char* kind) {
  if (!gpu_was_queried()) run.report_progress(kind, "", "start", 0);
  if (gpu().state != State::kOk) {
    Result& result = run.add_result(kind, "", gpu().state, gpu().reason);
    const auto& calls = gpu().start.back().calls;
    if (gpu().state == State::kFailed && !calls.empty()) result.error = calls.back().result;
    return false;
  }
  // An error of the GPU's stays for good: every later call answers it.
  const driver::Result answer = cuda().cuCtxSynchronize();
  if (answer == driver::kSuccess) return true;
  Result& result = run.add_result(kind, "", State::kFailed,
                                  "after an earlier error of the GPU: " + cuda().described(answer));
  result.error = cuda().name_of(answer);
  return false;
}

bool gpu_can(const char* what) {
  const auto found = gpu().can.find(what);
  return found != gpu().can.end() && found->second;
}

bool has_ability(Run& run, const char* kind, const char* what, const std::string& name,
                 const std::string& attribute) {
  if (gpu_can(what)) return true;
  const bool is_reported = gpu().can.find(what) != gpu().can.end();
  run.add_result(kind, "", State::kUnsupported,
                 is_reported ? "this GPU has no " + name + " (" + attribute + " is 0)"
                             : "the driver does not say whether this GPU has " + name + " (" +
                                   attribute + ")");
  return false;
}

bool gpu_modify(Recorder& recorder, Pattern& pattern, driver::Address for_gpu,
                std::uint64_t bytes) {
  if (gpu().kernels->state != State::kOk) {
    recorder.not_checked("the GPU's own access, which needs a kernel: " + gpu().kernels->error);
    return true;
  }
  const bool well = recorder.step(step::kGpuRmw, bytes, [&] {
    return cuda_call(recorder, "cuLaunchKernel", launch_modify(for_gpu, bytes / 8)) &&
           wait_for_gpu(recorder);
  });
  pattern.modify();
  return well;
}

}  // namespace jetmem::probe
