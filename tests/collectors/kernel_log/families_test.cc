// SPDX-License-Identifier: Apache-2.0
// Sentences of single families, and what examples of one event cannot say.
#include <gtest/gtest.h>

#include "collectors/kernel_log/text/driver_line.h"
#include "collectors/kernel_log/text/sentence_parts.h"
#include "tests/collectors/kernel_log/decoding.h"

namespace jetmem::kernel_log {
namespace {

TEST(Cma, LargestRunOfSeveralRanges) {
  const auto of = [&](const std::string& ranges) {
    return one(
        "cma: __cma_alloc: a: alloc failed, req-size: 9 pages, ret: -12\n"
        "cma: number of available pages: \n" +
        ranges + "cma: \ncma: => 40 free of 81 total pages");
  };
  const std::string fields =
      "cma_alloc_failure area=a pages=9 ret=-12 errno=ENOMEM free=40 total=81";
  EXPECT_EQ(of("cma: range 0: 5@11\ncma: range 1: \ncma: range 2: +35@7\n"),
            fields + " largest=35");
  // One that was cut leaves the longest unknown.
  std::string cut = "cma: range 0: 1@0";
  for (int i = 2; i < 400; i += 2) cut += "+1@" + std::to_string(i);
  EXPECT_EQ(of(cut + "\n"), fields);
}

TEST(KernelLogAllocation, WhatIsNoTasksNameIsNoEvent) {
  EXPECT_EQ(
      decoded("usb 1-1: Product: a: page allocation failure: order:3, mode:0xcc0(GFP_KERNEL)\n"
              "Tasks in /u: page allocation failure: order:9, mode:0x1 are going\n"
              "input: x: page allocation stalls for 9ms, order:2, mode:0x1(A) as /devices/x\n"
              "systemd[1]: a.service: vmalloc error: size 4096, page order 0, failed\n"
              "[1] a: vmalloc: allocation failure: 4096 bytes\n"),
      "");
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

TEST(KernelLogPrograms, BelievedOfProcessesOnly) {
  for (const std::string line :
       {"VIDIOC_REQBUFS: Cannot allocate memory", "NvMapMemHandleAlloc: error 4"}) {
    EXPECT_EQ(events_of(line, Soc::kUnknown, Voice::kProcess).size(), 1U) << line;
    EXPECT_EQ(events_of(line, Soc::kUnknown, Voice::kKernel).size(), 0U) << line;
    EXPECT_EQ(events_of(line, Soc::kUnknown, Voice::kForeign).size(), 0U) << line;
  }
  const std::string kill = "Out of memory: Killed process 12 (a) total-vm:4kB, anon-rss:0kB";
  EXPECT_EQ(events_of(kill, Soc::kUnknown, Voice::kKernel).size(), 1U);
  EXPECT_EQ(events_of(kill, Soc::kUnknown, Voice::kProcess).size(), 0U);
  EXPECT_EQ(events_of(kill, Soc::kUnknown, Voice::kForeign).size(), 0U);
}

TEST(KernelLogPrograms, TwoProgramsAreTwoEvents) {
  std::vector<Event> events;
  Assembler assembler(Soc::kUnknown, [&](const Event& event) { events.push_back(event); });
  LogLine line;
  line.voice = Voice::kProcess;
  line.pid = 7;
  line.text = "ggml_alloc: allocating 5.25 MiB on device 0: cudaMalloc failed: out of memory";
  assembler.line(line);
  line.pid = 8;
  line.text = "alloc_tensor_range: failed to allocate CUDA0 buffer of size 4096";
  assembler.line(line);
  assembler.flush();
  ASSERT_EQ(events.size(), 2U);
  EXPECT_FALSE(events[0].has("size"));
  EXPECT_EQ(events[1].number("pid"), 8);
}

TEST(KernelLogStall, RcuStallWithTheTaskThatRuns) {
  const std::string head =
      "rcu: INFO: rcu_preempt detected stalls on CPUs/tasks:\n"
      "rcu: \t0-...0: (1 GPs behind) idle=2b4/1/0x4000000000000000 softirq=1/2 fqs=5250\n"
      "rcu: \t(detected by 3, t=5252 jiffies, g=2309, q=148)\n";
  const std::string known = "rcu_stall flavour=rcu_preempt cpus=[0] jiffies=5252";
  EXPECT_EQ(one(head + "Task dump for CPU 0:\n"
                       "task:cuda-EvtHandlr  state:R  running task     stack:    0 pid: 2210 "
                       "ppid:  2001 flags:0x00000202\n"),
            known + " comm=cuda-EvtHandlr pid=2210");
  EXPECT_EQ(one(head + "Task dump for CPU 0:\n"
                       "my task         R  running task        0  2210      1 0x00000002\n"),
            known + " comm=my task pid=2210");
  const std::string cpu = " PID: 2210 Comm: dd Not tainted 5.15.148-tegra #1\n";
  EXPECT_EQ(one(head + "CPU: 0" + cpu), known + " cpu=0 pid=2210 comm=dd");
  EXPECT_EQ(one(head + "CPU: 3" + cpu), known) << "the CPU that reports it";
}

TEST(KernelLogStall, ManyCpusLeaveRoomForTheRest) {
  std::string text = "rcu: INFO: rcu_sched detected stalls on CPUs/tasks:\n";
  for (int cpu = 0; cpu < 40; ++cpu) {
    text += "rcu: \t" + std::to_string(cpu) + "-...0: (1 GPs behind) idle=1/1/0x0 softirq=5/6\n";
  }
  const auto events = events_of(text + "rcu: \t(detected by 1, t=5252 jiffies, g=9, q=3)\n");
  ASSERT_EQ(events.size(), 1U);
  EXPECT_EQ(events[0].number("jiffies"), 5252);
  EXPECT_EQ(events[0].boolean("list_cut"), true);
}

TEST(KernelLogGpu, AFaultAndItsConsequencesAreOneEvent) {
  const auto events = events_of(
      "nvgpu: 17000000.gpu a_fault:301 [ERR]  [MMU FAULT] mmu engine id:  33, ch id: "
      " -1, fault addr: 0x1000, fault addr aperture: 1, fault type: invalid pte, "
      "access type: virt read,\n"
      "nvgpu: 17000000.gpu a_fault:313 [ERR]  [MMU FAULT] protected mode: 0, client "
      "type: gpc, client id:  t1_3, gpc id if client type is gpc: 1,\n"
      "nvgpu: 17000000.gpu a_tsg:1070 [ERR]  TSG 12 generated a mmu fault\n");
  ASSERT_EQ(events.size(), 1U);
  EXPECT_EQ(fields_of(events[0]),
            "dev=17000000.gpu engine=33 addr=0x1000 fault_type=invalid pte access=virt read "
            "client_type=gpc client=t1_3 tsg=12");
}

TEST(KernelLogGpu, TwoFaultsStayTwo) {
  EXPECT_EQ(events_of("nvgpu: 17000000.gpu f:1 [ERR] TSG 1 generated a mmu fault\n"
                      "nvgpu: 18000000.gpu f:1 [ERR] TSG 2 generated a mmu fault\n"
                      "nvgpu: 17000000.gpu f:1 [ERR] TSG 3 generated a mmu fault\n")
                .size(),
            3U);
  EXPECT_EQ(events_of("mc-err: (1) csr_a: WCAM error\nmc-err: (2) csr_b: WCAM error\n").size(), 2U);
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

std::string kinds_in(std::string_view text) {
  std::string kinds;
  for (const Event& event : events_of(text)) {
    kinds.append(kinds.empty() ? "" : " ").append(info_of(event.kind()).name);
  }
  return kinds;
}

// What drivers say in their own words: by the words and who is named in front of them.

TEST(KernelLogDriverWords, WhatGoesOnBelowAFaultIsNoneByItself) {
  EXPECT_EQ(one("NVRM: Xid (PCI:0000:02:00): 31, Ch 00000010, engmask 00000101\npid: 7\n"),
            "gpu_mmu_fault pci=0000:02:00 text=Ch 00000010, engmask 00000101 xid=31");
}

TEST(KernelLogDriverWords, PartsAreFoundWhereverTheyStand) {
  const Words words("Failed to ALLOC \xe2\x80\x9cq\xe2\x80\x9d: -12");
  const std::string_view text = words.text();
  for (std::size_t at = 0; at < text.size(); ++at) {
    for (std::size_t n = 1; at + n <= text.size(); ++n) {
      EXPECT_TRUE(words.has(text.substr(at, n))) << text.substr(at, n);
    }
  }
  for (const std::string_view part : {"allocs", "fail to", "ed  to", "-13", "z"}) {
    EXPECT_FALSE(words.has(part)) << part;
  }
  EXPECT_TRUE(words.has_word("alloc"));
  EXPECT_FALSE(words.has_word("allo"));
}

TEST(KernelLogDriverWords, HowLongSomebodyWillWaitAndADisplaysWaitAreNoTimeout) {
  constexpr const char* kRows[][2] = {
      {"tegra-bpmp bpmp: enabled timeout = 3", ""},
      {"mmc0: f_max 3, f_min 1, max_busy_timeout 7", ""},
      {"tegra-video tegra-video: same zoom scale. skipped.", ""},
      {"nvme nvme0: qid 2: timeout draining sock wmem allocation expired", ""},
      {"nvgpu: 17000000.gpu  nvgpu_dbg_timeout:197  [ERR]  unrecognized dbg gpu timeout mode : 0x2",
       "gpu_error"},
      {"arm-pv: Failed to map stolen time data structure", ""},
      {"rk_iommu fdca4f00.iommu: FORCE_RESET command timed out", "smmu_error"},
      {"[drm:drm_atomic_helper_wait_for_dependencies [drm_kms_helper]] *ERROR* [CRTC:66:crtc-3] "
       "commit wait timed out",
       ""},
      {"[drm:intel_dp_link_train [i915]] *ERROR* Timed out during link training", ""},
      {"i915 0000:00:02.0: [drm] *ERROR* timed out: reset of [CONNECTOR:95:DP-1]", ""},
      {"i915 0000:00:02.0: [drm] *ERROR* failed to get EDID: timed out during read", ""},
      {"msm_dsi 5e94000.dsi: [drm:dsi_cmds2buf_tx [msm]] *ERROR* wait for video done timed out",
       ""},
      {"vc4-drm gpu: [drm] *ERROR* flip_done timed out in the queue", ""},
      {"[drm:amdgpu_job_timedout [amdgpu]] *ERROR* ring gfx timeout, timed out", "gpu_hang"},
  };
  for (const auto& [line, kind] : kRows) EXPECT_EQ(kinds_in(line), kind) << line;
}

// In words: what jetmem says of an event.
TEST(KernelLogFamilies, Sentences) {
  constexpr const char* kRows[][2] = {
      {"host1x 13e00000.host1x: app: syncpoint id 4 (vic) stuck waiting 7, "
       "timeout=100",
       "an engine does not finish its work, for which a program waits (app), syncpoint 4 "
       "(\"vic\") of 13e00000.host1x"},
      {"host1x 13e00000.host1x: cdma_handle_timeout: timeout: 4 (isp) clientid 1",
       "work sent to an engine did not finish, syncpoint 4 (\"isp\") of 13e00000.host1x"},
      {"tegra-mc 2c00000.memory-controller: pcie5w: write @0x7fffe0000: EMEM "
       "address decode error (EMEM decode error)",
       "memory client pcie5w wrote to address 0x7fffe0000 and was refused by the memory "
       "controller 2c00000.memory-controller (\"EMEM address decode error\")"},
      {"mc-err: Too many MC errors; throttling prints",
       "the memory controller reports an error (\"Too many MC errors\")"},
      {"tegra-mc 8020000.memory-controller: channel:4 status:2",
       "the memory controller 8020000.memory-controller reports an error"},
      {"Error: model requires more system memory (8.1 GiB) than is available (7.3 "
       "GiB)",
       "a program using ollama requested 8.1 GiB and was refused with 7.3 GiB available"},
      {"NvMapMemAllocInternalTagged: 99 error 12",
       "a program was refused a buffer by NvMap, errno 12, in NvMapMemAllocInternalTagged"},
      {"INFO: task dd:4021 blocked in I/O wait for more than 122 seconds.",
       "dd (PID 4021) has been stuck in the kernel for more than 122 seconds, waiting for "
       "storage"},
      {"rcu: INFO: rcu_preempt self-detected stall on CPU\n"
       "rcu: \t1-....: (5249 ticks this GP) idle=0a4c/1/0x0 softirq=1/1\n"
       "rcu: \t(t=5250 jiffies g=900 q=33)\n",
       "the kernel waits for a CPU or task that holds up RCU (rcu_preempt), CPU 1, since 5250 "
       "jiffies"},
      {"nvgpu: 17000000.gpu f:1 [ERR] [MMU FAULT] mmu engine id:  3, ch id:  5, "
       "fault addr: 0x1000, fault addr aperture: 0, fault type: invalid pte, "
       "access type: virt read,",
       "the GPU 17000000.gpu reported an MMU fault at address 0x1000 (\"invalid pte\"), "
       "\"virt read\" access, channel 5"},
      {"NVRM: Xid (PCI:0000:02:00): 48, pid=5, name=app, An error: bad",
       "the GPU 0000:02:00 reports Xid 48 (uncorrectable memory error (double-bit ECC)), in "
       "app (PID 5), \"An error: bad\""},
      {"nvgpu: 17000000.gpu f:1 [ERR] error notifier set to 8 for ch 6",
       "the driver of the GPU 17000000.gpu gave up a channel with error 8 (the channel made "
       "no progress in time), channel 6"},
  };
  for (const auto& [lines, sentence] : kRows) EXPECT_EQ(sentence_of(lines), sentence);
}

}  // namespace
}  // namespace jetmem::kernel_log
