// SPDX-License-Identifier: Apache-2.0
// dmabuf_export: the GPU's own memory as a DMA-BUF, which other devices can then work on: a network
// card, a camera's receiver. The memory is used while it is exported.

#include "probes/program/cuda/device_buffer.h"
#include "probes/program/cuda/share/exported.h"
#include "probes/program/kinds.h"

namespace jetmem::probe {

void probe_dmabuf_export(Run& run) {
  if (!can_be_tried(run, "dmabuf_export", {})) return;
  if (!can_export(run, "dmabuf_export", "")) return;
  run.run_ladder("dmabuf_export", "", [&](Recorder& recorder, std::uint64_t bytes) {
    DeviceBuffer memory(recorder, bytes, DeviceBuffer::kSharedGrain);
    Exported exported(recorder);
    Pattern pattern;
    memory.allocate();
    memory.map_copy();
    exported.take(memory.address(), memory.allocated_bytes());
    memory.write(pattern);
    memory.modify(pattern, memory.address());
    memory.verify(pattern, memory.address());
    if (exported.fd() >= 0) {
      recorder.cleanup(step::kRelease, [&] { return exported.release_buffer(); });
    }
    memory.free();
  });
}

}  // namespace jetmem::probe
