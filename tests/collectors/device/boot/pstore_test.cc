// SPDX-License-Identifier: Apache-2.0
#include "collectors/device/boot/pstore.h"

#include <gtest/gtest.h>

#include <sstream>

#include "base/text/text.h"
#include "collectors/device/boot/reset_reason.h"

namespace jetmem {
namespace {

using std::string_view_literals::operator""sv;

PstoreRecord parse(std::string_view name, std::string_view head, std::string_view tail = {}) {
  PstoreRecord record;
  parse_pstore_record(name, head, tail, record);
  return record;
}

TEST(Pstore, APanicOfRamoops) {
  const PstoreRecord record = parse(
      "dmesg-ramoops-0",
      "Panic#2 Part1\n"
      "<6>[  100.000001] usb 1-1: new device\n"
      "<1>[  112.000001] Unable to handle kernel NULL pointer dereference at 0000000000000010\n"
      "<0>[  112.000009] Internal error: Oops: 96000004 [#1] SMP\n"
      "<0>[  112.300000][    T1] Kernel panic - not syncing: Oops: Fatal exception\n"
      "<0>[  112.300010] ---[ end Kernel panic - not syncing: Oops: Fatal exception ]---\n");
  EXPECT_EQ(record.name, "dmesg-ramoops-0");
  EXPECT_EQ(record.kind, PstoreKind::kPanic);
  EXPECT_TRUE(record.is_crash);
  EXPECT_EQ(record.line, "Kernel panic - not syncing: Oops: Fatal exception");
}

TEST(Pstore, AnOopsTellsOfTheAddress) {
  const PstoreRecord record =
      parse("dmesg-efi_pstore-175860014600001",
            "Oops#1 Part1\n<1>[ 1.5] BUG: kernel NULL pointer dereference, address: 48\n"
            "<4>[ 1.6] CPU: 2 PID: 3310\n");
  EXPECT_EQ(record.kind, PstoreKind::kOops);
  EXPECT_EQ(record.line, "BUG: kernel NULL pointer dereference, address: 48");
}

TEST(Pstore, OtherRecords) {
  EXPECT_EQ(parse("dmesg-ramoops-0", "Restart#1 Part1\n<6>[1.0] reboot: Restarting system\n").kind,
            PstoreKind::kDmesg);
  const PstoreRecord console = parse("console-ramoops-0", "[  1.0] one\n[  2.0] two\n\n");
  EXPECT_EQ(console.kind, PstoreKind::kConsole);
  EXPECT_FALSE(console.is_crash);
  EXPECT_EQ(console.line, "two") << "where nothing tells of a crash, what came last";
  EXPECT_TRUE(parse("console-ramoops-0", "x\n", "[9.0] Kernel panic - not syncing: y\n").is_crash)
      << "the end is looked through too";
  EXPECT_EQ(parse("175860014600/001/dmesg.txt", "Panic#1 Part3\n<0>[1.0] a\n").kind,
            PstoreKind::kPanic);
  EXPECT_EQ(parse("mce-erst-1", "\x01\x02").kind, PstoreKind::kOther);
}

// A kernel that went on and was then shut down: no end of its own.
TEST(Pstore, WhatTheKernelSurvivedIsNoCrash) {
  const std::string_view hung =
      "[  243.1] INFO: task kworker/2:1:77 blocked for more than 120 seconds.\n";
  const std::string_view stall = "[  244.1] rcu: INFO: rcu_sched self-detected stall on CPU\n";
  const std::string_view warned = "[  245.1] BUG: scheduling while atomic: swapper/0/0/0x2\n";
  const std::string_view stop = "[  900.1] reboot: Restarting system\n";
  for (const std::string_view line : {hung, stall, warned}) {
    SCOPED_TRACE(line);
    const std::string text = std::string(line) + std::string(stop);
    const PstoreRecord restart = parse("dmesg-ramoops-0", "Restart#1 Part1\n" + text);
    EXPECT_EQ(restart.kind, PstoreKind::kDmesg);
    for (const PstoreRecord& record : {restart, parse("console-ramoops-0", text)}) {
      EXPECT_FALSE(record.is_crash);
      EXPECT_EQ(record.line, trim(line.substr(10))) << "still the line shown";
    }
  }
  // Nor does it stand for a panic of which no better line is left.
  EXPECT_FALSE(parse("dmesg-ramoops-0", "Panic#1 Part1\n" + std::string(hung)).is_crash);
  // What programs wrote into the kernel's log.
  EXPECT_FALSE(parse("console-ramoops-0",
                     "[ 7.0] systemd[1]: web: Internal error: Kernel panic - not syncing\n")
                   .is_crash);
}

TEST(Pstore, AConsoleThatEndsInACrash) {
  const PstoreRecord record =
      parse("console-ramoops-0",
            "[  9.0][    T7] Internal error: synchronous external abort: 96000210 [#1] SMP\n"
            "[  9.5] BUG: scheduling while atomic: swapper/0/0/0x2\n");
  EXPECT_TRUE(record.is_crash);
  EXPECT_EQ(record.line, "Internal error: synchronous external abort: 96000210 [#1] SMP");
  EXPECT_TRUE(
      parse("console-ramoops-0", "[  9.0] Unable to handle kernel paging request at 0\n").is_crash);
  // Anybody may write into /dev/pmsg0.
  const PstoreRecord pmsg = parse("pmsg-ramoops-0", "Kernel panic - not syncing: ha\n");
  EXPECT_EQ(pmsg.kind, PstoreKind::kPmsg);
  EXPECT_FALSE(pmsg.is_crash);
  EXPECT_EQ(pmsg.line, "");
}

// RAM without power flips bits; what is left is not trusted.
TEST(Pstore, DamagedAndHostileText) {
  for (const std::string_view bad : {""sv, "Panic"sv, "Panic#1 Part1"sv, "Panic#x Part1\n"sv,
                                     "Panic#1 Prat1\n"sv, "Panic#99999999999999999999 Part1\n"sv,
                                     "#1 Part1\n"sv, "Panic#1 Part1 more\n"sv, "\0\xff\xfe\n"sv}) {
    const PstoreRecord record = parse("dmesg-ramoops-0", bad);
    EXPECT_EQ(record.kind, PstoreKind::kDmesg) << bad;
  }
  const PstoreRecord record =
      parse("dmesg-ramoops-0\x1b[2J",
            "Panic#1 Part1\n<0>[1.0] Kernel panic - not syncing: \x1b[2J\x07\n");
  EXPECT_EQ(record.name, "dmesg-ramoops-0?[2J");
  EXPECT_EQ(record.line, "Kernel panic - not syncing: ?[2J?");
  const PstoreRecord longer = parse("dmesg-" + std::string(500, 'n'),
                                    "Panic#1 Part1\nBUG: " + std::string(5000, 'x') + "\n");
  EXPECT_EQ(longer.name.size(), PstoreRecord::kMaxName);
  EXPECT_EQ(longer.line.size(), PstoreRecord::kMaxLine);
}

TEST(Pstore, ARecordIsKnownByItsTextWhereverItLies) {
  const auto text = "Panic#1 Part1\n<0>[1.0] Kernel panic - not syncing: a\n";
  EXPECT_EQ(parse("dmesg-ramoops-0", text).digest, parse("1/dmesg-ramoops-0", text).digest);
  EXPECT_NE(
      parse("dmesg-ramoops-0", text).digest,
      parse("dmesg-ramoops-0", "Panic#1 Part1\n<0>[1.0] Kernel panic - not syncing: b\n").digest);
}

TEST(ResetReason, OfEachGenerationOfNames) {
  using C = ResetCause;
  // tegra210 and L4T 32, tegra186, tegra194 and 234, tegra264.
  const std::pair<C, const char*> cases[] = {
      {C::kPower, "TEGRA_POWER_ON_RESET POWER_ON_RESET SYS_RESET_N"},
      {C::kWatchdog,
       "TEGRA_AO_WATCHDOG PMIC_WATCHDOG_POR WATCHDOG BCCPLEXWDT PVA0WDT FSI_R52C1WDT "
       "TOP_0_WDT_POR"},
      {C::kSoftware, "TEGRA_SOFTWARE_RESET SW_MAIN SWREST MAINSWRST"},
      {C::kHeat, "TEGRA_SENSOR AOTAG FSI_THERM SOC_THERM_FAULT POD_PLUS_IO_U4_TSENSE"},
      {C::kSleep, "TEGRA_LP0 SC7"},
      {C::kVoltage, "VFSENSOR FSI_VMON VREFRO_POWERBAD VMON_SOC_MIN SCPM_RTC_XTAL"},
      {C::kDebugger, "CSITE"},
      {C::kFault, "FUSECRC OSC_FAULT"},
      {C::kUnknown, "UNKNOWN TEGRA_ WDTX ____"}};
  for (const auto& [cause, names] : cases) {
    std::istringstream words(names);
    for (std::string name; words >> name;) {
      EXPECT_EQ(reset_cause_name(cause_of_reset(name)), reset_cause_name(cause)) << name;
    }
  }
  EXPECT_EQ(cause_of_reset(""), C::kUnknown);
}

TEST(ResetReason, WhatIsOrdinary) {
  EXPECT_TRUE(is_ordinary(cause_of_reset("MAINSWRST")));
  EXPECT_TRUE(is_ordinary(cause_of_reset("SYS_RESET_N")));
  EXPECT_FALSE(is_ordinary(cause_of_reset("BCCPLEXWDT")));
  EXPECT_FALSE(is_ordinary(cause_of_reset("SENSOR")));
}

}  // namespace
}  // namespace jetmem
