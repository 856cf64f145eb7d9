// SPDX-License-Identifier: Apache-2.0
// Has QEMU's "edu" device do DMA to an address of one's choice, from user space and without a driver of
// its own: what a camera does whose buffer was freed too early. The kernel's SMMU must not let it through.
//
//   edu_fault 0000:00:05.0 IOVA [read|write] [TRANSFERS]
//
// Prints at which second since boot the first transfer began, as /proc/uptime counts.
//
// Registers: QEMU's docs/specs/edu. 0x00 identification 0x010000ed; 0x80 source, 0x88 destination, 0x90
// bytes, 0x98 command: 1 starts it, 2 means from the device to memory, and bit 0 reads 1 while it runs.
// A transfer of 4096 bytes aborts QEMU 7.2, so these are of 8.
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { kIdentity = 0x00, kSource = 0x80, kDestination = 0x88, kBytes = 0x90, kCommand = 0x98 };
enum { kStart = 1, kToMemory = 2 };
static const uint64_t kOwnBuffer = 0x40000;

static int open_file(const char *device, const char *name) {
  char path[256];
  snprintf(path, sizeof path, "/sys/bus/pci/devices/%s/%s", device, name);
  const int fd = open(path, O_RDWR | O_SYNC);
  if (fd < 0) {
    perror(path);
    exit(1);
  }
  return fd;
}

static void let_it_master_the_bus(const char *device) {
  const int fd = open_file(device, "config");
  uint16_t command = 0;
  if (pread(fd, &command, 2, 4) != 2) exit(1);
  command |= 0x6;  // memory space, bus master
  if (pwrite(fd, &command, 2, 4) != 2) {
    perror("config");
    exit(1);
  }
  close(fd);
}

int main(int argc, char **argv) {
  if (argc < 3) {
    fprintf(stderr, "usage: edu_fault DEVICE IOVA [read|write] [TRANSFERS]\n");
    return 2;
  }
  uint64_t iova = strtoull(argv[2], NULL, 0);
  const int is_write = argc > 3 && strcmp(argv[3], "write") == 0;
  const int transfers = argc > 4 ? atoi(argv[4]) : 1;
  let_it_master_the_bus(argv[1]);
  const int fd = open_file(argv[1], "resource0");
  volatile uint8_t *at = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (at == MAP_FAILED) {
    perror("resource0");
    return 1;
  }
  const uint32_t identity = *(volatile uint32_t *)(at + kIdentity);
  if ((identity & 0xffff) != 0x00ed) {
    fprintf(stderr, "not an edu device: %08x\n", identity);
    return 1;
  }
  struct timespec begin;
  clock_gettime(CLOCK_BOOTTIME, &begin);
  for (int i = 0; i < transfers; ++i, iova += 4096) {
    *(volatile uint64_t *)(at + kSource) = is_write ? kOwnBuffer : iova;
    *(volatile uint64_t *)(at + kDestination) = is_write ? iova : kOwnBuffer;
    *(volatile uint64_t *)(at + kBytes) = 8;
    *(volatile uint64_t *)(at + kCommand) = is_write ? kStart | kToMemory : kStart;
    for (int t = 0; t < 2000 && (*(volatile uint64_t *)(at + kCommand) & kStart); ++t) usleep(1000);
  }
  printf("%lld.%02ld\n", (long long)begin.tv_sec, begin.tv_nsec / 10000000);
  return 0;
}
