// SPDX-License-Identifier: Apache-2.0
#include "collectors/device/boot/reset_reason.h"

#include <array>

#include "base/text/text.h"

namespace jetmem {
namespace {

struct Words {
  std::string_view name;
  std::string_view meaning;
};
constexpr std::array<Words, kResetCauses> kWords{{
    {"power", "power was lost or switched on, or a reset button was pressed"},
    {"software", "a reboot that software asked for; a kernel panic ends in one too"},
    {"watchdog", "a watchdog was not fed: the system hung"},
    {"heat", "it was too hot and was switched off"},
    {"voltage", "a supply voltage or clock was out of its bounds"},
    {"sleep", "it woke up from suspend"},
    {"fault", "the boot or safety firmware found a fault"},
    {"debugger", "a debugger reset it"},
    {"unknown", "what that means is not known"},
}};

struct Name {
  std::string_view name;
  ResetCause cause;
};
// Whole names, without "TEGRA_" in front.
constexpr std::array kResetNames{
    Name{"SYS_RESET", ResetCause::kPower},
    Name{"SYS_RESET_N", ResetCause::kPower},
    Name{"POWER_ON_RESET", ResetCause::kPower},
    Name{"POR", ResetCause::kPower},
    Name{"MAINSWRST", ResetCause::kSoftware},
    Name{"SWREST", ResetCause::kSoftware},
    Name{"SW_MAIN", ResetCause::kSoftware},
    Name{"SOFTWARE_RESET", ResetCause::kSoftware},
    Name{"L0L1_RST_OUT_N", ResetCause::kSoftware},
    Name{"L2_RST_OUT_N", ResetCause::kSoftware},
    Name{"SENSOR", ResetCause::kHeat},
    Name{"AOTAG", ResetCause::kHeat},
    Name{"VFSENSOR", ResetCause::kVoltage},
    Name{"SC7", ResetCause::kSleep},
    Name{"LP0", ResetCause::kSleep},
    Name{"CSITE", ResetCause::kDebugger},
    Name{"CSITE_SW", ResetCause::kDebugger},
    Name{"CORESIGHT", ResetCause::kDebugger},
    Name{"NVJTAG_SEL_MONITOR", ResetCause::kDebugger},
};
// Parts of names, between '_'; the first that fits decides.
constexpr std::array kResetParts{
    Name{"WATCHDOG", ResetCause::kWatchdog}, Name{"WDT", ResetCause::kWatchdog},
    Name{"THERM", ResetCause::kHeat},        Name{"TSENSE", ResetCause::kHeat},
    Name{"VMON", ResetCause::kVoltage},      Name{"FMON", ResetCause::kVoltage},
    Name{"POD", ResetCause::kVoltage},       Name{"XTAL", ResetCause::kVoltage},
    Name{"POWERBAD", ResetCause::kVoltage},  Name{"VREFRO", ResetCause::kVoltage},
    Name{"SCPM", ResetCause::kVoltage},      Name{"FAULT", ResetCause::kFault},
    Name{"FUSECRC", ResetCause::kFault},     Name{"BPMPBOOT", ResetCause::kFault},
    Name{"HSM", ResetCause::kFault},         Name{"PSC", ResetCause::kFault},
    Name{"DCLS", ResetCause::kFault},        Name{"L1A", ResetCause::kFault},
};

bool has_part(std::string_view name, std::string_view part) {
  while (!name.empty()) {
    const std::string_view piece = name.substr(0, name.find('_'));
    if (piece == part) return true;
    name.remove_prefix(piece.size() < name.size() ? piece.size() + 1 : piece.size());
  }
  return false;
}

}  // namespace

std::string_view reset_cause_name(ResetCause cause) {
  return kWords[static_cast<std::size_t>(cause)].name;
}

std::string_view reset_cause_meaning(ResetCause cause) {
  return kWords[static_cast<std::size_t>(cause)].meaning;
}

ResetCause cause_of_reset(std::string_view reason) {
  take_prefix(reason, "TEGRA_");
  for (const Name& known : kResetNames) {
    if (reason == known.name) return known.cause;
  }
  // "BCCPLEXWDT", "FSI_R52C1WDT"
  if (reason.size() > 3 && reason.substr(reason.size() - 3) == "WDT") return ResetCause::kWatchdog;
  for (const Name& known : kResetParts) {
    if (has_part(reason, known.name)) return known.cause;
  }
  return ResetCause::kUnknown;
}

}  // namespace jetmem
