// SPDX-License-Identifier: Apache-2.0
// dmabuf_import: DMA-BUFs as memory of the GPU, from wherever there are any: the DMA heaps and
// udmabuf, by the rules of the kind dmabuf (dmabuf.cc), and the GPU's own memory, exported.

#include "probes/program/cuda/device_buffer.h"
#include "probes/program/cuda/session.h"
#include "probes/program/cuda/share/exported.h"
#include "probes/program/cuda/share/imported.h"
#include "probes/program/dmabuf/dmabuf_targets.h"
#include "probes/program/kinds.h"

namespace jetmem::probe {
namespace {

constexpr const char* kKind = "dmabuf_import";
constexpr const char* kExported = "cuda_export";

// The CPU is in between its brackets and nowhere else, and the GPU is waited for before the next:
// neither touches the memory while the other does.
void use(Recorder& recorder, std::uint64_t bytes, const DmabufTarget& target) {
  MappedDmabuf buffer(recorder, bytes);
  Pattern pattern;
  Imported imported(recorder);
  if (!buffer.allocate(target.node, target.allocate)) return;
  // Before anything is mapped and written: usually it ends here.
  imported.take(buffer.fd(), bytes);
  buffer.map();
  buffer.write(pattern);
  gpu_modify(recorder, pattern, imported.address(), bytes);
  buffer.verify(pattern);
  if (imported.is_there()) {
    recorder.cleanup(step::kRelease, [&] { return imported.release_buffer(); });
  }
  buffer.unmap_and_free();
}

void probe_target(Run& run, const DmabufTarget& target) {
  const auto work = [&](Recorder& recorder, std::uint64_t bytes) { use(recorder, bytes, target); };
  if (target.memory == HeapMemory::kContiguous) {
    run.run_once(kKind, target.name, work);
  } else {
    run.run_ladder(kKind, target.name, work);
  }
}

void probe_exported(Run& run) {
  if (!can_export(run, kKind, kExported)) return;
  run.run_ladder(kKind, kExported, [&](Recorder& recorder, std::uint64_t bytes) {
    DeviceBuffer memory(recorder, bytes, DeviceBuffer::kSharedGrain);
    Exported exported(recorder);
    Imported imported(recorder);
    Pattern pattern;
    memory.allocate();
    memory.map_copy();
    exported.take(memory.address(), memory.allocated_bytes());
    imported.take(exported.fd(), memory.allocated_bytes());
    memory.write(pattern);
    // Written and read at the one address, modified at the other: it is the same memory.
    memory.modify(pattern, imported.address());
    memory.verify(pattern, memory.address());
    if (exported.fd() >= 0) {
      recorder.cleanup(step::kRelease, [&] {
        const bool well = imported.release_buffer();
        return exported.release_buffer() && well;
      });
    }
    memory.free();
  });
}

}  // namespace

void probe_dmabuf_import(Run& run) {
  if (!can_be_tried(run, kKind,
                    {"cuImportExternalMemory", "cuExternalMemoryGetMappedBuffer",
                     "cuDestroyExternalMemory"})) {
    return;
  }
  const auto probe = [&](const DmabufTarget& target) { probe_target(run, target); };
  TriedAreas tried;
  // Where there are none, the kind dmabuf says why.
  for (const Heap& heap : list_heaps(run.options().heap_directory).heaps) {
    if (heap.name != kExported) probe_heap(run, kKind, heap, tried, probe);
  }
  probe_udmabuf(run, kKind, probe);
  probe_exported(run);
}

}  // namespace jetmem::probe
