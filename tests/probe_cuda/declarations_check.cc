// SPDX-License-Identifier: Apache-2.0
// Compares driver.h with the CUDA toolkit's own headers, as far as those have what it declares.

// Before CUDA's, which makes other names of some functions.
// clang-format off
#include "probes/program/cuda/driver.h"

#include <cuda.h>
// clang-format on
// CUDA's header includes those of EGL, which few machines have.
#if __has_include(<cudaEGL.h>) && __has_include(<EGL/eglext.h>)
#define JETMEM_HAS_CUDA_EGL 1
#define EGL_NO_X11
#define MESA_EGL_NO_X11_HEADERS
#include <cudaEGL.h>
#endif

namespace jetmem::probe::driver {
namespace {

#define SAME(ours, our_member, theirs, their_member)                            \
  static_assert(offsetof(ours, our_member) == offsetof(theirs, their_member) && \
                    sizeof(ours::our_member) == sizeof(theirs::their_member),   \
                #ours "::" #our_member)

static_assert(sizeof(Result) == sizeof(CUresult));
static_assert(sizeof(Address) == sizeof(CUdeviceptr));
static_assert(kInvalidValue == CUDA_ERROR_INVALID_VALUE);
static_assert(kNoDevice == CUDA_ERROR_NO_DEVICE);
static_assert(kInvalidImage == CUDA_ERROR_INVALID_IMAGE);
static_assert(kNoBinaryForGpu == CUDA_ERROR_NO_BINARY_FOR_GPU);
static_assert(kInvalidPtx == CUDA_ERROR_INVALID_PTX);
static_assert(kJitCompilerNotFound == CUDA_ERROR_JIT_COMPILER_NOT_FOUND);
static_assert(kNotPermitted == CUDA_ERROR_NOT_PERMITTED);
static_assert(kNotSupported == CUDA_ERROR_NOT_SUPPORTED);

static_assert(kAttributeIntegrated == CU_DEVICE_ATTRIBUTE_INTEGRATED);
static_assert(kAttributeCanMapHostMemory == CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY);
static_assert(kAttributeL2CacheSize == CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE);
static_assert(kAttributeCapabilityMajor == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
static_assert(kAttributeCapabilityMinor == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
static_assert(kAttributeManagedMemory == CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY);
static_assert(kAttributePageableMemoryAccess == CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS);
static_assert(kAttributeConcurrentManagedAccess == CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS);
static_assert(kAttributeHostRegisterSupported == CU_DEVICE_ATTRIBUTE_HOST_REGISTER_SUPPORTED);
static_assert(kContextBlockingSync == CU_CTX_SCHED_BLOCKING_SYNC);
static_assert(kStreamNonBlocking == CU_STREAM_NON_BLOCKING);
static_assert(kEventBlockingSync == CU_EVENT_BLOCKING_SYNC);
static_assert(kHostAllocDeviceMap == CU_MEMHOSTALLOC_DEVICEMAP);
static_assert(kHostRegisterDeviceMap == CU_MEMHOSTREGISTER_DEVICEMAP);
static_assert(kAttachGlobal == CU_MEM_ATTACH_GLOBAL);
static_assert(kAttachHost == CU_MEM_ATTACH_HOST);
static_assert(kAttachSingle == CU_MEM_ATTACH_SINGLE);
static_assert(kCpu == CU_DEVICE_CPU);
static_assert(kJitErrorLog == CU_JIT_ERROR_LOG_BUFFER);
static_assert(kJitErrorLogBytes == CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES);

static_assert(sizeof(ExternalMemory) == sizeof(CUDA_EXTERNAL_MEMORY_HANDLE_DESC));
SAME(ExternalMemory, type, CUDA_EXTERNAL_MEMORY_HANDLE_DESC, type);
SAME(ExternalMemory, handle, CUDA_EXTERNAL_MEMORY_HANDLE_DESC, handle);
SAME(ExternalMemory, size, CUDA_EXTERNAL_MEMORY_HANDLE_DESC, size);
SAME(ExternalMemory, flags, CUDA_EXTERNAL_MEMORY_HANDLE_DESC, flags);
static_assert(sizeof(ExternalBuffer) == sizeof(CUDA_EXTERNAL_MEMORY_BUFFER_DESC));
SAME(ExternalBuffer, offset, CUDA_EXTERNAL_MEMORY_BUFFER_DESC, offset);
SAME(ExternalBuffer, size, CUDA_EXTERNAL_MEMORY_BUFFER_DESC, size);
SAME(ExternalBuffer, flags, CUDA_EXTERNAL_MEMORY_BUFFER_DESC, flags);

static_assert(kMemoryHost == CU_MEMORYTYPE_HOST);
static_assert(kMemoryDevice == CU_MEMORYTYPE_DEVICE);
static_assert(kMemoryArray == CU_MEMORYTYPE_ARRAY);
static_assert(kArrayUnsignedInt8 == CU_AD_FORMAT_UNSIGNED_INT8);
static_assert(sizeof(Copy2D) == sizeof(CUDA_MEMCPY2D));
SAME(Copy2D, from_type, CUDA_MEMCPY2D, srcMemoryType);
SAME(Copy2D, from_device, CUDA_MEMCPY2D, srcDevice);
SAME(Copy2D, from_array, CUDA_MEMCPY2D, srcArray);
SAME(Copy2D, from_pitch, CUDA_MEMCPY2D, srcPitch);
SAME(Copy2D, to_type, CUDA_MEMCPY2D, dstMemoryType);
SAME(Copy2D, to_host, CUDA_MEMCPY2D, dstHost);
SAME(Copy2D, to_pitch, CUDA_MEMCPY2D, dstPitch);
SAME(Copy2D, width_bytes, CUDA_MEMCPY2D, WidthInBytes);
SAME(Copy2D, height, CUDA_MEMCPY2D, Height);

#if CUDA_VERSION >= 11030
static_assert(kStubLibrary == CUDA_ERROR_STUB_LIBRARY);
static_assert(kUnsupportedPtxVersion == CUDA_ERROR_UNSUPPORTED_PTX_VERSION);
static_assert(kJitCompilationDisabled == CUDA_ERROR_JIT_COMPILATION_DISABLED);
static_assert(kAttributeMemoryPoolsSupported == CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED);
static_assert(kPoolReleaseThreshold == CU_MEMPOOL_ATTR_RELEASE_THRESHOLD);
static_assert(kPoolReserved == CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT);
static_assert(kPoolUsed == CU_MEMPOOL_ATTR_USED_MEM_CURRENT);
#endif
#if CUDA_VERSION >= 11070
static_assert(kAttributeDmaBufSupported == CU_DEVICE_ATTRIBUTE_DMA_BUF_SUPPORTED);
static_assert(kRangeHandleDmaBufFd == CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD);
#endif
#if CUDA_VERSION >= 13000
static_assert(kExternalMemoryDmaBufFd == CU_EXTERNAL_MEMORY_HANDLE_TYPE_DMABUF_FD);
#endif

#if defined(JETMEM_HAS_CUDA_EGL)
static_assert(kEglFramePitch == CU_EGL_FRAME_TYPE_PITCH);
static_assert(kEglColorArgb == CU_EGL_COLOR_FORMAT_ARGB);
static_assert(sizeof(EglFrame) == sizeof(CUeglFrame));
SAME(EglFrame, planes, CUeglFrame, frame);
SAME(EglFrame, width, CUeglFrame, width);
SAME(EglFrame, pitch, CUeglFrame, pitch);
SAME(EglFrame, plane_count, CUeglFrame, planeCount);
SAME(EglFrame, channels, CUeglFrame, numChannels);
SAME(EglFrame, frame_type, CUeglFrame, frameType);
SAME(EglFrame, color_format, CUeglFrame, eglColorFormat);
SAME(EglFrame, array_format, CUeglFrame, cuFormat);
#endif

}  // namespace
}  // namespace jetmem::probe::driver
