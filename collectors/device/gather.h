// SPDX-License-Identifier: Apache-2.0
// The files of the source device that no pattern names (base/root/gatherer.h).
#pragma once

#include <string_view>

#include "base/root/gatherer.h"

namespace jetmem::device {

// What /proc/iomem said at boot to root, kept by jetmem-iomem.service: the same text, of the same
// boot.
inline constexpr std::string_view kIomemAtBoot = "/run/jetmem-iomem/iomem";
inline constexpr std::string_view kTeeRecord = "jetmem:tee";  // 1: /dev/tee0 is there, 0: it is not
inline constexpr std::string_view kNodesRecord = "jetmem:nodes_left_out";

void gather_device(Gatherer& gatherer);

}  // namespace jetmem::device
