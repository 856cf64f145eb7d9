// SPDX-License-Identifier: Apache-2.0
// The half of the memory_error family that is about reports of hardware and firmware.
#pragma once

#include <string>
#include <string_view>

#include "collectors/kernel_log/families/common/family.h"

namespace jetmem::kernel_log {

// EDAC, GHES, Tegra's RAS, SError.
Piece decode_hardware_error(std::string_view text, Event& event);
void describe_hardware_error(const Event& event, std::string& out);

}  // namespace jetmem::kernel_log
