// SPDX-License-Identifier: Apache-2.0
/* Counts each thread's calls of malloc and its kin, C++'s new included. Linked into a program, or
 * preloaded into one (LD_PRELOAD); then COUNT_MALLOC_FILE names a file that shows the counts while
 * the program runs: 64 pairs of 64-bit numbers, thread id and count. glibc only. */
#define _GNU_SOURCE
#include "tests/bench/count_malloc.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

extern void* __libc_malloc(size_t size);
extern void* __libc_calloc(size_t count, size_t size);
extern void* __libc_realloc(void* old, size_t size);
extern void* __libc_memalign(size_t alignment, size_t size);

enum { kSlots = 64 };

struct slot {
  uint64_t thread;
  uint64_t count;
};

static struct slot in_memory[kSlots];
static struct slot* slots = in_memory;
static atomic_uint used;
static __thread struct slot* mine __attribute__((tls_model("initial-exec")));

static void count(void) {
  if (mine == NULL) {
    unsigned i = atomic_fetch_add(&used, 1);
    mine = &slots[i < kSlots ? i : kSlots - 1];
    mine->thread = (uint64_t)syscall(SYS_gettid);
  }
  ++mine->count;
}

/* Before main, so there is only one thread. */
__attribute__((constructor)) static void show_in_file(void) {
  const char* path = getenv("COUNT_MALLOC_FILE");
  if (path == NULL) return;
  int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (fd < 0 || ftruncate(fd, sizeof in_memory) != 0) return;
  void* shown = mmap(NULL, sizeof in_memory, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  close(fd);
  if (shown == MAP_FAILED) return;
  memcpy(shown, in_memory, sizeof in_memory);
  slots = shown;
  if (mine != NULL) mine = slots + (mine - in_memory);
}

unsigned long allocations_of_this_thread(void) { return mine == NULL ? 0 : mine->count; }

void* malloc(size_t size) {
  count();
  return __libc_malloc(size);
}

void* calloc(size_t number, size_t size) {
  count();
  return __libc_calloc(number, size);
}

void* realloc(void* old, size_t size) {
  count();
  return __libc_realloc(old, size);
}

void* memalign(size_t alignment, size_t size) {
  count();
  return __libc_memalign(alignment, size);
}

void* aligned_alloc(size_t alignment, size_t size) { return memalign(alignment, size); }

int posix_memalign(void** out, size_t alignment, size_t size) {
  *out = memalign(alignment, size);
  return *out == NULL ? 12 /* ENOMEM */ : 0;
}
