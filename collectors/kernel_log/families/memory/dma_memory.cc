// SPDX-License-Identifier: Apache-2.0
// Memory for devices: DMA buffers (kernel/dma, drivers) and bounce buffers (swiotlb). Contiguous
// areas are in cma.cc, nvmap in nvmap.cc, what drivers word in their own way in driver_memory.cc.
#include <array>

#include "collectors/kernel_log/families/common/family.h"
#include "collectors/kernel_log/text/line_parts.h"
#include "collectors/kernel_log/text/sentence_parts.h"

namespace jetmem::kernel_log {
namespace {

constexpr std::array<std::string_view, 12> kDmaMemoryAnchors{" of size ",
                                                             "failed to allocate buffer with size ",
                                                             "Failed to allocate buffer with size ",
                                                             "coherent allocation ",
                                                             "DMA: failed to allocate ",
                                                             "Failed to get suitable pool for ",
                                                             "dma_alloc_coherent failed",
                                                             "dma_alloc_coherent() failed",
                                                             "swiotlb buffer is full",
                                                             "Out of SW-IOMMU space for ",
                                                             "allocate SWIOTLB buffer",
                                                             "DMA pool exhausted for "};

// "[drm:vc4_bo_create [vc4]] *ERROR* ", "[drm] "
bool is_drm_mark(std::string_view text) {
  constexpr std::string_view kError = " *ERROR* ";
  if (text.substr(0, 4) != "[drm" || text.find(": ") != std::string_view::npos) return false;
  if (text.size() > kError.size() && text.substr(text.size() - kError.size()) == kError) {
    text.remove_suffix(kError.size() - 1);
  }
  return text.substr(text.size() - 2) == "] ";
}

// "isp_alloc_tables: ": a name of C, and none of the words that other messages use.
bool is_function_mark(std::string_view text) {
  if (text.size() < 3 || text.substr(text.size() - 2) != ": ") return false;
  text.remove_suffix(2);
  return text.find('_') != std::string_view::npos &&
         text.find_first_not_of("abcdefghijklmnopqrstuvwxyz_0123456789") == std::string_view::npos;
}

// Whether a message can begin behind `before`, which is one device's head ("DRIVER DEVICE: ") and
// the marks that drivers put behind it. What is looked for anywhere in a line could else be found
// in a text that another message quotes: "usb 1-1: Product: ...".
bool ends_a_prefix(std::string_view before) {
  if (before.empty() || is_drm_mark(before)) return true;
  const std::size_t head = before.find(": ");
  constexpr std::size_t kMaxHead = 96;
  if (head == std::string_view::npos || head == 0 || head > kMaxHead) return false;
  // "input: NAME as /devices/..."
  if (before.substr(0, head) == "input") return false;
  const std::string_view marks = before.substr(head + 2);
  return marks.empty() || is_drm_mark(marks) || is_function_mark(marks);
}

Piece dma_event(Event& event, std::string_view dev, std::optional<std::int64_t> size) {
  event.reset(EventKind::kDmaAllocFailure);
  set_if(event, "dev", dev);
  if (size) event.set_number("size", *size);
  return {.role = Role::kWhole};
}

// A size in decimal, or in hexadecimal with 0x. False when there is none; one that does not fit is
// omitted.
bool take_size(Scan& scan, std::optional<std::int64_t>& size) {
  if (scan.rest().substr(0, 2) != "0x") {
    Event number(EventKind::kNone);
    if (!take_count(scan, number, "size")) return false;
    size = number.number("size");
    return true;
  }
  const auto digits = scan.hex();
  const auto value = digits ? parse_hex(*digits) : std::nullopt;
  if (!value) return false;
  if (*value <= INT64_MAX) size = static_cast<std::int64_t>(*value);
  return true;
}

// Messages of drivers, with their device in front.
Piece driver_dma(std::string_view text, Event& event) {
  for (const std::string_view call :
       {"dma_alloc_coherent", "dma_alloc_attrs", "dma_alloc_wc", "dma_alloc_noncoherent",
        "dma_alloc_noncontiguous", "dma_alloc_pages", "dma alloc"}) {
    Scan scan(text);
    const auto before = scan.until(call);
    if (!before || !ends_a_prefix(*before)) continue;
    scan.literal("()");
    if (scan.literal(" of size ")) {
      std::optional<std::int64_t> size;
      if (!take_size(scan, size) || !scan.literal(" failed")) return {};
      return dma_event(event, device_before(*before), size);
    }
    if (call == "dma_alloc_coherent" && scan.literal(" failed")) {
      return dma_event(event, device_before(*before), std::nullopt);
    }
    return {};
  }
  Scan scan(text);
  if (const auto before = scan.until("failed to allocate buffer with size ")) {
    std::optional<std::int64_t> size;
    if (!take_size(scan, size) || !ends_a_prefix(*before)) return {};
    if (size) size = in_bytes(*size, scan.rest());
    return dma_event(event, device_before(*before), size);
  }
  if (const auto before = scan.until("coherent allocation too big (requested ")) {
    if (!ends_a_prefix(*before)) return {};
    std::optional<std::int64_t> size;
    if (!take_size(scan, size) || !scan.literal(" mask ")) return {};
    return dma_event(event, device_before(*before), size);
  }
  return {};
}

// Messages of the DMA code itself.
Piece core_dma(std::string_view text, Event& event) {
  Scan scan(text);
  if (scan.literal("DMA: failed to allocate ")) {
    const auto kib = scan.number();
    if (!kib || *kib < 0 || *kib > (INT64_MAX >> 10) || !scan.literal(" KiB ")) return {};
    if (!scan.past("pool for atomic ")) return {};
    return dma_event(event, {}, *kib * 1024);
  }
  if (scan.literal("Failed to get suitable pool for ") || scan.literal("DMA pool exhausted for ")) {
    const std::string_view dev = scan.up_to(" ");
    if (dev.empty()) return {};
    return dma_event(event, dev, std::nullopt);
  }
  const auto before = scan.until("swiotlb: coherent allocation failed");
  if (!before || !ends_a_prefix(*before)) return {};
  std::string_view dev = device_before(*before);
  if (scan.literal(" for device ")) dev = scan.up_to(" ,");
  scan.literal(",");
  if (!scan.literal(" size=")) return {};
  std::optional<std::int64_t> size;
  if (!take_size(scan, size)) return {};
  return dma_event(event, dev, size);
}

// "xhci_hcd 0000:01:00.0: swiotlb buffer is full (sz: 65536 bytes), total 32768 (slots), used 64
// (slots)"; no numbers of slots before 5.0. To 4.13 "DMA: Out of SW-IOMMU space for 65536 bytes at
// device 0000:01:00.0", before that "PCI-DMA: "; to 4.20 "DRIVER DEVICE: DMA: Out of SW-IOMMU space
// for 1536 bytes".
Piece swiotlb(std::string_view text, Event& event) {
  Scan scan(text);
  if (const auto head = scan.until("DMA: Out of SW-IOMMU space for ")) {
    if (*head != "PCI-" && !ends_a_prefix(*head)) return {};
    event.reset(EventKind::kSwiotlbFull);
    set_if(event, "dev", device_before(*head));
    if (!take_count(scan, event, "size") || !scan.literal(" bytes")) return {};
    if (scan.literal(" at device ") && scan.rest() != "?") {
      event.set_text("dev", scan.up_to(" "));
    }
    return {.role = Role::kWhole};
  }
  scan = Scan(text);
  // "xhci_hcd 0001:01:00.0: Can not allocate SWIOTLB buffer earlier and can't now provide you with
  // the DMA bounce buffer"
  if (const auto before = scan.until("Can not allocate SWIOTLB buffer earlier")) {
    if (!ends_a_prefix(*before)) return {};
    event.reset(EventKind::kSwiotlbFull);
    set_if(event, "dev", device_before(*before));
    return {.role = Role::kWhole};
  }
  const auto before = scan.until("swiotlb buffer is full");
  if (!before || !ends_a_prefix(*before)) return {};
  event.reset(EventKind::kSwiotlbFull);
  set_if(event, "dev", device_before(*before));
  if (scan.literal(" (sz: ")) {
    if (!take_count(scan, event, "size") || !scan.literal(" bytes)")) return {};
  }
  if (!scan.literal(", total ")) return {.role = Role::kWhole};
  const auto total = scan.number();
  if (!total || *total < 0) return {.role = Role::kWhole};
  const bool slots = scan.literal(" (slots)");
  if (!scan.literal(", used ")) return {.role = Role::kWhole};
  event.set_number("total", *total);
  const auto used = scan.number();
  if (!used || *used < 0 || (slots && !scan.literal(" (slots)"))) return {.role = Role::kWhole};
  event.set_number("used", *used);
  return {.role = Role::kWhole};
}

// "imx-sdma 30bd0000.dma: Failed to allocate scratch buffer of size 8192". So free a wording is
// believed of a device's driver only.
Piece worded_by_driver(std::string_view text, Event& event) {
  Scan scan(text);
  auto before = scan.until("ailed to allocate ");
  if (!before || before->empty() || (before->back() != 'f' && before->back() != 'F')) return {};
  before->remove_suffix(1);
  const std::string_view dev = device_before(*before);
  if (!ends_a_prefix(*before) || !is_kernel_name(dev)) return {};
  if (!scan.literal("buffer with size ")) {
    const auto what = scan.until(" of size ");
    if (!what || what->size() > 60 || !is_kernel_words(*what)) return {};
    constexpr std::array<std::string_view, 5> kBuffer{"buffer", "Buffer", "memory", "DMA", "dma"};
    if (!contains_any(*what, kBuffer)) return {};
  }
  std::optional<std::int64_t> size;
  if (!take_size(scan, size) || !at_word_end(scan)) return {};
  const auto bytes = size ? in_bytes(*size, scan.rest()) : std::nullopt;
  const Piece piece = dma_event(event, dev, bytes);
  if (size && !bytes && trim(scan.rest()).starts_with("page")) event.set_number("pages", *size);
  return piece;
}

Piece decode_dma_memory(std::string_view text, Event& event) {
  text = without_vendor_prefix(text);
  return first_piece({driver_dma, core_dma, swiotlb, worded_by_driver}, text, event);
}

void describe_dma_memory(const Event& event, std::string& out) {
  const auto size = event.number("size");
  const std::string_view dev = event.text("dev");
  const std::string device = dev.empty() ? "a device" : "device " + name_in_words(dev);
  const std::string amount =
      size ? size_in_words((*size >> 10) + (*size % 1024 != 0)) + " of " : "";
  switch (event.kind()) {
    case EventKind::kDmaAllocFailure:
      out += device + " was refused " + amount + "DMA memory";
      break;
    case EventKind::kSwiotlbFull: {
      out += device + " was refused " + (size ? amount : "a ") + "bounce buffer";
      const auto total = event.number("total");
      const auto used = event.number("used");
      if (total && used) {
        out +=
            "; " + std::to_string(*used) + " of " + std::to_string(*total) + " slots were in use";
      }
      break;
    }
    default:
      break;
  }
}

}  // namespace

const Family kDmaMemory{.name = "dma_memory",
                        .anchors = kDmaMemoryAnchors,
                        .decode = decode_dma_memory,
                        .describe = describe_dma_memory};

}  // namespace jetmem::kernel_log
