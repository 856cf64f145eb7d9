// SPDX-License-Identifier: Apache-2.0
// What drivers say in their own words: by the words and who is named in front of them.
#include <array>
#include <initializer_list>
#include <optional>
#include <string>

#include "collectors/kernel_log/text/driver_line.h"
#include "tests/collectors/kernel_log/cut_lines.h"

namespace jetmem::kernel_log {
namespace {

std::string kinds_in(std::string_view text) {
  std::string kinds;
  for (const Event& event : events_of(text)) {
    kinds.append(kinds.empty() ? "" : " ").append(info_of(event.kind()).name);
  }
  return kinds;
}

TEST(KernelLogDriverWords, ARefusalNamesItsDeviceSizeAndError) {
  const auto events = events_of("foo 1a00000.bar: failed to allocate 65536 bytes: -12");
  ASSERT_EQ(events.size(), 1U);
  EXPECT_EQ(events[0].kind(), EventKind::kDriverAllocFailure);
  EXPECT_EQ(events[0].text("dev"), "1a00000.bar");
  EXPECT_EQ(events[0].number("size"), 65536);
  EXPECT_EQ(events[0].number("errno"), -12);
}

TEST(KernelLogDriverWords, TheWordsDecideTheKind) {
  struct Case {
    std::string_view line;
    std::string_view kind;
  };
  constexpr std::array kCases{
      Case{"foo 1a00000.bar: could not allocate DMA memory", "dma_alloc_failure"},
      Case{"foo 1a00000.bar eth0: Failed to map RX DMA!", "dma_map_failure"},
      Case{"foo 1a00000.bar: baz_open: Unable to map buffer: -12", "dma_map_failure"},
      Case{"foo 1a00000.bar: failed to reserve iova range", "iova_exhausted"},
      Case{"foo 1a00000.bar: overflow 0x00000001a7296000+70656 of DMA mask ffffffff bus mask 0",
           "dma_map_failure"},
      Case{"foo: failed to get pages from virtual address: 0x7f4b172040", "dma_map_failure"},
      Case{"foo: Can not alloc foo_virt_addr from 0x7f4b172040", "dma_map_failure"},
      Case{"foo 1a00000.bar: carveout memory allocation failed", "reserved_memory_failure"},
      Case{"panfrost 1a00000.gpu: failed to allocate sgt", "gpu_alloc_failure"},
      Case{"panthor 1a00000.gpu: [drm] job timeout", "gpu_hang"},
      Case{"tegra-vic 15340000.vic: Falcon boot failed due to timeout", "firmware_hang"},
      Case{"v3d fec00000.v3d: [drm:v3d_reset [v3d]] *ERROR* Resetting GPU for hang.", "gpu_hang"},
      Case{"nvgpu: 17000000.gpu  ga10b_fifo_ctxsw_timeout_isr:289  [ERR]  ctxsw timeout error",
           "gpu_hang"},
  };
  for (const Case& entry : kCases) EXPECT_EQ(kinds_in(entry.line), entry.kind) << entry.line;
}

TEST(KernelLogDriverWords, WhatIsNoShortageIsNoEvent) {
  for (const std::string_view line :
       {"foo 1a00000.bar: failed to allocate irq vectors", "foo 1a00000.bar: can't get gpio",
        "usb usb2-port3: couldn't allocate usb_device", "kernel: failed to allocate memory",
        "foo 1a00000.bar: failed to get memory resource", "input: Failed to allocate memory as /x",
        "foo 1a00000.bar: failed to ioremap registers", "foo 1a00000.bar: allocated 4096 bytes",
        "foo 1a00000.bar: failed to allocate char dev region", "usb 1-1: Product: Memory Stick",
        "foo 1a00000.bar: Firmware load failed with error -2",
        "kmemleak: Kernel memory leak "
        "detector initialized (mem pool available: 15779)",
        "error: failed to allocate memory", "cma: Reserved 64 MiB at 0x000000006c000000",
        "zswap: loaded using pool lzo/zbud",
        "thermal cooling_device12: hot-surface-alert cooling state: 1 -> 0",
        "Console: switching to colour frame buffer device 240x67"}) {
    EXPECT_EQ(kinds_in(line), "") << line;
  }
}

TEST(KernelLogDriverWords, ATableOfBuffersIsAddedUp) {
  EXPECT_EQ(one("[drm:vc4_bo_create [vc4]] *ERROR* Failed to allocate from CMA:\n"
                "[drm]                            V3D: 126112kb BOs (389)\n"
                "[drm]                     V3D shader:    476kb BOs (117)\n"
                "[drm]                total purged BO:   1544kb BOs (7)\n"),
            "gpu_alloc_failure driver=vc4 function=vc4_bo_create text=Failed to allocate from CMA: "
            "bos_kb=126588 bos=506");
}

// Kernels up to 4.14 print one total, and again what of it is used and what cached.
TEST(KernelLogDriverWords, ATotalOfBuffersIsTakenOnce) {
  EXPECT_EQ(one("[drm:vc4_bo_create] *ERROR* Failed to allocate from CMA:\n"
                "[drm] num bos allocated: 64\n"
                "[drm] size bos allocated: 62328kb\n"
                "[drm] num bos used: 63\n"
                "[drm] size bos used: 54168kb\n"
                "[drm] num bos cached: 1\n"
                "[drm] size bos cached: 8160kb\n"),
            "gpu_alloc_failure function=vc4_bo_create text=Failed to allocate from CMA: bos=64 "
            "bos_kb=62328");
  EXPECT_EQ(one("[drm] size bos allocated: 623"), "") << "cut";
}

TEST(KernelLogDriverWords, AFaultOfMaliGoesOnBelow) {
  EXPECT_EQ(one("mali fb000000.gpu: Unhandled Page fault in AS1 at VA 0x00007FE0DA65CB80\n"
                "              Reason: Memory is not mapped on the GPU\n"
                "              raw fault status: 0x210002C1\n"
                "              exception type 0xC1: TRANSLATION_FAULT at level 1\n"
                "              access type 0x2: READ\n"
                "              source id 0x2100\n"
                "              pid: 1693\n"),
            "gpu_mmu_fault dev=fb000000.gpu driver=mali addr=0x00007FE0DA65CB80 text=Unhandled "
            "Page fault in AS1 at VA 0x00007FE0DA65CB80 reason=Memory is not mapped on the GPU "
            "fault_status=0x210002C1 fault_type=TRANSLATION_FAULT at level 1 access=read pid=1693");
  EXPECT_EQ(one("panfrost ff9a0000.gpu: Unhandled Page fault in AS0 at VA 0x0000000107ED2CC0\n"
                "Reason: TODO\nraw fault status: 0x6F002C1\ndecoded fault status: SLAVE FAULT\n"
                "exception type 0xC8: PERMISSION_FAULT_0\naccess type 0x3: WRITE\n"),
            "gpu_mmu_fault dev=ff9a0000.gpu driver=panfrost addr=0x0000000107ED2CC0 text=Unhandled "
            "Page fault in AS0 at VA 0x0000000107ED2CC0 fault_status=0x6F002C1 "
            "fault_type=PERMISSION_FAULT_0 access=write");
  // None of another's fault, nor by themselves.
  EXPECT_EQ(one("exception type 0xC1: TRANSLATION_FAULT\naccess type 0x2: READ\npid: 1693\n"), "");
  EXPECT_EQ(one("NVRM: Xid (PCI:0000:02:00): 31, Ch 00000010, engmask 00000101\npid: 7\n"),
            "gpu_mmu_fault xid=31 pci=0000:02:00 text=Ch 00000010, engmask 00000101");
}

TEST(KernelLogDriverWords, AJobThatFaultsIsNoHang) {
  EXPECT_EQ(one("panfrost ff9a0000.gpu: js fault, js=0, status=JOB_BUS_FAULT, head=0x8badcc0, "
                "tail=0x8badcc0"),
            "gpu_error dev=ff9a0000.gpu status=JOB_BUS_FAULT text=js fault, js=0, "
            "status=JOB_BUS_FAULT, head=0x8badcc0, tail=0x8badcc0");
  EXPECT_EQ(kinds_in("panfrost ff9a0000.gpu: gpu sched timeout, js=0, config=0x3300, status=0x8"),
            "gpu_hang");
}

TEST(KernelLogDriverWords, WhoeverWaitsForThePowerProcessor) {
  EXPECT_EQ(one("tegra-mc 2c00000.memory-controller: BPMP transfer failed: -110"),
            "firmware_hang client=2c00000.memory-controller driver=bpmp text=BPMP transfer failed: "
            "-110");
  EXPECT_EQ(kinds_in("tegra-mc 2c00000.memory-controller: BPMP transfer failed: -22"), "");
}

TEST(KernelLogDriverWords, HarmlessEventsSaySo) {
  const auto fault =
      events_of("v3d fec00000.v3d: MMU error from client CLE (4) at 0x1, pte invalid");
  ASSERT_EQ(fault.size(), 1U);
  EXPECT_EQ(fault[0].boolean("harmless"), true);
  const auto frame = events_of(
      "cma: cma_alloc: alloc failed, req-size: 2025 pages, ret: -12\n"
      "Console: switching to colour frame buffer device 240x67\n");
  ASSERT_EQ(frame.size(), 1U);
  EXPECT_EQ(frame[0].boolean("harmless"), true);
}

// The one event of a line; none of it where there are none or several.
Event event_in(std::string_view text) {
  const auto events = events_of(text, Soc::kUnknown, Voice::kKernel);
  EXPECT_EQ(events.size(), 1U) << text;
  return events.size() == 1 ? events[0] : Event();
}

TEST(KernelLogDriverWords, ASizeIsInBytesWhateverItsUnit) {
  struct Case {
    std::string_view line;
    std::optional<std::int64_t> size;
    std::optional<std::int64_t> pages;
  };
  const std::array cases{
      Case{"foo 1a00000.bar: failed to allocate buffer of size 64 MiB", 64 << 20, {}},
      Case{"foo 1a00000.bar: failed to allocate DMA memory, size=512K", 512 << 10, {}},
      Case{"foo 1a00000.bar: failed to allocate memory, len 4096 for the ring", 4096, {}},
      Case{"foo 1a00000.bar: allocation failed, size=64 align=8", 64, {}},
      Case{"rockchip-drm a: [drm] *ERROR* failed to allocate 8192 byte dma buffer", 8192, {}},
      Case{"foo 1a00000.bar: failed to allocate memory (size 0x2000)", 0x2000, {}},
      Case{"foo 1a00000.bar: failed to allocate buffer of size 4 pages", {}, 4},
      Case{"foo 1a00000.bar: failed to allocate memory of size 4 pages", {}, 4},
      Case{"foo 1a00000.bar: failed to allocate memory, size 12 sectors", {}, {}},
      Case{"foo 1a00000.bar: failed to allocate memory, page_size 65536 and count 300", {}, {}},
      Case{"foo 1a00000.bar: failed to allocate memory, max_len 65536", {}, {}},
  };
  for (const Case& entry : cases) {
    const Event event = event_in(entry.line);
    EXPECT_EQ(event.number("size"), entry.size) << entry.line;
    EXPECT_EQ(event.number("pages"), entry.pages) << entry.line;
  }
}

TEST(KernelLogDriverWords, WhatADriverCanDoWithoutIsMarked) {
  for (const std::string_view line :
       {"iommu: Failed to allocate default IOMMU domain of type 11 for group (null) - Falling back "
        "to IOMMU_DOMAIN_DMA",
        "mmc1: Unable to allocate ADMA buffers - falling back to standard DMA",
        "tegra-i2c 1a00000.i2c: DMA buffer alloc failed, using PIO",
        "nvme nvme1: failed to allocate host memory buffer."}) {
    EXPECT_EQ(event_in(line).boolean("fallback"), true) << line;
  }
  for (const std::string_view line : {"foo 1a00000.bar: failed to allocate DMA memory",
                                      "foo 1a00000.bar: fallback allocation of DMA memory failed",
                                      "foo 1a00000.bar: no fallback, failed to allocate memory"}) {
    EXPECT_FALSE(event_in(line).has("fallback")) << line;
  }
}

TEST(KernelLogDriverWords, EntriesAndLimitsAreNoMemory) {
  for (const std::string_view line :
       {"TCP: out of memory -- consider tuning tcp_mem", "MPTCP: out of memory",
        "squashfs: Failed to allocate block",
        "ip_tables: failed to allocate: out of space in table", "MTD: failed to reserve block",
        "foo 1a00000.cam: failed to get mem bw",
        "Bluetooth: hci1: unable to get ram memory info"}) {
    EXPECT_EQ(kinds_in(line), "") << line;
  }
  EXPECT_EQ(kinds_in("foo 1a00000.bar: failed to allocate l2 stream table"),
            "driver_alloc_failure");
  EXPECT_EQ(kinds_in("foo 1a00000.bar: iova: failed to reserve block"), "iova_exhausted");
}

TEST(KernelLogDriverWords, ASecondHeadIsPassedOver) {
  struct Case {
    std::string_view line;
    std::string_view kind;
    std::string_view text;
  };
  constexpr std::array kCases{
      Case{"amdgpu 0000:01:00.0: amdgpu: Failed to allocate VRAM: -12", "gpu_alloc_failure",
           "Failed to allocate VRAM: -12"},
      Case{"nouveau 0000:01:00.0: DRM: failed to allocate VRAM", "gpu_alloc_failure",
           "failed to allocate VRAM"},
      Case{"rknpu 1a00000.npu: RKNPU: failed to allocate sgt: -12", "gpu_alloc_failure",
           "failed to allocate sgt: -12"},
      Case{"foo 1a00000.bar: ERROR: failed to allocate DMA buffer", "dma_alloc_failure",
           "failed to allocate DMA buffer"},
      Case{"foo 1a00000.bar: Warning: cannot allocate a buffer", "driver_alloc_failure",
           "cannot allocate a buffer"},
      Case{"foo 1a00000.bar: queue: failed to allocate a buffer", "driver_alloc_failure",
           "queue: failed to allocate a buffer"},
  };
  for (const Case& entry : kCases) {
    const Event event = event_in(entry.line);
    EXPECT_EQ(info_of(event.kind()).name, entry.kind) << entry.line;
    EXPECT_EQ(event.text("text"), entry.text) << entry.line;
  }
  for (const std::string_view line :
       {"usb 1-1: Manufacturer: Failed to allocate memory",
        "OF: ERROR: memory leak, expected refcount 1 instead of 2, of_node_get()/of_node_put() "
        "unbalanced - destroy cset entry: attach overlay node /a",
        "OF: overlay: WARNING: memory leak will occur if overlay removed, property: /a"}) {
    EXPECT_EQ(kinds_in(line), "") << line;
  }
}

TEST(KernelLogDriverWords, ADriversNameIsMoreThanItsBeginning) {
  for (const std::string_view head : {"xenbus: ", "pvrusb2: ", "msm_serial 1a00000.serial: "}) {
    EXPECT_EQ(kinds_in(std::string(head) + "failed to allocate memory"), "driver_alloc_failure");
  }
  for (const std::string_view head : {"xe 0000:01:00.0: ", "msm_dpu 1a00000.gpu: ",
                                      "panfrost 1a00000.gpu: ", "pvr 1a00000.gpu: "}) {
    EXPECT_EQ(kinds_in(std::string(head) + "failed to allocate memory"), "gpu_alloc_failure");
  }
}

TEST(KernelLogDriverWords, ADisplaysWaitIsNoHangOfTheGpu) {
  for (const std::string_view line :
       {"[drm:drm_atomic_helper_wait_for_dependencies [drm_kms_helper]] *ERROR* [CRTC:66:crtc-3] "
        "commit wait timed out",
        "[drm:intel_dp_link_train [i915]] *ERROR* Timed out during link training",
        "i915 0000:00:02.0: [drm] *ERROR* timed out: reset of [CONNECTOR:95:DP-1]",
        "i915 0000:00:02.0: [drm] *ERROR* failed to get EDID: timed out during read",
        "vc4-drm gpu: [drm] *ERROR* flip_done timed out in the queue"}) {
    EXPECT_EQ(kinds_in(line), "") << line;
  }
  EXPECT_EQ(kinds_in("[drm:amdgpu_job_timedout [amdgpu]] *ERROR* ring gfx timeout, timed out"),
            "gpu_hang");
}

TEST(KernelLogDriverWords, ADriveWithoutItsInterruptDidNotFail) {
  EXPECT_EQ(event_in("nvme nvme0: I/O 12 QID 3 timeout, completion polled").text("error"),
            "completion polled");
  EXPECT_EQ(event_in("nvme nvme0: I/O 12 QID 3 timeout, aborting").text("error"), "timeout");
  for (const std::string_view line :
       {"I/O error, dev sr0, sector 0", "blk_update_request: I/O error, dev fd0, sector 0",
        "Buffer I/O error on dev loop3, logical block 0"}) {
    EXPECT_EQ(kinds_in(line), "") << line;
  }
  for (const char* before : {"", "blk_update_request: ", "end_request: ", "print_req_error: "}) {
    EXPECT_EQ(kinds_in(std::string(before) + "I/O error, dev sda, sector 0"), "storage_error");
  }
  EXPECT_EQ(kinds_in("he wrote \"I/O error, dev sda, sector 0\""), "");
}

TEST(KernelLogDriverWords, AnUnreadableSectorIsAStorageErrorWhateverTheKernelCallsIt) {
  for (const char* before : {"", "blk_update_request: ", "print_req_error: "}) {
    const Event event =
        event_in(std::string(before) +
                 "critical medium error, dev nvme0n1, sector 123456 op 0x0:(READ) flags 0x80700 "
                 "phys_seg 1 prio class 2");
    EXPECT_EQ(event.kind(), EventKind::kStorageError) << before;
    EXPECT_EQ(event.text("dev"), "nvme0n1");
    EXPECT_EQ(event.text("error"), "critical medium error");
    EXPECT_EQ(event.number("sector"), 123456);
  }
  for (const std::string_view error :
       {"timeout", "recoverable transport", "protection", "device offline"}) {
    EXPECT_EQ(kinds_in(std::string(error) + " error, dev sda, sector 8 op 0x1:(WRITE) flags 0x0"),
              "storage_error")
        << error;
  }
  // A discard that the device does not know is no fault of it.
  for (const std::string_view error : {"operation not supported", "critical target"}) {
    EXPECT_EQ(kinds_in(std::string(error) + " error, dev sda, sector 8 op 0x3:(DISCARD)"), "")
        << error;
  }
}

TEST(KernelLogDriverWords, ReservationsOfTheDeviceTree) {
  for (const std::string_view head : {"OF: fdt: ", "OF: fdt:"}) {
    const Event event = event_in(std::string(head) +
                                 "Reserved memory: failed to reserve memory for node 'vpr': base "
                                 "0x0000000080000000, size 16 MiB");
    EXPECT_EQ(event.kind(), EventKind::kReservedMemoryFailure);
    EXPECT_EQ(event.text("node"), "vpr");
    EXPECT_EQ(event.number("size"), 16 << 20);
  }
}

TEST(KernelLogDriverWords, AMisusedHandleOfNvmapIsNoShortage) {
  for (const std::string_view line :
       {"nvmap: nvmap_handle_get() pid 12 comm camera attempt to get a freed handle",
        "nvmap: nvmap_ioctl_rw_handle() CPU read operation is not allowed on VPR carveout",
        "nvmap: nvmap_handle_put() camera put to negative references",
        "Unpinning handle that has yet to be pinned!"}) {
    EXPECT_EQ(event_in(line).text("reason"), "misuse") << line;
  }
  EXPECT_FALSE(event_in("nvmap: nvmap_ioctl_create() memory allocation failed").has("reason"));
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

// What kind the words make of a line, none for "".
struct Kind {
  std::string_view line;
  std::string_view kind;
};

void expect_kinds(std::initializer_list<Kind> cases) {
  for (const Kind& entry : cases) EXPECT_EQ(kinds_in(entry.line), entry.kind) << entry.line;
}

TEST(KernelLogDriverWords, HowLongSomebodyWillWaitIsNoTimeout) {
  expect_kinds({
      {"tegra-bpmp bpmp: enabled timeout = 3", ""},
      {"NVRM: krcInit_IMPL: RC Watchdog timeout forced to 7 seconds.", ""},
      {"nvme nvme0: Shutdown timeout set to 8 seconds", ""},
      {"mmc0: f_max 3, f_min 1, max_busy_timeout 7", ""},
      {"tegra-video tegra-video: same zoom scale. skipped.", ""},
      {"lima 1c40000.gpu: gp spurious timeout", ""},
      {"bpmp_trywait() timed out (ch 2 mrq 7 data <0>)", "firmware_hang"},
      {"pva 16000000.pva0: mbox timedout boot sema=8", "firmware_hang"},
      {"nvme nvme0: I/O tag 1 (0402) opcode 0x2 (Read) QID 7 timeout", "storage_error"},
      {"nvme nvme0: Device not ready; aborting reset, CSTS=0x1", "storage_error"},
      {"nvme nvme0: Fw activation timeout, reset controller", ""},
      {"nvme nvme0: qid 2: timeout draining sock wmem allocation expired", ""},
      {"nvgpu: 17000000.gpu  nvgpu_dbg_timeout:197  [ERR]  unrecognized dbg gpu timeout mode : 0x2",
       "gpu_error"},
      {"arm-pv: Failed to map stolen time data structure", ""},
      {"nvme nvme0: Failed to map data (-12)", "dma_map_failure"},
      {"mmc0: Card stuck being busy! __mmc_poll_for_busy", "storage_error"},
  });
}

TEST(KernelLogDriverWords, AGpusPartsHangToo) {
  expect_kinds({
      {"panthor fb000000.gpu: [drm] *ERROR* Flush caches timeout", "gpu_hang"},
      {"panfrost fde60000.gpu: AS_ACTIVE bit stuck", "gpu_hang"},
      {"v3d fec00000.v3d: MMUC flush wait idle failed", "gpu_hang"},
      {"amdgpu 0000:03:00.0: ring gfx_0.0.0 timeout, signaled seq=1, emitted seq=3", "gpu_hang"},
      {"amdgpu 0000:03:00.0: GPU fault detected: 146 0x0000480c", "gpu_mmu_fault"},
      {"msm_dpu ae01000.display-controller: [drm:adreno_wait_ring [msm]] *ERROR* timeout waiting "
       "for space in ringbuffer 3",
       "gpu_hang"},
      {"i915 0000:00:02.0: [drm] *ERROR* timed out waiting for panel to power on", ""},
      {"nvgpu: 17000000.gpu   nvgpu_wait_for_idle:580  [WRN]  Timed out waiting for idle (7)!",
       "gpu_hang"},
      {"nvgpu: 17000000.gpu   gk20a_cde_pack:580  [WRN]  cde: buffer not available", ""},
      {"nvgpu: 17000000.gpu   nvgpu_ecc_counter_init:61   [ERR]  ecc counter alloc failed",
       "gpu_alloc_failure"},
      {"[drm:v3d_job_allocate [v3d]] *ERROR* Cannot allocate memory for V3D job.",
       "gpu_alloc_failure"},
  });
  const Event ecc = event_in(
      "nvgpu: 17000000.gpu gv11b_gr_intr_handle_lrf_exception:532  [ERR]  Uncorrected error (DBE) "
      "detected in SM LRF! err_mask [00001f00] is_overf [1]");
  EXPECT_EQ(ecc.kind(), EventKind::kGpuEccError);
  EXPECT_EQ(ecc.text("severity"), "uncorrected");
}

TEST(KernelLogDriverWords, IommusOfOtherMakers) {
  const Event fault = event_in(
      "mtk-iommu 14016800.iommu: fault type=0x5 iova=0xffdf8000 pa=0x0 master=0x10000(larb=1 "
      "port=3) layer=0 write");
  EXPECT_EQ(fault.kind(), EventKind::kSmmuContextFault);
  EXPECT_EQ(fault.text("iova"), "0xffdf8000");
  EXPECT_EQ(fault.text("rw"), "write");
  const Event remote = event_in("remoteproc remoteproc0: iommu fault: da 0xffdf8000 flags 0x0");
  EXPECT_EQ(remote.kind(), EventKind::kSmmuContextFault);
  EXPECT_EQ(remote.text("iova"), "0xffdf8000");
  const Event sunxi =
      event_in("sun50i-iommu 30f0000.iommu: Page fault for 0x00000000fe400000 (master 3, dir wr)");
  EXPECT_EQ(sunxi.text("iova"), "0x00000000fe400000");
  EXPECT_EQ(sunxi.text("rw"), "write");
  EXPECT_EQ(event_in("virtio_iommu virtio0: page fault from EP 8 at 0xfe400000 [R--]").text("rw"),
            "read");
  expect_kinds({
      {"rk_iommu fdca4f00.iommu: FORCE_RESET command timed out", "smmu_error"},
      {"rk_iommu fdca4f00.iommu: DMA mapping error while allocating page table", "dma_map_failure"},
      {"rk_iommu fdca4f00.iommu: DMA map error for DT", "dma_map_failure"},
      {"virtio_iommu virtio0: translation fault from EP 7 at 0x1000 [R--]", "smmu_context_fault"},
  });
}

TEST(KernelLogDriverWords, WhatNobodyIsNamedInFrontOf) {
  expect_kinds({
      {"Failed to allocate memory for base_pa", "driver_alloc_failure"},
      // A task's name may stand there in a sentence of jetmem's.
      {"failed to alloc (PID 3) was killed", ""},
      {"bpmp_a() hung (PID 3) waits in the kernel", ""},
      {"nvmap heap a (PID 3) got no memory", ""},
      {"could not allocate AEAD algorithm", ""},
      {"Cannot allocate memory", ""},
      {"Failed to allocate memory", "driver_alloc_failure"},
      {"Failed to allocate", ""},
      {"------------[ cut here ]------------\nDMA pool exhausted for 15340000.vic\n",
       "dma_alloc_failure"},
      {"------------[ cut here ]------------\nNo memory!!\n", "nvmap"},
      {" vpr: failed to allocate memory", "nvmap"},
      {"nvmap heap array resize failed", "nvmap"},
      {"PID 2317 killed due to inadequate hugepage pool", "hugetlb_failure"},
      {"rk-vcodec ff9a0000.vpu-service: no memory region mapped", ""},
      // Of every Nano: a node that the boot loader did not fill in.
      {"OF: fdt:Reserved memory: failed to reserve memory for node 'fb0_carveout': base "
       "0x0000000000000000, size 0 MiB",
       ""},
      {"OF: ERROR: memory leak before free overlay changeset,  /a", ""},
      {"vc4-drm gpu: [drm] *ERROR* Destroying BO cache with 7 V3D BOs still allocated",
       "buffer_leak"},
  });
}

TEST(KernelLogDriverWords, MappingsOfNvidiasDrivers) {
  expect_kinds({
      {"NVRM: GPU0 osIovaMap: osIovaMap: failed to map allocation (status = 0x51)",
       "dma_map_failure"},
      {"NVRM: osMapSystemMemory: failed to create system memory kernel mapping!",
       "dma_map_failure"},
      {"NVRM: GPU0 RmInitAdapter: osInitNvMapping failed, bailing out of RmInitAdapter",
       "gpu_error"},
      {"nvscic2c-pcie: comm-channel: Err mapping comm physical addr to reserved iova",
       "dma_map_failure"},
      {"tegra194-isp5 14800000.isp: isp_capture_request failed to pin request buffers",
       "dma_map_failure"},
      {"tegra_nvadsp 2993000.adsp: remap failed on shared region", "dma_map_failure"},
  });
}

TEST(KernelLogDriverWords, CutLines) {
  for (const char* fixture :
       {"graphics.txt", "reserved_memory.txt", "nvmap.txt", "corruption.txt", "storage.txt",
        "memory_clock.txt", "firmware.txt", "driver_memory.txt"}) {
    expect_filter_agrees_on_cut_lines(fixture);
  }
}

}  // namespace
}  // namespace jetmem::kernel_log
