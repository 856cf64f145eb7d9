// dmabuf: buffers of each DMA heap and of udmabuf, which is what cameras, encoders and displays
// pass around.
//
// The system's heap and udmabuf take ordinary pages. Every other heap takes contiguous ones that
// a camera may need the next moment: one frame of it is taken, once, and only where there is room
// for four.

#include <sys/mman.h>

#include <cerrno>
#include <cstring>

#include "probes/program/dmabuf_buffer.h"
#include "probes/program/dmabuf_heaps.h"
#include "probes/program/kinds.h"
#include "probes/program/pattern.h"

namespace jetmem::probe {
namespace {

constexpr const char* kKind = "dmabuf";
constexpr const char* kUdmabuf = "udmabuf";

using Allocate = std::function<bool(Recorder& recorder, std::uint64_t bytes, Fd& buffer)>;

// What the CPU does between the brackets.
template <class Work>
bool accessed(Recorder& recorder, const Fd& buffer, Work&& work) {
  if (!begin_access(recorder, buffer.get())) return false;
  work();
  return end_access(recorder, buffer.get());
}

void use(Recorder& recorder, std::uint64_t bytes, const Allocate& allocate) {
  Fd buffer;
  void* memory = MAP_FAILED;
  const Pattern pattern;
  recorder.step(step::kAllocate, 0, [&] { return allocate(recorder, bytes, buffer); });
  if (!buffer) return;
  recorder.step(step::kMap, 0, [&] {
    memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, buffer.get(), 0);
    return recorder.call_errno("mmap", memory == MAP_FAILED ? errno : 0);
  });
  // The pages are there already: nothing of which a bandwidth could be told.
  recorder.step(step::kFirstTouch, 0,
                [&] { return accessed(recorder, buffer, [&] { touch_pages(memory, bytes); }); });
  recorder.step(step::kCpuWrite, bytes,
                [&] { return accessed(recorder, buffer, [&] { pattern.write(memory, bytes); }); });
  recorder.step(step::kCpuVerify, bytes, [&] {
    return accessed(recorder, buffer,
                    [&] { recorder.mismatches(pattern.count_mismatches(memory, bytes)); });
  });
  if (memory != MAP_FAILED) {
    recorder.always(step::kUnmap, [&] {
      return recorder.call_errno("munmap", ::munmap(memory, bytes) != 0 ? errno : 0);
    });
  }
  recorder.always(step::kFree, [&] { return recorder.call_errno("close", buffer.close()); });
}

void only_take(Recorder& recorder, std::uint64_t bytes, const Allocate& allocate) {
  Fd buffer;
  recorder.step(step::kAllocate, 0, [&] { return allocate(recorder, bytes, buffer); });
  if (!buffer) return;
  recorder.always(step::kFree, [&] { return recorder.call_errno("close", buffer.close()); });
}

void probe_target(Run& run, const std::string& target, HeapMemory memory,
                  const Allocate& allocate) {
  const auto with = [&allocate](void (&work)(Recorder&, std::uint64_t, const Allocate&)) {
    return [work, &allocate](Recorder& recorder, std::uint64_t bytes) {
      work(recorder, bytes, allocate);
    };
  };
  if (run.options().bisect_limit > 0) {
    run.bisect(kKind, target, with(only_take), memory == HeapMemory::kContiguous);
  } else if (memory == HeapMemory::kContiguous) {
    run.once(kKind, target, with(use));
  } else {
    run.climb(kKind, target, with(use));
  }
}

void not_opened(Run& run, const std::string& target, const Node& node) {
  Result& result = run.leave_out(kKind, target, node.state, node.reason);
  if (node.state == State::kFailed) result.failed_step = step::kAllocate;
  result.error = node.error;
}

void probe_heap(Run& run, const Heap& heap, TriedAreas& tried) {
  const HeapMemory memory = memory_of_heap(heap.name);
  if (memory == HeapMemory::kProtected) {
    run.leave_out(kKind, heap.name, State::kUnsupported,
                  "by its name its memory is protected from the CPU");
    return;
  }
  if (memory == HeapMemory::kContiguous) {
    const std::string why = why_spared(heap.name, run.options(), tried);
    if (!why.empty()) {
      run.leave_out(kKind, heap.name, State::kSkipped, why);
      return;
    }
  } else if (run.options().bisect_limit > 0) {
    run.leave_out(
        kKind, heap.name, State::kUnsupported,
        "its memory is the machine's, taken page by page: its largest size would be found "
        "by the OOM killer");
    return;
  }
  const Node node = open_node(heap.path);
  if (!node.fd) {
    not_opened(run, heap.name, node);
    return;
  }
  probe_target(run, heap.name, memory, [&](Recorder& recorder, std::uint64_t bytes, Fd& buffer) {
    return allocate_from_heap(recorder, node.fd.get(), bytes, buffer);
  });
}

void probe_heaps(Run& run) {
  const std::string& directory = run.options().heap_directory;
  const HeapList list = list_heaps(directory);
  if (list.error == ENOENT) {
    run.leave_out(kKind, "", State::kUnsupported,
                  "no " + directory + ": this kernel offers no DMA heaps (CONFIG_DMABUF_HEAPS)");
    return;
  }
  if (list.error != 0) {
    const bool is_denied = list.error == EACCES || list.error == EPERM;
    Result& result =
        run.leave_out(kKind, "", is_denied ? State::kDenied : State::kFailed,
                      directory + ": " + std::strerror(list.error) +
                          (is_denied ? ": whoever runs the probe must be allowed to list it" : ""));
    result.error = errno_name(list.error);
    return;
  }
  TriedAreas tried;
  for (const Heap& heap : list.heaps) probe_heap(run, heap, tried);
  if (!list.left_out.empty()) {
    run.leave_out(kKind, "", State::kSkipped, "left out of " + directory + ": " + list.left_out);
  } else if (list.heaps.empty()) {
    run.leave_out(kKind, "", State::kUnsupported, directory + " has no heap in it");
  }
}

void probe_udmabuf(Run& run) {
  Node node = open_node(run.options().udmabuf);
  if (node.error == "ENOENT") {
    node.reason = "no " + run.options().udmabuf +
                  ": this kernel does not make DMA-BUFs of ordinary memory (CONFIG_UDMABUF), or "
                  "its module is not loaded";
  }
  if (!node.fd) {
    not_opened(run, kUdmabuf, node);
    return;
  }
  probe_target(run, kUdmabuf, HeapMemory::kOrdinary,
               [&](Recorder& recorder, std::uint64_t bytes, Fd& buffer) {
                 return allocate_from_udmabuf(recorder, node.fd.get(), bytes, buffer);
               });
}

}  // namespace

void probe_dmabuf(Run& run) {
  probe_heaps(run);
  probe_udmabuf(run);
}

}  // namespace jetmem::probe
