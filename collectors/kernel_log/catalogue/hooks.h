// SPDX-License-Identifier: Apache-2.0
// What entries of messages/*.yaml name as decode, accept, complete, joins, add and describe: each is
// declared here, defined in families/, and named there as it is called here.
#pragma once

#include <string>
#include <string_view>

#include "collectors/kernel_log/catalogue/message.h"

namespace jetmem::kernel_log::hooks {

// memory: oom, allocation, cma, dma_memory, reserved_memory, swap, corruption



// smmu and hardware



// gpu



// camera, nvmap, drivers



// programs
bool reason_of_errno(Event& event);
bool unit_of_total(Event& event);
bool same_library(const Event& open, const Event& part);



}  // namespace jetmem::kernel_log::hooks
