// SPDX-License-Identifier: Apache-2.0
// registered: memory that the process already has, which cudaHostRegister() opens to the GPU.
#include "probes/program/cuda/calls.h"
#include "probes/program/cuda/host_buffer.h"
#include "probes/program/kinds.h"
#include "probes/program/pattern.h"

namespace jetmem::probe {
namespace {

// What the attribute promised and the call does not keep.
bool register_memory(Recorder& recorder, void* memory, std::uint64_t bytes) {
  const cudaError_t answer = cudaHostRegister(memory, bytes, cudaHostRegisterMapped);
  if (cuda_call(recorder, "cudaHostRegister", answer)) return true;
  if (answer == cudaErrorNotSupported) {
    recorder.end_as(State::kUnsupported,
                    "the driver refuses cudaHostRegister() although the GPU "
                    "says that it can (cudaErrorNotSupported)");
  } else if (answer == cudaErrorNotPermitted) {
    recorder.end_as(State::kDenied, "cudaHostRegister() is not permitted (cudaErrorNotPermitted)");
  }
  return false;
}

void use(Recorder& recorder, std::uint64_t bytes) {
  HostBuffer memory;
  void* for_gpu = nullptr;
  bool registered = false;
  Pattern pattern;
  recorder.step(step::kAllocate, 0,
                [&] { return recorder.call_errno("mmap", memory.allocate(bytes)); });
  if (memory.get() == nullptr) return;
  recorder.touch(memory.get(), bytes, bytes);
  recorder.step(step::kToGpu, 0, [&] {
    registered = register_memory(recorder, memory.get(), bytes);
    return registered && cuda_call(recorder, "cudaHostGetDevicePointer",
                                   cudaHostGetDevicePointer(&for_gpu, memory.get(), 0));
  });
  recorder.write(pattern, memory.get(), bytes);
  gpu_modify(recorder, for_gpu, bytes);
  cpu_verify_modified(recorder, pattern, memory.get(), bytes);
  if (registered) {
    recorder.cleanup(step::kRelease, [&] {
      return cuda_call(recorder, "cudaHostUnregister", cudaHostUnregister(memory.get()));
    });
  }
  recorder.cleanup(step::kFree, [&] { return recorder.call_errno("munmap", memory.free()); });
}

std::string error_reason() {
  if (gpu().can.find("host_register") == gpu().can.end()) {
    return "the driver does not say whether this GPU can have memory registered "
           "(cudaDevAttrHostRegisterSupported)";
  }
  std::string reason =
      "this GPU cannot have memory registered (cudaDevAttrHostRegisterSupported is 0)";
  const int capability = gpu().capability_major * 10 + gpu().capability_minor;
  if (gpu().integrated && capability < 72) {
    reason +=
        ": so it is with integrated GPUs below compute capability 7.2, which are not coherent "
        "with the CPU's caches";
  }
  return reason;
}

}  // namespace

void probe_registered(Run& run) {
  if (!gpu_usable(run, "registered")) return;
  if (run.options().bisect_limit > 0) {
    run.add_result("registered", "", State::kUnsupported,
                   "what is registered is pageable memory: its largest size would be found by the "
                   "OOM killer");
  } else if (!gpu_can("host_register")) {
    run.add_result("registered", "", State::kUnsupported, error_reason());
  } else {
    run.run_ladder("registered", "", use);
  }
}

}  // namespace jetmem::probe
