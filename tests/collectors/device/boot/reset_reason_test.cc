// SPDX-License-Identifier: Apache-2.0
#include "collectors/device/boot/reset_reason.h"

#include <gtest/gtest.h>

namespace jetmem {
namespace {

TEST(ResetReason, OfEachGenerationOfNames) {
  using C = ResetCause;
  struct Case {
    const char* name;
    C cause;
  };
  for (const Case& c : {
           Case{"TEGRA_POWER_ON_RESET", C::kPower},  // L4T 32
           Case{"TEGRA_AO_WATCHDOG", C::kWatchdog},
           Case{"PMIC_WATCHDOG_POR", C::kWatchdog},
           Case{"TEGRA_SOFTWARE_RESET", C::kSoftware},
           Case{"TEGRA_SENSOR", C::kHeat},
           Case{"TEGRA_LP0", C::kSleep},
           Case{"POWER_ON_RESET", C::kPower},  // tegra210
           Case{"WATCHDOG", C::kWatchdog},
           Case{"SW_MAIN", C::kSoftware},
           Case{"AOTAG", C::kHeat},
           Case{"SWREST", C::kSoftware},    // tegra186
           Case{"SYS_RESET_N", C::kPower},  // tegra194, tegra234
           Case{"BCCPLEXWDT", C::kWatchdog},
           Case{"MAINSWRST", C::kSoftware},
           Case{"VFSENSOR", C::kVoltage},
           Case{"PVA0WDT", C::kWatchdog},
           Case{"CSITE", C::kDebugger},
           Case{"FSI_R52C1WDT", C::kWatchdog},
           Case{"FSI_THERM", C::kHeat},
           Case{"FSI_VMON", C::kVoltage},
           Case{"FUSECRC", C::kFault},
           Case{"VREFRO_POWERBAD", C::kVoltage},
           Case{"TOP_0_WDT_POR", C::kWatchdog},  // tegra264
           Case{"SOC_THERM_FAULT", C::kHeat},
           Case{"POD_PLUS_IO_U4_TSENSE", C::kHeat},
           Case{"VMON_SOC_MIN", C::kVoltage},
           Case{"SCPM_RTC_XTAL", C::kVoltage},
           Case{"OSC_FAULT", C::kFault},
           Case{"SC7", C::kSleep},
           Case{"UNKNOWN", C::kUnknown},
           Case{"", C::kUnknown},
           Case{"TEGRA_", C::kUnknown},
           Case{"WDTX", C::kUnknown},
           Case{"____", C::kUnknown},
       }) {
    EXPECT_EQ(reset_cause_name(cause_of_reset(c.name)), reset_cause_name(c.cause)) << c.name;
  }
}

TEST(ResetReason, WhatIsOrdinary) {
  EXPECT_TRUE(is_ordinary(cause_of_reset("MAINSWRST")));
  EXPECT_TRUE(is_ordinary(cause_of_reset("SYS_RESET_N")));
  EXPECT_FALSE(is_ordinary(cause_of_reset("BCCPLEXWDT")));
  EXPECT_FALSE(is_ordinary(cause_of_reset("SENSOR")));
}

}  // namespace
}  // namespace jetmem
