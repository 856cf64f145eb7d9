// SPDX-License-Identifier: Apache-2.0
// The page allocator, OOM kills, swap, and what programs say when they are refused memory.
#include <array>
#include <cmath>

#include "base/text/text.h"
#include "collectors/kernel_log/event/event.h"
#include "report/diagnosis/cause.h"
#include "report/diagnosis/format.h"

namespace jetmem::diagnosis {
namespace {

// PAGE_ALLOC_COSTLY_ORDER.
constexpr double kCostlyOrder = 3;
// Of the free memory: then the rest is below the watermarks.
constexpr double kMostlyCma = 0.8;
// Of all memory: kernel objects that are usually a few percent.
constexpr double kMuchSlab = 0.4;
// A zone with more than this many times its min watermark is not short.
constexpr double kWellAbove = 2;

constexpr std::array kMemoryTexts{
    CauseText{"memory-exhausted", Harm::kWarning,
              "Memory ran out{?: {comm} needed more and the kernel found none to reclaim}{?. The "
              "kernel killed {victim}}.",
              "sudo jetmem top shows the largest programs: stop or limit one, add swap, or read "
              "large files in pieces instead of whole. Protect others with OOMScoreAdjust=.",
              "oom-kill"},
    CauseText{"oom-swap-unused", Harm::kWarning,
              "The OOM killer ran although {swap_free} of swap was free. Usually memory is full of "
              "pages that cannot be swapped out: GPU and DMA buffers (nvmap), locked pages, kernel "
              "objects{?. Kernel {early_kernel} also kills too early}.",
              "sudo jetmem top --sort dmabuf shows who holds buffers; grep -E "
              "'Unevictable|Mlocked|SUnreclaim' /proc/meminfo the rest. Stop or limit the largest "
              "program (a Java heap: -Xmx){?; update the kernel, {early_kernel} is too old}.",
              "oom-kill"},
    CauseText{"oom-gpu-buffer", Harm::kWarning,
              "{comm} requested a GPU, camera or video buffer (nvmap) that did not fit, and the "
              "kernel killed for it{?: {victim}}. No cgroup limit holds for such buffers, and most "
              "releases of L4T grant any request up to all memory.",
              "Give {comm} a smaller model, batch or fewer buffers (sudo jetmem plan), or free "
              "memory before it starts; sudo jetmem nvmap shows who holds GPU memory. Protect "
              "others with OOMScoreAdjust=.",
              "oom-kill"},
    CauseText{"oom-kernel-objects", Harm::kWarning,
              "Memory ran out, and {slab} of it was held by objects of the kernel that it cannot "
              "reclaim (unreclaimable slab): usually a driver or kernel leak{?. The kernel killed "
              "{victim}, which frees little of that}.",
              "sudo slabtop -s c -o shows which objects; sudo jetmem capture keeps it. Restart to "
              "get the memory back, then update or unload the driver they belong to. Stopping "
              "programs only helps for a while.",
              "oom-kill"},
    CauseText{"oom-group-limit", Harm::kWarning,
              "A control group reached its own memory limit{?: {group}}; the machine need not be "
              "short of memory.",
              "Raise the limit: sudo systemctl set-property UNIT MemoryMax=2G (container: docker "
              "update --memory 2g NAME), or find the leak: sudo jetmem top.",
              "oom-kill"},
    CauseText{"pages-atomic", Harm::kWarning,
              "A request that cannot wait (interrupt, network receive){? of order {order}} found "
              "no free block{? of {size}}: the reserve is too small{?, or memory is fragmented at "
              "order {costly}}. Usually a packet is dropped and retried.",
              "Raise the reserve: sudo sysctl vm.min_free_kbytes=16384 (65536 with 4 GiB of memory "
              "or more), and keep it in /etc/sysctl.d. For a USB network adapter reduce its "
              "receive buffers (smsc95xx.turbo_mode=N)."},
    CauseText{
        "pages-fragmented", Harm::kWarning,
        "Free memory is fragmented{?: no block of {size} (order {order}) was free}{? for {comm}}.",
        "sudo jetmem compact helps at once; jetmem fragmentation shows the zones. Later: start "
        "what needs large blocks first after boot, and raise vm.min_free_kbytes.",
        "buddy-fragmented"},
    CauseText{
        "pages-only-cma", Harm::kWarning,
        "What was free ({free}) was nearly all contiguous memory (CMA: {free_cma}), which ordinary "
        "allocations of the kernel and its drivers cannot use: for them memory had run out.",
        "If cameras and display do not need it, make the CMA area smaller and reboot: cma=64M on "
        "the kernel command line (Raspberry Pi: dtoverlay=vc4-kms-v3d,cma-128 in config.txt); or "
        "stop a program: sudo jetmem top.",
        "below-watermark"},
    CauseText{
        "lowmem-short", Harm::kWarning,
        "The kernel{? (task {comm})} found no memory for itself{?, though {highmem} of high memory "
        "is free}. On this 32-bit kernel it and its drivers can only use low memory (below 1 GiB), "
        "of "
        "which a large CMA area usually takes most.",
        "Use a 64-bit kernel (Raspberry Pi: arm_64bit=1 in config.txt), or a smaller CMA area: "
        "cma=64M on the kernel command line."},
    CauseText{"vmalloc-space", Harm::kWarning,
              "The kernel's address range for vmalloc is used up{?: {size} was requested}; free "
              "memory does not help.",
              "Enlarge it: vmalloc=512M on the command line of a 32-bit kernel, or use a 64-bit "
              "kernel. sudo sort -k2 -n -r /proc/vmallocinfo shows the holders."},
    CauseText{"vmalloc-pages", Harm::kWarning,
              "The kernel ran out of pages for {?{size} of }vmalloc memory: memory is short, not "
              "its address range.",
              "sudo jetmem top shows the largest programs: stop or limit one."},
    CauseText{"zram-no-room", Harm::kWarning,
              "A page could not be stored in zram, which needs memory itself to compress, and none "
              "is left. The page stays in memory and nothing is lost, but swapping out no longer "
              "helps, and an OOM kill may follow.",
              "sudo jetmem top shows the largest programs: stop or limit one, or let it read large "
              "files in pieces. Start swapping earlier (vm.min_free_kbytes), or use a swap file "
              "instead of zram.",
              "memory-low"},
    CauseText{"zram-damaged", Harm::kCritical,
              "A page could not be read back from zram: the program that needs it is killed.",
              "Restart the device: probably memory was overwritten or a driver is broken. Then "
              "test the memory: sudo memtester 100M 1."},
    CauseText{"swap-write", Harm::kWarning,
              "Pages could not be written to the swap device{? {dev}}: they stay in memory, and "
              "swapping out no longer helps.",
              "swapon --show names the device. If it is zram, memory ran out: sudo jetmem top. "
              "Else check disk or card: sudo dmesg | grep -iE 'I/O error|mmc|nvme'."},
    CauseText{"swap-read", Harm::kCritical,
              "Swapped-out pages could not be read back{? from {dev}}: the programs that need them "
              "are killed, and the storage is probably failing.",
              "Save the data, turn that swap off while memory is free (sudo swapoff DEVICE), and "
              "replace the disk or card."},
    CauseText{"swap-entry-damaged", Harm::kCritical,
              "A page table or the swap map refers to a swap page that cannot exist{? (entry "
              "{entry})}: memory was probably overwritten by a driver, or is broken. The program "
              "that needs the page is usually killed.",
              "sudo jetmem capture, then reboot. Test the memory (sudo memtester 100M 1); if it is "
              "sound, update or unload the driver loaded last.",
              "kernel-oops"},
    CauseText{"swap-not-enabled", Harm::kWarning,
              "Swap was not turned on{? ({error})}: the device or file has no valid swap area. No "
              "data is at risk; the machine runs without that swap.",
              "swapon --show; cat /etc/fstab. Make the area, which erases DEVICE: sudo mkswap "
              "DEVICE; sudo swapon DEVICE. A swap file with holes: create it with dd, not truncate "
              "or cp --sparse."},
    CauseText{
        "swap-on-no-memory", Harm::kWarning,
        "Swap was not turned on because the kernel had no memory for its tables{? ({error})}.",
        "Turn it on at boot, when memory is free (/etc/fstab), or free some: sudo jetmem top.",
        "memory-low"},
    CauseText{"zswap-off", Harm::kWarning,
              "zswap is not used{? ({error})}: swapping works, without compression in memory.",
              "Free memory (sudo jetmem top), then turn that swap off and on: sudo swapoff DEVICE; "
              "sudo swapon DEVICE."},
    CauseText{"hugetlb-short", Harm::kNone,
              "Fewer huge pages could be reserved than requested: memory is short or fragmented.",
              "Reserve them at boot (hugepages= on the kernel command line), or first: sudo jetmem "
              "compact."},
};

bool is_atomic(const Case& it) {
  if (it.event.text("atomic") == "true") return true;
  for (const std::string_view name : {"gfp", "mode"}) {
    const std::string text(it.event.text(name));
    if (contains(text, "ATOMIC") || contains(text, "NOWAIT")) return true;
    const auto mode = kernel_log::parse_hex(text);
    if (!mode) continue;
    // GFP_ATOMIC of kernels to 4.3, with and without __GFP_COMP; from 4.4, 4.8 and 4.15 on: high
    // priority, kswapd is woken, no direct reclaim.
    if ((*mode & 0x820) == 0x820 && (*mode & 0x400) == 0 && *mode < 0x1000000) return true;
    if (*mode == 0x20 || *mode == 0x4020) return true;
    if ((*mode & 0x2080020) == 0x2080020 || (*mode & 0x1080020) == 0x1080020) return true;
  }
  return false;
}

std::string_view pages(const Case& it) {
  const double page = it.facts.page_size.value_or(4096);
  const auto order = it.event.number("order");
  if (order && *order >= 0 && *order < 20) {
    it.values["order"] = doctor::number(*order, 0);
    it.values["size"] = doctor::bytes(page * std::exp2(*order));
    if (*order > 0) it.values["costly"] = doctor::number(*order, 0);
  }
  if (const auto comm = it.event.text("comm"); !comm.empty()) {
    it.values["comm"] = printable(comm, 64);
  }
  if (is_atomic(it)) return "pages-atomic";
  const double high = it.event.number("free_highmem_kb").value_or(0);
  const double high_min = it.event.number("min_highmem_kb").value_or(0);
  const bool high_is_free = high > 0 && high > kWellAbove * high_min;
  if (high_is_free) it.values["highmem"] = doctor::bytes(high * 1024);
  // A 32-bit kernel is known by its backtrace; which memory was free, only by the report.
  const bool no_report = !it.event.has("free_normal_kb") && !it.event.has("free_highmem_kb");
  const bool large = order && *order > kCostlyOrder;
  if (high_is_free || (it.facts.is_32_bit_arm && no_report && (!order || large)))
    return "lowmem-short";
  double free_kb = 0;
  double min_kb = 0;
  for (const std::string_view zone : {"dma", "dma32", "normal"}) {
    free_kb += it.event.number("free_" + std::string(zone) + "_kb").value_or(0);
    min_kb += it.event.number("min_" + std::string(zone) + "_kb").value_or(0);
  }
  const double free_cma_kb = it.event.number("free_cma_kb").value_or(0);
  if (free_kb > 0 && free_cma_kb >= kMostlyCma * free_kb) {
    it.values["free"] = doctor::bytes(free_kb * 1024);
    it.values["free_cma"] = doctor::bytes(free_cma_kb * 1024);
    return "pages-only-cma";
  }
  if (it.has_kind("zram_error")) return "memory-exhausted";
  if (!order) return {};
  if (large) return "pages-fragmented";
  if (*order == 0 || it.has_kind("oom_kill")) return "memory-exhausted";
  if (free_kb <= 0 || min_kb <= 0) return {};  // no report of the zones
  return free_kb > kWellAbove * min_kb ? "pages-fragmented" : "memory-exhausted";
}

std::string_view oom(const Case& it) {
  const std::string& kind = it.event.kind();
  if (it.log.oom_of_group) {
    if (!it.log.oom_group.empty()) it.values["group"] = it.log.oom_group;
    return "oom-group-limit";
  }
  if (kind == "oom_reaper" || kind == "oom_kill_info") return {};
  // The kernel need not kill the one that requested memory.
  const std::string& who = it.log.oom_for;
  if (!who.empty()) it.values["comm"] = who;
  const std::string victim = printable(it.event.text("comm"), 64);
  if (kind == "oom_kill" && !victim.empty() && victim != who) it.values["victim"] = victim;
  if (it.log.oom_for_nvmap && !who.empty()) return "oom-gpu-buffer";
  const auto& slab = it.log.report.slab_pages;
  const auto& ram = it.log.report.ram_pages;
  if (slab && ram && *ram > 0 && *slab <= *ram && *slab >= kMuchSlab * *ram) {
    it.values["slab"] = doctor::share(*slab / *ram);
    return "oom-kernel-objects";
  }
  const auto& swap = it.log.report.swap_free_kb;
  const auto& all = it.log.report.swap_total_kb;
  if (swap && all && *all > 0 && *swap > *all / 2) {
    it.values["swap_free"] = doctor::bytes(*swap * 1024);
    const std::string& kernel = it.facts.kernel;
    if (kernel.starts_with("4.7.") || kernel.starts_with("4.8.")) {
      it.values["early_kernel"] = kernel;
    }
    return "oom-swap-unused";
  }
  return "memory-exhausted";
}

// A Mem-Info by itself: a zone below its min watermark says that memory was short.
std::string_view report(const Case& it) {
  bool is_short = false;
  for (const std::string_view zone : {"dma", "dma32", "normal"}) {
    const auto free = it.event.number("free_" + std::string(zone) + "_kb");
    const auto min = it.event.number("min_" + std::string(zone) + "_kb");
    is_short = is_short || (free && min && *free < *min);
  }
  if (!is_short) return {};
  const std::string_view id = pages(it);
  return id == "pages-only-cma" || id == "lowmem-short" ? id : "memory-exhausted";
}

std::string_view swap(const Case& it) {
  for (const std::string_view name : {"error", "entry"}) {
    if (const auto text = it.event.text(name); !text.empty()) it.values[name] = printable(text, 80);
  }
  const std::string_view op = it.event.text("op");
  // The device is zram, which says so itself.
  if (op == "read" && it.has_kind("zram_error")) return "";
  if (op == "read") return "swap-read";
  if (op == "write") return "swap-write";
  if (op == "entry") return "swap-entry-damaged";
  if (op != "swapon") return {};
  if (it.event.says("not enough memory")) return "swap-on-no-memory";
  const bool no_area =
      it.event.says_any({"swap-space signature", "swap area shorter", "has holes"});
  return no_area ? "swap-not-enabled" : it.event.has("error") ? "zswap-off" : "";
}

std::string_view choose_memory(const Case& it) {
  const std::string& kind = it.event.kind();
  if (kind == "page_alloc_failure" || kind == "page_alloc_stall") return pages(it);
  if (kind.starts_with("oom_")) return oom(it);
  if (kind == "memory_report") return report(it);
  if (kind == "slab_alloc_failure") {
    return is_atomic(it) ? "pages-atomic" : "";
  }
  if (kind == "vmalloc_failure") {
    if (const auto size = it.event.number("size")) it.values["size"] = doctor::bytes(*size);
    const bool no_pages = it.event.says_any({"pages", "page order"});
    return no_pages ? "vmalloc-pages" : "vmalloc-space";
  }
  if (kind == "zram_error") {
    const bool reading = it.event.text("op") == "read" || it.event.says("decompress");
    return reading ? "zram-damaged" : "zram-no-room";
  }
  if (kind == "swap_error") return swap(it);
  if (kind == "hugetlb_failure") return "hugetlb-short";
  return {};
}

}  // namespace

const CauseGroup kMemoryCauses{kMemoryTexts, choose_memory};

}  // namespace jetmem::diagnosis
