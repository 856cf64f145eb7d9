// SPDX-License-Identifier: Apache-2.0
// What a Tegra's power management controller says of the last reset, in plain words.
//
// The names come from drivers/soc/tegra/pmc.c (reset_reason, reset_level; Linux 4.20 and L4T 35 on)
// and from L4T 32's /sys/kernel/pmc/tegra_reset_{reason,level}. Each SoC has its own list and each
// release adds to it, so a name is read by its parts: whatever ends in WDT is a watchdog. A name
// that none of them fits is shown as it is, and means nothing to us.
#pragma once

#include <cstdint>
#include <string_view>

namespace jetmem {

enum class ResetCause : std::uint8_t {
  kPower,     // power came, or was lost and came back; also a reset button
  kSoftware,  // a reboot that was asked for
  kWatchdog,  // nobody fed a watchdog: something hung
  kHeat,      // too hot
  kVoltage,   // a supply or clock out of its bounds
  kSleep,     // woke up from suspend
  kFault,     // the boot or safety firmware found something wrong
  kDebugger,
  kUnknown,
};
inline constexpr std::size_t kResetCauses = 9;

std::string_view reset_cause_name(ResetCause cause);
// What to think of it, a clause: "a watchdog was not fed: the system hung".
std::string_view reset_cause_meaning(ResetCause cause);

// Of "BCCPLEXWDT", "TEGRA_POWER_ON_RESET", "SW_MAIN", ...
ResetCause cause_of_reset(std::string_view reason);

// Whether a reset of this cause is what an orderly reboot or power-on looks like.
constexpr bool is_ordinary(ResetCause cause) {
  return cause == ResetCause::kPower || cause == ResetCause::kSoftware ||
         cause == ResetCause::kSleep || cause == ResetCause::kUnknown;
}

}  // namespace jetmem
