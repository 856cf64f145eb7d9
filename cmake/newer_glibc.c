// SPDX-License-Identifier: Apache-2.0
/* What the libstdc++.a of Debian 12 refers to and glibc 2.31, which the packages are made for, does not have. Compiled
 * into each program of a portable build (cmake/portable.cmake); hidden, so that no library takes it for glibc's. */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/random.h>

#define HIDDEN __attribute__((visibility("hidden")))

/* glibc 2.32: 0 means that there may be other threads, so reference counts are atomic. */
HIDDEN char __libc_single_threaded = 0;

/* glibc 2.36, for std::random_device. */
HIDDEN uint32_t arc4random(void);
HIDDEN uint32_t arc4random(void) {
  uint32_t word;
  ssize_t size;
  do {
    size = getrandom(&word, sizeof word, 0);
  } while (size < 0 && errno == EINTR);
  /* As glibc does: a guessable number is worse than none. */
  if (size != (ssize_t)sizeof word) abort();
  return word;
}
