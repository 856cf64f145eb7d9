// SPDX-License-Identifier: Apache-2.0
// Loaded in front of jetmem-probe: answers a DMA heap's and udmabuf's requests with files in
// memory, in the way that FAKE_DMA_BUF names, and notes each in the file FAKE_DMA_BUF_LOG. What it
// stands for is tried with real heaps in a virtual machine; here, what real ones rarely do.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

struct heap_allocation {
  uint64_t len;
  uint32_t fd;
  uint32_t fd_flags;
  uint64_t heap_flags;
};
struct udmabuf_create {
  uint32_t memfd;
  uint32_t flags;
  uint64_t offset;
  uint64_t size;
};

static int is(const char* behaviour) {
  const char* asked = getenv("FAKE_DMA_BUF");
  return asked && strcmp(asked, behaviour) == 0;
}

static void note(const char* what, unsigned long long number) {
  const char* path = getenv("FAKE_DMA_BUF_LOG");
  const int fd = path ? open(path, O_WRONLY | O_CREAT | O_APPEND, 0600) : -1;
  if (fd < 0) return;
  char line[64];
  const int n = snprintf(line, sizeof line, "%s %llu\n", what, number);
  if (write(fd, line, (size_t)n) != n) abort();
  close(fd);
}

static int fail(int error) {
  errno = error;
  return -1;
}

static int make_buffer(uint64_t bytes) {
  const int fd = memfd_create("fake", MFD_CLOEXEC);
  if (fd >= 0 && ftruncate(fd, (off_t)bytes) != 0) return -1;
  return fd;
}

static int allocate(struct heap_allocation* wanted) {
  note("allocate", wanted->len);
  if (wanted->fd != 0 || wanted->heap_flags != 0 || wanted->fd_flags != (O_RDWR | O_CLOEXEC)) {
    return fail(EINVAL);
  }
  if (is("full") || (is("half_full") && wanted->len > (1 << 20))) return fail(ENOMEM);
  if (is("no_heap")) return fail(ENOTTY);
  if (is("no_buffer")) return 0;
  const int fd = make_buffer(wanted->len);
  wanted->fd = (uint32_t)fd;
  return fd < 0 ? -1 : 0;
}

static int create(const struct udmabuf_create* wanted) {
  note("create", wanted->size);
  const int seals = fcntl((int)wanted->memfd, F_GET_SEALS);
  struct stat file;
  if (fstat((int)wanted->memfd, &file) != 0) return -1;
  if (!(seals & F_SEAL_SHRINK) || (seals & F_SEAL_WRITE)) return fail(EINVAL);
  if (wanted->flags != 1 || wanted->size % (uint64_t)sysconf(_SC_PAGESIZE) != 0) {
    return fail(EINVAL);
  }
  if ((uint64_t)file.st_size != wanted->size) return fail(EINVAL);
  return make_buffer(wanted->size);
}

static int brackets_closed = 0;  // of this process

static int sync_buffer(int fd, uint64_t flags) {
  static int interruptions = 0;
  if (is("interrupted") && interruptions++ % 4 != 3)
    return fail(interruptions % 2 ? EINTR : EAGAIN);
  if (is("never")) return fail(EAGAIN);
  note("sync", flags);
  // After the CPU's writes: one word of them does not arrive.
  if (is("corrupt") && (flags & 4) != 0 && ++brackets_closed == 2) {
    char byte = 0;
    if (pread(fd, &byte, 1, 4096) != 1) return -1;
    byte ^= 1;
    if (pwrite(fd, &byte, 1, 4096) != 1) return -1;
  }
  return 0;
}

int ioctl(int fd, unsigned long request, ...) {
  va_list rest;
  va_start(rest, request);
  void* argument = va_arg(rest, void*);
  va_end(rest);
  if (request == _IOWR('H', 0, struct heap_allocation)) return allocate(argument);
  if (request == _IOW('u', 0x42, struct udmabuf_create)) return create(argument);
  if (request == _IOW('b', 0, uint64_t)) return sync_buffer(fd, *(uint64_t*)argument);
  return (int)syscall(SYS_ioctl, fd, request, argument);
}
