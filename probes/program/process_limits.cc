// SPDX-License-Identifier: Apache-2.0
#include "probes/program/process_limits.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <cstring>
#include <initializer_list>

namespace jetmem::probe {
namespace {

int clear_refs = -1;

}  // namespace

bool reset_peak_memory() { return clear_refs >= 0 && ::write(clear_refs, "5", 1) == 1; }

void limit_process(unsigned deadline_seconds) {
  // Any process may raise its own.
  const int fd = ::open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
  if (fd >= 0) (void)!::write(fd, "1000", std::strlen("1000"));
  if (fd >= 0) ::close(fd);
  const rlimit none{0, 0};
  ::setrlimit(RLIMIT_CORE, &none);
  // A loop that burns the CPU ends sooner than one that waits.
  const rlimit cpu{deadline_seconds, deadline_seconds + 1};
  ::setrlimit(RLIMIT_CPU, &cpu);
  ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  // What is no longer dumpable may not open it any more.
  clear_refs = ::open("/proc/self/clear_refs", O_WRONLY | O_CLOEXEC);
  ::prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
  // What was inherited must not stop the deadline: neither a disposition nor a mask.
  for (const int number : {SIGALRM, SIGXCPU, SIGTERM}) ::signal(number, SIG_DFL);
  sigset_t ends;
  ::sigemptyset(&ends);
  for (const int number : {SIGALRM, SIGXCPU, SIGTERM, SIGPIPE}) ::sigaddset(&ends, number);
  ::sigprocmask(SIG_UNBLOCK, &ends, nullptr);
  ::alarm(deadline_seconds);
  ::signal(SIGPIPE, SIG_DFL);
  // A file that may not grow is an error to report (EFBIG), not the end.
  ::signal(SIGXFSZ, SIG_IGN);
  // The kernels are compiled each time, which is measured, and nothing is left on a disk. If it
  // is set otherwise, the driver's cache is used.
  ::setenv("CUDA_CACHE_DISABLE", "1", 0);
  // Only the kernels that are used are loaded.
  ::setenv("CUDA_MODULE_LOADING", "LAZY", 1);
}

}  // namespace jetmem::probe
