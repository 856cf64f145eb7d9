// SPDX-License-Identifier: Apache-2.0
// The files of the source device that no pattern names (base/root/gatherer.h).
#pragma once

#include <string_view>

#include "base/root/gatherer.h"

namespace jetmem::device {

// A copy of /proc/iomem as root saw it at this boot, made by jetmem-iomem.service.
inline constexpr std::string_view kIomemAtBoot = "/run/jetmem-iomem/iomem";
inline constexpr std::string_view kTeeRecord = "jetmem:tee";  // 1: /dev/tee0 is there, 0: it is not
inline constexpr std::string_view kNodesRecord = "jetmem:nodes_left_out";

void gather_device(Gatherer& gatherer);

}  // namespace jetmem::device
