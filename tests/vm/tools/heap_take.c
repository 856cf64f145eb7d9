// SPDX-License-Identifier: Apache-2.0
// Takes buffers from a DMA heap, as a camera does.
//
//   heap_take HEAP MEGABYTES MOST [EACH_SECOND]
//
// takes buffers until one is refused or it has MOST; with EACH_SECOND it gives each second one back, which
// leaves as many holes. Says how many it has, and whether one was refused; keeps them until it is ended.
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <linux/dma-heap.h>

enum { kMost = 1024 };

int main(int argc, char **argv) {
  if (argc < 4) {
    fprintf(stderr, "usage: heap_take HEAP MEGABYTES MOST [EACH_SECOND]\n");
    return 2;
  }
  char path[128];
  snprintf(path, sizeof path, "/dev/dma_heap/%s", argv[1]);
  const int heap = open(path, O_RDWR | O_CLOEXEC);
  if (heap < 0) {
    perror(path);
    return 1;
  }
  const uint64_t bytes = (uint64_t)(atof(argv[2]) * (1 << 20));
  const int most = atoi(argv[3]) < kMost ? atoi(argv[3]) : kMost;
  int buffers[kMost];
  int count = 0;
  int refused = 0;
  for (; count < most; ++count) {
    struct dma_heap_allocation_data asked = {.len = bytes, .fd_flags = O_RDWR | O_CLOEXEC};
    if (ioctl(heap, DMA_HEAP_IOCTL_ALLOC, &asked) < 0) {
      refused = errno;
      break;
    }
    buffers[count] = (int)asked.fd;
  }
  int left = count;
  for (int i = 0; argc > 4 && i < count; i += 2, --left) close(buffers[i]);
  printf("has %d%s%s\n", left, refused ? ", refused: " : "", refused ? strerror(refused) : "");
  fflush(stdout);
  pause();
  return 0;
}
