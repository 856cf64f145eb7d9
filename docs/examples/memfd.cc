// memfd: shared memory of tmpfs, as udmabuf and many pipelines pass it between processes.

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>

#include "probes/program/kinds.h"
#include "probes/program/pattern.h"

namespace jetmem::probe {

void probe_memfd(Run& run) {
  run.climb("memfd", "", [](Recorder& recorder, std::uint64_t bytes) {
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
    recorder.step(step::kCpuWrite, bytes, [&] {
      pattern.write(memory, bytes);
      return true;
    });
    recorder.step(step::kCpuVerify, bytes, [&] {
      recorder.mismatches(pattern.count_mismatches(memory, bytes));
      return true;
    });
    // What was taken goes back, however far it came.
    if (memory != MAP_FAILED) {
      recorder.always(step::kUnmap, [&] {
        return recorder.call_errno("munmap", ::munmap(memory, bytes) != 0 ? errno : 0);
      });
    }
    if (fd >= 0) {
      recorder.always(step::kFree,
                      [&] { return recorder.call_errno("close", ::close(fd) != 0 ? errno : 0); });
    }
  });
}

}  // namespace jetmem::probe
