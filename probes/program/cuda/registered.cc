// SPDX-License-Identifier: Apache-2.0
// registered: memory that the process already has, which cuMemHostRegister() opens to the GPU.
#include "probes/program/cuda/session.h"
#include "probes/program/gpu.h"
#include "probes/program/host_buffer.h"
#include "probes/program/kinds.h"
#include "probes/program/pattern.h"

namespace jetmem::probe {
namespace {

// What the attribute promised and the call does not keep.
bool register_memory(Recorder& recorder, void* memory, std::uint64_t bytes) {
  const driver::Result answer =
      cuda().cuMemHostRegister_v2(memory, bytes, driver::kHostRegisterDeviceMap);
  if (cuda_call(recorder, "cuMemHostRegister", answer)) return true;
  if (answer == driver::kNotSupported) {
    recorder.end_as(State::kUnsupported,
                    "the driver refuses cuMemHostRegister() although the GPU "
                    "says that it can (CUDA_ERROR_NOT_SUPPORTED)");
  } else if (answer == driver::kNotPermitted) {
    recorder.end_as(State::kDenied,
                    "cuMemHostRegister() is not permitted (CUDA_ERROR_NOT_PERMITTED)");
  }
  return false;
}

void use(Recorder& recorder, std::uint64_t bytes) {
  HostBuffer memory;
  driver::Address for_gpu = 0;
  bool registered = false;
  Pattern pattern;
  recorder.step(step::kAllocate, 0,
                [&] { return recorder.call_errno("mmap", memory.allocate(bytes)); });
  if (memory.get() == nullptr) return;
  recorder.touch(memory.get(), bytes, bytes);
  recorder.step(step::kToGpu, 0, [&] {
    registered = register_memory(recorder, memory.get(), bytes);
    return registered && cuda_call(recorder, "cuMemHostGetDevicePointer",
                                   cuda().cuMemHostGetDevicePointer_v2(&for_gpu, memory.get(), 0));
  });
  recorder.write(pattern, memory.get(), bytes);
  gpu_modify(recorder, pattern, for_gpu, bytes);
  recorder.verify(pattern, memory.get(), bytes);
  if (registered) {
    recorder.cleanup(step::kRelease, [&] {
      return cuda_call(recorder, "cuMemHostUnregister", cuda().cuMemHostUnregister(memory.get()));
    });
  }
  recorder.cleanup(step::kFree, [&] { return recorder.call_errno("munmap", memory.free()); });
}

std::string error_reason() {
  if (gpu().can.find("host_register") == gpu().can.end()) {
    return "the driver does not say whether this GPU can have memory registered "
           "(CU_DEVICE_ATTRIBUTE_HOST_REGISTER_SUPPORTED)";
  }
  std::string reason =
      "this GPU cannot have memory registered (CU_DEVICE_ATTRIBUTE_HOST_REGISTER_SUPPORTED is 0)";
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
