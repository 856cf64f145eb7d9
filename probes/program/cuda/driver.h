// SPDX-License-Identifier: Apache-2.0
// The functions of CUDA's driver, found in libcuda.so.1 by name: nothing is linked to it, so that
// one binary starts on every machine, an older driver may lack some, and tests put a stand-in in
// its place.
//
// The declarations are our own, without CUDA's headers; where those are at hand, a test compares
// them (tests/probe_cuda/declarations_check.cc). Names are those that the library exports: with _v2
// where cuda.h maps the plain name to it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

#include "probes/program/run.h"

namespace jetmem::probe::driver {

using Result = int;             // CUresult
using Address = std::uint64_t;  // CUdeviceptr
using Device = int;             // CUdevice
using Context = void*;          // CUcontext
using Stream = void*;           // CUstream
using Event = void*;            // CUevent
using Module = void*;           // CUmodule
using Function = void*;         // CUfunction
using MemoryPool = void*;       // CUmemoryPool

inline constexpr Result kSuccess = 0;
inline constexpr Result kInvalidValue = 1;
inline constexpr Result kOutOfMemory = 2;
inline constexpr Result kStubLibrary = 34;
inline constexpr Result kNoDevice = 100;
inline constexpr Result kInvalidImage = 200;
inline constexpr Result kNoBinaryForGpu = 209;
inline constexpr Result kInvalidPtx = 218;
inline constexpr Result kJitCompilerNotFound = 221;
inline constexpr Result kUnsupportedPtxVersion = 222;
inline constexpr Result kJitCompilationDisabled = 223;
inline constexpr Result kNotPermitted = 800;
inline constexpr Result kNotSupported = 801;

// CUdevice_attribute
inline constexpr int kAttributeIntegrated = 18;
inline constexpr int kAttributeCanMapHostMemory = 19;
inline constexpr int kAttributeL2CacheSize = 38;
inline constexpr int kAttributeCapabilityMajor = 75;
inline constexpr int kAttributeCapabilityMinor = 76;
inline constexpr int kAttributeManagedMemory = 83;
inline constexpr int kAttributePageableMemoryAccess = 88;
inline constexpr int kAttributeConcurrentManagedAccess = 89;
inline constexpr int kAttributeCanUseHostPointerForRegisteredMem = 91;
inline constexpr int kAttributeHostRegisterSupported = 99;
inline constexpr int kAttributeUsesHostPageTables = 100;
inline constexpr int kAttributeReadOnlyHostRegisterSupported = 113;
inline constexpr int kAttributeMemoryPoolsSupported = 115;
inline constexpr int kAttributeDmaBufSupported = 124;

// Flags
inline constexpr unsigned kContextBlockingSync = 4;  // CU_CTX_SCHED_BLOCKING_SYNC
inline constexpr unsigned kStreamNonBlocking = 1;
inline constexpr unsigned kEventBlockingSync = 1;
inline constexpr unsigned kHostAllocDeviceMap = 2;
inline constexpr unsigned kHostRegisterDeviceMap = 2;
inline constexpr unsigned kAttachGlobal = 1;
inline constexpr unsigned kAttachHost = 2;
inline constexpr unsigned kAttachSingle = 4;
inline constexpr Device kCpu = -1;  // CU_DEVICE_CPU
// CUjit_option
inline constexpr int kJitErrorLog = 5;
inline constexpr int kJitErrorLogBytes = 6;
// CUmemPool_attribute, each of 64 bits: the first of CUDA 11.2, the others of 11.3.
inline constexpr int kPoolReleaseThreshold = 4;
inline constexpr int kPoolReserved = 5;
inline constexpr int kPoolUsed = 7;
// CUmemRangeHandleType
inline constexpr int kRangeHandleDmaBufFd = 1;
// CUexternalMemoryHandleType; the headers of CUDA 12 and before lack it.
inline constexpr int kExternalMemoryDmaBufFd = 9;

struct ExternalMemory {  // CUDA_EXTERNAL_MEMORY_HANDLE_DESC
  int type = 0;
  union {
    int fd;
    struct {
      void* handle;
      const void* name;
    } win32;
  } handle{};
  unsigned long long size = 0;
  unsigned int flags = 0;
  unsigned int reserved[16] = {};
};
struct ExternalBuffer {  // CUDA_EXTERNAL_MEMORY_BUFFER_DESC
  unsigned long long offset = 0;
  unsigned long long size = 0;
  unsigned int flags = 0;
  unsigned int reserved[16] = {};
};

// CUeglFrameType
inline constexpr int kEglFramePitch = 1;
// CUeglColorFormat
inline constexpr int kEglColorArgb = 6;
// CUarray_format
inline constexpr int kArrayUnsignedInt8 = 1;

struct EglFrame {          // CUeglFrame
  void* planes[3] = {};    // device addresses, or CUarrays
  unsigned int width = 0;  // of the first plane, in pixels
  unsigned int height = 0;
  unsigned int depth = 0;
  unsigned int pitch = 0;  // in bytes
  unsigned int plane_count = 0;
  unsigned int channels = 0;
  int frame_type = 0;
  int color_format = 0;
  int array_format = 0;
};
using EglConnection = void*;  // CUeglStreamConnection

// CUmemorytype
inline constexpr int kMemoryHost = 1;
inline constexpr int kMemoryDevice = 2;
inline constexpr int kMemoryArray = 3;

struct Copy2D {  // CUDA_MEMCPY2D
  std::size_t from_x = 0;
  std::size_t from_y = 0;
  int from_type = 0;
  const void* from_host = nullptr;
  Address from_device = 0;
  void* from_array = nullptr;
  std::size_t from_pitch = 0;
  std::size_t to_x = 0;
  std::size_t to_y = 0;
  int to_type = 0;
  void* to_host = nullptr;
  Address to_device = 0;
  void* to_array = nullptr;
  std::size_t to_pitch = 0;
  std::size_t width_bytes = 0;
  std::size_t height = 0;
};

// Each function and its parameters, for a declaration and for the search. Every driver since CUDA 9
// has these; nothing works without them.
#define JETMEM_CUDA_DRIVER_BASE(X)                                                                 \
  X(cuInit, unsigned flags)                                                                        \
  X(cuDriverGetVersion, int*)                                                                      \
  X(cuDeviceGetCount, int*)                                                                        \
  X(cuDeviceGet, Device*, int ordinal)                                                             \
  X(cuDeviceGetName, char*, int bytes, Device)                                                     \
  X(cuDeviceGetAttribute, int*, int attribute, Device)                                             \
  X(cuDevicePrimaryCtxRetain, Context*, Device)                                                    \
  X(cuCtxSetCurrent, Context)                                                                      \
  X(cuCtxSynchronize)                                                                              \
  X(cuModuleLoadDataEx, Module*, const void* image, unsigned count, int* options, void** values)   \
  X(cuModuleGetFunction, Function*, Module, const char* name)                                      \
  X(cuLaunchKernel, Function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x, \
    unsigned block_y, unsigned block_z, unsigned shared_bytes, Stream, void** arguments,           \
    void** extra)                                                                                  \
  X(cuStreamCreate, Stream*, unsigned flags)                                                       \
  X(cuStreamSynchronize, Stream)                                                                   \
  X(cuStreamAttachMemAsync, Stream, Address, std::size_t, unsigned flags)                          \
  X(cuEventCreate, Event*, unsigned flags)                                                         \
  X(cuEventRecord, Event, Stream)                                                                  \
  X(cuEventSynchronize, Event)                                                                     \
  X(cuEventElapsedTime, float* milliseconds, Event begin, Event end)                               \
  X(cuEventDestroy_v2, Event)                                                                      \
  X(cuMemGetInfo_v2, std::size_t* free, std::size_t* total)                                        \
  X(cuMemAlloc_v2, Address*, std::size_t)                                                          \
  X(cuMemFree_v2, Address)                                                                         \
  X(cuMemAllocManaged, Address*, std::size_t, unsigned flags)                                      \
  X(cuMemHostAlloc, void**, std::size_t, unsigned flags)                                           \
  X(cuMemFreeHost, void*)                                                                          \
  X(cuMemHostGetDevicePointer_v2, Address*, void*, unsigned flags)                                 \
  X(cuMemHostRegister_v2, void*, std::size_t, unsigned flags)                                      \
  X(cuMemHostUnregister, void*)                                                                    \
  X(cuMemsetD8Async, Address, unsigned char, std::size_t, Stream)                                  \
  X(cuMemcpyHtoDAsync_v2, Address, const void*, std::size_t, Stream)                               \
  X(cuMemcpyDtoHAsync_v2, void*, Address, std::size_t, Stream)                                     \
  X(cuMemcpy2DAsync_v2, const Copy2D*, Stream)

// A driver may lack these: it is older (cuMemAllocAsync() came with CUDA 11.2,
// cuMemGetHandleForAddressRange() with 11.7), or is one without EGL. cuMemPrefetchAsync() is the
// one of CUDA 8: a driver of CUDA 13 still exports it under this name.
#define JETMEM_CUDA_DRIVER_OPTIONAL(X)                                                  \
  X(cuGetErrorName, Result, const char**)                                               \
  X(cuGetErrorString, Result, const char**)                                             \
  X(cuDevicePrimaryCtxSetFlags_v2, Device, unsigned flags)                              \
  X(cuDevicePrimaryCtxSetFlags, Device, unsigned flags)                                 \
  X(cuMemPrefetchAsync, Address, std::size_t, Device, Stream)                           \
  X(cuDeviceGetDefaultMemPool, MemoryPool*, Device)                                     \
  X(cuMemAllocFromPoolAsync, Address*, std::size_t, MemoryPool, Stream)                 \
  X(cuMemFreeAsync, Address, Stream)                                                    \
  X(cuMemPoolGetAttribute, MemoryPool, int attribute, void* value)                      \
  X(cuMemPoolTrimTo, MemoryPool, std::size_t bytes_to_keep)                             \
  X(cuMemGetHandleForAddressRange, void* handle, Address, std::size_t, int type,        \
    unsigned long long flags)                                                           \
  X(cuImportExternalMemory, void** memory, const ExternalMemory*)                       \
  X(cuExternalMemoryGetMappedBuffer, Address*, void* memory, const ExternalBuffer*)     \
  X(cuDestroyExternalMemory, void* memory)                                              \
  X(cuGraphicsEGLRegisterImage, void** resource, void* image, unsigned int flags)       \
  X(cuGraphicsUnregisterResource, void* resource)                                       \
  X(cuGraphicsResourceGetMappedEglFrame, EglFrame*, void* resource, unsigned int index, \
    unsigned int mip_level)                                                             \
  X(cuEGLStreamConsumerConnect, EglConnection*, void* stream)                           \
  X(cuEGLStreamConsumerDisconnect, EglConnection*)                                      \
  X(cuEGLStreamConsumerAcquireFrame, EglConnection*, void** resource, Stream*,          \
    unsigned int timeout_us)                                                            \
  X(cuEGLStreamConsumerReleaseFrame, EglConnection*, void* resource, Stream*)           \
  X(cuEGLStreamProducerConnect, EglConnection*, void* stream, std::int32_t width,       \
    std::int32_t height)                                                                \
  X(cuEGLStreamProducerDisconnect, EglConnection*)                                      \
  X(cuEGLStreamProducerPresentFrame, EglConnection*, EglFrame, Stream*)

// Null where the driver lacks one.
struct Functions {
#define DECLARE(function, ...) Result (*function)(__VA_ARGS__);
  JETMEM_CUDA_DRIVER_BASE(DECLARE)
  JETMEM_CUDA_DRIVER_OPTIONAL(DECLARE)
#undef DECLARE
};

}  // namespace jetmem::probe::driver

namespace jetmem::probe {

// A library with one of these names, from `directory` if it has one there, else as the loader
// searches; never closed. Null: `problem` says why; of one that is there and cannot be loaded
// rather than of one that is not.
void* open_library(const std::string& directory, std::initializer_list<const char*> names,
                   std::string& problem);
// Of such a problem: there is no such library. False: it is damaged, or lacks another that it
// needs.
bool is_missing_library(std::string_view problem, std::initializer_list<const char*> names);

class Driver : public driver::Functions {
 public:
  // Where there is none, every function is null and `problem()` says why.
  explicit Driver(const std::string& library_directory);

  const std::string& problem() const { return problem_; }
  // Why this is no driver of CUDA 9 or later: it lacks a function that nothing works without. Empty
  // when it is one.
  const std::string& base_problem() const { return base_problem_; }
  // Why these cannot all be called; empty when they can.
  std::string lacks(std::initializer_list<const char*> functions) const;

  // "CUDA_ERROR_NOT_SUPPORTED"; "CUresult 9999" where the driver has no name for it.
  std::string name_of(driver::Result result) const;
  // "operation not supported (CUDA_ERROR_NOT_SUPPORTED)"; the name alone where there are no words.
  std::string described(driver::Result result) const;

 private:
  void* library_ = nullptr;
  std::string problem_;
  std::string base_problem_;
};

// The driver of this process.
const Driver& cuda();
// Within a step: a call of the driver, and what it answered.
//   recorder.step(step::kAllocate, 0, [&] {
//     return cuda_call(recorder, "cuMemAlloc", cuda().cuMemAlloc_v2(&address, bytes));
//   });
bool cuda_call(Recorder& recorder, const char* name, driver::Result result);

// Leaves a kind out, all of it, where it cannot be tried: for a bisection, without a GPU that
// works, with a driver that lacks one of these functions. True: it can be.
bool can_be_tried(Run& run, const char* kind, std::initializer_list<const char*> functions);

}  // namespace jetmem::probe
