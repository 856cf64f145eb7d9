// SPDX-License-Identifier: Apache-2.0
// device: cuMemAlloc(), the GPU's own memory; on a board with one DRAM another part of it, which
// the CPU still cannot reach but by a copy.
//
// The copies go from and to pageable memory, as most programs' do: what they take is the driver's
// staging as much as the way to the GPU (the ratios of `pinned` tell these apart).
#include <optional>

#include "probes/program/cuda/device_buffer.h"
#include "probes/program/cuda/session.h"
#include "probes/program/gpu.h"
#include "probes/program/kinds.h"

namespace jetmem::probe {
namespace {

void use(Recorder& recorder, std::uint64_t bytes) {
  DeviceBuffer memory(recorder, bytes);
  memory.allocate();
  memory.use();
  memory.free();
}

void bisect(Run& run) {
  // Other processes use a GPU's own memory too: a tenth stays free. Where it is the system's,
  // the requested limit is the bound.
  std::optional<std::uint64_t> limit;
  if (!gpu().integrated && gpu().free_bytes) limit = *gpu().free_bytes / 10 * 9;
  run.bisect("device", "", [&](Recorder& recorder, std::uint64_t bytes) {
    DeviceBuffer memory(recorder, bytes);
    if (limit && bytes > *limit) {
      recorder.step(step::kAllocate, 0, [&] {
        return recorder.call("cuMemGetInfo", false, "not tried",
                             "more than 90 % of the GPU's free memory");
      });
      return;
    }
    memory.allocate();
    memory.free();
  });
}

}  // namespace

void probe_device(Run& run) {
  if (!gpu_usable(run, "device")) return;
  if (run.options().bisect_limit > 0) {
    bisect(run);
  } else {
    run.run_ladder("device", "", use);
  }
}

}  // namespace jetmem::probe
