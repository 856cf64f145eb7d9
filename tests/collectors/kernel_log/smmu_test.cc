// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "collectors/kernel_log/catalogue/hooks.h"
#include "tests/collectors/kernel_log/decoding.h"

namespace jetmem::kernel_log {
namespace {

std::string context(std::string_view text, Soc soc) {
  const std::vector<Event> events = events_of(text, soc);
  return events.size() == 1 ? fields_of(events[0]) : std::to_string(events.size()) + " events";
}

// An event of which the kernel prints words only.
Event raw_event(std::string_view number, std::string_view word0,
                std::string_view word1 = "0x0000000000000000", std::size_t size = SIZE_MAX) {
  const std::string prefix = "arm-smmu-v3 x.auto: ";
  std::string text = prefix + "event " + std::string(number) + " received:\n";
  for (const std::string_view word : {word0, word1, std::string_view("0x0000ffff00001000")}) {
    text += prefix + "\t" + std::string(word) + "\n";
  }
  return events_of((text + prefix + "\\x090x0000000081234000\n").substr(0, size)).at(0);
}

std::string fault_of(void (*hook)(Event&, Soc), std::string_view name, std::uint64_t value) {
  Event event;
  event.set_hex(name, value);
  hook(event, Soc::kUnknown);
  return std::string(event.text("fault"));
}

TEST(SmmuLog, EveryBitOfTheFaultRegisters) {
  const struct {
    void (*hook)(Event&, Soc);
    std::string_view name;
    std::vector<std::string> faults;  // of bit 0 on; the last is bit 31's
  } registers[] = {
      {hooks::smmu_context_fault,
       "fsr",
       {"", "translation", "access flag", "permission", "external", "TLB match conflict",
        "TLB lock", "address size", "unsupported upstream transaction", "multiple"}},
      {hooks::smmu_global_fault,
       "gfsr",
       {"invalid context", "unidentified stream", "stream match conflict",
        "unimplemented context bank", "unimplemented context interrupt", "configuration access",
        "external", "permission", "unsupported upstream transaction", "multiple"}},
      {hooks::smmu_global_error,
       "gerror",
       {"command queue", "", "event queue abort", "page request queue abort",
        "command queue MSI abort", "event queue MSI abort", "page request queue MSI abort",
        "global error MSI abort", "service failure mode", ""}}};
  for (const auto& each : registers) {
    std::string all;
    for (unsigned bit = 0; bit < 32; ++bit) {
      const std::size_t i = bit == 31 ? 9 : bit;
      // The format of the tables and the stall are no faults.
      const std::string expected = bit < 9 || bit == 31 ? each.faults[i] : "";
      EXPECT_EQ(fault_of(each.hook, each.name, 1ULL << bit), expected) << each.name << " " << bit;
      if (!expected.empty()) all += (all.empty() ? "" : ", ") + expected;
    }
    EXPECT_EQ(fault_of(each.hook, each.name, UINT32_MAX), all);
    EXPECT_EQ(fault_of(each.hook, each.name, 0), "");
    EXPECT_EQ(fault_of(each.hook, each.name, 1ULL << 33), "") << "no register of 32 bits";
  }
}

TEST(SmmuLog, AccessOfFsynr0) {
  const auto access_of = [](std::uint64_t fsynr) {
    Event event;
    event.set_hex("fsynr", fsynr);
    hooks::smmu_context_fault(event, Soc::kUnknown);
    event.remove("fsynr");
    return fields_of(event);
  };
  EXPECT_EQ(access_of(0x13), "rw=write plvl=3 priv=false");
  EXPECT_EQ(access_of(0x04), "rw=read plvl=0 priv=false");
  EXPECT_EQ(access_of(0x20), "rw=read plvl=0 priv=true");
  EXPECT_EQ(access_of(0xffffffcf), "rw=read plvl=3 priv=false");
}

TEST(SmmuLog, ContextFaultOfAUnitThatIsNotTheSocs) {
  // A unit that Tegra234 has not; an SMMUv2 of Tegra264, which has none; an SMMUv3 of Tegra194.
  for (const auto& [soc, dev, stream] : {std::tuple(Soc::kTegra234, "13000000.iommu", "0x80e"),
                                         {Soc::kTegra264, "6000000.iommu", "0x3000"}}) {
    EXPECT_EQ(
        context(std::string("arm-smmu ") + dev + ": Unhandled context fault: fsr=0x402, " +
                    "iova=0x1000, fsynr=0x1, cbfrsynra=" + stream + ", cb=9",
                soc),
        std::string("dev=") + dev + " fsr=0x402 iova=0x1000 fsynr=0x1 cbfrsynra=" + stream +
            " cb=9 fault=translation rw=read plvl=1 priv=false soc=" + std::string(soc_name(soc)));
  }
  const auto events = events_of(
      "arm-smmu-v3 arm-smmu-v3.7.auto: event: C_BAD_STREAMID client: (unassigned sid) sid: 0x4102 "
      "ssid: 0x0\n",
      Soc::kTegra194);
  ASSERT_EQ(events.size(), 1U);
  EXPECT_EQ(events[0].text("sid"), "0x4102");
  EXPECT_FALSE(events[0].has("client"));
}

TEST(SmmuLog, TwoUnitsLineByLine) {
  EXPECT_EQ(
      decoded("arm-smmu a.iommu: Unhandled context fault: fsr=0x402, iova=0x1000, fsynr=0x0, "
              "cbfrsynra=0x1, cb=1\n"
              "arm-smmu b.iommu: Unhandled context fault: fsr=0x408, iova=0x2000, fsynr=0x10, "
              "cbfrsynra=0x2, cb=2\n"
              "arm-smmu a.iommu: FSR    = 00000402 [Format=2 TF], SID=0x1\n"
              "arm-smmu b.iommu: FSR    = 00000408 [Format=2 PF], SID=0x2\n"
              "arm-smmu b.iommu: FSYNR0 = 00000010 [S1CBNDX=0 WNR PLVL=0]\n"
              "arm-smmu a.iommu: FSYNR0 = 00000000 [S1CBNDX=0 PLVL=0]\n"),
      "smmu_context_fault dev=a.iommu fsr=0x402 iova=0x1000 fsynr=0x0 cbfrsynra=0x1 cb=1 "
      "flags=[TF] fault=translation rw=read plvl=0 priv=false\n"
      "smmu_context_fault dev=b.iommu fsr=0x408 iova=0x2000 fsynr=0x10 cbfrsynra=0x2 cb=2 "
      "flags=[PF] fault=permission rw=write plvl=0 priv=false\n");
}

TEST(SmmuLog, V3RawWordsMeanWhatTheEventSays) {
  const Event stalled = raw_event("0x13", "0x0000a10000005813", "0x0000018880000021");
  EXPECT_EQ(stalled.text("name"), "F_PERMISSION");
  EXPECT_EQ(stalled.text("ssid"), "0x5");
  EXPECT_EQ(stalled.text("stag"), "0x21");
  EXPECT_EQ(stalled.boolean("stall"), true);
  EXPECT_EQ(stalled.text("ipa"), "0x81234000");
  EXPECT_EQ(stalled.number("class"), 1);

  const Event stream = raw_event("0x02", "0x0000a10000000002");
  EXPECT_EQ(stream.text("name"), "C_BAD_STREAMID");
  EXPECT_EQ(stream.text("sid"), "0xa100");
  EXPECT_FALSE(stream.has("rw") || stream.has("iova") || stream.has("class"));

  const Event fetch = raw_event("0x03", "0x0000a10000000003");
  EXPECT_EQ(fetch.text("fetch_addr"), "0x81234000");
  EXPECT_FALSE(fetch.has("rw"));

  const Event unknown = raw_event("0x7f", "0x0000a1000000007f");
  EXPECT_EQ(unknown.text("event"), "0x7f");
  EXPECT_EQ(unknown.text("sid"), "0xa100");
  EXPECT_FALSE(unknown.has("name") || unknown.has("rw"));

  // Words of something else, and words that are lost.
  EXPECT_FALSE(raw_event("0x10", "0x0000a10000000002").has("sid"));
  const Event cut = raw_event("0x10", "0x0000a10000000010", "0x0000000000000000", 100);
  EXPECT_EQ(cut.text("name"), "F_TRANSLATION");
  EXPECT_FALSE(cut.has("sid"));
}

TEST(SmmuLog, InWords) {
  constexpr std::string_view kFault =
      "arm-smmu 12000000.iommu: Unhandled context fault: fsr=0x402, iova=0x7ffe01000, "
      "fsynr=0x130021, cbfrsynra=0x80e, cb=9";
  EXPECT_EQ(sentence_of(kFault, Soc::kTegra234),
            "gpcdma_1 (stream ID 0xe) on 12000000.iommu read from address 0x7ffe01000 and was "
            "refused (translation fault)");
  EXPECT_EQ(sentence_of(kFault),
            "an unknown device (cbfrsynra 0x80e) on 12000000.iommu read from address 0x7ffe01000 "
            "and was refused (translation fault)");
  EXPECT_EQ(sentence_of("arm-smmu-v3 5.iommu: event: C_BAD_STREAMID client: (unassigned sid) sid: "
                        "0x23 ssid: 0x0"),
            "stream ID 0x23 on 5.iommu did DMA that the SMMU refused (C_BAD_STREAMID)");
  // A PC has no SMMU.
  EXPECT_EQ(sentence_of("AMD-Vi: Completion-Wait loop timed out").find("SMMU"), std::string::npos);
}

}  // namespace
}  // namespace jetmem::kernel_log
