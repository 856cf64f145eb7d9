// SPDX-License-Identifier: Apache-2.0
// pool: cuMemAllocAsync()'s memory (cudaMallocAsync()), of the process's pool for this GPU. A pool
// reserves more than is used, and a process may keep what it freed: nobody else can have that,
// which is a common "out of memory" with memory free.
#include "probes/program/cuda/device_buffer.h"
#include "probes/program/cuda/session.h"
#include "probes/program/kinds.h"

namespace jetmem::probe {
namespace {

constexpr const char* kKind = "pool";

class Pool {
 public:
  // False: the run has the result.
  bool find(Run& run) {
    const driver::Result answer = cuda().cuDeviceGetDefaultMemPool(&pool_, gpu_device());
    if (answer == driver::kSuccess) return true;
    run.add_result(kKind, "", State::kFailed,
                   "cuDeviceGetDefaultMemPool: " + cuda().described(answer))
        .error = cuda().name_of(answer);
    return false;
  }

  void use(Recorder& recorder, std::uint64_t bytes) {
    driver::Address memory = 0;
    DeviceBuffer buffer(recorder, bytes);
    uses_ = {};
    uses_.release_threshold_bytes = attribute(driver::kPoolReleaseThreshold);
    // Promised at once, and there when the stream has come to it.
    recorder.step(step::kAllocate, 0, [&] {
      return cuda_call(recorder, "cuMemAllocFromPoolAsync",
                       cuda().cuMemAllocFromPoolAsync(&memory, bytes, pool_, gpu_stream())) &&
             wait_for_gpu(recorder);
    });
    uses_.allocated = use_now(recorder);
    buffer.adopt(memory);
    buffer.use();
    buffer.keep();
    if (memory != 0) {
      recorder.cleanup(step::kFree, [&] {
        return cuda_call(recorder, "cuMemFreeAsync", cuda().cuMemFreeAsync(memory, gpu_stream())) &&
               wait_for_gpu(recorder);
      });
      uses_.freed = use_now(recorder);
    }
    // So that each size is allocated anew, and nothing is kept at the end.
    recorder.cleanup(step::kRelease, [&] {
      return cuda_call(recorder, "cuMemPoolTrimTo", cuda().cuMemPoolTrimTo(pool_, 0));
    });
    uses_.trimmed = use_now(recorder);
  }

  const PoolUses& uses() const { return uses_; }

 private:
  std::optional<std::uint64_t> attribute(int which) const {
    std::uint64_t value = 0;
    if (cuda().cuMemPoolGetAttribute(pool_, which, &value) != driver::kSuccess) return std::nullopt;
    return value;
  }
  std::optional<PoolUse> use_now(const Recorder& recorder) const {
    if (recorder.failed()) return std::nullopt;
    const auto reserved = attribute(driver::kPoolReserved);
    const auto used = attribute(driver::kPoolUsed);
    if (!reserved || !used) return std::nullopt;
    return PoolUse{*reserved, *used};
  }

  driver::MemoryPool pool_ = nullptr;
  PoolUses uses_;
};

}  // namespace

void probe_pool(Run& run) {
  if (!gpu_usable(run, kKind)) return;
  const auto unsupported = [&](const std::string& reason) {
    run.add_result(kKind, "", State::kUnsupported, reason);
  };
  if (run.options().bisect_limit > 0) {
    return unsupported("a pool takes its memory as the kind device does: bisect that");
  }
  const std::string lacks =
      cuda().lacks({"cuDeviceGetDefaultMemPool", "cuMemAllocFromPoolAsync", "cuMemFreeAsync",
                    "cuMemPoolGetAttribute", "cuMemPoolTrimTo"});
  if (!lacks.empty()) return unsupported(lacks + ": CUDA 11.2 brought it");
  if (!has_ability(run, kKind, "memory_pools", "memory pools",
                   "CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED")) {
    return;
  }
  Pool pool;
  if (!pool.find(run)) return;
  Result& result = run.run_ladder(
      kKind, "", [&](Recorder& recorder, std::uint64_t bytes) { pool.use(recorder, bytes); });
  result.pool = pool.uses();
}

}  // namespace jetmem::probe
