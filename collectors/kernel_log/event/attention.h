// SPDX-License-Identifier: Apache-2.0
// Which events need somebody's attention: what is harmless, or no trouble of its kind, must not
// raise an alert.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "collectors/kernel_log/event/event.h"

namespace jetmem::kernel_log {

// The severity of a memory error, as EDAC, APEI, Tegra's RAS and GPU drivers name it.
enum class ErrorSeverity : std::uint8_t { kUnknown, kCorrected, kUncorrected };
std::string_view error_severity_name(ErrorSeverity severity);
inline constexpr std::size_t kErrorSeverities = 3;
ErrorSeverity error_severity(std::string_view severity);
// An outcome means that the error was not corrected: only then the kernel tries to take the page
// out of use.
ErrorSeverity error_severity(std::string_view severity, std::string_view outcome);

// Libraries whose refused memory is the GPU's, or a multimedia buffer.
bool is_gpu_library(std::string_view library);

// Of a mask of an allocation whose flags the kernel did not name (to 4.5, and in a cut line): the
// caller had the reserve's right (high priority) and could neither wait nor start I/O. 0x10 is
// __GFP_WAIT of 4.3 and earlier, 0x400000 __GFP_DIRECT_RECLAIM of 4.4 to 4.14, 0x400 that since.
bool may_not_sleep(std::uint64_t mode);

// An optical or floppy drive, or a loop device: no disk of the machine.
bool is_removable_or_image(std::string_view device);

// "sda1" and "sda1-8" are of sda, "sdab" is not; "mmcblk1p2" is of mmcblk1, "mmcblk10" is not.
bool is_of_disk(std::string_view device, std::string_view disk);

// False: it is counted, but jetmem_kernel_recent_events, on which alerts fire, omits it.
//  - it is harmless, or the driver or program goes on with other memory;
//  - of nvmap: the program may not open it, or used a buffer wrongly; nothing was refused;
//  - of a program: the memory is the CPU's;
//  - a page that is taken out of use because of corrected errors; an error of before this boot;
//  - swap that was not turned on; a medium or image that cannot be read, a lost interrupt; a page
//    of raw flash that may never have been written.
bool needs_attention(const Event& event);

}  // namespace jetmem::kernel_log
