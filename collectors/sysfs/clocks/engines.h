// SPDX-License-Identifier: Apache-2.0
// Where the engines beside CPU and GPU are (video, images, optical flow, deep learning), and which
// of their files may be read. collectors/sysfs/clocks/source.h says what is in each.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/root/gatherer.h"

namespace jetmem::clocks {

inline constexpr std::string_view kPlatform = "/sys/bus/platform/devices";
inline constexpr std::string_view kActmon = "/sys/kernel/debug/tegra-host1x/actmon";
inline constexpr std::string_view kDebugClocks = "/sys/kernel/debug/clk";
inline constexpr std::size_t kMaxEngines = 24;

// What an engine is called: the kind of its device, and a number where that has none and is not the
// first of its kind.
struct EngineName {
  std::string_view kind;  // "nvjpg", "nvdla0"
  std::size_t number = 0;

  std::string text() const;  // "nvjpg1", as in the names of files
  bool operator==(const EngineName&) const = default;
};

// "nvenc" of "154c0000.nvenc", "nvdla0" of "15880000.nvdla0"; empty for all other devices.
std::string_view engine_kind(std::string_view device);

// The clock of an engine without a devfreq device: "nvenc", "dla0_core".
std::string clock_of(const EngineName& engine);

// `scaled`: devfreq's devices, whose clocks are read there. Returns how many engines are beyond the
// bounds.
std::size_t gather_engines(Gatherer& files, const std::vector<std::string>& scaled);

}  // namespace jetmem::clocks
