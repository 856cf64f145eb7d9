// SPDX-License-Identifier: Apache-2.0
// What entries of messages/*.yaml name as decode, accept, complete, joins, add and describe: each
// is declared here, defined in families/, and named there as it is called here.
#pragma once

#include <string>
#include <string_view>

#include "collectors/kernel_log/catalogue/message.h"

namespace jetmem::kernel_log::hooks {

// memory: oom, allocation, cma, dma_memory, reserved_memory, swap, corruption
bool oom_invoked(Event& event);
bool group_limit(Event& event);
bool zone_of_report(Event& event);
void memory_report(Event& event, Soc soc);
void oom_killed(Event& open, const Event& part);
void oom_kill(const Event& event, std::string& out);
void oom_kill_info(const Event& event, std::string& out);
bool page_refused(Event& event);
bool vmalloc_sizes(const Event& open, const Event& part);
bool same_size(const Event& open, const Event& part);
bool is_vmalloc(const Event& open, const Event& part);
bool is_printer(Event& event);
bool swap_entry(Event& event);
bool whole_mib(Event& event);
bool are_different_areas(Event& event);
bool implausible_size(Event& event);
bool swap_device(Event& event);
bool huge_page_size(Event& event);
bool page_frames(Event& event);
bool damaged_by(Event& event);
bool cma_refused(Event& event);
Piece cma_range(std::string_view text, Event& event);
Piece cma_free(std::string_view text, Event& event);
void cma_largest(Event& event, Soc soc);
bool is_frame_buffer(const Event& open, const Event& part);

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
void harmless_report(Event& event, Soc soc);
bool lock_owner(Event& event);
bool rcu_cpu(Event& event);
bool plain_panic(Event& event);
bool fault_of_code(Event& event);
bool crashed_task(const Event& open, const Event& part);
void reported_before(Event& open, const Event& part);

// gpu
bool xid_owner(Event& event);
bool v3d_harmless(Event& event);
bool drop_owner(Event& event);
void add_buffers(Event& open, const Event& part);
bool joins_mali(const Event& open, const Event& part);
bool iova_is_addr(Event& event);
void host1x_values(Event& event, Soc soc);

// camera, nvmap, drivers
bool is_refused_memory(Event& event);
bool is_of_a_disk(Event& event);
bool has_a_fixed_drive(Event& event);
bool has_whole_oc_status(Event& event);

// programs
bool reason_of_errno(Event& event);
bool unit_of_total(Event& event);
bool same_library(const Event& open, const Event& part);

}  // namespace jetmem::kernel_log::hooks
