// SPDX-License-Identifier: Apache-2.0
// What reading the power monitors and understanding them agree on.
#pragma once

#include <cerrno>
#include <cstddef>
#include <string_view>

#include "base/root/snapshot.h"

namespace jetmem::power {

inline constexpr std::string_view kHwmon = "/sys/class/hwmon";
inline constexpr std::string_view kIio = "/sys/bus/i2c/drivers/ina3221x";
inline constexpr std::size_t kMaxRails = 32;

// By the text of a hwmon device's file "name".
inline bool is_ina3221(std::string_view name) { return name.substr(0, 7) == "ina3221"; }
inline bool is_other_monitor(std::string_view name) { return name.substr(0, 4) == "ina2"; }

// What the files of a rail's name say of a channel that measures nothing. NVIDIA's old driver
// prints a null pointer where the device tree has no such channel.
inline bool is_not_connected(std::string_view name) { return name == "NC" || name == "(null)"; }

// Which files there are differs from chip to chip.
inline bool is_missing(const FileText& file) {
  return file.error == ENOENT || file.error == ENOTDIR || file.error == ENODEV;
}

}  // namespace jetmem::power
