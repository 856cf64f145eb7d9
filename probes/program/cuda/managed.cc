// SPDX-License-Identifier: Apache-2.0
// managed: cudaMallocManaged(), one address for both, which the driver keeps coherent.
//
// Without concurrent managed access (all Jetsons before Thor) the CPU must not touch it while the
// GPU works, or it dies by SIGBUS or SIGSEGV: there the memory is handed over and back by attaching
// it to the stream and to the host. With it, pages move by themselves, or ahead by prefetching.
#include "probes/program/cuda/calls.h"
#include "probes/program/kinds.h"
#include "probes/program/pattern.h"

namespace jetmem::probe {
namespace {

cudaError_t prefetch(void* memory, std::uint64_t bytes, bool to_gpu) {
#if CUDART_VERSION >= 13000
  cudaMemLocation location{};
  location.type = to_gpu ? cudaMemLocationTypeDevice : cudaMemLocationTypeHost;
  location.id = 0;
  return cudaMemPrefetchAsync(memory, bytes, location, 0, stream());
#else
  return cudaMemPrefetchAsync(memory, bytes, to_gpu ? 0 : cudaCpuDeviceId, stream());
#endif
}

class Managed {
 public:
  Managed() : concurrent_(gpu_can("concurrent_managed_access")) {}

  void use(Recorder& recorder, std::uint64_t bytes) {
    void* memory = nullptr;
    Pattern pattern;
    recorder.step(step::kAllocate, 0, [&] {
      return cuda_call(
          recorder, "cudaMallocManaged",
          cudaMallocManaged(&memory, bytes, concurrent_ ? cudaMemAttachGlobal : cudaMemAttachHost));
    });
    recorder.touch(memory, bytes, bytes);
    recorder.write(pattern, memory, bytes);
    hand_over(recorder, step::kToGpu, memory, bytes, true);
    gpu_modify(recorder, memory, bytes);
    // Where this fails, the CPU does not touch the memory any more.
    hand_over(recorder, step::kToCpu, memory, bytes, false);
    cpu_verify_modified(recorder, pattern, memory, bytes);
    if (memory == nullptr) return;
    recorder.cleanup(step::kFree,
                     [&] { return cuda_call(recorder, "cudaFree", cudaFree(memory)); });
  }

 private:
  void hand_over(Recorder& recorder, const char* step, void* memory, std::uint64_t bytes,
                 bool to_gpu) {
    // A bandwidth only where an earlier round, the warm-up at the latest, has seen that it moves.
    recorder.step(step, moves_ ? bytes : 0, [&] {
      if (concurrent_) {
        // Only ahead of what happens by itself: an error is noted, and nothing lost.
        const cudaError_t answer = prefetch(memory, bytes, to_gpu);
        recorder.call("cudaMemPrefetchAsync", true, cudaGetErrorName(answer));
        moves_ = answer == cudaSuccess && !gpu().integrated;
        (void)cudaGetLastError();
      } else if (!cuda_call(
                     recorder, "cudaStreamAttachMemAsync",
                     cudaStreamAttachMemAsync(stream(), memory, 0,
                                              to_gpu ? cudaMemAttachSingle : cudaMemAttachHost))) {
        return false;
      }
      return wait_for_gpu(recorder);
    });
  }

  bool concurrent_;
  bool moves_ = false;
};

}  // namespace

void probe_managed(Run& run) {
  if (!gpu_usable(run, "managed")) return;
  if (run.options().bisect_limit > 0) {
    run.add_result("managed", "", State::kUnsupported,
                   "managed memory may be promised without being there: its largest size would be "
                   "found by the OOM killer");
    return;
  }
  if (!gpu_can("managed_memory")) {
    const bool is_reported = gpu().can.find("managed_memory") != gpu().can.end();
    run.add_result("managed", "", State::kUnsupported,
                   is_reported ? "this GPU has no managed memory (cudaDevAttrManagedMemory is 0)"
                               : "the driver does not say whether this GPU has managed memory "
                                 "(cudaDevAttrManagedMemory)");
    return;
  }
  Managed managed;
  run.run_ladder("managed", "",
                 [&](Recorder& recorder, std::uint64_t bytes) { managed.use(recorder, bytes); });
}

}  // namespace jetmem::probe
