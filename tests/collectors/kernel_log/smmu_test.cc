// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "tests/collectors/kernel_log/decoding.h"

namespace jetmem::kernel_log {
namespace {

std::string only(std::string_view text, EventKind kind, Soc soc = Soc::kUnknown) {
  const std::vector<Event> events = events_of(text, soc);
  if (events.size() != 1) return std::to_string(events.size()) + " events";
  EXPECT_EQ(info_of(events[0].kind()).name, info_of(kind).name);
  return fields_of(events[0]);
}
std::string context(std::string_view text, Soc soc = Soc::kUnknown) {
  return only(text, EventKind::kSmmuContextFault, soc);
}
std::string global(std::string_view text, Soc soc = Soc::kUnknown) {
  return only(text, EventKind::kSmmuGlobalFault, soc);
}
std::string v3(std::string_view text, Soc soc = Soc::kUnknown) {
  return only(text, EventKind::kSmmuV3Event, soc);
}
std::string error(std::string_view text) { return only(text, EventKind::kSmmuError); }

std::string described(std::string_view text, Soc soc = Soc::kUnknown) {
  const std::vector<Event> events = events_of(text, soc);
  return events.size() == 1 ? describe(events[0]) : std::to_string(events.size()) + " events";
}

constexpr std::string_view kOneLine =
    "arm-smmu 12000000.iommu: Unhandled context fault: fsr=0x402, iova=0x7ffe01000, "
    "fsynr=0x130021, cbfrsynra=0x80e, cb=9\n";
constexpr std::string_view kThreeLines =
    "arm-smmu 10000000.iommu: Unhandled context fault: fsr=0x408, iova=0xa0004000, "
    "fsynr=0x90032, cbfrsynra=0x802, cb=4\n"
    "arm-smmu 10000000.iommu: FSR    = 00000408 [Format=2 PF], SID=0x802\n"
    "arm-smmu 10000000.iommu: FSYNR0 = 00090032 [S1CBNDX=9 PNU WNR PLVL=2]\n";

TEST(SmmuLog, ContextFaultOfL4t49) {
  EXPECT_EQ(context("arm-smmu 12000000.iommu: Unhandled context fault: iova=0x2a4f1c000, "
                    "fsynr=0x150011, cb=7, sid=18(0x12 - HDA), pgd=26aa11003, pud=26aa11003, "
                    "pmd=0, pte=0"),
            "dev=12000000.iommu iova=0x2a4f1c000 fsynr=0x150011 cb=7 sid=18 client=HDA "
            "pgd=26aa11003 pud=26aa11003 pmd=0 pte=0 rw=write plvl=1 priv=false");
  EXPECT_EQ(context("arm-smmu 12000000.iommu: Unhandled context fault: smmu1, iova=0x90000040, "
                    "fsynr=0x60003, cb=3, sid=86(0x56 - PCIE0), pgd=3f1003, pud=3f1003, "
                    "pmd=3f2003, pte=e80000093fff53",
                    Soc::kTegra194),
            "dev=12000000.iommu iova=0x90000040 fsynr=0x60003 cb=3 sid=86 client=PCIE0 "
            "pgd=3f1003 pud=3f1003 pmd=3f2003 pte=e80000093fff53 rw=read plvl=3 priv=false "
            "soc=tegra194");
  EXPECT_EQ(context("arm-smmu 12000000.iommu: Unhandled context fault: iova=0x40, fsynr=0x3, cb=3, "
                    "sid=99(0x63 - (null)), pgd=1"),
            "dev=12000000.iommu iova=0x40 fsynr=0x3 cb=3 sid=99 rw=read plvl=3 priv=false");
}

TEST(SmmuLog, ContextFaultOfMainline) {
  EXPECT_EQ(context("arm-smmu e0200000.smmu: Unhandled context fault: fsr=0x8, iova=0x00012340, "
                    "fsynr=0x30, cb=12"),
            "dev=e0200000.smmu fsr=0x8 iova=0x00012340 fsynr=0x30 cb=12 fault=permission "
            "rw=write plvl=0 priv=true");
  EXPECT_EQ(context(kOneLine),
            "dev=12000000.iommu fsr=0x402 iova=0x7ffe01000 fsynr=0x130021 cbfrsynra=0x80e cb=9 "
            "fault=translation rw=read plvl=1 priv=true");
  EXPECT_EQ(context(kOneLine, Soc::kTegra234),
            "dev=12000000.iommu fsr=0x402 iova=0x7ffe01000 fsynr=0x130021 cbfrsynra=0x80e cb=9 "
            "fault=translation rw=read plvl=1 priv=true soc=tegra234 sid=0xe client=gpcdma_1");
}

TEST(SmmuLog, ContextFaultOfAUnitThatIsNotTheSocs) {
  EXPECT_EQ(context("arm-smmu 13000000.iommu: Unhandled context fault: fsr=0x402, iova=0x1000, "
                    "fsynr=0x1, cbfrsynra=0x80e, cb=9",
                    Soc::kTegra234),
            "dev=13000000.iommu fsr=0x402 iova=0x1000 fsynr=0x1 cbfrsynra=0x80e cb=9 "
            "fault=translation rw=read plvl=1 priv=false soc=tegra234");
  // An SMMUv2 of Tegra264, which has none, and an SMMUv3 of Tegra194.
  EXPECT_EQ(context("arm-smmu 6000000.iommu: Unhandled context fault: fsr=0x402, iova=0x1000, "
                    "fsynr=0x1, cbfrsynra=0x3000, cb=9",
                    Soc::kTegra264),
            "dev=6000000.iommu fsr=0x402 iova=0x1000 fsynr=0x1 cbfrsynra=0x3000 cb=9 "
            "fault=translation rw=read plvl=1 priv=false soc=tegra264");
  const auto events = events_of(
      "arm-smmu-v3 arm-smmu-v3.7.auto: event: C_BAD_STREAMID client: (unassigned sid) sid: 0x4102 "
      "ssid: 0x0\n",
      Soc::kTegra194);
  ASSERT_EQ(events.size(), 1U);
  EXPECT_EQ(events[0].text("sid"), "0x4102");
  EXPECT_FALSE(events[0].has("client"));
}

TEST(SmmuLog, WhatACutLineLostIsAbsent) {
  const std::string head = "arm-smmu 11000000.iommu: ";
  EXPECT_EQ(context(head + "Unhandled context fault: fsr=0x402, iova=0x7ff01000, fsynr=0x8001"),
            "dev=11000000.iommu fsr=0x402 iova=0x7ff01000 fault=translation");
  EXPECT_EQ(context(head + "Unhandled context fault: fsr=0x402, iova=0x7ff0"),
            "dev=11000000.iommu fsr=0x402 fault=translation");
  EXPECT_EQ(context(head + "Unhandled context fault: fsr=0x402, iova=0x7ff01000, fsynr=0x11, "
                           "cbfrsynra=0x80"),
            "dev=11000000.iommu fsr=0x402 iova=0x7ff01000 fsynr=0x11 fault=translation rw=write "
            "plvl=1 priv=false");
  EXPECT_EQ(events_of(head + "FSR    = 0000040").size(), 0U);
  EXPECT_EQ(events_of(head + "GFSR 0x8000000").size(), 0U);
  EXPECT_EQ(global(head + "GFSR 0x00000002, GFSYNR0 0x00000002, GFSYNR1 0x00002a"),
            "dev=11000000.iommu gfsr=0x00000002 gfsynr0=0x00000002 fault=unidentified stream");
  EXPECT_EQ(events_of(head + "Unexpected local fault, this could be serious").size(), 0U);
}

TEST(SmmuLog, StreamIdZeroOfTheFirstGenerationsIsInvalid) {
  const auto events = events_of(
      "arm-smmu 12000000.iommu: Unhandled context fault: fsr=0x402, iova=0x8000, fsynr=0x1, "
      "cbfrsynra=0x800, cb=3",
      Soc::kTegra194);
  ASSERT_EQ(events.size(), 1U);
  EXPECT_NE(describe(events[0]).find("stream ID 0x0 (invalid)"), std::string::npos)
      << describe(events[0]);
}

TEST(SmmuLog, DecodedLinesJoin) {
  EXPECT_EQ(context(kThreeLines),
            "dev=10000000.iommu fsr=0x408 iova=0xa0004000 fsynr=0x90032 cbfrsynra=0x802 cb=4 "
            "flags=[PF] fault=permission rw=write plvl=2 priv=true");
  EXPECT_EQ(context("arm-smmu 3da0000.iommu: Unhandled context fault: fsr=0x404, iova=0x51000, "
                    "fsynr=0x10, cbfrsynra=0x5, cb=1\n"
                    "arm-smmu 3da0000.iommu: FSR    = 00000404 [AFF ], SID=0x5\n"
                    "arm-smmu 3da0000.iommu: soft iova-to-phys=0x0000000000000000\n"),
            "dev=3da0000.iommu fsr=0x404 iova=0x51000 fsynr=0x10 cbfrsynra=0x5 cb=1 flags=[AFF] "
            "fault=access flag rw=write plvl=0 priv=false");
}

TEST(SmmuLog, DecodedLinesStandAlone) {
  EXPECT_EQ(context("arm-smmu 15000000.apps-smmu: FSR    = c0000402 [MULTI SS Format=2 TF], "
                    "SID=0x4a1\n"
                    "arm-smmu 15000000.apps-smmu: FSYNR0 = 00050443 [S1CBNDX=5 PTWF PLVL=3]\n"),
            "dev=15000000.apps-smmu fsr=0xc0000402 flags=[MULTI,SS,TF] cbfrsynra=0x4a1 "
            "fsynr=0x50443 fault=translation, multiple rw=read plvl=3 priv=false");
  EXPECT_EQ(context("arm-smmu 15000000.iommu: FSYNR0 = 00000010 [S1CBNDX=0 WNR PLVL=0]"),
            "dev=15000000.iommu fsynr=0x10 rw=write plvl=0 priv=false");
}

TEST(SmmuLog, TwoUnitsLineByLine) {
  const std::vector<Event> events = events_of(
      "arm-smmu a.iommu: Unhandled context fault: fsr=0x402, iova=0x1000, fsynr=0x0, "
      "cbfrsynra=0x1, cb=1\n"
      "arm-smmu b.iommu: Unhandled context fault: fsr=0x408, iova=0x2000, fsynr=0x10, "
      "cbfrsynra=0x2, cb=2\n"
      "arm-smmu a.iommu: FSR    = 00000402 [Format=2 TF], SID=0x1\n"
      "arm-smmu b.iommu: FSR    = 00000408 [Format=2 PF], SID=0x2\n"
      "arm-smmu b.iommu: FSYNR0 = 00000010 [S1CBNDX=0 WNR PLVL=0]\n"
      "arm-smmu a.iommu: FSYNR0 = 00000000 [S1CBNDX=0 PLVL=0]\n");
  ASSERT_EQ(events.size(), 2U);
  EXPECT_EQ(fields_of(events[0]),
            "dev=a.iommu fsr=0x402 iova=0x1000 fsynr=0x0 cbfrsynra=0x1 cb=1 flags=[TF] "
            "fault=translation rw=read plvl=0 priv=false");
  EXPECT_EQ(fields_of(events[1]),
            "dev=b.iommu fsr=0x408 iova=0x2000 fsynr=0x10 cbfrsynra=0x2 cb=2 flags=[PF] "
            "fault=permission rw=write plvl=0 priv=false");
}

TEST(SmmuLog, GlobalFault) {
  EXPECT_EQ(global("arm-smmu 12000000.iommu: Unexpected global fault, this could be serious\n"
                   "arm-smmu 12000000.iommu: \tGFSR 0x80000002, GFSYNR0 0x00000002, GFSYNR1 "
                   "0x00000814, GFSYNR2 0x00000000\n",
                   Soc::kTegra186),
            "dev=12000000.iommu gfsr=0x80000002 gfsynr0=0x00000002 gfsynr1=0x00000814 "
            "gfsynr2=0x00000000 fault=unidentified stream, multiple sid=0x14 soc=tegra186 "
            "client=eqos");
  EXPECT_EQ(global("arm-smmu 10000000.iommu: Blocked unknown Stream ID 0x407; boot with "
                   "\"arm-smmu.disable_bypass=0\" to allow, but this may have security "
                   "implications\n"
                   "arm-smmu 10000000.iommu:         GFSR 0x00000001, GFSYNR0 0x00000004, "
                   "GFSYNR1 0x00010407, GFSYNR2 0x00000000\n"),
            "dev=10000000.iommu sid=0x407 fault=invalid context gfsr=0x00000001 "
            "gfsynr0=0x00000004 gfsynr1=0x00010407 gfsynr2=0x00000000");
  EXPECT_EQ(global("arm-smmu 12000000.iommu: GFSR 0x00000004, GFSYNR0 0x00000002, GFSY"),
            "dev=12000000.iommu gfsr=0x00000004 gfsynr0=0x00000002 fault=stream match conflict");
  EXPECT_EQ(global("arm-smmu 12000000.iommu: \\x09GFSR 0x00000080, GFSYNR0 0x00000002"),
            "dev=12000000.iommu gfsr=0x00000080 gfsynr0=0x00000002 fault=permission");
  EXPECT_EQ(global("arm-smmu 12000000.iommu: Unexpected {global,context} fault, this could be "
                   "serious"),
            "dev=12000000.iommu");
  EXPECT_EQ(global("arm-smmu 10000000.iommu: Blocked unknown Stream ID 0x407; boot"),
            "dev=10000000.iommu sid=0x407 fault=unidentified stream");
}

TEST(SmmuLog, UnitErrors) {
  EXPECT_EQ(error("arm-smmu 12000000.iommu: TLB sync timed out -- SMMU may be deadlocked"),
            "dev=12000000.iommu error=TLB sync timed out");
  EXPECT_EQ(error("arm-smmu 5040000.iommu: TLB global sync failed!"),
            "dev=5040000.iommu error=TLB global sync failed");
  EXPECT_EQ(error("arm-smmu 5040000.iommu: TLB sync on cb2 failed for device 5000000.gpu"),
            "dev=5040000.iommu error=TLB sync failed cb=2 client=5000000.gpu");
  EXPECT_EQ(error("arm-smmu-v3 6000000.iommu: EVTQ overflow detected -- events lost"),
            "dev=6000000.iommu error=EVTQ overflow detected");
  EXPECT_EQ(error("arm-smmu-v3 6000000.iommu: CMDQ timeout"),
            "dev=6000000.iommu error=CMDQ timeout");
  EXPECT_EQ(error("arm-smmu-v3 6000000.iommu: CMD_SYNC timeout at 0x00000b0c [hwprod 0x00000b10, "
                  "hwcons 0x00000b0b]"),
            "dev=6000000.iommu error=CMD_SYNC timeout");
}

TEST(SmmuLog, GlobalErrorOfV3) {
  EXPECT_EQ(error("arm-smmu-v3 6000000.iommu: unexpected global error reported (0x00000001), this "
                  "could be serious\n"
                  "arm-smmu-v3 6000000.iommu: CMDQ error (cons 0x02000f11): Abort on command "
                  "fetch\n"
                  "arm-smmu-v3 6000000.iommu: retrying command fetch\n"),
            "dev=6000000.iommu error=CMDQ error gerror=0x00000001 cons=0x02000f11 reason=Abort on "
            "command fetch fault=command queue");
  EXPECT_EQ(error("arm-smmu-v3 6000000.iommu: unexpected global error reported (0x00000104), this "
                  "could be serious\n"
                  "arm-smmu-v3 6000000.iommu: device has entered Service Failure Mode!\n"
                  "arm-smmu-v3 6000000.iommu: EVTQ write aborted -- events may have been lost\n"),
            "dev=6000000.iommu error=EVTQ write aborted gerror=0x00000104 fault=event queue abort, "
            "service failure mode");
  EXPECT_EQ(error("arm-smmu-v3 6000000.iommu: unexpected global error reported (0x00000080)"),
            "dev=6000000.iommu error=unexpected global error reported gerror=0x00000080 "
            "fault=global error MSI abort");
}

constexpr std::string_view kRaw =
    "arm-smmu-v3 6000000.iommu: event 0x10 received:\n"
    "arm-smmu-v3 6000000.iommu: \t0x0000300100000010\n"
    "arm-smmu-v3 6000000.iommu: \t0x0000020a00000000\n"
    "arm-smmu-v3 6000000.iommu: \t0x00000004f0001000\n"
    "arm-smmu-v3 6000000.iommu: \t0x0000000000000000\n";

TEST(SmmuLog, V3RawWords) {
  constexpr std::string_view kWords =
      "words=[0x0000300100000010,0x0000020a00000000,0x00000004f0001000,0x0000000000000000] ";
  const std::string expected = "dev=6000000.iommu event=0x10 " + std::string(kWords) +
                               "sid=0x3001 rw=read priv=true iova=0x4f0001000 class=2 stall=false "
                               "name=F_TRANSLATION";
  EXPECT_EQ(v3(kRaw), expected);
  EXPECT_EQ(v3(kRaw, Soc::kTegra264), expected + " soc=tegra264 client=vic");
}

std::string raw_event(std::string_view number, std::string_view word0, std::string_view word1) {
  const std::string prefix = "arm-smmu-v3 x.auto: ";
  return prefix + "event " + std::string(number) + " received:\n" + prefix + std::string(word0) +
         "\n" + prefix + std::string(word1) + "\n" + prefix + "\t0x0000ffff00001000\n" + prefix +
         "\\x090x0000000081234000\n";
}

TEST(SmmuLog, V3RawWordsMeanWhatTheEventSays) {
  const Event stalled =
      events_of(raw_event("0x13", "\t0x0000a10000005813", "\t0x0000018880000021")).at(0);
  EXPECT_EQ(stalled.text("name"), "F_PERMISSION");
  EXPECT_EQ(stalled.text("ssid"), "0x5");
  EXPECT_EQ(stalled.text("stag"), "0x21");
  EXPECT_EQ(stalled.boolean("stall"), true);
  EXPECT_EQ(stalled.text("ipa"), "0x81234000");
  EXPECT_EQ(stalled.number("class"), 1);

  const Event stream =
      events_of(raw_event("0x02", "\t0x0000a10000000002", "\t0x0000000000000000")).at(0);
  EXPECT_EQ(stream.text("name"), "C_BAD_STREAMID");
  EXPECT_EQ(stream.text("sid"), "0xa100");
  EXPECT_FALSE(stream.has("rw") || stream.has("iova") || stream.has("class"));

  const Event fetch =
      events_of(raw_event("0x03", "\t0x0000a10000000003", "\t0x0000000000000000")).at(0);
  EXPECT_EQ(fetch.text("fetch_addr"), "0x81234000");
  EXPECT_FALSE(fetch.has("rw"));

  const Event unknown =
      events_of(raw_event("0x7f", "\t0x0000a1000000007f", "\t0x0000000000000000")).at(0);
  EXPECT_EQ(unknown.text("event"), "0x7f");
  EXPECT_EQ(unknown.text("sid"), "0xa100");
  EXPECT_FALSE(unknown.has("name") || unknown.has("rw"));

  // Words of something else, and words that are lost.
  const Event other =
      events_of(raw_event("0x10", "\t0x0000a10000000002", "\t0x0000000000000000")).at(0);
  EXPECT_FALSE(other.has("sid"));
  const Event cut = events_of(kRaw.substr(0, 100)).at(0);
  EXPECT_EQ(cut.text("name"), "F_TRANSLATION");
  EXPECT_FALSE(cut.has("sid"));
}

TEST(SmmuLog, V3DecodedLines) {
  const std::string lines =
      std::string(kRaw) +
      "arm-smmu-v3 6000000.iommu: event: F_TRANSLATION client: 8188050000.vic sid: 0x3001 ssid: "
      "0x0 iova: 0x4f0001000 ipa: 0x0nvme nvme0: I/O 3 timeout\n"
      "arm-smmu-v3 6000000.iommu: priv data write s1 \"Input address caused fault\" stag: 0x0\n";
  const Event event = events_of(lines, Soc::kTegra264).at(0);
  EXPECT_EQ(event.text("client"), "8188050000.vic");
  EXPECT_EQ(event.text("ipa"), "0x0");
  EXPECT_EQ(event.text("rw"), "write");
  EXPECT_EQ(event.text("stag"), "0x0");
  EXPECT_EQ(event.number("class"), 2);
  EXPECT_EQ(events_of(lines).size(), 1U);
}

TEST(SmmuLog, V3DecodedLinesAlone) {
  EXPECT_EQ(v3("arm-smmu-v3 5000000.iommu: event: F_CD_FETCH client: 8188050000.vi sid: 0x2e01 "
               "ssid: 0x0 fetch_addr: 0x9000"),
            "dev=5000000.iommu sid=0x2e01 client=8188050000.vi name=F_CD_FETCH event=0x09 "
            "ssid=0x0 fetch_addr=0x9000");
  EXPECT_EQ(v3("arm-smmu-v3 5000000.iommu: event: C_BAD_STE client: (unassigned sid) sid: 0x2301 "
               "ssid: 0x0usb 1-1: reset"),
            "dev=5000000.iommu sid=0x2301 name=C_BAD_STE event=0x04 ssid=0x0");
  EXPECT_EQ(v3("arm-smmu-v3 5000000.iommu: event: UNKNOWN client: (unassigned sid) sid: 0x2301 "
               "ssid: 0x0"),
            "dev=5000000.iommu sid=0x2301 name=UNKNOWN ssid=0x0");
  EXPECT_EQ(v3("arm-smmu-v3 5000000.iommu: unpriv inst read s2 \"CD fetch\" ttd_read stall stag: "
               "0x21"),
            "dev=5000000.iommu priv=false rw=read class=0 stall=true stag=0x21");
}

TEST(SmmuLog, ANumberThatRunsOnIsLeftOut) {
  const std::string line = "arm-smmu-v3 5.iommu: priv data read s1 \"CD fetch\" stag: ";
  EXPECT_EQ(events_of(line + "0x12").at(0).text("stag"), "0x12");
  EXPECT_EQ(events_of(line + "0x12 atlantic").at(0).text("stag"), "0x12");
  EXPECT_EQ(events_of(line + "0x0atlantic").at(0).text("stag"), "0x0");
  EXPECT_FALSE(events_of(line + "0x12usb 1-1").at(0).has("stag"));
  EXPECT_FALSE(events_of(line).at(0).has("stag"));
}

TEST(SmmuLog, InWords) {
  EXPECT_EQ(described(kOneLine, Soc::kTegra234),
            "gpcdma_1 on SMMU 12000000.iommu read from unmapped address 0x7ffe01000 (translation "
            "fault)");
  EXPECT_EQ(described(kOneLine),
            "an unknown device (cbfrsynra 0x80e) on SMMU 12000000.iommu read from unmapped address "
            "0x7ffe01000 (translation fault)");
  EXPECT_EQ(described(kThreeLines, Soc::kTegra194),
            "csi on SMMU 10000000.iommu wrote to address 0xa0004000 (permission fault)");
  EXPECT_EQ(described("arm-smmu x: FSR    = 80000402 [Format=2 TF]"),
            "an unknown device on SMMU x accessed an unmapped address (faults: translation, "
            "multiple)");
  EXPECT_EQ(described("arm-smmu 12000000.iommu: GFSR 0x00000002, GFSYNR0 0x00000002, GFSYNR1 "
                      "0x00000814, GFSYNR2 0x00000000"),
            "stream ID 0x814 on SMMU 12000000.iommu did DMA that the SMMU refused (unidentified "
            "stream fault)");
  EXPECT_EQ(described(kRaw, Soc::kTegra264),
            "vic on SMMU 6000000.iommu read from unmapped address 0x4f0001000 (translation fault)");
  EXPECT_EQ(described("arm-smmu-v3 5.iommu: event: C_BAD_STREAMID client: (unassigned sid) sid: "
                      "0x23 ssid: 0x0"),
            "stream ID 0x23 on SMMU 5.iommu did DMA that the SMMU refused (the SMMU has no entry "
            "for this stream)");
  EXPECT_EQ(described("arm-smmu 5.iommu: TLB sync timed out -- SMMU may be deadlocked"),
            "the SMMU 5.iommu reports \"TLB sync timed out\"");
}

TEST(SmmuLog, OrdinaryAndSpoiltLinesTellNothing) {
  for (const std::string_view line :
       {"arm-smmu 8000000.iommu: probing hardware configuration...",
        "arm-smmu 8000000.iommu: SMMUv2 with:",
        "arm-smmu 12000000.iommu: \tstage 1 translation",
        "arm-smmu 12000000.iommu: soft iova-to-phys=0x0000000000000000",
        "arm-smmu 12000000.iommu: Context fault handled by client: iova=0x1000, fsr=0x402",
        "arm-smmu-v3 6000000.iommu: option mask 0x0",
        "arm-smmu-v3 6000000.iommu: allocated 65536 entries for cmdq",
        "arm-smmu-v3 6000000.iommu: retrying command fetch",
        "arm-smmu-v3 6000000.iommu: skipping command in error state:",
        "arm-smmu-v3 6000000.iommu: \t0x0000000000000046",
        "arm-smmu 12000000.iommu: Unhandled context fault: fsr=garbage, iova=0x1000, fsynr=0x1",
        "arm-smmu 12000000.iommu: Unhandled context fault: fsr=0x402q, iova=0x1000, fsynr=0x1",
        "arm-smmu 12000000.iommu: Unhandled context fault: fsr=0x402, iova=xyz, fsynr=0x1, cb=1",
        "arm-smmu 12000000.iommu: Unhandled context fault: fsr=0x402, iova=0x10, cb=many, x=1",
        "arm-smmu 12000000.iommu: Unhandled context fault: iova=0x1000",
        "arm-smmu 12000000.iommu: Unhandled context fault: ",
        "arm-smmu 12000000.iommu Unhandled context fault: fsr=0x402, iova=0x1000, fsynr=0x1, cb=1",
        "arm-smmu : Unhandled context fault: fsr=0x402, iova=0x1000, fsynr=0x1, cb=1",
        "arm-smmu 12000000.iommu: FSR    = 0000040z [TF ], SID=0x1",
        "arm-smmu 12000000.iommu: FSR    = 100000402 [TF ], SID=0x1",
        "arm-smmu 12000000.iommu: FSYNR0 = ",
        "arm-smmu 12000000.iommu: GFSR 0xzz",
        "arm-smmu 12000000.iommu: Blocked unknown Stream ID none",
        "arm-smmu 12000000.iommu: TLB sync timed outside",
        "arm-smmu-v3 6000000.iommu: event 0x100 received:",
        "arm-smmu-v3 6000000.iommu: event 0x10 rec",
        "arm-smmu-v3 6000000.iommu: event: F_ACCESS client: x",
        "arm-smmu-v3 6000000.iommu: priv",
        "arm-smmu-v3 6000000.iommu: unexpected global error reported (0x",
        "arm-smmu-v3 6000000.iommu: CMDQ error (cons x): y",
        "arm-smmu",
        "arm-smmu-v3 "}) {
    EXPECT_EQ(described(line), "0 events") << line;
  }
}

TEST(SmmuLog, ALineThatIsCutTellsLess) {
  const std::string_view line = kOneLine.substr(0, kOneLine.size() - 1);
  for (std::size_t size = line.find("fsynr=") + 9; size < line.size(); ++size) {
    const std::vector<Event> events = events_of(line.substr(0, size));
    ASSERT_LE(events.size(), 1U);
    if (events.empty()) continue;
    EXPECT_EQ(events[0].text("iova"), "0x7ffe01000");
    EXPECT_EQ(events[0].text("fault"), "translation");
  }
  EXPECT_EQ(events_of(line.substr(0, line.find("0x80e") + 2)).size(), 1U);
}

TEST(SmmuLog, EventsOfAmdsIommu) {
  EXPECT_EQ(context("nvme 0000:06:00.0: AMD-Vi: Event logged [IO_PAGE_FAULT domain=0x000b "
                    "address=0xcfe41550 flags=0x0070]"),
            "dev=AMD-Vi client=0000:06:00.0 name=IO_PAGE_FAULT domain=0x000b iova=0xcfe41550 "
            "event_flags=0x0070 rw=write fault=permission");
  EXPECT_EQ(context("AMD-Vi: Event logged [IO_PAGE_FAULT device=05:00.0 domain=0x0012 "
                    "address=0x00000000ff6101c0 flags=0x0000]"),
            "dev=AMD-Vi name=IO_PAGE_FAULT client=05:00.0 domain=0x0012 iova=0x00000000ff6101c0 "
            "event_flags=0x0000 fault=translation");
  // In two records.
  EXPECT_EQ(context("AMD-Vi: Event logged [\nIO_PAGE_FAULT device=05:00.0 domain=0x0012 "
                    "address=0x9000 flags=0x0050]"),
            "dev=AMD-Vi name=IO_PAGE_FAULT client=05:00.0 domain=0x0012 iova=0x9000 "
            "event_flags=0x0050 rw=read fault=permission");
  EXPECT_EQ(context("iommu ivhd1: AMD-Vi: Event logged [ILLEGAL_DEV_TABLE_ENTRY "
                    "device=0000:04:00.0 pasid=0x00000 address=0x11f300000 flags=0x0080]"),
            "dev=AMD-Vi name=ILLEGAL_DEV_TABLE_ENTRY client=0000:04:00.0 pasid=0x00000 "
            "iova=0x11f300000 event_flags=0x0080 fault=configuration");
  EXPECT_EQ(error("iommu ivhd0: AMD-Vi: Event logged [IOTLB_INV_TIMEOUT device=09:00.0 "
                  "address=0x10a4c5f30]"),
            "dev=AMD-Vi error=IOTLB_INV_TIMEOUT client=09:00.0 iova=0x10a4c5f30");
  EXPECT_EQ(error("AMD-Vi: Completion-Wait loop timed out"),
            "dev=AMD-Vi error=Completion-Wait loop timed out");
  // Cut off within the address; an interrupt; what the driver says of itself.
  EXPECT_EQ(context("AMD-Vi: Event logged [IO_PAGE_FAULT device=05:00.0 domain=0x0012 addr"),
            "dev=AMD-Vi name=IO_PAGE_FAULT client=05:00.0 domain=0x0012");
  EXPECT_EQ(decoded("AMD-Vi: Event logged [IO_PAGE_FAULT device=05:00.0 domain=0x0012 "
                    "address=0xfee00000 flags=0x0008]"),
            "");
  EXPECT_EQ(decoded("AMD-Vi: Found IOMMU cap 0x40\n[drm] IO_PAGE_FAULT device=1:0.0]"), "");
}

TEST(SmmuLog, FaultsOfIntelsIommu) {
  EXPECT_EQ(context("DMAR: [DMA Read NO_PASID] Request device [00:02.0] fault addr 0x7ce90000 "
                    "[fault reason 0x01] Present bit in root entry is clear"),
            "dev=DMAR client=00:02.0 rw=read iova=0x7ce90000 "
            "reason=Present bit in root entry is clear fault=configuration");
  EXPECT_EQ(context("DMAR: [DMA Write] Request device [03:00.0] PASID ffffffff fault addr "
                    "9be00000 [fault reason 05] PTE Write access is not set"),
            "dev=DMAR client=03:00.0 rw=write iova=0x9be00000 reason=PTE Write access is not set "
            "fault=translation or permission");
  EXPECT_EQ(context("DMAR: [DMA Read PASID 0x5] Request device [0x00:0x02.0] fault addr 0x1000 "
                    "[fault reason 0x71] SM: Present bit in first-level paging entry is clear")
                .substr(0, 45),
            "dev=DMAR pasid=0x5 client=00:02.0 rw=read iov");
  // The oldest print two lines, of which the second may be lost.
  EXPECT_EQ(context("DMAR:[DMA Write] Request device [00:14.0] fault addr ec000 \n"
                    "DMAR:[fault reason 02] Present bit in context entry is clear"),
            "dev=DMAR client=00:14.0 rw=write iova=0xec000 "
            "reason=Present bit in context entry is clear fault=configuration");
  EXPECT_EQ(context("DMAR:[DMA Write] Request device [00:14.0] fault addr ec0"),
            "dev=DMAR client=00:14.0 rw=write");
  EXPECT_EQ(decoded("DMAR: DRHD: handling fault status reg 3\n"
                    "DMAR: [INTR-REMAP] Request device [f0:1f.7] fault index 0x18 [fault reason "
                    "0x22] Present field in the IRTE entry is clear"),
            "");
}

TEST(SmmuLog, APcHasNoSmmu) {
  EXPECT_EQ(described("nvme 0000:06:00.0: AMD-Vi: Event logged [IO_PAGE_FAULT domain=0x000b "
                      "address=0xcfe41550 flags=0x0000]")
                .find("SMMU"),
            std::string::npos);
  EXPECT_EQ(described("AMD-Vi: Completion-Wait loop timed out").find("SMMU"), std::string::npos);
  // It may be mapped, but not for this.
  EXPECT_EQ(described("DMAR: [DMA Write] Request device [03:00.0] fault addr 0x9000 [fault reason "
                      "0x05] PTE Write access is not set")
                .find("unmapped"),
            std::string::npos);
}

TEST(SmmuLog, Fixture) {
  std::ifstream in(std::string(JETMEM_FIXTURES) + "/kernel-log/smmu.txt");
  std::stringstream text;
  text << in.rdbuf();
  const std::vector<Event> events = events_of(text.str(), Soc::kTegra234);
  std::array<int, kKindCount> count{};
  for (const Event& event : events) {
    ++count[static_cast<std::size_t>(event.kind())];
    Event again;
    EXPECT_EQ(decode_line(describe(event), Voice::kUnknown, again).piece.role, Role::kNothing);
  }
  EXPECT_EQ(count[static_cast<std::size_t>(EventKind::kSmmuContextFault)], 14);
  EXPECT_EQ(count[static_cast<std::size_t>(EventKind::kSmmuGlobalFault)], 3);
  EXPECT_EQ(count[static_cast<std::size_t>(EventKind::kSmmuV3Event)], 5);
  EXPECT_EQ(count[static_cast<std::size_t>(EventKind::kSmmuError)], 12);
}

}  // namespace
}  // namespace jetmem::kernel_log
