// SPDX-License-Identifier: Apache-2.0
/* Stands in for libcuda.so.1, libEGL.so.1 and libnvbufsurface.so, all in one, so that they know of
 * each other's objects. Every call that can fail is counted, and the one that is asked for fails.
 * What is taken, given back, used wrongly is counted too.
 *
 * While "the GPU" has a surface, the CPU's mapping of it cannot be touched: whoever does dies. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

struct control {
  /* Set by the test. */
  int fail_at;       /* the call, from 1, that fails; 0: none */
  int import_answer; /* of cuImportExternalMemory: 0 is success */
  int keeps_fd;      /* an imported descriptor stays the caller's */
  int array_frames;  /* the consumer of a stream gets arrays */
  int no_egl_device;
  int spoil;        /* which field of a surface is not as expected; 0: none */
  int short_export; /* a DMA-BUF is a page short */
  int fail_answer;  /* of the call of the driver that fails; 0: an unknown error */
  /* Told to the test. */
  int calls;
  char failed[64]; /* the call that failed */
  char misuse[128];
  int taken; /* what is not given back yet */
  char order[4096];
  long anonymous_bytes; /* of this process when a frame was copied */
};
struct control fake_control;
static struct control* const c = &fake_control;

static int fails(const char* call) {
  size_t n = strlen(c->order);
  snprintf(c->order + n, sizeof c->order - n, "%s ", call);
  if (++c->calls != c->fail_at) return 0;
  snprintf(c->failed, sizeof c->failed, "%s", call);
  return 1;
}
int fake_call(const char* call) { return fails(call); }
static int failure(void) { return c->fail_answer != 0 ? c->fail_answer : 999; }

static long anonymous_bytes(void) {
  char line[256];
  long kibibytes = 0;
  FILE* status = fopen("/proc/self/status", "r");
  while (status != NULL && fgets(line, sizeof line, status) != NULL) {
    if (sscanf(line, "RssAnon: %ld kB", &kibibytes) == 1) break;
  }
  if (status != NULL) fclose(status);
  return kibibytes * 1024;
}

static void misused(const char* how) {
  if (c->misuse[0] == 0) snprintf(c->misuse, sizeof c->misuse, "%s", how);
}

enum { kTimeout = 702, kGranule = 2 << 20 };

/* Memory that can be mapped again: of the GPU, of surfaces. */
struct memory {
  void* at;
  void* cpu; /* of surfaces */
  size_t bytes;
  int fd;
};
static struct memory memories[16];

static struct memory* new_memory(size_t bytes) {
  for (int i = 0; i < 16; ++i) {
    struct memory* m = &memories[i];
    if (m->at != NULL) continue;
    m->fd = memfd_create("fake", MFD_CLOEXEC);
    if (ftruncate(m->fd, (off_t)bytes) != 0) abort();
    m->bytes = bytes;
    m->at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, m->fd, 0);
    ++c->taken;
    return m;
  }
  abort();
}
static struct memory* memory_at(const void* at) {
  for (int i = 0; i < 16; ++i) {
    if (at != NULL && memories[i].at == at) return &memories[i];
  }
  return NULL;
}
static void drop(struct memory* m) {
  munmap(m->at, m->bytes);
  close(m->fd);
  memset(m, 0, sizeof *m);
  --c->taken;
}

/* libcuda.so.1 */

int cuGetErrorName(int error, const char** name) {
  *name = error == 0     ? "CUDA_SUCCESS"
          : error == 1   ? "CUDA_ERROR_INVALID_VALUE"
          : error == 801 ? "CUDA_ERROR_NOT_SUPPORTED"
          : error == 999 ? "CUDA_ERROR_UNKNOWN"
          : error == 702 ? "CUDA_ERROR_LAUNCH_TIMEOUT"
                         : NULL;
  return *name == NULL ? 1 : 0;
}
int cuGetErrorString(int error, const char** text) {
  *text = error == 0 ? "no error" : "some error";
  return 0;
}
int cuMemAlloc_v2(uint64_t* address, size_t bytes) {
  if (fails("cuMemAlloc")) return failure();
  *address = (uintptr_t)new_memory(bytes)->at;
  return 0;
}
static int presented;
static void* presented_at;
static struct {
  void* at;
  size_t bytes;
  int fd;
  int mapped;
} imported;
int cuMemFree_v2(uint64_t address) {
  int failing = fails("cuMemFree");
  struct memory* m = memory_at((void*)(uintptr_t)address);
  if (address != 0 && imported.mapped && imported.at == (void*)(uintptr_t)address) {
    munmap(imported.at, imported.bytes);
    imported.mapped = 0;
    --c->taken;
  } else if (m == NULL) {
    misused("free of no memory");
  } else {
    if (presented && presented_at == m->at) misused("free of a presented frame");
    drop(m);
  }
  return failing ? failure() : 0;
}
int cuMemcpyHtoDAsync_v2(uint64_t to, const void* from, size_t bytes, void* stream) {
  if (fails("cuMemcpyHtoDAsync")) return failure();
  if (stream == NULL) misused("not the probe's stream");
  memcpy((void*)(uintptr_t)to, from, bytes);
  return 0;
}
int cuMemcpyDtoHAsync_v2(void* to, uint64_t from, size_t bytes, void* stream) {
  if (fails("cuMemcpyDtoHAsync")) return failure();
  if (stream == NULL) misused("not the probe's stream");
  memcpy(to, (void*)(uintptr_t)from, bytes);
  return 0;
}
int cuStreamSynchronize(void* stream) {
  if (stream == NULL) misused("not the probe's stream");
  return fails("cuStreamSynchronize") ? failure() : 0;
}
struct copy_2d {
  size_t from_x, from_y;
  int from_type;
  const void* from_host;
  uint64_t from_device;
  void* from_array;
  size_t from_pitch, to_x, to_y;
  int to_type;
  void* to_host;
  uint64_t to_device;
  void* to_array;
  size_t to_pitch, width, height;
};
int cuMemcpy2DAsync_v2(const struct copy_2d* copy, void* stream) {
  if (fails("cuMemcpy2DAsync")) return failure();
  if (stream == NULL) misused("not the probe's stream");
  c->anonymous_bytes = anonymous_bytes();
  int is_array = copy->from_type == 3;
  const char* from = is_array ? copy->from_array : (void*)(uintptr_t)copy->from_device;
  if (is_array != c->array_frames) misused("type of a frame");
  size_t pitch = is_array ? copy->width : copy->from_pitch;
  for (size_t row = 0; row < copy->height; ++row) {
    memcpy((char*)copy->to_host + row * copy->to_pitch, from + row * pitch, copy->width);
  }
  return 0;
}
#ifndef FAKE_OLD
int cuMemGetHandleForAddressRange(void* handle, uint64_t address, size_t bytes, int type,
                                  unsigned long long flags) {
  if (fails("cuMemGetHandleForAddressRange")) return failure();
  struct memory* m = memory_at((void*)(uintptr_t)address);
  if (m == NULL || m->bytes != bytes || bytes % kGranule != 0 || type != 1 || flags != 0) {
    misused("export");
    return 1;
  }
  if (c->short_export) {
    *(int*)handle = memfd_create("short", MFD_CLOEXEC);
    return ftruncate(*(int*)handle, (off_t)bytes - 4096);
  }
  *(int*)handle = fcntl(m->fd, F_DUPFD_CLOEXEC, 3);
  return 0;
}
#endif
struct external_memory {
  int type;
  union {
    int fd;
    struct {
      void* handle;
      const void* name;
    } win32;
  } handle;
  unsigned long long size;
  unsigned flags;
};
int cuImportExternalMemory(void** memory, const struct external_memory* from) {
  if (fails("cuImportExternalMemory")) return failure();
  if (c->import_answer != 0) return c->import_answer;
  if (from->type != 9 || from->flags != 0) misused("import");
  imported.fd = c->keeps_fd ? fcntl(from->handle.fd, F_DUPFD_CLOEXEC, 3) : from->handle.fd;
  imported.bytes = from->size;
  ++c->taken;
  *memory = &imported;
  return 0;
}
struct external_buffer {
  unsigned long long offset, size;
  unsigned flags;
};
int cuExternalMemoryGetMappedBuffer(uint64_t* address, void* memory,
                                    const struct external_buffer* part) {
  if (fails("cuExternalMemoryGetMappedBuffer")) return failure();
  if (memory != &imported || part->offset != 0 || part->size != imported.bytes) misused("mapping");
  imported.at = mmap(NULL, imported.bytes, PROT_READ | PROT_WRITE, MAP_SHARED, imported.fd, 0);
  imported.mapped = 1;
  ++c->taken;
  *address = (uintptr_t)imported.at;
  return 0;
}
int cuDestroyExternalMemory(void* memory) {
  int failing = fails("cuDestroyExternalMemory");
  if (memory != &imported || imported.mapped) misused("destroyed while mapped");
  close(imported.fd);
  --c->taken;
  return failing ? failure() : 0;
}

struct egl_frame {
  void* planes[3];
  unsigned width, height, depth, pitch, plane_count, channels;
  int frame_type, color_format, array_format;
};
static struct {
  void* image;
  int registered;
} graphics;
static struct memory* surface_memory;
static struct egl_frame frame_in_stream;
static int acquired;
int cuGraphicsEGLRegisterImage(void** resource, void* image, unsigned flags) {
  if (fails("cuGraphicsEGLRegisterImage")) return failure();
  if (image != surface_memory || flags != 0) misused("registered no image");
  graphics.registered = 1;
  ++c->taken;
  *resource = &graphics;
  return 0;
}
int cuGraphicsUnregisterResource(void* resource) {
  int failing = fails("cuGraphicsUnregisterResource");
  if (resource != &graphics || !graphics.registered) misused("unregistered twice");
  graphics.registered = 0;
  --c->taken;
  return failing ? failure() : 0;
}
int cuGraphicsResourceGetMappedEglFrame(struct egl_frame* frame, void* resource, unsigned index,
                                        unsigned level) {
  if (fails("cuGraphicsResourceGetMappedEglFrame")) return failure();
  if (index != 0 || level != 0) misused("no such plane");
  if (resource == &acquired) {
    *frame = frame_in_stream;
    if (c->array_frames) {
      frame->frame_type = 0;
      frame->pitch = 0;
    }
    return 0;
  }
  memset(frame, 0, sizeof *frame);
  frame->planes[0] = surface_memory->at;
  frame->width = 1024;
  frame->height = (unsigned)(surface_memory->bytes / 4096);
  frame->pitch = 4096;
  frame->frame_type = 1;
  return 0;
}

static int stream_is, consumer_is, producer_is;
int cuEGLStreamConsumerConnect(void** connection, void* stream) {
  if (fails("cuEGLStreamConsumerConnect")) return failure();
  if (stream != &stream_is || !stream_is) misused("no stream");
  consumer_is = 1;
  ++c->taken;
  *connection = &consumer_is;
  return 0;
}
int cuEGLStreamProducerConnect(void** connection, void* stream, int width, int height) {
  if (fails("cuEGLStreamProducerConnect")) return failure();
  if (stream != &stream_is || !consumer_is || width != 1024 || height < 16) misused("producer");
  producer_is = 1;
  ++c->taken;
  *connection = &producer_is;
  return 0;
}
int cuEGLStreamProducerPresentFrame(void** connection, struct egl_frame frame, void** stream) {
  if (fails("cuEGLStreamProducerPresentFrame")) return failure();
  if (*connection != &producer_is || *stream == NULL || frame.pitch != 4096) misused("present");
  frame_in_stream = frame;
  presented_at = frame.planes[0];
  presented = 1;
  return 0;
}
int cuEGLStreamConsumerAcquireFrame(void** connection, void** resource, void** stream,
                                    unsigned timeout) {
  if (fails("cuEGLStreamConsumerAcquireFrame")) return kTimeout;
  if (*connection != &consumer_is || *stream == NULL || timeout > 5000000) misused("acquire");
  acquired = 1;
  ++c->taken;
  *resource = &acquired;
  return 0;
}
int cuEGLStreamConsumerReleaseFrame(void** connection, void* resource, void** stream) {
  int failing = fails("cuEGLStreamConsumerReleaseFrame");
  if (*connection != &consumer_is || resource != &acquired || !acquired || *stream == NULL) {
    misused("released twice");
  }
  acquired = 0;
  --c->taken;
  return failing ? failure() : 0;
}
int cuEGLStreamConsumerDisconnect(void** connection) {
  int failing = fails("cuEGLStreamConsumerDisconnect");
  if (*connection != &consumer_is || !consumer_is || acquired) misused("consumer disconnected");
  consumer_is = 0;
  --c->taken;
  return failing ? failure() : 0;
}
int cuEGLStreamProducerDisconnect(void** connection) {
  int failing = fails("cuEGLStreamProducerDisconnect");
  if (*connection != &producer_is || !producer_is) misused("producer disconnected");
  producer_is = 0;
  /* A failure leaves it in doubt whether the frame is still somebody's. */
  if (!failing) presented = 0;
  --c->taken;
  return failing ? failure() : 0;
}

/* libEGL.so.1 */

int eglGetError(void) { return 0x3003; }
const char* eglQueryString(void* display, int name) {
  if (name != 0x3055) misused("string");
  return display == NULL ? "EGL_EXT_device_base EGL_EXT_platform_device EGL_KHR_client_get_all_proc"
                         : "EGL_KHR_stream EGL_KHR_stream_fifo";
}
static int display_is;
unsigned eglInitialize(void* display, int* major, int* minor) {
  (void)major, (void)minor;
  if (fails("eglInitialize")) return 0;
  if (display != &display_is) misused("initialize");
  ++c->taken;
  return 1;
}
unsigned eglTerminate(void* display) {
  if (display != &display_is) misused("terminate");
  --c->taken;
  return 1;
}
static int other_device, gpu_device;
static unsigned query_devices(int max, void** devices, int* count) {
  if (fails("eglQueryDevicesEXT")) return 0;
  if (max < 2) abort();
  devices[0] = &other_device;
  devices[1] = &gpu_device;
  *count = c->no_egl_device ? 1 : 2;
  return 1;
}
static const char* query_device_string(void* device, int name) {
  (void)device, (void)name;
  return "EGL_NV_device_cuda EGL_EXT_device_drm";
}
static unsigned query_device_attribute(void* device, int name, intptr_t* value) {
  if (name != 0x323A) misused("attribute of a device");
  *value = device == &gpu_device ? 0 : 7;
  return 1;
}
static void* get_platform_display(unsigned platform, void* device, const int* attributes) {
  if (fails("eglGetPlatformDisplayEXT")) return NULL;
  if (platform != 0x313F || device != &gpu_device || attributes != NULL) misused("display");
  return &display_is;
}
static void* create_stream(void* display, const int* attributes) {
  if (fails("eglCreateStreamKHR")) return NULL;
  if (display != &display_is || attributes[0] != 0x31FC || attributes[1] != 1) misused("stream");
  stream_is = 1;
  ++c->taken;
  return &stream_is;
}
static unsigned destroy_stream(void* display, void* stream) {
  int failing = fails("eglDestroyStreamKHR");
  if (display != &display_is || stream != &stream_is || consumer_is || producer_is) {
    misused("destroyed while connected");
  }
  stream_is = 0;
  --c->taken;
  return failing ? 0 : 1;
}
void* eglGetProcAddress(const char* name) {
  if (strcmp(name, "eglQueryDevicesEXT") == 0) return query_devices;
  if (strcmp(name, "eglQueryDeviceStringEXT") == 0) return query_device_string;
  if (strcmp(name, "eglQueryDeviceAttribEXT") == 0) return query_device_attribute;
  if (strcmp(name, "eglGetPlatformDisplayEXT") == 0) return get_platform_display;
  if (strcmp(name, "eglCreateStreamKHR") == 0) return create_stream;
  if (strcmp(name, "eglDestroyStreamKHR") == 0) return destroy_stream;
  return NULL;
}

/* libnvbufsurface.so, with structures as numbers of 32 bits: not the declarations that it tests. */

static union {
  uint32_t words[16];
  uint64_t doubles[8];
} surface;
static union {
  uint32_t words[96];
  uint64_t doubles[48];
} params;
static int surface_is, mapped, has_image;

int NvBufSurfaceCreate(void** out, uint32_t batch, const uint32_t* wanted) {
  if (fails("NvBufSurfaceCreate")) return -1;
  uint32_t width = wanted[1], height = wanted[2];
  if (batch != 1 || wanted[3] != 0 || wanted[5] != 19 || wanted[6] != 0 || wanted[7] != 4) {
    misused("parameters of a surface");
  }
  surface_memory = new_memory((size_t)width * 4 * height);
  surface_memory->cpu = NULL;
  memset(&surface, 0, sizeof surface);
  memset(&params, 0, sizeof params);
  surface.words[1] = 1; /* batchSize */
  surface.words[4] = 4; /* memType, 16 */
  surface.doubles[3] = (uintptr_t)&params;
  params.words[0] = width;
  params.words[1] = height;
  params.words[2] = width * 4;
  params.words[3] = 19;
  params.doubles[3] = (uint64_t)surface_memory->fd;  /* bufferDesc, 24 */
  params.words[8] = (uint32_t)surface_memory->bytes; /* dataSize, 32 */
  params.words[12] = 1;                              /* num_planes, 48 */
  params.words[13] = width;
  params.words[17] = height;
  params.words[21] = width * 4;                       /* pitch, 84 */
  params.words[29] = (uint32_t)surface_memory->bytes; /* psize, 116 */
  /* What fake_control.spoil stands for, from 1 to 12. */
  const struct {
    void* at;
    uint64_t value;
    size_t bytes;
  } spoils[] = {{&surface.words[1], 0, 4},
                {&surface.words[4], 0, 4},
                {&surface.doubles[3], 0, 8},
                {&surface.doubles[3], 0x1000, 8},
                {&params.words[0], 7, 4},
                {&params.words[3], 6, 4},
                {&params.words[12], 2, 4},
                {&params.words[21], 64, 4},
                {&params.words[29], 4096, 4},
                {&params.words[8], 0xFFFFFFFF, 4},
                {&params.doubles[3], 0x7000000000, 8},
                {&params.words[21], width * 4 + 256, 4}};
  if (c->spoil >= 1 && c->spoil <= 12) {
    memcpy(spoils[c->spoil - 1].at, &spoils[c->spoil - 1].value, spoils[c->spoil - 1].bytes);
  }
  surface_is = 1;
  *out = c->spoil == 13 ? (void*)0x10000 : &surface;
  if (c->spoil == 13) {
    surface_is = 0;
    drop(surface_memory);
  }
  return 0;
}
int NvBufSurfaceDestroy(void* s) {
  int failing = fails("NvBufSurfaceDestroy");
  if (s != &surface || !surface_is || mapped || has_image) misused("destroyed while in use");
  surface_is = 0;
  drop(surface_memory);
  return failing ? -1 : 0;
}
int NvBufSurfaceMap(void* s, int index, int plane, int flags) {
  if (fails("NvBufSurfaceMap")) return -1;
  if (s != &surface || index != 0 || plane != 0 || flags != 2) misused("map");
  surface_memory->cpu =
      mmap(NULL, surface_memory->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, surface_memory->fd, 0);
  params.doubles[35] = c->spoil == 14 ? 0 : (uintptr_t)surface_memory->cpu; /* 280 */
  mapped = 1;
  ++c->taken;
  return 0;
}
int NvBufSurfaceUnMap(void* s, int index, int plane) {
  int failing = fails("NvBufSurfaceUnMap");
  if (s != &surface || index != 0 || plane != 0 || !mapped) misused("unmapped twice");
  munmap(surface_memory->cpu, surface_memory->bytes);
  mapped = 0;
  --c->taken;
  return failing ? -1 : 0;
}
int NvBufSurfaceSyncForCpu(void* s, int index, int plane) {
  if (fails("NvBufSurfaceSyncForCpu")) return -1;
  if (s != &surface || index != 0 || plane != 0) misused("sync");
  mprotect(surface_memory->cpu, surface_memory->bytes, PROT_READ | PROT_WRITE);
  return 0;
}
int NvBufSurfaceSyncForDevice(void* s, int index, int plane) {
  if (fails("NvBufSurfaceSyncForDevice")) return -1;
  if (s != &surface || index != 0 || plane != 0) misused("sync");
  mprotect(surface_memory->cpu, surface_memory->bytes, PROT_NONE);
  return 0;
}
#ifndef FAKE_OLD
int NvBufSurfaceMapEglImage(void* s, int index) {
  if (fails("NvBufSurfaceMapEglImage")) return -1;
  if (s != &surface || index != 0) misused("image");
  params.doubles[39] = c->spoil == 15 ? 0 : (uintptr_t)surface_memory; /* eglImage, 312 */
  has_image = 1;
  ++c->taken;
  return 0;
}
#endif
int NvBufSurfaceUnMapEglImage(void* s, int index) {
  int failing = fails("NvBufSurfaceUnMapEglImage");
  if (s != &surface || index != 0 || !has_image || graphics.registered) misused("image in use");
  has_image = 0;
  --c->taken;
  return failing ? -1 : 0;
}
