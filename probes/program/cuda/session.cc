// SPDX-License-Identifier: Apache-2.0
// Finds the GPU and makes the one context and stream of this process.
//
// In this order: everything that can be asked without a context first, since a context costs some
// 100 MB, and on some drivers a flood in the kernel's log.

#include <dlfcn.h>
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <sstream>
#include <string>

#include "probes/program/cuda/calls.h"
#include "probes/program/cuda/device_attributes.h"
#include "probes/program/cuda/kernels.h"
#include "probes/program/gpu.h"

#ifndef JETMEM_CUDA_ARCHITECTURES
#define JETMEM_CUDA_ARCHITECTURES ""
#endif

namespace jetmem::probe {
namespace {

// cudaErrorStubLibrary, which older toolkits do not know by name.
constexpr int kStubLibrary = 34;

bool requested = false;
cudaStream_t the_stream = nullptr;

std::string named(cudaError_t error) {
  return std::string(cudaGetErrorString(error)) + " (" + cudaGetErrorName(error) + ")";
}

// "sm_75 sm_87": of what this build has code.
std::string architectures() {
  std::string text;
  std::istringstream in(JETMEM_CUDA_ARCHITECTURES);
  for (std::string one; in >> one;) text += (text.empty() ? "sm_" : " sm_") + one;
  return text;
}

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
    gpu_.start.push_back({name, 0, 0, {}});
    const auto begin = std::chrono::steady_clock::now();
    const bool well = work();
    const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - begin;
    gpu_.start.back().seconds = elapsed.count();
    return well;
  }

  bool call(const char* name, cudaError_t answer) {
    gpu_.start.back().calls.push_back({name, cudaGetErrorName(answer)});
    if (answer == cudaSuccess) return true;
    if (static_cast<int>(answer) == kStubLibrary) {
      return end(State::kUnsupported,
                 "libcuda.so.1 is the toolkit's stand-in, not a driver: " + named(answer));
    }
    // Some drivers say so also where they may not reach the GPU.
    const bool is_old = gpu_.driver.value_or(0) < CUDART_VERSION;
    const std::string closed =
        answer == cudaErrorInsufficientDriver && !is_old ? forbidden() : std::string();
    if (answer == cudaErrorInsufficientDriver && closed.empty()) {
      return end(State::kUnsupported,
                 (is_old ? "the CUDA driver is too old for this build, or is none ("
                         : "CUDA calls the driver too old, which it is not for this build (") +
                     cuda_build() + "): " + named(answer));
    }
    if (answer == cudaErrorNoKernelImageForDevice || answer == cudaErrorInvalidDeviceFunction) {
      return end(State::kUnsupported, "this build has no code for compute capability " +
                                          std::to_string(gpu_.capability_major) + "." +
                                          std::to_string(gpu_.capability_minor) + " (it has " +
                                          architectures() + ")");
    }
    if (const std::string why = forbidden(); !why.empty()) {
      return end(State::kDenied, why + "; CUDA's error: " + named(answer));
    }
    if (answer == cudaErrorNoDevice) {
      return end(State::kUnsupported, "no GPU that CUDA can use: " + named(answer));
    }
    return end(State::kFailed,
               std::string(gpu_.start.back().step) + ": " + name + ": " + named(answer));
  }

  bool end(State state, std::string reason) {
    gpu_.state = state;
    gpu_.reason = std::move(reason);
    return false;
  }

 private:
  Gpu& gpu_;
};

bool find(Gpu& gpu, Start& start) {
  void* driver = nullptr;
  const auto well = start.step("driver", [&] {
    driver = ::dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    const char* const problem = driver == nullptr ? ::dlerror() : nullptr;
    gpu.start.back().calls.push_back({"dlopen libcuda.so.1", driver != nullptr ? "ok" : "failed"});
    if (driver == nullptr) {
      const std::string why = problem == nullptr ? "" : problem;
      if (why.find("libcuda.so.1: cannot open shared object file: No such file") == 0) {
        return start.end(State::kUnsupported,
                         "no CUDA driver on this machine (libcuda.so.1 is not there)");
      }
      return start.end(State::kFailed, "the CUDA driver cannot be loaded: " + why);
    }
    int version = 0;
    if (!start.call("cudaDriverGetVersion", cudaDriverGetVersion(&version))) return false;
    // The runtime says 0 where it finds no driver.
    if (version > 0) gpu.driver = version;
    int devices = 0;
    if (!start.call("cudaGetDeviceCount", cudaGetDeviceCount(&devices))) return false;
    return devices > 0 || start.call("cudaGetDeviceCount", cudaErrorNoDevice);
  });
  return well && start.step("attributes", [&] {
    Step& step = gpu.start.back();
    return read_attributes(driver, gpu, step) ||
           start.end(State::kFailed, step.calls.back().call + ": " + step.calls.back().result);
  });
}

bool make_context(Gpu& gpu, Start& start) {
  const bool well = start.step("context", [&] {
    // The flags come first: cudaSetDevice() makes the context since CUDA 12, and then it spins
    // where it should sleep. The current device is 0 without it.
    return start.call("cudaSetDeviceFlags",
                      cudaSetDeviceFlags(cudaDeviceScheduleBlockingSync | cudaDeviceMapHost)) &&
           start.call("cudaFree", cudaFree(nullptr)) &&
           start.call("cudaStreamCreateWithFlags",
                      cudaStreamCreateWithFlags(&the_stream, cudaStreamNonBlocking));
  });
  return well && start.step("kernels", [&] {
    if (!start.call("cudaFuncGetAttributes", load_kernels())) return false;
    // Of no words: it touches no memory.
    return start.call("launch", launch_modify(nullptr, 0, the_stream)) &&
           start.call("cudaStreamSynchronize", cudaStreamSynchronize(the_stream));
  }) && start.step("memory", [&] {
    std::size_t free = 0;
    std::size_t total = 0;
    if (!start.call("cudaMemGetInfo", cudaMemGetInfo(&free, &total))) return false;
    gpu.free_bytes = free;
    gpu.total_bytes = total;
    return true;
  });
}

Gpu start_gpu() {
  Gpu gpu;
  gpu.built_with = CUDART_VERSION;
  Start start(gpu);
  if (find(gpu, start) && make_context(gpu, start)) gpu.state = State::kOk;
  return gpu;
}

}  // namespace

const Gpu& gpu() {
  requested = true;
  static const Gpu found = start_gpu();
  return found;
}

bool gpu_was_queried() { return requested; }

std::string cuda_build() {
  return "CUDA " + std::to_string(CUDART_VERSION / 1000) + "." +
         std::to_string(CUDART_VERSION % 1000 / 10) + ", " + architectures();
}

cudaStream_t stream() { return the_stream; }

bool gpu_usable(Run& run, const char* kind) {
  if (!gpu_was_queried()) run.report_progress(kind, "", "start", 0);
  if (gpu().state != State::kOk) {
    Result& result = run.add_result(kind, "", gpu().state, gpu().reason);
    if (gpu().state == State::kFailed) result.error = gpu().start.back().calls.back().result;
    return false;
  }
  // cudaGetLastError() clears one call's error; what is left after that
  // was the GPU's, and stays for good.
  (void)cudaGetLastError();
  const cudaError_t answer = cudaDeviceSynchronize();
  if (answer == cudaSuccess) return true;
  Result& result = run.add_result(kind, "", State::kFailed,
                                  "after an earlier error of the GPU: " + named(answer));
  result.error = cudaGetErrorName(answer);
  return false;
}

bool gpu_can(const char* what) {
  const auto found = gpu().can.find(what);
  return found != gpu().can.end() && found->second;
}

bool gpu_modify(Recorder& recorder, void* for_gpu, std::uint64_t bytes) {
  return recorder.step(step::kGpuRmw, bytes, [&] {
    return cuda_call(recorder, "launch",
                     launch_modify(static_cast<std::uint64_t*>(for_gpu), bytes / 8, stream())) &&
           wait_for_gpu(recorder);
  });
}

}  // namespace jetmem::probe
