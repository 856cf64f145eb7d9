// SPDX-License-Identifier: Apache-2.0
// Stands for NVIDIA's library in tests: the functions that jetmem-nvml asks, answered in one of
// several ways, chosen when it is compiled (FAKE_THOR, FAKE_ORIN, ...).
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { OK = 0, NOT_SUPPORTED = 3, NO_PERMISSION = 4, INSUFFICIENT_SIZE = 7, GPU_IS_LOST = 15 };
#define NOT_AVAILABLE (~0ULL)

struct memory {
  unsigned long long total, free, used;
};
struct utilization {
  unsigned int gpu, memory;
};
struct v1 {
  unsigned int pid;
  unsigned long long bytes;
};
struct v2 {
  unsigned int pid;
  unsigned long long bytes;
  unsigned int gpu_instance, compute_instance;
};
struct v3_of_some_drivers {
  struct v2 v2;
  unsigned long long protected_bytes;
};

int nvmlInit_v2(void) {
#if FAKE_DENIED
  return NO_PERMISSION;
#elif FAKE_HANG
  for (;;) pause();
#elif FAKE_CRASH
  abort();
#endif
  return OK;
}

int nvmlShutdown(void) { return OK; }

const char* nvmlErrorString(int code) {
  if (code == NOT_SUPPORTED) return "Not Supported";
  if (code == NO_PERMISSION) return "Insufficient Permissions";
  if (code == GPU_IS_LOST) return "GPU is lost";
  return "Unknown\nError";
}

int nvmlSystemGetDriverVersion(char* text, unsigned int size) {
  strncpy(text, "580.00", size);
  return OK;
}

int nvmlDeviceGetCount_v2(unsigned int* count) {
#if FAKE_CARD
  *count = 2;
#else
  *count = 1;
#endif
  return OK;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned int index, void** device) {
#if FAKE_LOST
  (void)index, (void)device;
  return GPU_IS_LOST;
#endif
  *device = (void*)(size_t)(index + 1);
  return OK;
}

int nvmlDeviceGetName(void* device, char* text, unsigned int size) {
  (void)device;
#if FAKE_ORIN
  strncpy(text, "Orin (nvgpu)", size);
#elif FAKE_THOR
  strncpy(text, "NVIDIA Thor", size);
#else
  strncpy(text, "NVIDIA \"Test\"\n\033[31m GPU", size);
#endif
  return OK;
}

int nvmlDeviceGetMemoryInfo(void* device, struct memory* memory) {
  (void)device;
#if FAKE_ORIN || FAKE_THOR
  (void)memory;
  return NOT_SUPPORTED;
#else
  memory->total = 25757220864ULL;
  memory->used = 1073741824ULL;
  memory->free = memory->total - memory->used;
  return OK;
#endif
}

int nvmlDeviceGetBAR1MemoryInfo(void* device, struct memory* memory) {
  (void)device;
#if FAKE_ORIN || FAKE_THOR
  (void)memory;
  return NOT_SUPPORTED;
#else
  memory->total = 268435456ULL;
  return OK;
#endif
}

int nvmlDeviceGetUtilizationRates(void* device, struct utilization* utilization) {
  (void)device;
#if FAKE_ORIN
  (void)utilization;
  return NOT_SUPPORTED;
#else
  utilization->gpu = 37;
  utilization->memory = 12;
  return OK;
#endif
}

static const struct v1 kCompute[] = {
    {1840, 734003200ULL}, {2460, 42949672960ULL}, {2215, NOT_AVAILABLE}};
static const struct v1 kGraphics[] = {{1377, 0}, {1840, 734003200ULL}};

// Writes entries of the size that this version has.
static int list(const struct v1* from, unsigned int there, unsigned int* count, void* infos,
                size_t entry) {
#if FAKE_ORIN
  (void)from, (void)there, (void)count, (void)infos, (void)entry;
  return NOT_SUPPORTED;
#elif FAKE_CROWD
  (void)from;
  there = 3000;
#endif
  if (*count < there) {
    *count = there;
    return INSUFFICIENT_SIZE;
  }
  *count = there;
  for (unsigned int i = 0; i < there; ++i) {
    struct v3_of_some_drivers one;
    memset(&one, 0, sizeof one);
#if FAKE_CROWD
    one.v2.pid = 10000 + i;
    one.v2.bytes = 4096;
#else
    one.v2.pid = from[i].pid;
    one.v2.bytes = from[i].bytes;
#endif
    if (entry > sizeof(struct v1)) one.v2.gpu_instance = one.v2.compute_instance = 0xFFFFFFFFU;
    memcpy((char*)infos + i * entry, &one, entry);
  }
  return OK;
}

#define LISTS(suffix, type)                                                            \
  int nvmlDeviceGetComputeRunningProcesses##suffix(void* device, unsigned int* count,  \
                                                   void* infos) {                      \
    (void)device;                                                                      \
    return list(kCompute, 3, count, infos, sizeof(type));                              \
  }                                                                                    \
  int nvmlDeviceGetGraphicsRunningProcesses##suffix(void* device, unsigned int* count, \
                                                    void* infos) {                     \
    (void)device;                                                                      \
    return list(kGraphics, 2, count, infos, sizeof(type));                             \
  }

#if FAKE_V1
LISTS(, struct v1)
#elif FAKE_V2
LISTS(, struct v1)
LISTS(_v2, struct v2)
#elif FAKE_LONG
LISTS(, struct v1)
LISTS(_v2, struct v2)
LISTS(_v3, struct v3_of_some_drivers)
#else
LISTS(, struct v1)
LISTS(_v2, struct v2)
LISTS(_v3, struct v2)
#endif
