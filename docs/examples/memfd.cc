// SPDX-License-Identifier: Apache-2.0
// memfd: shared memory of tmpfs, as udmabuf and many pipelines pass it between processes.

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>

#include "probes/program/kinds.h"

namespace jetmem::probe {

void probe_memfd(Run& run) {
  run.run_ladder("memfd", "", [](Recorder& recorder, std::uint64_t bytes) {
    int fd = -1;
    void* memory = MAP_FAILED;
    Pattern pattern;
    recorder.step(step::kAllocate, 0, [&] {
      fd = ::memfd_create("jetmem-probe", MFD_CLOEXEC);
      if (!recorder.call_errno("memfd_create", fd < 0 ? errno : 0)) return false;
      const int answer = ::ftruncate(fd, static_cast<off_t>(bytes));
      return recorder.call_errno("ftruncate", answer != 0 ? errno : 0);
    });
    recorder.step(step::kMap, 0, [&] {
      memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
      return recorder.call_errno("mmap", memory == MAP_FAILED ? errno : 0);
    });
    recorder.write(pattern, memory, bytes);
    recorder.verify(pattern, memory, bytes);
    // Whatever was allocated is freed, however far it came.
    if (memory != MAP_FAILED) {
      recorder.cleanup(step::kUnmap, [&] {
        return recorder.call_errno("munmap", ::munmap(memory, bytes) != 0 ? errno : 0);
      });
    }
    if (fd >= 0) {
      recorder.cleanup(step::kFree,
                       [&] { return recorder.call_errno("close", ::close(fd) != 0 ? errno : 0); });
    }
  });
}

}  // namespace jetmem::probe
