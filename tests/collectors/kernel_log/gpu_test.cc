// SPDX-License-Identifier: Apache-2.0
#include "collectors/kernel_log/text/sentence_parts.h"
#include "tests/collectors/kernel_log/cut_lines.h"

namespace jetmem::kernel_log {
namespace {

TEST(KernelLogGpu, FaultOfVoltaAndLater) {
  EXPECT_EQ(decoded("nvgpu: 17000000.gpu      ga10b_fb_mmu_fault_info_dump:301  [ERR]  [MMU FAULT] "
                    "mmu engine id:  33, ch id:  502, fault addr: 0x204a7c000, fault addr "
                    "aperture: 1, fault type: invalid pte, access type: virt write, "),
            "gpu_mmu_fault dev=17000000.gpu engine=33 "
            "channel=502 addr=0x204a7c000 fault_type=invalid pte access=virt write\n");
}

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

TEST(KernelLogGpu, FaultBeforeVolta) {
  EXPECT_EQ(decoded("nvgpu: 57000000.gpu gk20a_fifo_handle_mmu_fault_locked:1720 [ERR]   mmu fault "
                    "on engine 1, engine subid 1 (hub), client 9 (ce 2), addr 0x7f10002000, type 2 "
                    "(pte), access_type 0x00000000,inst_ptr 0x7fa000000"),
            "gpu_mmu_fault dev=57000000.gpu engine=1 "
            "client=ce 2 client_type=hub addr=0x7f10002000 fault_type=pte "
            "access_type=0x00000000\n");
  EXPECT_EQ(decoded("gk20a 57000000.gpu: gk20a_fifo_handle_mmu_fault:  mmu fault on engine 0, "
                    "engine subid 0 (gpc), client 1 (t1 0), addr 0x0000007f:0x80001000, type 3 "
                    "(va limit viol), info 0x00000103,inst_ptr 0x7fe000000"),
            "gpu_mmu_fault dev=57000000.gpu engine=0 "
            "client=t1 0 client_type=gpc addr=0x0000007f:0x80001000 fault_type=va limit viol\n");
  EXPECT_EQ(decoded("nvgpu: 57000000.gpu f:1532 [ERR]  channel 444 generated a mmu fault"),
            "gpu_mmu_fault dev=57000000.gpu channel=444\n");
}

TEST(KernelLogGpu, DriverMadeFaultIsNoMmuFault) {
  EXPECT_EQ(decoded("nvgpu: 57000000.gpu f:9 [ERR]  fake mmu fault on engine 0"),
            "gpu_error dev=57000000.gpu function=f text=fake mmu fault on engine 0\n");
}

TEST(KernelLogGpu, PageFault) {
  EXPECT_EQ(decoded("nvgpu: 17000000.gv11b gv11b_mm_entry:540  [ERR]  page fault error: err_type = "
                    "0x7, fault_status = 0x100"),
            "gpu_mmu_fault dev=17000000.gv11b fault_status=0x100 "
            "err_type=0x7\n");
}

TEST(KernelLogGpu, Notifier) {
  EXPECT_EQ(
      decoded("nvgpu: 17000000.gpu   nvgpu_set_err_notifier_locked:141  [ERR]  error notifier "
              "set to 32 for ch 490 owned by my app"),
      "gpu_error dev=17000000.gpu function=nvgpu_set_err_notifier_locked notifier=32 "
      "channel=490 comm=my app\n");
  EXPECT_EQ(decoded("gk20a 57000000.gpu: gk20a_set_error_notifier: error notifier set to 8 for ch "
                    "500"),
            "gpu_error dev=57000000.gpu function=gk20a_set_error_notifier notifier=8 "
            "channel=500\n");
}

TEST(KernelLogGpu, AllocationFailures) {
  EXPECT_EQ(decoded("nvgpu: 17000000.gpu     nvgpu_dma_print_err:105  [INFO]  DMA alloc FAILED: "
                    "[vidmem] size=67108864 aligned=67108864 flags:NO_KERNEL_MAPPING"),
            "gpu_alloc_failure dev=17000000.gpu function=nvgpu_dma_print_err aperture=vidmem "
            "size=67108864 flags=NO_KERNEL_MAPPING\n");
  EXPECT_EQ(decoded("nvgpu: 17000000.gpu  nvgpu_cbc_setup:77  [ERR]  Failed to allocate a store"),
            "gpu_alloc_failure dev=17000000.gpu function=nvgpu_cbc_setup text=Failed to allocate "
            "a store\n");
  EXPECT_EQ(decoded("NVRM: GPU0 nvAssertOkFailedNoLog: Assertion failed: Out of memory "
                    "[NV_ERR_NO_MEMORY] (0x00000051) returned from allocate(p) @ pool.c:88"),
            "gpu_alloc_failure dev=GPU0 function=nvAssertOkFailedNoLog text=Assertion failed: Out "
            "of memory [NV_ERR_NO_MEMORY] (0x00000051) returned from allocate(p) @ pool.c:88\n");
  EXPECT_EQ(decoded("NVRM: dmaAllocMapping_GM107: can't alloc VA space for mapping."),
            "gpu_alloc_failure function=dmaAllocMapping_GM107 text=can't alloc VA space for "
            "mapping.\n");
}

// An object of the driver is no memory, and the status says why it was refused.
TEST(KernelLogGpu, AStatusThatIsNotOfMemoryIsNoShortage) {
  const auto kind_of = [](const std::string& text) {
    const auto events = events_of("NVRM: " + text);
    return events.size() == 1 ? std::string(info_of(events[0].kind()).name) : std::string();
  };
  const std::string rpc =
      "rpcRmApiAlloc_GSP: GspRmAlloc failed: hClient=0xc1d00001; "
      "hClass=0x0000c86f; paramsSize=0x00000170; paramsStatus=";
  EXPECT_EQ(kind_of(rpc + "0x00000062; status=0x00000062"), "gpu_error");
  EXPECT_EQ(kind_of(rpc + "0x00000000; status=0x00000040"), "gpu_error");
  EXPECT_EQ(kind_of(rpc + "0x00000051; status=0x00000051"), "gpu_alloc_failure");
  EXPECT_EQ(kind_of(rpc + "0x0000001a; status=0x0000001a"), "gpu_alloc_failure");
  EXPECT_EQ(kind_of(rpc + "0x00000051; status=0x000000"), "gpu_alloc_failure") << "cut";
  EXPECT_EQ(kind_of(rpc + "0x000"), "gpu_error") << "nothing says that it is of memory";
  EXPECT_EQ(kind_of("nvAssertFailed: Failed to allocate a heap, status 0x65 here"), "gpu_error");
  EXPECT_EQ(kind_of("memdescAlloc: Failed to allocate 4096 bytes"), "gpu_alloc_failure");
  EXPECT_EQ(kind_of("nvAssertOkFailedNoLog: Assertion failed: Invalid state [NV_ERR_INVALID_STATE] "
                    "(0x00000040) returned from status @ kernel_channel.c:2874"),
            "");
}

TEST(KernelLogGpu, AGpuThatIsLostOrNeedsAReset) {
  EXPECT_EQ(decoded("NVRM: nvAssertOkFailedNoLog: Assertion failed: Reset required "
                    "[NV_ERR_RESET_REQUIRED] (0x00000062) returned from status @ channel.c:28"),
            "gpu_error status=0x00000062 function=nvAssertOkFailedNoLog text=Assertion failed: "
            "Reset required [NV_ERR_RESET_REQUIRED] (0x00000062) returned from status @ "
            "channel.c:28\n");
  EXPECT_EQ(
      decoded("NVRM: _issueRpcAndWait: rpcSendMessage failed with status 0x0000000f for fn 7"),
      "gpu_error status=0x0000000f function=_issueRpcAndWait text=rpcSendMessage failed with "
      "status 0x0000000f for fn 7\n");
}

TEST(KernelLogGpu, AMappingThatCouldNotBeInserted) {
  EXPECT_EQ(decoded("NVRM: intermapRegisterDmaMapping: Failed to insert new mapping node for range "
                    "0xDF93330000-0xDF9333FFFF!"),
            "dma_map_failure function=intermapRegisterDmaMapping text=Failed to insert new mapping "
            "node for range 0xDF93330000-0xDF9333FFFF!\n");
}

TEST(KernelLogGpu, OtherErrorsKeepTheirText) {
  EXPECT_EQ(
      decoded("nvgpu: 17000000.gpu nvgpu_gr_falcon_wait:210 [ERR] ucode into memory, status 4"),
      "gpu_error dev=17000000.gpu function=nvgpu_gr_falcon_wait text=ucode into memory, "
      "status 4\n");
}

TEST(KernelLogGpu, ControllersThatDoNotBootAreNoHang) {
  for (const std::string_view text :
       {"nvgpu_acr_wait_for_completion:146 [ERR] ACR boot timed out",
        "gk20a_wait:9 [ERR] PMU boot timed out", "gk20a_wait:9 [ERR] timeout, no WPR region"}) {
    const auto events = events_of("nvgpu: 17000000.gpu " + std::string(text));
    ASSERT_EQ(events.size(), 1U) << text;
    EXPECT_EQ(events[0].kind(), EventKind::kGpuError) << text;
  }
  const auto hang = events_of("nvgpu: 17000000.gpu f:1 [ERR] timed out across the macro engine");
  ASSERT_EQ(hang.size(), 1U);
  EXPECT_EQ(hang[0].kind(), EventKind::kGpuHang);
}

TEST(KernelLogGpu, Xid31IsAnMmuFault) {
  EXPECT_EQ(decoded("NVRM: Xid (PCI:0000:02:00): 31, pid=800, name=trtexec, Ch 00000021, intr "
                    "00000000. MMU Fault: ENGINE GRAPHICS GPC1 GPCCLIENT_T1_2 faulted @ "
                    "0x7f_00100000. Fault is of type FAULT_PTE ACCESS_TYPE_VIRT_WRITE"),
            "gpu_mmu_fault xid=31 pci=0000:02:00 pid=800 comm=trtexec engine=GRAPHICS "
            "client=GPCCLIENT_T1_2 addr=0x7f_00100000 fault_type=FAULT_PTE access=VIRT_WRITE "
            "text=Ch 00000021, intr 00000000. MMU Fault: ENGINE GRAPHICS GPC1 GPCCLIENT_T1_2 "
            "faulted @ 0x7f_00100000. Fault is of type FAULT_PTE ACCESS_TYPE_VIRT_WRITE\n");
  EXPECT_EQ(decoded("NVRM: Xid (0000:02:00): 31, Ch 00000010, engmask 00000101, intr 10000000"),
            "gpu_mmu_fault xid=31 pci=0000:02:00 text=Ch 00000010, engmask 00000101, intr "
            "10000000\n");
}

TEST(KernelLogGpu, OtherXids) {
  EXPECT_EQ(decoded("NVRM: Xid (PCI:0000:02:00): 13, Graphics SM Warp Exception on (GPC 0)"),
            "gpu_xid xid=13 pci=0000:02:00 text=Graphics SM Warp Exception on (GPC 0)\n");
  EXPECT_EQ(decoded("NVRM: Xid (PCI:0000:02:00): 119, pid='<unknown>', name=<unknown>, Timeout"),
            "gpu_xid xid=119 pci=0000:02:00 text=Timeout\n");
  EXPECT_EQ(decoded("NVRM: GPU1 Xid (PCI:0009:01:00): 45, pid=7, name=a b, Ch 00000008"),
            "gpu_xid xid=45 pci=0009:01:00 pid=7 comm=a b text=Ch 00000008\n");
  EXPECT_EQ(decoded("NVRM: Xid (PCI:0000:dc:00): 45, pid=7, name=a, Ch 00000001 caused by previous "
                    "Xid 149"),
            "gpu_xid xid=45 pci=0000:dc:00 pid=7 comm=a text=Ch 00000001 caused by previous Xid "
            "149 previous_xid=149\n");
}

TEST(KernelLogGpu, HarmlessAndGarbled) {
  EXPECT_EQ(decoded("nvgpu: 17000000.gpu  nvgpu_nvhost_init:99  [INFO]  aperture at 60010000\n"
                    "nvgpu: 17000000.gpu  nvgpu_pmu_report:55  [WRN]  perf monitor is late\n"
                    "nvgpu: 17000000.gpu  f:x  [ERR]  text\n"
                    "nvgpu: 17000000.gpu  f:1  [ERR]\n"
                    "nvgpu: 17000000.gpu: probed\n"
                    "gk20a 57000000.gpu: f:  mmu fault on engine x, engine subid 0\n"
                    "gk20a 57000000.gpu: f: error notifier set to many\n"
                    "gk20a 57000000.gpu: f: TSG one generated a mmu fault\n"
                    "NVRM: GPU at PCI:0000:02:00: GPU-00000000-1111-2222-3333-444444444444\n"
                    "NVRM: loading NVIDIA UNIX Open Kernel Module for aarch64  580.00\n"
                    "NVRM: Xid (PCI:zz:00): 13, x\n"
                    "NVRM: Xid (PCI:0000:02:00): many\n"
                    "my NVRM: Xid (PCI:0000:02:00): 13, x\n"),
            "");
}

TEST(KernelLogGpu, Sentences) {
  EXPECT_EQ(sentence_of("nvgpu: 17000000.gpu f:1 [ERR] [MMU FAULT] mmu engine id:  3, ch id:  5, "
                        "fault addr: 0x1000, fault type: invalid pte, access type: virt read,"),
            "the GPU 17000000.gpu reported an MMU fault at address 0x1000 (invalid pte), virt read "
            "access, channel 5");
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
  EXPECT_NE(sentence.find("\"" + text.substr(0, 160) + "..."), std::string::npos) << sentence;
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

TEST(KernelLogGpu, CutLines) { expect_filter_agrees_on_cut_lines("gpu.txt"); }

TEST(KernelLogGpu, NamesWithCommas) {
  const std::string head = "NVRM: Xid (PCI:0000:02:00): 45, pid=100, name=";
  EXPECT_EQ(decoded(head + "a, b c, Ch 00000030"),
            "gpu_xid xid=45 pci=0000:02:00 pid=100 comm=a, b c text=Ch 00000030\n");
  EXPECT_EQ(decoded(head + "a, b, Graphics Exception"),
            "gpu_xid xid=45 pci=0000:02:00 pid=100 text=b, Graphics Exception\n");
  EXPECT_EQ(decoded(head + "python3, Graphics Exception"),
            "gpu_xid xid=45 pci=0000:02:00 pid=100 comm=python3 text=Graphics Exception\n");
}

TEST(KernelLogGpu, WhatACutLineLostIsAbsent) {
  EXPECT_EQ(decoded("NVRM: Xid (PCI:0000:02:00): 3"), "");
  EXPECT_EQ(
      decoded("nvgpu: 1.gpu  f:1  [ERR]  [MMU FAULT] mmu engine id:  3, ch id:  5, fault addr: "
              "0x40000, fault addr aperture: 1, fault type: invalid pde, access type: virt rea"),
      "gpu_mmu_fault dev=1.gpu engine=3 channel=5 addr=0x40000 fault_type=invalid pde\n");
}

}  // namespace
}  // namespace jetmem::kernel_log
