// SPDX-License-Identifier: Apache-2.0
// host: pageable memory, what malloc() gives. The baseline of the others: where this is slow, the
// machine is short of memory or of clock, whatever the kind.

#include "probes/program/host_buffer.h"
#include "probes/program/kinds.h"
#include "probes/program/pattern.h"

namespace jetmem::probe {

void probe_host(Run& run) {
  if (run.options().bisect_limit > 0) {
    run.add_result(
        "host", "", State::kUnsupported,
        "pageable memory is promised without being there: its largest size would be found "
        "by the OOM killer");
    return;
  }
  run.run_ladder("host", "", [](Recorder& recorder, std::uint64_t bytes) {
    HostBuffer memory;
    Pattern pattern;
    recorder.step(step::kAllocate, 0,
                  [&] { return recorder.call_errno("mmap", memory.allocate(bytes)); });
    if (memory.get() == nullptr) return;
    recorder.touch(memory.get(), bytes, bytes);
    recorder.write(pattern, memory.get(), bytes);
    recorder.verify(pattern, memory.get(), bytes);
    recorder.cleanup(step::kFree, [&] { return recorder.call_errno("munmap", memory.free()); });
  });
}

}  // namespace jetmem::probe
