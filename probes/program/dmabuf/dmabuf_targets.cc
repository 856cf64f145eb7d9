// SPDX-License-Identifier: Apache-2.0
#include "probes/program/dmabuf/dmabuf_targets.h"

#include <utility>

namespace jetmem::probe {
namespace {

void probe_node(Run& run, const char* kind, const DmabufTarget& target, Node node,
                const ProbeTarget& probe) {
  if (node.fd) {
    DmabufTarget opened = target;
    opened.node = node.fd.get();
    probe(opened);
    return;
  }
  Result& result = run.add_result(kind, target.name, node.state, node.reason);
  if (node.state == State::kFailed) result.failed_step = step::kAllocate;
  result.error = node.error;
}

}  // namespace

void probe_heap(Run& run, const char* kind, const Heap& heap, TriedAreas& tried,
                const ProbeTarget& probe) {
  const HeapMemory memory = memory_of_heap(heap.name);
  if (memory == HeapMemory::kProtected) {
    run.add_result(kind, heap.name, State::kUnsupported,
                   "by its name its memory is protected from the CPU");
    return;
  }
  Node node = open_node(heap.path);
  if (memory == HeapMemory::kContiguous) {
    // One that may not be opened leaves its memory to another heap of the same area.
    const std::string why = node.fd ? heap_skip_reason(heap.name, run.options(), tried)
                                    : heap_skip_reason(heap.name, run.options());
    if (!why.empty()) {
      run.add_result(kind, heap.name, State::kSkipped, why);
      return;
    }
  } else if (run.options().bisect_limit > 0) {
    run.add_result(
        kind, heap.name, State::kUnsupported,
        "its memory is the machine's, taken page by page: its largest size would be found "
        "by the OOM killer");
    return;
  }
  probe_node(run, kind, {heap.name, memory, -1, allocate_from_heap}, std::move(node), probe);
}

void probe_udmabuf(Run& run, const char* kind, const ProbeTarget& probe) {
  Node node = open_node(run.options().udmabuf);
  if (node.error == "ENOENT") {
    node.reason = "no " + run.options().udmabuf +
                  ": this kernel does not make DMA-BUFs of ordinary memory (CONFIG_UDMABUF), or "
                  "its module is not loaded";
  }
  probe_node(run, kind, {kUdmabuf, HeapMemory::kOrdinary, -1, allocate_from_udmabuf},
             std::move(node), probe);
}

}  // namespace jetmem::probe
