// SPDX-License-Identifier: Apache-2.0
// The functions of CUDA's driver that its runtime has no like of, found in libcuda.so.1 by name:
// nothing is linked to it, an older driver may lack some, and tests put a stand-in in its place.
//
// The declarations are our own, without CUDA's headers; where those are at hand,
// declarations_check.cc compares them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>

#include "probes/program/run.h"

namespace jetmem::probe::driver {

using Result = int;             // CUresult
using Address = std::uint64_t;  // CUdeviceptr
using Stream = void*;           // CUstream, which is a cudaStream_t

inline constexpr Result kSuccess = 0;
inline constexpr Result kInvalidValue = 1;
inline constexpr Result kNotSupported = 801;

// CUdevice_attribute
inline constexpr int kAttributeDmaBufSupported = 124;
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
inline constexpr int kEglFrameArray = 0;
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

// Each function and its parameters, for a declaration and for the search. From
// cuMemGetHandleForAddressRange() on a driver may lack them: CUDA 11.7 brought it.
#define JETMEM_CUDA_DRIVER_FUNCTIONS(X)                                                 \
  X(cuGetErrorName, Result, const char**)                                               \
  X(cuGetErrorString, Result, const char**)                                             \
  X(cuCtxGetDevice, int*)                                                               \
  X(cuDeviceGetAttribute, int*, int attribute, int device)                              \
  X(cuMemAlloc_v2, Address*, std::size_t)                                               \
  X(cuMemFree_v2, Address)                                                              \
  X(cuMemcpyHtoDAsync_v2, Address, const void*, std::size_t, Stream)                    \
  X(cuMemcpyDtoHAsync_v2, void*, Address, std::size_t, Stream)                          \
  X(cuMemcpy2DAsync_v2, const Copy2D*, Stream)                                          \
  X(cuStreamSynchronize, Stream)                                                        \
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
  JETMEM_CUDA_DRIVER_FUNCTIONS(DECLARE)
#undef DECLARE
};

}  // namespace jetmem::probe::driver

namespace jetmem::probe {

// A library with one of these names, from `directory` if it has one there, else as the loader
// searches; never closed. Null: `problem` says why.
void* open_library(const std::string& directory, std::initializer_list<const char*> names,
                   std::string& problem);

class Driver : public driver::Functions {
 public:
  // Where there is none, every function is null and `problem()` says why.
  explicit Driver(const std::string& library_directory);

  const std::string& problem() const { return problem_; }
  // Why these cannot all be called; empty when they can.
  std::string lacks(std::initializer_list<const char*> functions) const;

  // "CUDA_ERROR_NOT_SUPPORTED"; "CUresult 9999" where the driver has no name for it.
  std::string name_of(driver::Result result) const;
  // Within a step of the recorder: notes the call, and whether it was well.
  bool call(Recorder& recorder, const char* name, driver::Result result) const;

 private:
  void* library_ = nullptr;
  std::string problem_;
};

// Leaves a kind out, all of it, where it cannot be tried: for a bisection, without a GPU that
// works, with a driver that lacks one of these functions, or one that every kind needs. True: it
// can be.
bool can_be_tried(Run& run, const char* kind, const Driver& driver,
                  std::initializer_list<const char*> functions);

}  // namespace jetmem::probe
