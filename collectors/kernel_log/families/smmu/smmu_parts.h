// SPDX-License-Identifier: Apache-2.0
// The parts of the SMMU family, and what they share.
#pragma once

#include <string>
#include <string_view>

#include "collectors/kernel_log/families/common/family.h"
#include "collectors/kernel_log/text/line_parts.h"

namespace jetmem::kernel_log::smmu {

// The field of an event that holds the device's name, by which its lines are joined.
inline constexpr std::string_view kDev = "dev";

// What the IOMMUs of x86 call themselves in front of each message: they have no other name.
inline constexpr std::string_view kAmdIommu = "AMD-Vi";
inline constexpr std::string_view kIntelIommu = "DMAR";

// A line of arm-smmu or arm-smmu-v3; `message` is what stands behind the device's name.
Piece decode_v2(std::string_view device, Scan message, Event& event);
Piece decode_v3(std::string_view device, Scan message, Event& event);
// A line of x86's IOMMUs.
Piece decode_x86(std::string_view text, Event& event);

void complete_context_fault(Event& event, Soc soc);
void complete_global_fault(Event& event, Soc soc);
void complete_v3_event(Event& event, Soc soc);

// The problem behind a v3 event's number, for a person; empty when it is not known.
std::string_view v3_problem(const Event& event);

// A register of 32 bits in the event.
std::optional<std::uint32_t> register_of(const Event& event, std::string_view name);

}  // namespace jetmem::kernel_log::smmu
