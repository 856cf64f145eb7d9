// SPDX-License-Identifier: Apache-2.0
// As much of NvBufSurface as the probe takes: the buffers of Jetson's multimedia libraries.
//
// The declarations are our own. Layout and numbers are the same in nvbufsurface.h of DeepStream 4
// to 7 and of the multimedia API of JetPack 5 and 6 (2019 to 2023); one that is yet unknown is
// found out by error_reason(). JetPack 4 has nvbuf_utils instead, which is another interface.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace jetmem::probe::nvbuf {

// NvBufSurfaceColorFormat, ...Layout, ...MemType, ...MemMapFlags
inline constexpr int kRgba = 19;
inline constexpr int kPitchLinear = 0;
inline constexpr int kSurfaceArray = 4;
inline constexpr int kMapReadWrite = 2;

inline constexpr int kMaxPlanes = 4;

struct CreateParams {
  std::uint32_t gpu_id = 0;
  std::uint32_t width = 0;
  std::uint32_t height = 0;
  std::uint32_t size = 0;  // 0: of width and height
  bool is_contiguous = false;
  int color_format = 0;
  int layout = 0;
  int mem_type = 0;
};
static_assert(sizeof(CreateParams) == 32 && offsetof(CreateParams, color_format) == 20, "");

struct PlaneParams {
  std::uint32_t planes;
  std::uint32_t width[kMaxPlanes];
  std::uint32_t height[kMaxPlanes];
  std::uint32_t pitch[kMaxPlanes];
  std::uint32_t offset[kMaxPlanes];
  std::uint32_t size[kMaxPlanes];
  std::uint32_t bytes_per_pixel[kMaxPlanes];
  void* reserved[4 * kMaxPlanes];
};
static_assert(sizeof(PlaneParams) == 232 && offsetof(PlaneParams, reserved) == 104, "");

struct MappedAddress {
  void* planes[kMaxPlanes];
  void* egl_image;
  void* reserved[4];
};
static_assert(sizeof(MappedAddress) == 72, "");

struct SurfaceParams {
  std::uint32_t width;
  std::uint32_t height;
  std::uint32_t pitch;
  int color_format;
  int layout;
  std::uint64_t buffer;  // a DMA-BUF's descriptor
  std::uint32_t data_size;
  void* data;
  PlaneParams planes;
  MappedAddress mapped;
  void* reserved[4];  // JetPack 5: the first is a pointer to more
};
static_assert(sizeof(SurfaceParams) == 384 && offsetof(SurfaceParams, buffer) == 24 &&
                  offsetof(SurfaceParams, planes) == 48 && offsetof(SurfaceParams, mapped) == 280,
              "");

struct Surface {
  std::uint32_t gpu_id;
  std::uint32_t batch_size;
  std::uint32_t filled;
  bool is_contiguous;
  int mem_type;
  SurfaceParams* list;
  void* reserved[4];
};
static_assert(sizeof(Surface) == 64 && offsetof(Surface, list) == 24, "");

// The library's functions; 0 is success, -1 failure.
struct Library {
  // Where there is no such library, or none like this, `problem` says so.
  explicit Library(const std::string& directory);
  std::string problem;
  bool is_damaged = false;  // it is there, and cannot be loaded

  int (*NvBufSurfaceCreate)(Surface**, std::uint32_t batch_size, CreateParams*) = nullptr;
  int (*NvBufSurfaceDestroy)(Surface*) = nullptr;
  int (*NvBufSurfaceMap)(Surface*, int index, int plane, int flags) = nullptr;
  int (*NvBufSurfaceUnMap)(Surface*, int index, int plane) = nullptr;
  int (*NvBufSurfaceSyncForCpu)(Surface*, int index, int plane) = nullptr;
  int (*NvBufSurfaceSyncForDevice)(Surface*, int index, int plane) = nullptr;
  int (*NvBufSurfaceMapEglImage)(Surface*, int index) = nullptr;
  int (*NvBufSurfaceUnMapEglImage)(Surface*, int index) = nullptr;
};

// Asks the kernel, without a signal, whether up to a page can be read.
bool is_readable(const void* memory, std::size_t bytes);

// Why `surface` cannot be what was requested, if it is laid out as declared here; empty: it is.
// Nothing is touched that is not known to be readable.
std::string error_reason(const Surface* surface, const CreateParams& requested);

}  // namespace jetmem::probe::nvbuf
