// SPDX-License-Identifier: Apache-2.0
// host: pageable memory, what malloc() gives. The baseline of the others: where this is slow, the
// machine is short of memory or of clock, whatever the kind.

#include <sys/mman.h>

#include <cerrno>

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
    void* memory = MAP_FAILED;
    Pattern pattern;
    recorder.step(step::kAllocate, 0, [&] {
      memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
      return recorder.call_errno("mmap", memory == MAP_FAILED ? errno : 0);
    });
    if (memory == MAP_FAILED) return;
    recorder.touch(memory, bytes, bytes);
    recorder.write(pattern, memory, bytes);
    recorder.verify(pattern, memory, bytes);
    recorder.cleanup(step::kFree, [&] {
      return recorder.call_errno("munmap", ::munmap(memory, bytes) != 0 ? errno : 0);
    });
  });
}

}  // namespace jetmem::probe
