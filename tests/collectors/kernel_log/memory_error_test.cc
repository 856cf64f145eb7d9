// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "tests/collectors/kernel_log/cut_lines.h"

namespace jetmem::kernel_log {
namespace {

TEST(MemoryError, Edac) {
  EXPECT_EQ(one("EDAC MC1: 3 UE multi-bit on mc#1row#0 (row:0 page:0x1b offset:0x40 grain:8)"),
            "memory_error mc=1 count=3 severity=UE error=multi-bit label=mc#1row#0 page=0x1b "
            "offset=0x40 grain=8");
  EXPECT_EQ(one("EDAC MC0: 1 CE on A1 (slot:1 page:0x7 offset:0x0 grain:32 syndrome:0x5 - x)"),
            "memory_error mc=0 count=1 severity=CE label=A1 page=0x7 offset=0x0 grain=32 "
            "syndrome=0x5");
  EXPECT_EQ(one("EDAC MC0: CE page 0x1f, offset 0x80, grain 8, syndrome 0x9b, row 2, channel 0, "
                "label \"D1\": x"),
            "memory_error mc=0 severity=CE page=0x1f offset=0x80 grain=8 syndrome=0x9b label=D1");
  EXPECT_EQ(one("EDAC DEVICE0: CE: l2 instance: cpu3 block: L2 count: 4 'x'"),
            "memory_error device=0 severity=CE name=l2 instance=cpu3 block=L2 count=4");
  EXPECT_EQ(one("EDAC MC0: Giving out device to module x controller y: DEV z (INTERRUPT)"), "");
}

TEST(MemoryError, GhesLinesJoinByTheirNumber) {
  const auto events = events_of(
      "{1}[Hardware Error]: Hardware error from APEI Generic Hardware Error Source: 4\n"
      "{2}[Hardware Error]: Hardware error from APEI Generic Hardware Error Source: 5\n"
      "{1}[Hardware Error]: event severity: corrected\n"
      "{2}[Hardware Error]: event severity: fatal\n"
      "{1}[Hardware Error]:   section_type: memory error\n"
      "{1}[Hardware Error]:   physical_address: 0x0000000000001000\n"
      "{1}[Hardware Error]:   section_type: PCIe error\n");
  ASSERT_EQ(events.size(), 2U);
  EXPECT_EQ(fields_of(events[0]),
            "ghes=1 source=4 severity=corrected section_type=memory error "
            "physical_address=0x0000000000001000");
  EXPECT_EQ(fields_of(events[1]), "ghes=2 source=5 severity=fatal");
}

TEST(MemoryError, GhesNamesTheDimmAndThePlace) {
  EXPECT_EQ(
      one("{37}[Hardware Error]: Hardware error from APEI Generic Hardware Error Source: 2\n"
          "{37}[Hardware Error]: event severity: corrected\n"
          "{37}[Hardware Error]:  fru_text: D2\n"
          "{37}[Hardware Error]:   section_type: memory error\n"
          "{37}[Hardware Error]:   error_status: 0x0000000000000400\n"
          "{37}[Hardware Error]:   physical_address: 0x000000b50c68ce80\n"
          "{37}[Hardware Error]:   node: 1 card: 4 module: 0 rank: 0 row: 58165 column: 8\n"
          "{37}[Hardware Error]:   error_type: 2, single-bit ECC\n"
          "{37}[Hardware Error]:   DIMM location: CPU 2 DIMM 30\n"),
      "memory_error ghes=37 source=2 severity=corrected fru_text=D2 section_type=memory error "
      "physical_address=0x000000b50c68ce80 location=node:1 card:4 module:0 rank:0 row:58165 "
      "column:8 error_type=2, single-bit ECC label=CPU 2 DIMM 30");
  EXPECT_EQ(
      one("{7}[Hardware Error]: event severity: corrected\n"
          "{7}[Hardware Error]:   section type: unknown, e8ed898d-df16-43cc-8ecc-54f060ef157f"),
      "memory_error ghes=7 severity=corrected section_type=unknown, "
      "e8ed898d-df16-43cc-8ecc-54f060ef157f");
  const std::string sentence = sentence_of(
      "{7}[Hardware Error]: event severity: corrected\n"
      "{7}[Hardware Error]:   node:6 card:1 row:40948\n"
      "{7}[Hardware Error]:   DIMM location: CPU 2 DIMM 30");
  EXPECT_NE(sentence.find("CPU_2_DIMM_30"), std::string::npos) << sentence;
  EXPECT_NE(sentence.find("row:40948"), std::string::npos) << sentence;
}

TEST(MemoryError, GhesWithoutANumber) {
  EXPECT_EQ(one("[Hardware Error]: event severity: fatal\n[Hardware Error]:  error_type: 2, x"),
            "memory_error severity=fatal error_type=2, x");
  EXPECT_EQ(one("[Hardware Error]: Machine check events logged"), "");
}

TEST(MemoryError, Failure) {
  EXPECT_EQ(one("Memory failure: 0x99: recovery action for clean LRU page: Delayed"),
            "memory_error pfn=0x99 page_type=clean LRU page outcome=Delayed");
  EXPECT_EQ(one("MCE 0x99: dirty LRU page recovery: Recovered"),
            "memory_error pfn=0x99 page_type=dirty LRU page outcome=Recovered");
  EXPECT_EQ(one("Memory failure: 0x99: Sending SIGBUS to a:b:7 due to hardware memory corruption"),
            "memory_error pfn=0x99 comm=a:b pid=7");
  EXPECT_EQ(one("Memory failure: 0x99: Killing vm:7 due to hardware memory corruption"),
            "memory_error pfn=0x99 comm=vm pid=7");
  EXPECT_EQ(one("Soft offline: 0x99: isolation failed: 1"),
            "memory_error pfn=0x99 soft_offline=true error=isolation failed: 1");
  EXPECT_EQ(one("Injecting memory failure for pfn 0x99 at process virtual address 0x7f00"), "");
  EXPECT_EQ(one("Memory failure: 0x99: unhandlable page."),
            "memory_error pfn=0x99 error=unhandlable page.");
}

TEST(MemoryError, TegraRas) {
  EXPECT_EQ(one("*********\nRAS Error in L2, ERRSELR_EL1=17:\n\tStatus = 0xe4\n"
                "\tIERR = Tag parity: 0x6\n\tSERR = Data: 0x12\n\tUncorrectable (this is fatal)\n"
                "\tMISC0 = 0x8\n\tADDR = 0x80\n*********"),
            "memory_error source=L2 status=0xe4 ierr=Tag parity serr=Data severity=Uncorrectable "
            "addr=0x80");
  EXPECT_EQ(one("\tStatus = 0xe4"), "");
}

TEST(MemoryError, SErrorAndBenign) {
  EXPECT_EQ(one("SError Interrupt on CPU2, code 0x00000000be000000 -- SError"),
            "memory_error error=SError cpu=2 code=0xbe000000");
  EXPECT_EQ(one("Bad mode in Error handler detected on CPU1, code 0xbf000001 -- SError"),
            "memory_error error=SError cpu=1 code=0xbf000001");
  EXPECT_EQ(one("Bad mode in Synchronous Abort handler detected on CPU1, code 0xbf000001"), "");
  EXPECT_EQ(one("dram-ecc: DRAM ECC disabled-MC_ECC_CONTROL:0x00000001"), "");
}

TEST(MemoryError, Corruption) {
  EXPECT_EQ(one("BUG: Bad page state in process a  b  pfn:0a1b2"),
            "mm_corruption error=Bad page state comm=a  b pfn=0xa1b2");
  EXPECT_EQ(one("BUG: Bad page state in process a pfn:0a1b2"),
            "mm_corruption error=Bad page state comm=a pfn=0xa1b2");
  EXPECT_EQ(one("BUG: Bad page map in process ls  pte:80 pmd:12"),
            "mm_corruption error=Bad page map comm=ls pte=80 pmd=12");
  EXPECT_EQ(one("BUG: Bad rss-counter state mm:0abc idx:1 val:-3"),
            "mm_corruption error=Bad rss-counter idx=1 val=-3");
  EXPECT_EQ(one("list_del corruption. prev->next should be 1, but was 2"),
            "mm_corruption error=list_del corruption");
  EXPECT_EQ(one("BUG: non-zero pgtables_bytes on freeing mm: 4096"),
            "mm_corruption error=non-zero pgtables_bytes");
  EXPECT_EQ(one("BUG: Bad page state in process a  pfn:xyz"), "");
}

TEST(MemoryError, Kmemleak) {
  EXPECT_EQ(one("kmemleak: 14 new suspected memory leaks (see /sys/kernel/debug/kmemleak)"),
            "kmemleak count=14");
  EXPECT_EQ(one("kmemleak: Kernel memory leak detector initialized"), "");
}

TEST(KernelLogMemoryError, OnlyRemediesThatThereAre) {
  EXPECT_EQ(decoded("Memory failure: 0x4f: recovery action for huge page: Faile"),
            "memory_error pfn=0x4f page_type=huge page\n");
  EXPECT_EQ(sentence_of("Memory failure: 0x4f: recovery action for huge page: Faile"),
            "a page of memory is broken (huge page)");
}

}  // namespace
}  // namespace jetmem::kernel_log
