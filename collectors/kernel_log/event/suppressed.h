// SPDX-License-Identifier: Apache-2.0
// What the kernel's rate limiter suppressed: "arm_smmu_context_fault: 83 callbacks suppressed"
// names the function, and the function tells which messages are missing.
#pragma once

#include <string_view>

#include "collectors/kernel_log/event/kinds.h"

namespace jetmem::kernel_log {

// The kind of event that this function's messages are; kNone when it is not known.
EventKind suppressed_kind(std::string_view function);

}  // namespace jetmem::kernel_log
