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
void smmu_context_fault(Event& event, Soc soc);
void smmu_global_fault(Event& event, Soc soc);
void smmu_global_error(Event& event, Soc soc);
void smmu_v3_event(Event& event, Soc soc);
bool fault_registers(Event& event);
bool event_word(Event& event);
bool known_client(Event& event);
bool event_access(Event& event);
bool amd_event(Event& event);
bool dmar_reason(Event& event);
bool controller_access(Event& event);
bool controller_error(Event& event);
bool plain_hex(Event& event);
bool edac_error(Event& event);
bool edac_where(Event& event);
bool memory_location(Event& event);
bool machine_check_status(Event& event);
bool machine_check_source(Event& event);
bool lock_owner(Event& event);
bool rcu_cpu(Event& event);
bool plain_panic(Event& event);
bool crashed_task(const Event& open, const Event& part);

// gpu



// camera, nvmap, drivers



// programs



}  // namespace jetmem::kernel_log::hooks
