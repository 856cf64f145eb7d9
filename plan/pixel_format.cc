// SPDX-License-Identifier: Apache-2.0
#include "plan/pixel_format.h"

#include <array>

namespace jetmem::plan {
namespace {

constexpr std::array kFormats{
    PixelFormat{"raw8", "Bayer, 8 bits", 2},
    PixelFormat{"raw10", "Bayer, 10 bits in two bytes", 4},
    PixelFormat{"raw12", "Bayer, 12 bits in two bytes", 4},
    PixelFormat{"raw14", "Bayer, 14 bits in two bytes", 4},
    PixelFormat{"raw16", "Bayer, 16 bits", 4},
    PixelFormat{"raw20", "Bayer, 20 bits in four bytes (HDR)", 8},
    PixelFormat{"grey", "grey, 8 bits", 2},
    PixelFormat{"nv12", "YUV 4:2:0, 8 bits", 3},
    PixelFormat{"i420", "YUV 4:2:0, 8 bits, three planes", 3},
    PixelFormat{"p010", "YUV 4:2:0, 10 bits in two bytes", 6},
    PixelFormat{"yuyv", "YUV 4:2:2, 8 bits", 4},
    PixelFormat{"uyvy", "YUV 4:2:2, 8 bits", 4},
    PixelFormat{"rgb", "RGB, 8 bits", 6},
    PixelFormat{"rgba", "RGB and alpha, 8 bits", 8},
    PixelFormat{"rgb_fp16", "planar RGB as 16-bit floats", 12},
    PixelFormat{"rgb_fp32", "planar RGB as 32-bit floats", 24},
};

}  // namespace

std::span<const PixelFormat> pixel_formats() { return kFormats; }

const PixelFormat* pixel_format_named(std::string_view name) {
  for (const PixelFormat& format : kFormats) {
    if (format.name == name) return &format;
  }
  return nullptr;
}

std::uint64_t image_bytes(const PixelFormat& format, std::uint64_t width, std::uint64_t height) {
  return (width * height * format.bytes_per_two + 1) / 2;
}

}  // namespace jetmem::plan
