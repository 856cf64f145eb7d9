// SPDX-License-Identifier: Apache-2.0
// dmabuf: buffers of each DMA heap and of udmabuf, which is what cameras, encoders and displays
// pass around.
//
// The system's heap and udmabuf take ordinary pages. Every other heap takes contiguous ones that
// a camera may need the next moment: one frame of it is taken, once, and only where there is room
// for four.

#include <cerrno>
#include <cstring>

#include "probes/program/dmabuf/dmabuf_targets.h"
#include "probes/program/kinds.h"

namespace jetmem::probe {
namespace {

constexpr const char* kKind = "dmabuf";

void use(Recorder& recorder, std::uint64_t bytes, const DmabufTarget& target) {
  MappedDmabuf buffer(recorder, bytes);
  const Pattern pattern;
  if (!buffer.allocate(target.node, target.allocate)) return;
  buffer.map();
  buffer.touch();
  buffer.write(pattern);
  buffer.verify(pattern);
  buffer.unmap_and_free();
}

void only_allocate(Recorder& recorder, std::uint64_t bytes, const DmabufTarget& target) {
  MappedDmabuf buffer(recorder, bytes);
  if (buffer.allocate(target.node, target.allocate)) buffer.unmap_and_free();
}

void probe_target(Run& run, const DmabufTarget& target) {
  const auto with = [&target](void (&work)(Recorder&, std::uint64_t, const DmabufTarget&)) {
    return
        [work, &target](Recorder& recorder, std::uint64_t bytes) { work(recorder, bytes, target); };
  };
  const bool is_contiguous = target.memory == HeapMemory::kContiguous;
  if (run.options().bisect_limit > 0) {
    run.bisect(kKind, target.name, with(only_allocate), is_contiguous);
  } else if (is_contiguous) {
    run.run_once(kKind, target.name, with(use));
  } else {
    run.run_ladder(kKind, target.name, with(use));
  }
}

void probe_heaps(Run& run) {
  const std::string& directory = run.options().heap_directory;
  const HeapList list = list_heaps(directory);
  if (list.error == ENOENT) {
    run.add_result(kKind, "", State::kUnsupported,
                   "no " + directory + ": this kernel offers no DMA heaps (CONFIG_DMABUF_HEAPS)");
    return;
  }
  if (list.error != 0) {
    const bool is_denied = list.error == EACCES || list.error == EPERM;
    Result& result = run.add_result(
        kKind, "", is_denied ? State::kDenied : State::kFailed,
        directory + ": " + std::strerror(list.error) +
            (is_denied ? ": whoever runs the probe must be allowed to list it" : ""));
    result.error = errno_name(list.error);
    return;
  }
  TriedAreas tried;
  for (const Heap& heap : list.heaps) {
    probe_heap(run, kKind, heap, tried,
               [&](const DmabufTarget& target) { probe_target(run, target); });
  }
  if (!list.untried.empty()) {
    run.add_result(kKind, "", State::kSkipped, "not tried in " + directory + ": " + list.untried);
  } else if (list.heaps.empty()) {
    run.add_result(kKind, "", State::kUnsupported, directory + " has no heap in it");
  }
}

}  // namespace

void probe_dmabuf(Run& run) {
  probe_heaps(run);
  probe_udmabuf(run, kKind, [&](const DmabufTarget& target) { probe_target(run, target); });
}

}  // namespace jetmem::probe
