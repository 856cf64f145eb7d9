// SPDX-License-Identifier: Apache-2.0
// managed: cuMemAllocManaged(), one address for both, which the driver keeps coherent.
//
// Without concurrent managed access (all Jetsons before Thor) the CPU must not touch it while the
// GPU works, or it dies by SIGBUS or SIGSEGV: there the memory is handed over and back by attaching
// it to the stream and to the host. With it, pages move by themselves, or ahead by prefetching.
#include "probes/program/cuda/session.h"
#include "probes/program/gpu.h"
#include "probes/program/kinds.h"
#include "probes/program/pattern.h"

namespace jetmem::probe {
namespace {

bool prefetch(Recorder& recorder, driver::Address memory, std::uint64_t bytes, bool to_gpu) {
  constexpr const char* kCall = "cuMemPrefetchAsync";
  if (cuda().cuMemPrefetchAsync == nullptr) {
    recorder.call(kCall, true, "no such function");
    return false;
  }
  const driver::Device where = to_gpu ? gpu_device() : driver::kCpu;
  const driver::Result answer = cuda().cuMemPrefetchAsync(memory, bytes, where, gpu_stream());
  recorder.call(kCall, true, cuda().name_of(answer));
  return answer == driver::kSuccess;
}

class Managed {
 public:
  Managed() : concurrent_(gpu_can("concurrent_managed_access")) {}

  void use(Recorder& recorder, std::uint64_t bytes) {
    driver::Address memory = 0;
    Pattern pattern;
    recorder.step(step::kAllocate, 0, [&] {
      return cuda_call(
          recorder, "cuMemAllocManaged",
          cuda().cuMemAllocManaged(&memory, bytes,
                                   concurrent_ ? driver::kAttachGlobal : driver::kAttachHost));
    });
    // One address for both.
    void* const for_cpu = reinterpret_cast<void*>(static_cast<std::uintptr_t>(memory));
    recorder.touch(for_cpu, bytes, bytes);
    recorder.write(pattern, for_cpu, bytes);
    hand_over(recorder, step::kToGpu, memory, bytes, true);
    gpu_modify(recorder, pattern, memory, bytes);
    // Where this fails, the CPU does not touch the memory any more.
    hand_over(recorder, step::kToCpu, memory, bytes, false);
    recorder.verify(pattern, for_cpu, bytes);
    if (memory == 0) return;
    recorder.cleanup(step::kFree,
                     [&] { return cuda_call(recorder, "cuMemFree", cuda().cuMemFree_v2(memory)); });
  }

 private:
  void hand_over(Recorder& recorder, const char* step, driver::Address memory, std::uint64_t bytes,
                 bool to_gpu) {
    // A bandwidth only where an earlier round, the warm-up at the latest, has seen that it moves
    // this way.
    bool& moves = to_gpu ? moves_to_gpu_ : moves_to_cpu_;
    recorder.step(step, moves ? bytes : 0, [&] {
      if (concurrent_) {
        // Only ahead of what happens by itself: an error is noted, and nothing lost.
        moves = prefetch(recorder, memory, bytes, to_gpu) && !gpu().integrated;
      } else if (!cuda_call(recorder, "cuStreamAttachMemAsync",
                            cuda().cuStreamAttachMemAsync(
                                gpu_stream(), memory, 0,
                                to_gpu ? driver::kAttachSingle : driver::kAttachHost))) {
        return false;
      }
      return wait_for_gpu(recorder);
    });
  }

  bool concurrent_;
  bool moves_to_gpu_ = false;
  bool moves_to_cpu_ = false;
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
  if (!has_ability(run, "managed", "managed_memory", "managed memory",
                   "CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY")) {
    return;
  }
  Managed managed;
  run.run_ladder("managed", "",
                 [&](Recorder& recorder, std::uint64_t bytes) { managed.use(recorder, bytes); });
}

}  // namespace jetmem::probe
