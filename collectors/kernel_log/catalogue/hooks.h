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
bool xid_owner(Event& event);
bool v3d_harmless(Event& event);
bool drop_owner(Event& event);
void add_buffers(Event& open, const Event& part);
bool joins_mali(const Event& open, const Event& part);
bool iova_is_addr(Event& event);
void host1x_values(Event& event, Soc soc);



// camera, nvmap, drivers



// programs



}  // namespace jetmem::kernel_log::hooks
