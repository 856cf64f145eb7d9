// SPDX-License-Identifier: Apache-2.0
#include "probes/program/cuda/frames/nvbuf.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "probes/program/cuda/driver.h"

namespace jetmem::probe::nvbuf {
namespace {

constexpr std::uint32_t kBytesOfPixel = 4;
constexpr std::uint64_t kMostPadding = 16U << 20;

bool is_aligned(const void* memory) {
  return reinterpret_cast<std::uintptr_t>(memory) % alignof(void*) == 0;
}

std::string is_not(const char* what, std::uint64_t found, std::uint64_t expected) {
  return std::string(what) + " is " + std::to_string(found) + ", not " + std::to_string(expected);
}

}  // namespace

Library::Library(const std::string& directory) {
  const auto names = {"libnvbufsurface.so.1.0.0", "libnvbufsurface.so.1", "libnvbufsurface.so"};
  void* const library = open_library(directory, names, problem);
  is_damaged = library == nullptr && !is_missing_library(problem, names);
  if (library == nullptr) return;
  const auto find = [&](const char* name) {
    void* const function = ::dlsym(library, name);
    if (function == nullptr && problem.empty()) {
      problem = std::string("this libnvbufsurface.so has no ") + name + "()";
    }
    return function;
  };
#define FIND(function) function = reinterpret_cast<decltype(function)>(find(#function))
  FIND(NvBufSurfaceCreate);
  FIND(NvBufSurfaceDestroy);
  FIND(NvBufSurfaceMap);
  FIND(NvBufSurfaceUnMap);
  FIND(NvBufSurfaceSyncForCpu);
  FIND(NvBufSurfaceSyncForDevice);
  FIND(NvBufSurfaceMapEglImage);
  FIND(NvBufSurfaceUnMapEglImage);
#undef FIND
}

// A pipe takes a page at once, or says EFAULT.
bool is_readable(const void* memory, std::size_t bytes) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) return false;
  const ssize_t n = ::write(ends[1], memory, bytes);
  ::close(ends[0]);
  ::close(ends[1]);
  return n == static_cast<ssize_t>(bytes);
}

std::string error_reason(const Surface* surface, const CreateParams& requested) {
  if (!is_aligned(surface) || !is_readable(surface, sizeof *surface)) return "it is no memory";
  if (surface->batch_size != 1) return is_not("its batch size", surface->batch_size, 1);
  if (surface->mem_type != requested.mem_type) {
    return is_not("its memory's type", static_cast<std::uint32_t>(surface->mem_type),
                  static_cast<std::uint32_t>(requested.mem_type));
  }
  const SurfaceParams* const params = surface->list;
  if (params == nullptr || !is_aligned(params) || !is_readable(params, sizeof *params)) {
    return "its list is no memory";
  }
  if (params->width != requested.width) return is_not("its width", params->width, requested.width);
  if (params->height != requested.height)
    return is_not("its height", params->height, requested.height);
  if (params->color_format != requested.color_format || params->layout != requested.layout) {
    return "its format or layout is another";
  }
  const PlaneParams& planes = params->planes;
  if (planes.planes != 1) return is_not("its number of planes", planes.planes, 1);
  const std::uint64_t row = std::uint64_t{requested.width} * kBytesOfPixel;
  const std::uint64_t pitch = planes.pitch[0];
  if (pitch < row || pitch > 2 * row || pitch % 8 != 0) return is_not("its pitch", pitch, row);
  const std::uint64_t used = pitch * requested.height;
  if (planes.size[0] < used) return is_not("its plane's size", planes.size[0], used);
  const std::uint64_t size = params->data_size;
  const std::uint64_t end = std::uint64_t{planes.offset[0]} + used;
  if (size < end || size > end * 2 + kMostPadding) return is_not("its size", size, end);
  struct stat found {};
  if (params->buffer > INT32_MAX || ::fstat(static_cast<int>(params->buffer), &found) != 0) {
    return "its DMA-BUF is no open descriptor";
  }
  return "";
}

}  // namespace jetmem::probe::nvbuf
