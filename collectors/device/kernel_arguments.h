// SPDX-License-Identifier: Apache-2.0
// Arguments of the kernel's command line (/proc/cmdline).
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace jetmem::device {

// The value of the last "name=", which is the one that the kernel uses. Arguments after "--" are
// init's. Empty: the argument is not there.
std::string_view kernel_argument(std::string_view command_line, std::string_view name);

// "256M", "0x10000000", "1G@0-4G": the bytes, as the kernel reads them (lib/cmdline.c, memparse).
std::optional<std::uint64_t> memory_argument(std::string_view value);

}  // namespace jetmem::device
