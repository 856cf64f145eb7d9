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
bool is_refused_memory(Event& event);
bool has_a_fixed_drive(Event& event);
bool has_whole_oc_status(Event& event);


// programs



}  // namespace jetmem::kernel_log::hooks
