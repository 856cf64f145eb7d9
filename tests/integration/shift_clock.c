// SPDX-License-Identifier: Apache-2.0
// Loaded in front of jetmemd: the wall clock is ahead of the kernel's by as many seconds as the
// file SHIFT_CLOCK says in its first eight bytes, which may change at any time. The other clocks
// are the kernel's: nobody else's time is touched.
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static const volatile int64_t* seconds_ahead;

__attribute__((constructor)) static void look(void) {
  const char* path = getenv("SHIFT_CLOCK");
  const int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
  if (fd < 0) return;
  void* page = mmap(NULL, sizeof(int64_t), PROT_READ, MAP_SHARED, fd, 0);
  close(fd);
  if (page != MAP_FAILED) seconds_ahead = page;
}

int clock_gettime(clockid_t clock, struct timespec* now) {
  const long result = syscall(SYS_clock_gettime, clock, now);
  if (result == 0 && clock == CLOCK_REALTIME && seconds_ahead) now->tv_sec += *seconds_ahead;
  return (int)result;
}
