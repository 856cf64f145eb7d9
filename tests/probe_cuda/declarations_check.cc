// SPDX-License-Identifier: Apache-2.0
// Compares driver.h with the CUDA toolkit's own headers, as far as those have what it declares.

#include <cuda.h>

#include "probes/program/cuda/driver.h"
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

static_assert(sizeof(Result) == sizeof(CUresult), "");
static_assert(sizeof(Address) == sizeof(CUdeviceptr), "");
static_assert(kInvalidValue == CUDA_ERROR_INVALID_VALUE, "");
static_assert(kNotSupported == CUDA_ERROR_NOT_SUPPORTED, "");

static_assert(sizeof(ExternalMemory) == sizeof(CUDA_EXTERNAL_MEMORY_HANDLE_DESC), "");
SAME(ExternalMemory, type, CUDA_EXTERNAL_MEMORY_HANDLE_DESC, type);
SAME(ExternalMemory, handle, CUDA_EXTERNAL_MEMORY_HANDLE_DESC, handle);
SAME(ExternalMemory, size, CUDA_EXTERNAL_MEMORY_HANDLE_DESC, size);
SAME(ExternalMemory, flags, CUDA_EXTERNAL_MEMORY_HANDLE_DESC, flags);
static_assert(sizeof(ExternalBuffer) == sizeof(CUDA_EXTERNAL_MEMORY_BUFFER_DESC), "");
SAME(ExternalBuffer, offset, CUDA_EXTERNAL_MEMORY_BUFFER_DESC, offset);
SAME(ExternalBuffer, size, CUDA_EXTERNAL_MEMORY_BUFFER_DESC, size);
SAME(ExternalBuffer, flags, CUDA_EXTERNAL_MEMORY_BUFFER_DESC, flags);

static_assert(kMemoryHost == CU_MEMORYTYPE_HOST, "");
static_assert(kMemoryDevice == CU_MEMORYTYPE_DEVICE, "");
static_assert(kMemoryArray == CU_MEMORYTYPE_ARRAY, "");
static_assert(kArrayUnsignedInt8 == CU_AD_FORMAT_UNSIGNED_INT8, "");
static_assert(sizeof(Copy2D) == sizeof(CUDA_MEMCPY2D), "");
SAME(Copy2D, from_type, CUDA_MEMCPY2D, srcMemoryType);
SAME(Copy2D, from_device, CUDA_MEMCPY2D, srcDevice);
SAME(Copy2D, from_array, CUDA_MEMCPY2D, srcArray);
SAME(Copy2D, from_pitch, CUDA_MEMCPY2D, srcPitch);
SAME(Copy2D, to_type, CUDA_MEMCPY2D, dstMemoryType);
SAME(Copy2D, to_host, CUDA_MEMCPY2D, dstHost);
SAME(Copy2D, to_pitch, CUDA_MEMCPY2D, dstPitch);
SAME(Copy2D, width_bytes, CUDA_MEMCPY2D, WidthInBytes);
SAME(Copy2D, height, CUDA_MEMCPY2D, Height);

#if CUDA_VERSION >= 11070
static_assert(kAttributeDmaBufSupported == CU_DEVICE_ATTRIBUTE_DMA_BUF_SUPPORTED, "");
static_assert(kRangeHandleDmaBufFd == CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD, "");
#endif
#if CUDA_VERSION >= 13000
static_assert(kExternalMemoryDmaBufFd == CU_EXTERNAL_MEMORY_HANDLE_TYPE_DMABUF_FD, "");
#endif

#if defined(JETMEM_HAS_CUDA_EGL)
static_assert(kEglFrameArray == CU_EGL_FRAME_TYPE_ARRAY, "");
static_assert(kEglFramePitch == CU_EGL_FRAME_TYPE_PITCH, "");
static_assert(kEglColorArgb == CU_EGL_COLOR_FORMAT_ARGB, "");
static_assert(sizeof(EglFrame) == sizeof(CUeglFrame), "");
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
