// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "collectors/kernel_log/text/sentence_parts.h"
#include "tests/collectors/kernel_log/decoding.h"

namespace jetmem::kernel_log {
namespace {

TEST(KernelLogGpu, TheTwoHalvesOfAFaultAreOneEventAndItsConsequencesAnother) {
  EXPECT_EQ(decoded("nvgpu: 17000000.gpu a_fault:301 [ERR]  [MMU FAULT] mmu engine id:  33, ch id: "
                    " -1, fault addr: 0x1000, fault addr aperture: 1, fault type: invalid pte, "
                    "access type: virt read,\n"
                    "nvgpu: 17000000.gpu a_fault:313 [ERR]  [MMU FAULT] protected mode: 0, client "
                    "type: gpc, client id:  t1_3, gpc id if client type is gpc: 1,\n"
                    "nvgpu: 17000000.gpu a_tsg:1070 [ERR]  TSG 12 generated a mmu fault\n"),
            "gpu_mmu_fault dev=17000000.gpu engine=33 addr=0x1000 "
            "fault_type=invalid pte access=virt read client_type=gpc client=t1_3\n"
            "gpu_mmu_fault dev=17000000.gpu tsg=12\n");
}

TEST(KernelLogGpu, FaultsOfTwoGpusOrOneAfterAnotherAreTwoEvents) {
  EXPECT_EQ(events_of("nvgpu: 17000000.gpu f:1 [ERR] TSG 1 generated a mmu fault\n"
                      "nvgpu: 18000000.gpu f:1 [ERR] TSG 2 generated a mmu fault\n"
                      "nvgpu: 17000000.gpu f:1 [ERR] TSG 3 generated a mmu fault\n")
                .size(),
            3U);
}

TEST(KernelLogGpu, Sentences) {
  EXPECT_EQ(sentence_of("nvgpu: 17000000.gpu f:1 [ERR] [MMU FAULT] mmu engine id:  3, ch id:  5, "
                        "fault addr: 0x1000, fault addr aperture: 0, fault type: invalid pte, "
                        "access type: virt read,"),
            "the GPU 17000000.gpu reported an MMU fault at address 0x1000 (\"invalid pte\"), "
            "\"virt read\" access, channel 5");
  EXPECT_EQ(sentence_of("NVRM: Xid (PCI:0000:02:00): 48, pid=5, name=app, An error: bad"),
            "the GPU 0000:02:00 reports Xid 48 (uncorrectable memory error (double-bit ECC)), in "
            "app (PID 5), \"An error: bad\"");
  EXPECT_EQ(sentence_of("nvgpu: 17000000.gpu f:1 [ERR] error notifier set to 8 for ch 6"),
            "the driver of the GPU 17000000.gpu gave up a channel with error 8 (the channel made "
            "no progress in time), channel 6");
}

// Whoever reads it looks for it in the log.
TEST(KernelLogGpu, AQuotationIsAsPrintedOrMarkedAsCut) {
  EXPECT_NE(sentence_of("NVRM: Xid (PCI:0000:00:08): 94, pid='<unknown>', name=<unknown>, "
                        "Contained: SM (0x1). RST: No, D-RST: No")
                .find("\"Contained: SM (0x1). RST: No, D-RST: No\""),
            std::string::npos);
  EXPECT_TRUE(sentence_of("[drm:vc4_bo_create [vc4]] *ERROR* Failed to allocate from CMA:")
                  .ends_with("\"Failed to allocate from CMA:\""));
  const std::string text = "Failed: " + std::string(200, 'x');
  const std::string sentence = sentence_of("nvgpu: 17000000.gpu f:1 [ERR] " + text);
  EXPECT_TRUE(sentence.ends_with("xxx...\"")) << sentence;
  EXPECT_NE(sentence.find("\"" + text.substr(0, 120) + "..."), std::string::npos) << sentence;
  // Not within a character.
  EXPECT_EQ(quote_as_printed("ab\xc3\xa9", 3), "ab...");
  EXPECT_EQ(quote_as_printed("ab\xc3\xa9", 4), "ab\xc3\xa9");
}

TEST(KernelLogGpu, SentenceIsNoEventWhateverTheTextSays) {
  for (const std::string_view text : {"NvMapMemHandleAlloc: error 5", "NvBufSurfaceFromFd Failed",
                                      "x: NVRM: Xid (PCI:0000:02:00): 48, y:"}) {
    const std::string line = "nvgpu: 17000000.gpu f:1 [ERR] " + std::string(text);
    const std::string sentence = sentence_of(line);
    EXPECT_FALSE(sentence.empty()) << line;
    EXPECT_EQ(decoded(sentence), "") << sentence;
  }
}

}  // namespace
}  // namespace jetmem::kernel_log
