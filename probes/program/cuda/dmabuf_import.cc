// dmabuf_import: DMA-BUFs as memory of the GPU, from wherever there are any: the DMA heaps and
// udmabuf, by the rules of the kind dmabuf (dmabuf.cc), and the GPU's own memory, exported.

#include <sys/mman.h>

#include <cerrno>

#include "probes/program/cuda/device_buffer.h"
#include "probes/program/cuda/exported.h"
#include "probes/program/cuda/imported.h"
#include "probes/program/cuda/work.h"
#include "probes/program/dmabuf_buffer.h"
#include "probes/program/dmabuf_heaps.h"
#include "probes/program/kinds.h"

namespace jetmem::probe {
namespace {

constexpr const char* kKind = "dmabuf_import";
constexpr const char* kUdmabuf = "udmabuf";
constexpr const char* kExported = "cuda_export";

using Allocate = bool (*)(Recorder& recorder, int device, std::uint64_t bytes, Fd& buffer);

template <class Work>
bool accessed(Recorder& recorder, const Fd& buffer, Work&& work) {
  if (!begin_access(recorder, buffer.get())) return false;
  work();
  return end_access(recorder, buffer.get());
}

// The CPU is in between its brackets and nowhere else, and the GPU is waited for before the next:
// neither touches the memory while the other does.
void use(Recorder& recorder, const Driver& driver, std::uint64_t bytes, const Node& node,
         Allocate allocate) {
  Fd buffer;
  void* memory = MAP_FAILED;
  Pattern pattern;
  Imported imported(recorder, driver);
  recorder.step(step::kAllocate, 0,
                [&] { return allocate(recorder, node.fd.get(), bytes, buffer); });
  if (!buffer) return;
  // Before anything is mapped and written: mostly it ends here.
  imported.take(buffer.get(), bytes);
  recorder.step(step::kMap, 0, [&] {
    memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, buffer.get(), 0);
    return recorder.call_errno("mmap", memory == MAP_FAILED ? errno : 0);
  });
  recorder.step(step::kCpuWrite, bytes,
                [&] { return accessed(recorder, buffer, [&] { pattern.write(memory, bytes); }); });
  gpu_modify(recorder, reinterpret_cast<void*>(static_cast<std::uintptr_t>(imported.address())),
             bytes);
  pattern.modify();
  recorder.step(step::kCpuVerify, bytes, [&] {
    return accessed(recorder, buffer,
                    [&] { recorder.mismatches(pattern.count_mismatches(memory, bytes)); });
  });
  if (imported.is_there()) {
    recorder.always(step::kRelease, [&] { return imported.give_back(); });
  }
  if (memory != MAP_FAILED) {
    recorder.always(step::kUnmap, [&] {
      return recorder.call_errno("munmap", ::munmap(memory, bytes) != 0 ? errno : 0);
    });
  }
  recorder.always(step::kFree, [&] { return recorder.call_errno("close", buffer.close()); });
}

void not_opened(Run& run, const std::string& target, const Node& node) {
  Result& result = run.leave_out(kKind, target, node.state, node.reason);
  if (node.state == State::kFailed) result.failed_step = step::kAllocate;
  result.error = node.error;
}

void probe_heap(Run& run, const Driver& driver, const Heap& heap, TriedAreas& tried) {
  const HeapMemory memory = memory_of_heap(heap.name);
  if (memory == HeapMemory::kProtected) {
    run.leave_out(kKind, heap.name, State::kUnsupported,
                  "by its name its memory is protected from the CPU");
    return;
  }
  const bool is_contiguous = memory == HeapMemory::kContiguous;
  const std::string why = is_contiguous ? why_spared(heap.name, run.options(), tried) : "";
  if (!why.empty()) {
    run.leave_out(kKind, heap.name, State::kSkipped, why);
    return;
  }
  const Node node = open_node(heap.path);
  if (!node.fd) {
    not_opened(run, heap.name, node);
    return;
  }
  const auto work = [&](Recorder& recorder, std::uint64_t bytes) {
    use(recorder, driver, bytes, node, allocate_from_heap);
  };
  if (is_contiguous) {
    run.once(kKind, heap.name, work);
  } else {
    run.climb(kKind, heap.name, work);
  }
}

// Where there are none, the kind dmabuf says why.
void probe_heaps(Run& run, const Driver& driver) {
  TriedAreas tried;
  for (const Heap& heap : list_heaps(run.options().heap_directory).heaps) {
    if (heap.name != kUdmabuf && heap.name != kExported) probe_heap(run, driver, heap, tried);
  }
}

void probe_udmabuf(Run& run, const Driver& driver) {
  const Node node = open_node(run.options().udmabuf);
  if (!node.fd) {
    not_opened(run, kUdmabuf, node);
    return;
  }
  run.climb(kKind, kUdmabuf, [&](Recorder& recorder, std::uint64_t bytes) {
    use(recorder, driver, bytes, node, allocate_from_udmabuf);
  });
}

void probe_exported(Run& run, const Driver& driver) {
  if (!can_export(run, kKind, kExported, driver)) return;
  run.climb(kKind, kExported, [&](Recorder& recorder, std::uint64_t bytes) {
    DeviceBuffer memory(recorder, driver, bytes);
    Exported exported(recorder, driver);
    Imported imported(recorder, driver);
    Pattern pattern;
    memory.allocate();
    exported.take(memory.address(), memory.allocated_bytes());
    imported.take(exported.fd(), memory.allocated_bytes());
    memory.write(pattern);
    // Written and read at the one address, modified at the other: it is the same memory.
    memory.modify(imported.address());
    pattern.modify();
    memory.verify(pattern, memory.address());
    if (exported.fd() >= 0) {
      recorder.always(step::kRelease, [&] {
        const bool well = imported.give_back();
        return exported.give_back() && well;
      });
    }
    memory.free();
  });
}

}  // namespace

void probe_dmabuf_import(Run& run) {
  const Driver driver(run.options().library_directory);
  if (!can_be_tried(run, kKind, driver,
                    {"cuImportExternalMemory", "cuExternalMemoryGetMappedBuffer",
                     "cuDestroyExternalMemory"})) {
    return;
  }
  probe_heaps(run, driver);
  probe_udmabuf(run, driver);
  probe_exported(run, driver);
}

}  // namespace jetmem::probe
