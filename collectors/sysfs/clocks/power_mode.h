// SPDX-License-Identifier: Apache-2.0
// nvpmodel's files, and the kernel's lists of CPUs. See collectors/sysfs/clocks/source.h for the
// formats.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace jetmem::clocks {

// Of "pmode:0002 ...".
std::optional<std::uint64_t> power_mode_of(std::string_view status);

// The mode's name in nvpmodel.conf; empty when it has none there.
std::string_view power_mode_name(std::string_view conf, std::uint64_t mode);

// How many CPUs "0-3,6" is.
std::optional<std::uint64_t> count_of_cpus(std::string_view text);

}  // namespace jetmem::clocks
