// SPDX-License-Identifier: Apache-2.0
#include "tests/collectors/kernel_log/cut_lines.h"

namespace jetmem::kernel_log {
namespace {

TEST(KernelLogThermal, CriticalTemperature) {
  EXPECT_EQ(decoded("thermal thermal_zone2: critical temperature reached (111 C), shutting down"),
            "thermal zone=thermal_zone2 trip=critical temp_c=111\n");
  EXPECT_EQ(
      decoded("thermal thermal_zone5: soc0: big: critical temperature reached, shutting down"),
      "thermal zone=thermal_zone5 zone_type=soc0: big trip=critical\n");
  EXPECT_EQ(decoded("thermal thermal_zone1: gpu-thermal: critical temperature reached"),
            "thermal zone=thermal_zone1 zone_type=gpu-thermal trip=critical\n");
}

TEST(KernelLogThermal, ProtectionBelongsToTheCriticalTemperatureBefore) {
  EXPECT_EQ(decoded("thermal thermal_zone5: soc0-thermal: critical temperature reached\n"
                    "reboot: HARDWARE PROTECTION reboot (Temperature too high)\n"),
            "thermal zone=thermal_zone5 zone_type=soc0-thermal trip=critical action=reboot "
            "reason=Temperature too high\n");
  EXPECT_EQ(decoded("reboot: HARDWARE PROTECTION reboot (Temperature too high)"),
            "thermal action=reboot reason=Temperature too high trip=critical\n");
  EXPECT_EQ(decoded("thermal thermal_zone5: soc0-thermal: critical temperature reached\n"
                    "reboot: HARDWARE PROTECTION shutdown (Battery critical capacity)\n"),
            "thermal zone=thermal_zone5 zone_type=soc0-thermal trip=critical\n"
            "thermal action=shutdown reason=Battery critical capacity\n");
}

TEST(KernelLogThermal, OverCurrent) {
  EXPECT_EQ(decoded("soctherm: OC ALARM 0x00000006"),
            "thermal trip=oc_alarm oc_status=0x00000006\n");
}

TEST(KernelLogThermal, X86Throttling) {
  EXPECT_EQ(decoded("CPU5: Core temperature above threshold, cpu clock throttled (total events = "
                    "91)"),
            "thermal trip=throttled cpu=5 level=Core total_events=91\n");
  EXPECT_EQ(decoded("mce: CPU0: Package temperature is above threshold, cpu clock is throttled "
                    "(total events = 3)"),
            "thermal trip=throttled cpu=0 level=Package total_events=3\n");
}

TEST(KernelLogThermal, RaspberryPiUndervoltage) {
  EXPECT_EQ(decoded("hwmon hwmon3: Undervoltage detected!"),
            "thermal dev=hwmon3 trip=undervoltage\n");
  EXPECT_EQ(decoded("Under-voltage detected! (0x00050005)"),
            "thermal trip=undervoltage status=0x00050005\n");
}

TEST(KernelLogThermal, AnAlarmThatTheKernelIgnoredSlowsNothingDown) {
  const std::string line = "soctherm: Ignored unexpected OC ALARM 0x00000006";
  EXPECT_EQ(decoded(line), "thermal trip=oc_alarm reason=Ignored unexpected OC ALARM 0x00000006\n");
  EXPECT_EQ(sentence_of(line),
            "the SoC raised an over-current alarm that the kernel did not expect and ignored");
}

TEST(KernelLogThermal, HarmlessAndGarbled) {
  EXPECT_EQ(decoded("tegra_soctherm 70000000.thermal-sensor: throttrip: will throttle when gpu "
                    "reaches 99000 mC\n"
                    "CPU5: Core temperature/speed normal\n"
                    "CPU5: Package power limit notification (total events = 3)\n"
                    "CPUx: Core temperature above threshold, cpu clock throttled\n"
                    "hwmon hwmon3: Voltage normalised\n"
                    "soctherm: OC ALARM soon\n"
                    "thermal thermal_zone3: failed to read out thermal zone (-61)\n"
                    "daemon host: critical temperature reached\n"
                    "reboot: HARDWARE PROTECTION party (Temperature too high)\n"),
            "");
}

TEST(KernelLogThermal, Sentences) {
  EXPECT_EQ(
      sentence_of("thermal thermal_zone2: critical temperature reached (111 C), shutting down"),
      "critical temperature, the kernel stops the machine in thermal_zone2 at 111 C");
  EXPECT_EQ(sentence_of("hwmon hwmon3: Undervoltage detected!"), "the supply voltage is too low");
}

TEST(KernelLogThermal, CutLines) { expect_filter_agrees_on_cut_lines("thermal.txt"); }

TEST(KernelLogThermal, ACutRegisterIsAbsent) {
  EXPECT_EQ(decoded("soctherm: OC ALARM 0x0000000"), "thermal trip=oc_alarm\n");
}

}  // namespace
}  // namespace jetmem::kernel_log
