// SPDX-License-Identifier: Apache-2.0
// What entries of messages/*.yaml name as decode, accept, complete, joins, add and describe: each is
// declared here, defined in families/, and named there as it is called here.
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



// gpu



// camera, nvmap, drivers



// programs



}  // namespace jetmem::kernel_log::hooks
