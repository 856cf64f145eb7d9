// SPDX-License-Identifier: Apache-2.0
// Memory that devices reach: bounce buffers, CMA, DMA addresses, what is reserved at boot.
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#include "base/text/text.h"
#include "report/diagnosis/cause.h"
#include "report/diagnosis/format.h"

namespace jetmem::diagnosis {
namespace {

// IO_TLB_SIZE, and IO_TLB_SEGSIZE of them: a mapping takes adjacent slots of one segment.
constexpr double kSlot = 2048;
constexpr double kMostOfOneMapping = 128 * kSlot;
// Above this share of its slots the pool is full; the rest is spread.
constexpr double kFull = 0.95;

constexpr std::array kDmaTexts{
    CauseText{"swiotlb-mapping-too-large", Harm::kWarning,
              "{dev} requested {?{size} of }bounce buffer in one piece, more than the 256 KiB (128 "
              "slots) that swiotlb can give for one mapping{?; {used} of {total} slots are used, "
              "so it is not full}.",
              "swiotlb= does not help. The driver must limit its requests (dma_max_mapping_size): "
              "update the kernel; for a disk or SD card: echo 256 | sudo tee "
              "/sys/block/NAME/queue/max_sectors_kb. A large coherent buffer needs the device's "
              "IOMMU (enable it in the device tree) or CMA (cma=256M)."},
    CauseText{"swiotlb-out-of-reach", Harm::kWarning,
              "{dev} was refused {?{size} of }bounce buffer although none of the {total} slots is "
              "used: its DMA mask or alignment excludes the whole pool.",
              "swiotlb= does not help. Update the driver, which sets the DMA mask; check "
              "dma-ranges of its device tree node."},
    CauseText{
        "swiotlb-exhausted", Harm::kWarning,
        "The bounce buffer is used up: {used} of {total} slots ({pool}) are in use when {dev} "
        "requests {?{size} }more. A driver leaks DMA mappings, or the pool is too small for the "
        "load.",
        "Watch: sudo cat /sys/kernel/debug/swiotlb/io_tlb_used. If it only grows, the driver of "
        "{dev} leaks: reload or update it; a reboot clears it. Otherwise enlarge the pool with "
        "swiotlb={more_slots} on the kernel command line (slots of 2 KiB)."},
    CauseText{"swiotlb-fragmented", Harm::kWarning,
              "The bounce buffer is fragmented: {used} of {total} slots are used, but {dev} needs "
              "{size} in one piece and no such run is free.",
              "Enlarge the pool with swiotlb={more_slots} on the kernel command line (slots of 2 "
              "KiB), or make the transfers of {dev} smaller."},
    CauseText{"swiotlb-full", Harm::kWarning,
              "{dev} cannot reach all memory, and no {?{size} of }bounce buffer (swiotlb) was free "
              "for its DMA{?; the command line already has {swiotlb_arg}}. One mapping gets at "
              "most 256 KiB, whatever the pool's size.",
              "Enlarge the pool with swiotlb={more_slots} on the kernel command line (slots of 2 "
              "KiB; on U-Boot boards in its bootargs), and send fewer or smaller transfers. If it "
              "fills again after hours, the driver leaks mappings. Update the kernel: old ones do "
              "not keep DMA memory below the device's limit."},
    CauseText{"dma-mask-too-narrow", Harm::kWarning,
              "The driver of {dev} set a DMA mask{? of {mask}} that memory on this machine "
              "exceeds: even the bounce buffer lies beyond it.",
              "More bounce memory does not help. The driver must set a 64-bit DMA mask: update it. "
              "On a Raspberry Pi 5: dtoverlay=pcie-32bit-dma-pi5 in config.txt.",
              "dma-mapping"},
    CauseText{"dma-map-failed", Harm::kWarning,
              "A buffer could not be mapped for {dev}: its DMA address space or bounce buffer is "
              "full, or the buffer is invalid{? (errno {errno})}.",
              "Restart the program that uses {dev}: sudo jetmem top --sort dmabuf shows who holds "
              "buffers. If it fills again, the driver or program leaks mappings: update it."},
    CauseText{"no-iommu", Harm::kWarning,
              "{dev} runs without an IOMMU: it needs contiguous memory, and nothing reports its "
              "wrong accesses.",
              "Enable its IOMMU in the device tree (iommus), or give it CMA: cma=256M on the "
              "kernel command line."},
    CauseText{"iova-exhausted", Harm::kWarning,
              "The DMA address space of {dev} is full or fragmented: mappings leak, or its "
              "aperture is too small.",
              "Restart the program that uses {dev}; if it fills again, update the driver, which "
              "leaks mappings. sudo jetmem top --sort dmabuf shows who holds buffers."},
    CauseText{"cma-missing", Harm::kCritical,
              "This kernel has no contiguous memory area (CmaTotal is 0): every driver that needs "
              "one fails{?, as {dev}}. cma= on the command line replaces the node linux,cma, and a "
              "size that does not fit leaves no area.",
              "sudo dmesg | grep -iE 'cma|reserved mem' shows why none was reserved. Set cma=256M "
              "on the kernel command line, or correct linux,cma in the device tree, and reboot.",
              "reserved-memory"},
    CauseText{"cma-too-small", Harm::kWarning,
              "{request} of contiguous memory was requested{? by {dev}}, but the whole area has "
              "only {area_size}.",
              "Enlarge it and reboot: cma={cma} on the kernel command line (Raspberry Pi: "
              "dtoverlay=vc4-kms-v3d,cma-512 in config.txt)."},
    CauseText{
        "cma-exhausted", Harm::kWarning,
        "The contiguous area is full: {request} was requested, {free}{? of {area_size}} is free.",
        "Find the holder and restart it: jetmem cma; sudo jetmem top. For a larger area, raise "
        "cma= on the kernel command line above the present size, and reboot.",
        "cma-exhausted"},
    CauseText{
        "cma-fragmented", Harm::kWarning,
        "The contiguous area is fragmented: {request} was requested, {free} is free, but no "
        "free piece fits{?: the largest is {largest}}.",
        "Restart the camera and display programs that hold small buffers: jetmem cma. For a larger "
        "area, raise cma= on the kernel command line above the present size, and reboot.",
        "cma-fragmented"},
    CauseText{"cma-pinned", Harm::kWarning,
              "Pages in the contiguous area could not be moved out of the way (EBUSY): programs or "
              "drivers pin them{?; {request} was requested}.",
              "Retry: it often succeeds then. If not, stop programs that pin memory (RDMA, "
              "io_uring or long DMA): jetmem cma; sudo jetmem top."},
    CauseText{"cma-boot-fallback", Harm::kNone,
              "Harmless: at boot a frame buffer driver (bcm2708_fb) tries CMA first and falls back "
              "to the firmware's memory; nothing is lost.",
              "Nothing to do. cma=64M or more on the kernel command line silences the message."},
    CauseText{"cma-refused", Harm::kWarning,
              "Contiguous memory was refused{? ({request})}: the area (CMA) is too small for it, "
              "or other drivers use it.",
              "jetmem cma shows size and holders. Enlarge it and reboot: cma={cma}, or more if it "
              "has that already, on the kernel command line (Raspberry Pi: "
              "dtoverlay=vc4-kms-v3d,cma-512 in config.txt)."},
    CauseText{"bos-fill-cma", Harm::kWarning,
              "GPU and display buffers{? of {bo_size}}{? in {bo_count} objects} probably fill the "
              "contiguous area: the next buffer is refused{?, and {dev} fails}.",
              "Enlarge the area: cma=512M on the kernel command line (Raspberry Pi: "
              "dtoverlay=vc4-kms-v3d,cma-512; gpu_mem does not help), use fewer frame buffers "
              "(max_framebuffers=1). If dumb buffers grow with each mode change or rotation, they "
              "leak: update kernel and firmware.",
              "cma-exhausted"},
    CauseText{"dma-no-contiguous", Harm::kWarning,
              "{dev} was refused {?{size} of }DMA memory. Without an IOMMU it needs one contiguous "
              "piece, and the contiguous area (CMA) is too small or in use.",
              "jetmem cma shows size and holders. Enlarge it and reboot: cma={cma}, or more if it "
              "has that already, on the kernel command line; or enable the device's IOMMU in the "
              "device tree."},
    CauseText{"cma-not-reserved", Harm::kCritical,
              "The contiguous area{? of node {node}} could not be reserved at boot: it does not "
              "fit where the device tree or cma= places it. Until the next boot every driver that "
              "needs contiguous memory fails.",
              "Make room or make it smaller, and reboot: on a Raspberry Pi lower or remove gpu_mem "
              "in config.txt, which takes the same low memory; else set cma=128M. cma= on the "
              "command line replaces the node linux,cma. Base and size must be multiples of the "
              "page block: 4 MiB, with 64 KiB pages 512 MiB."},
    CauseText{"reserved-memory-failed", Harm::kWarning,
              "Memory that the device tree sets aside at boot{? (node {node})}{? for {dev}} could "
              "not be reserved; what depends on it fails until the next boot.",
              "sudo dmesg | grep -i 'reserved mem'; ls /proc/device-tree/reserved-memory. Correct "
              "size, alignment or address of the node so that it overlaps no other region, and "
              "reboot. Keep bootloader, device tree and kernel on the same release."},
};

// Room for a few such requests, and more than the area of today, which was too small.
std::string next_power(double request, std::optional<double> area) {
  constexpr double kMiB = 1 << 20;
  double wanted = std::clamp(request * 4 / kMiB, 64.0, 2048.0);
  if (area && *area > 0) wanted = std::clamp(*area * 1.5 / kMiB, wanted, 2048.0);
  return std::to_string(std::bit_ceil(static_cast<std::uint32_t>(std::ceil(wanted)))) + "M";
}

std::string_view swiotlb(const Case& it) {
  const auto size = it.event.number("size");
  const auto used = it.event.number({"used", "slots_used"});
  const auto total = it.event.number({"total", "slots_total"});
  std::optional<std::uint64_t> known;  // how many slots there are
  if (size) it.values["size"] = doctor::bytes(*size);
  if (used) it.values["used"] = doctor::count(*used);
  if (total) {
    it.values["total"] = doctor::count(*total);
    it.values["pool"] = doctor::bytes(*total * kSlot);
    if (*total > 0) known = static_cast<std::uint64_t>(std::min(*total, 1e9));
  }
  if (const std::size_t at = it.facts.command_line.find("swiotlb="); at != std::string::npos) {
    const std::string rest = it.facts.command_line.substr(at);
    it.values["swiotlb_arg"] = printable(rest.substr(0, rest.find(' ')), 40);
    std::string_view slots = std::string_view(rest).substr(std::string_view("swiotlb=").size());
    if (!known) known = take_u64(slots);
  }
  constexpr std::uint64_t kFewestSlots = 65536;
  constexpr std::uint64_t kMostSlots = 1 << 23;  // 16 GiB
  const std::uint64_t twice = std::min(known.value_or(0), kMostSlots) * 2;
  it.values["more_slots"] =
      std::to_string(std::clamp(std::bit_ceil(twice), kFewestSlots, kMostSlots));
  if (it.event.has("mask") || it.event.says("overflow")) {
    if (const auto mask = it.event.text("mask"); !mask.empty()) {
      it.values["mask"] = printable(mask, 40);
    }
    return "dma-mask-too-narrow";
  }
  if (size && *size > kMostOfOneMapping) return "swiotlb-mapping-too-large";
  if (!used || !total || *total <= 0) return "swiotlb-full";
  if (*used <= 0) return "swiotlb-out-of-reach";
  return *used >= kFull * *total ? "swiotlb-exhausted" : "swiotlb-fragmented";
}

// What the log or the machine says of the area: pages of `page` bytes.
std::string_view cma(const Case& it) {
  const double page = it.facts.page_size.value_or(4096);
  const auto pages = it.event.number("pages");
  const auto bytes = it.event.number("size");
  const double request = pages ? *pages * page : bytes.value_or(0);
  const auto free = it.event.number("free");
  const auto total = it.event.number("total");
  const auto largest = it.event.number("largest");
  const auto area = total ? std::optional(*total * page) : it.facts.cma_total;
  if (request > 0) it.values["request"] = it.values["size"] = doctor::bytes(request);
  it.values["cma"] = next_power(request, area);
  if (area) it.values["area_size"] = doctor::bytes(*area);
  if (free) it.values["free"] = doctor::bytes(*free * page);
  if (largest) it.values["largest"] = doctor::bytes(*largest * page);
  const auto bo_size = it.event.number("bos_kb");
  const auto bo_count = it.event.number({"bos", "bo_count"});
  if (bo_size) it.values["bo_size"] = doctor::bytes(*bo_size * 1024);
  if (bo_count) it.values["bo_count"] = doctor::count(*bo_count);
  if (bo_size || it.event.says_any({"vc4", "v3d"})) return "bos-fill-cma";
  if (area && *area <= 0) {
    // Usual on PCs and servers, whose devices have IOMMUs: not the cause of every refusal.
    const bool needs_cma = it.event.kind() == "cma_alloc_failure" || it.facts.is_jetson() ||
                           it.has_kind("reserved_memory_failure");
    return needs_cma ? "cma-missing" : "";
  }
  if (area && request > *area) return "cma-too-small";
  if (free && pages && *free < *pages) return "cma-exhausted";
  const bool is_large_enough = largest && pages && *largest >= *pages;
  // EBUSY: a free run was found, and pages in it could not be moved out of the way.
  if (it.event.errno_of() == 16 && (!largest || is_large_enough)) return "cma-pinned";
  // Large enough, but not aligned as it must be.
  if (is_large_enough) it.values.erase("largest");
  if (free && pages) return "cma-fragmented";
  if (it.event.errno_of() == 16) return "cma-pinned";
  if (it.event.kind() == "dma_alloc_failure") return "dma-no-contiguous";
  return request > 0 || it.event.kind() == "cma_alloc_failure" ? "cma-refused" : "";
}

std::string_view reserved(const Case& it) {
  for (const std::string_view name : {"node", "area", "region"}) {
    if (const auto node = it.event.text(name); !node.empty())
      it.values["node"] = printable(node, 60);
  }
  const auto node = it.values.find("node");
  const bool is_cma = (node != it.values.end() && contains(node->second, "cma")) ||
                      it.event.says_any({"linux,cma", "cma:", "contiguous"});
  return is_cma ? "cma-not-reserved" : "reserved-memory-failed";
}

std::string_view choose_dma(const Case& it) {
  const std::string& kind = it.event.kind();
  if (it.event.text("fallback") == "true") return {};
  if (kind == "swiotlb_full") return swiotlb(it);
  if (kind == "iova_exhausted") return "iova-exhausted";
  if (kind == "reserved_memory_failure") return reserved(it);
  if (kind == "dma_map_failure") {
    if (it.event.has("mask") || it.event.says_any({"overflow", "dma mask", "dma_mask"})) {
      return swiotlb(it) == "dma-mask-too-narrow" ? "dma-mask-too-narrow" : "dma-map-failed";
    }
    if (it.event.says_any({"without iommu", "no iommu"})) return "no-iommu";
    if (const int number = it.event.errno_of(); number > 0) {
      it.values["errno"] = std::to_string(number);
    }
    return "dma-map-failed";
  }
  if (kind == "cma_alloc_failure") {
    // The decoder found that the frame buffer came up all the same.
    const bool harmless = it.event.says("bcm2708_fb") || it.event.text("harmless") == "true";
    return harmless ? "cma-boot-fallback" : cma(it);
  }
  if (kind == "dma_alloc_failure") return cma(it);
  if (kind == "gpu_alloc_failure" &&
      (it.event.has("bos_kb") || it.event.says_any({"vc4", "v3d"}))) {
    return cma(it);
  }
  return {};
}

}  // namespace

const CauseGroup kDmaCauses{kDmaTexts, choose_dma};

}  // namespace jetmem::diagnosis
