// SPDX-License-Identifier: Apache-2.0
// Loaded in front of jetmemd: whoever reads a file whose path contains HANG_ON waits for as long as
// the file HANG_WHILE exists, as on a disk that does not answer.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

static void wait_for_it(int fd) {
  const char* on = getenv("HANG_ON");
  const char* until = getenv("HANG_WHILE");
  if (!on || !until || access(until, F_OK) != 0) return;
  char link[64];
  char path[512];
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  const ssize_t size = readlink(link, path, sizeof path - 1);
  if (size <= 0) return;
  path[size] = 0;
  if (!strstr(path, on)) return;
  const struct timespec pause = {0, 20000000};
  while (access(until, F_OK) == 0) nanosleep(&pause, NULL);
}

ssize_t read(int fd, void* to, size_t size) {
  static ssize_t (*next)(int, void*, size_t);
  if (!next) next = (ssize_t(*)(int, void*, size_t))dlsym(RTLD_NEXT, "read");
  wait_for_it(fd);
  return next(fd, to, size);
}

ssize_t pread(int fd, void* to, size_t size, off_t at) {
  static ssize_t (*next)(int, void*, size_t, off_t);
  if (!next) next = (ssize_t(*)(int, void*, size_t, off_t))dlsym(RTLD_NEXT, "pread");
  wait_for_it(fd);
  return next(fd, to, size, at);
}

ssize_t pread64(int fd, void* to, size_t size, off64_t at) {
  static ssize_t (*next)(int, void*, size_t, off64_t);
  if (!next) next = (ssize_t(*)(int, void*, size_t, off64_t))dlsym(RTLD_NEXT, "pread64");
  wait_for_it(fd);
  return next(fd, to, size, at);
}
