// SPDX-License-Identifier: Apache-2.0
// How many bytes an image takes in a camera's pipeline, by its format.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace jetmem::plan {

struct PixelFormat {
  std::string_view name;
  std::string_view what;
  // Bytes of two pixels, so that 4:2:0 comes out whole.
  std::uint32_t bytes_per_two;
};

// RAW of more than 8 bits takes two bytes a pixel in memory on Tegra's VI and in V4L2's unpacked
// formats; the packed ones have names of their own.
std::span<const PixelFormat> pixel_formats();
const PixelFormat* pixel_format_named(std::string_view name);

// Bytes of one image without what a driver puts behind each row: that is its own choice.
std::uint64_t image_bytes(const PixelFormat& format, std::uint64_t width, std::uint64_t height);

}  // namespace jetmem::plan
