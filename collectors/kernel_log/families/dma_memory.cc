// Memory for devices: contiguous areas (mm/cma.c), DMA buffers (kernel/dma, drivers), bounce
// buffers (swiotlb) and the kernel's part of nvmap.
#include "collectors/kernel_log/families/families.h"
#include "collectors/kernel_log/families/shared.h"

namespace jetmem::kernel_log {
namespace {

constexpr std::array<std::string_view, 16> kAnchors{
    "alloc failed, req-size: ",
    " free of ",
    "number of available pages: ",
    "alloc_contig_range",
    " of size ",
    "failed to allocate buffer with size ",
    "coherent allocation ",
    "DMA: failed to allocate ",
    "Failed to get suitable pool for ",
    "dma_alloc_coherent failed",
    "dma_alloc_coherent() failed",
    "swiotlb buffer is full",
    "Out of SW-IOMMU space for ",
    "nvmap_",
    "nvmap nvmap: ",
    "nvmap: ",
};

std::string_view errno_name(std::int64_t ret) {
  switch (ret) {
    case -4:
      return "EINTR";
    case -11:
      return "EAGAIN";
    case -12:
      return "ENOMEM";
    case -14:
      return "EFAULT";
    case -16:
      return "EBUSY";
    case -22:
      return "EINVAL";
    case -28:
      return "ENOSPC";
    default:
      return {};
  }
}

// "cma: cma_alloc: linux,cma: alloc failed, req-size: 2048 pages, ret: -12"; no area before 5.12,
// __cma_alloc in new kernels.
Piece cma_failure(std::string_view text, Event& event) {
  Scan scan(text);
  const auto before = scan.until_last(": alloc failed, req-size: ");
  if (!before) return {};
  Scan who(*before);
  who.literal("cma: ");
  const std::string_view function = who.up_to(":");
  if (function.find("cma_alloc") == std::string_view::npos) return {};
  if (function.find(' ') != std::string_view::npos) return {};
  const auto pages = scan.number();
  if (!pages || *pages < 0 || !scan.literal(" pages, ret: ")) return {};
  const auto ret = scan.number();
  // -EINTR: whoever asked was killed meanwhile. That is no shortage.
  if (!ret || *ret == -4) return {};
  event.reset(EventKind::kCmaAllocFailure);
  if (who.literal(": ") && !who.at_end()) {
    event.set_text("area", who.rest());
  } else {
    event.set_null("area");
  }
  event.set_number("pages", *pages);
  event.set_number("ret", *ret);
  if (const std::string_view name = errno_name(*ret); !name.empty()) {
    event.set_text("errno", name);
  }
  return {.role = Role::kOpens};
}

// "6@8314+9@8343", or "6+9" without the places. Nothing for anything else.
std::optional<std::int64_t> largest_run(std::string_view runs) {
  Scan scan(runs);
  std::int64_t largest = -1;
  do {
    const auto length = scan.number();
    if (!length || *length < 0) return std::nullopt;
    if (scan.literal("@") && !scan.number()) return std::nullopt;
    largest = std::max(largest, *length);
  } while (scan.literal("+"));
  if (!scan.at_end()) return std::nullopt;
  return largest;
}

// "number of available pages: 6@8314+9@8343=> 15 free of 4096 total pages". A long list is spread
// over several records, and then the last has the sums.
Piece cma_pages(std::string_view text, Event& event) {
  Scan scan(text);
  scan.literal("cma: ");
  const bool whole = scan.literal("number of available pages: ");
  const auto runs = scan.until("=>");
  if (!runs) return {};
  const auto largest = largest_run(trim(*runs));
  scan.blanks();
  const auto free = scan.number();
  if (!free || *free < 0) return {};
  if (!scan.literal(" free of ")) {
    // A vendor's form: "=>357 pages, total: 2048 pages".
    if (!whole || !scan.literal(" pages, total: ")) return {};
  }
  const auto total = scan.number();
  if (!total || *total < 0) return {};
  if (!scan.literal(" total pages") && !scan.literal(" pages")) return {};
  const bool list = runs->find_first_not_of("0123456789@+ ") == std::string_view::npos;
  if (!whole && !list) return {};
  event.reset(EventKind::kCmaAllocFailure);
  event.set_number("free", *free);
  event.set_number("total", *total);
  if (whole && largest) event.set_number("largest", *largest);
  return {.role = Role::kFollows, .step = 1, .last = true};
}

// "alloc_contig_range: [2f100, 2f20a) PFNs busy"; up to 4.3 "alloc_contig_range
// test_pages_isolated(2f100, 2f20a) failed".
Piece cma_busy(std::string_view text, Event& event) {
  Scan scan(text);
  scan.literal("cma: ");
  scan.literal("__");
  if (!scan.literal("alloc_contig_range")) return {};
  scan.literal("_noprof");
  scan.literal(":");
  scan.blanks();
  const bool old = scan.literal("test_pages_isolated(");
  if (!old && !scan.literal("[")) return {};
  const auto start = scan.hex();
  if (!start || !scan.literal(", ")) return {};
  const auto end = scan.hex();
  if (!end || !scan.literal(old ? ") failed" : ") PFNs busy")) return {};
  event.reset(EventKind::kCmaBusy);
  event.set_hex("pfn_start", parse_hex(*start).value_or(0));
  event.set_hex("pfn_end", parse_hex(*end).value_or(0));
  return {.role = Role::kWhole};
}

Piece dma_event(Event& event, std::string_view dev, std::optional<std::int64_t> size) {
  event.reset(EventKind::kDmaAllocFailure);
  if (!dev.empty()) event.set_text("dev", dev);
  if (size) event.set_number("size", *size);
  return {.role = Role::kWhole};
}

// A size in decimal, or in hexadecimal with 0x.
std::optional<std::int64_t> size_here(Scan& scan) {
  if (scan.rest().substr(0, 2) != "0x") {
    const auto size = scan.number();
    return size && *size >= 0 ? size : std::nullopt;
  }
  const auto digits = scan.hex();
  const auto size = digits ? parse_hex(*digits) : std::nullopt;
  if (!size || *size > INT64_MAX) return std::nullopt;
  return static_cast<std::int64_t>(*size);
}

// Messages of drivers, with their device in front.
Piece driver_dma(std::string_view text, Event& event) {
  for (const std::string_view call :
       {"dma_alloc_coherent", "dma_alloc_attrs", "dma_alloc_wc", "dma_alloc_noncoherent",
        "dma_alloc_noncontiguous", "dma_alloc_pages", "dma alloc"}) {
    Scan scan(text);
    const auto before = scan.until(call);
    if (!before) continue;
    scan.literal("()");
    if (scan.literal(" of size ")) {
      const auto size = size_here(scan);
      if (!size || !scan.literal(" failed")) return {};
      return dma_event(event, device_before(*before), size);
    }
    if (call == "dma_alloc_coherent" && scan.literal(" failed")) {
      return dma_event(event, device_before(*before), std::nullopt);
    }
    return {};
  }
  Scan scan(text);
  if (const auto before = scan.until("failed to allocate buffer with size ")) {
    const auto size = size_here(scan);
    if (!size) return {};
    return dma_event(event, device_before(*before), size);
  }
  if (const auto before = scan.until("coherent allocation too big (requested ")) {
    const auto size = size_here(scan);
    if (!size || !scan.literal(" mask ")) return {};
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
  if (scan.literal("Failed to get suitable pool for ")) {
    const std::string_view dev = scan.up_to(" ");
    if (dev.empty()) return {};
    return dma_event(event, dev, std::nullopt);
  }
  const auto before = scan.until("swiotlb: coherent allocation failed");
  if (!before) return {};
  std::string_view dev = device_before(*before);
  if (scan.literal(" for device ")) dev = scan.up_to(" ,");
  scan.literal(",");
  if (!scan.literal(" size=")) return {};
  const auto size = size_here(scan);
  if (!size) return {};
  return dma_event(event, dev, size);
}

// "xhci_hcd 0000:01:00.0: swiotlb buffer is full (sz: 65536 bytes), total 32768 (slots), used 64
// (slots)"; no numbers of slots before 5.0. To 4.13 "DMA: Out of SW-IOMMU space for 65536 bytes at
// device 0000:01:00.0".
Piece swiotlb(std::string_view text, Event& event) {
  Scan scan(text);
  if (scan.literal("DMA: Out of SW-IOMMU space for ")) {
    const auto size = scan.number();
    if (!size || *size < 0 || !scan.literal(" bytes")) return {};
    event.reset(EventKind::kSwiotlbFull);
    event.set_number("size", *size);
    if (scan.literal(" at device ") && scan.rest() != "?") {
      event.set_text("dev", scan.up_to(" "));
    }
    return {.role = Role::kWhole};
  }
  const auto before = scan.until("swiotlb buffer is full");
  if (!before) return {};
  event.reset(EventKind::kSwiotlbFull);
  if (const std::string_view dev = device_before(*before); !dev.empty()) event.set_text("dev", dev);
  if (scan.literal(" (sz: ")) {
    const auto size = scan.number();
    if (!size || *size < 0 || !scan.literal(" bytes)")) return {};
    event.set_number("size", *size);
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

bool has_any(std::string_view text, std::initializer_list<std::string_view> words) {
  for (const std::string_view word : words) {
    if (text.find(word) != std::string_view::npos) return true;
  }
  return false;
}

// "nvmap_heap_init: ..." (the function in front), or "nvmap nvmap: ..." of dev_err(). Its wordings
// are many; what they share are a word for memory and one for failure.
Piece nvmap(std::string_view text, Event& event) {
  Scan scan(text);
  std::string_view function;
  if (scan.literal("nvmap nvmap: ") || scan.literal("nvmap: ")) {
    if (scan.rest().substr(0, 6) == "nvmap_") function = scan.up_to(": ");
  } else if (text.substr(0, 6) == "nvmap_") {
    function = scan.up_to(": ");
  } else {
    return {};
  }
  if (!function.empty() && !scan.literal(":")) return {};
  scan.blanks();
  const std::string_view message = scan.rest();
  if (!has_any(message, {"alloc", "memory", "Alloc", "Memory"})) return {};
  if (!has_any(message, {"fail", "Fail", "out of memory", "Out of memory", "no memory", "unable to",
                         "Unable to", "cannot ", "Cannot ", "insufficient"})) {
    return {};
  }
  event.reset(EventKind::kNvmap);
  if (!function.empty()) event.set_text("function", function);
  event.set_text("error", message);
  return {.role = Role::kWhole};
}

Piece decode(std::string_view text, Event& event) {
  text = without_vendor_prefix(text);
  for (auto* const format :
       {cma_failure, cma_pages, cma_busy, driver_dma, core_dma, swiotlb, nvmap}) {
    const Piece piece = format(text, event);
    if (piece.role != Role::kNothing) return piece;
  }
  return {};
}

void describe_cma(const Event& event, std::string& out) {
  const std::string_view area = event.text("area");
  const auto pages = event.number("pages");
  const auto free = event.number("free");
  const auto largest = event.number("largest");
  out += "no ";
  if (pages) out += std::to_string(*pages) + " ";
  out += "pages in a row to be had from ";
  out += area.empty() ? "a CMA area" : "the CMA area ";
  out += short_name(area);
  if (event.text("errno") == "EBUSY") out += ": pages in the way could not be moved";
  if (free) {
    out += "; " + std::to_string(*free) + " were free";
    if (largest) out += ", the longest run " + std::to_string(*largest);
  }
}

void describe(const Event& event, std::string& out) {
  const auto size = event.number("size");
  std::string device;
  if (const std::string_view dev = event.text("dev"); !dev.empty()) {
    device = " for " + short_name(dev);
  }
  const std::string amount =
      size ? size_in_words((*size >> 10) + (*size % 1024 != 0)) + " of " : "";
  switch (event.kind()) {
    case EventKind::kCmaAllocFailure:
      describe_cma(event, out);
      break;
    case EventKind::kCmaBusy:
      out += "pages could not be moved out of a contiguous area";
      break;
    case EventKind::kDmaAllocFailure:
      out += "no " + amount + "DMA memory" + device;
      break;
    case EventKind::kSwiotlbFull: {
      out += "no " + amount + "bounce buffer" + device;
      const auto total = event.number("total");
      const auto used = event.number("used");
      if (total && used) {
        out +=
            "; " + std::to_string(*used) + " of " + std::to_string(*total) + " slots were in use";
      }
      break;
    }
    case EventKind::kNvmap:
      // Also of the user space library, whose events have numbers instead.
      if (!event.has("error")) break;
      out += "nvmap did not get memory for a GPU or multimedia buffer";
      break;
    default:
      break;
  }
}

}  // namespace

const Family kDmaMemory{.name = "dma_memory",
                        .anchors = kAnchors,
                        .decode = decode,
                        .complete = nullptr,
                        .describe = describe};

}  // namespace jetmem::kernel_log
