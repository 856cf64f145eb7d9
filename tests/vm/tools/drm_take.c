// SPDX-License-Identifier: Apache-2.0
// Takes buffers of a GPU's driver in the kernel.
//
//   drm_take DRIVER MEGABYTES TOUCHED_MEGABYTES SHARED_MEGABYTES
//
// opens the /dev/dri/card of this driver and keeps two buffers of it: one of MEGABYTES, so much of it in use, and one of
// SHARED_MEGABYTES that is a DMA-BUF too. 0 for none. Says what it has; keeps it until it is ended.
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <drm/drm.h>
#include <drm/drm_mode.h>

static int card_of(const char *driver) {
  for (int i = 0; i < 16; ++i) {
    char path[32];
    snprintf(path, sizeof path, "/dev/dri/card%d", i);
    const int card = open(path, O_RDWR | O_CLOEXEC);
    if (card < 0) continue;
    char name[64] = "";
    struct drm_version version = {.name = name, .name_len = sizeof name - 1};
    if (ioctl(card, DRM_IOCTL_VERSION, &version) == 0 && strcmp(name, driver) == 0) return card;
    close(card);
  }
  fprintf(stderr, "no card of %s\n", driver);
  exit(1);
}

static void check(int result, const char *what) {
  if (result >= 0) return;
  perror(what);
  exit(1);
}

// 8 bits a pixel, 1024 pixels a line.
static uint32_t buffer_of(int card, unsigned long megabytes) {
  struct drm_mode_create_dumb wanted = {.width = 1024, .height = (uint32_t)megabytes << 10, .bpp = 8};
  check(ioctl(card, DRM_IOCTL_MODE_CREATE_DUMB, &wanted), "DRM_IOCTL_MODE_CREATE_DUMB");
  return wanted.handle;
}

int main(int argc, char **argv) {
  if (argc < 5) {
    fprintf(stderr, "usage: drm_take DRIVER MEGABYTES TOUCHED_MEGABYTES SHARED_MEGABYTES\n");
    return 2;
  }
  const int card = card_of(argv[1]);
  const unsigned long bytes = strtoul(argv[2], NULL, 0), touched = strtoul(argv[3], NULL, 0) << 20;
  const unsigned long shared = strtoul(argv[4], NULL, 0);
  if (bytes > 0) {
    struct drm_mode_map_dumb map = {.handle = buffer_of(card, bytes)};
    check(ioctl(card, DRM_IOCTL_MODE_MAP_DUMB, &map), "DRM_IOCTL_MODE_MAP_DUMB");
    volatile char *memory = mmap(NULL, bytes << 20, PROT_READ | PROT_WRITE, MAP_SHARED, card, (off_t)map.offset);
    check(memory == MAP_FAILED ? -1 : 0, "mmap");
    for (unsigned long i = 0; i < touched; i += 4096) memory[i] = 1;
  }
  if (shared > 0) {
    struct drm_prime_handle handle = {.handle = buffer_of(card, shared), .flags = DRM_CLOEXEC | DRM_RDWR};
    check(ioctl(card, DRM_IOCTL_PRIME_HANDLE_TO_FD, &handle), "DRM_IOCTL_PRIME_HANDLE_TO_FD");
  }
  printf("has %lu MiB and %lu MiB\n", bytes, shared);
  fflush(stdout);
  pause();
  return 0;
}
