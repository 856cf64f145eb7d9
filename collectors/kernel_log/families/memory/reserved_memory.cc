// SPDX-License-Identifier: Apache-2.0
// Memory that is set aside at boot and was not to be had: contiguous areas, nodes of
// /reserved-memory, bounce buffers, huge pages; and huge pages that are added later.
#include <array>

#include "collectors/kernel_log/families/common/family.h"
#include "collectors/kernel_log/text/driver_line.h"
#include "collectors/kernel_log/text/line_parts.h"
#include "collectors/kernel_log/text/sentence_parts.h"

namespace jetmem::kernel_log {
namespace {

constexpr std::array<std::string_view, 10> kReservedMemoryAnchors{"cma: ",
                                                                  "eserved mem",
                                                                  "software IO TLB: ",
                                                                  "hugetlb",
                                                                  "HugeTLB: ",
                                                                  "nvmap_heap_create",
                                                                  "nvmap_co_device_init",
                                                                  "nvmap_init: ",
                                                                  "nvmap_populate_ivm_carveout",
                                                                  "hugepage pool"};

// The name in quotation marks behind "node ", or in "node linux,cma compatible matching fail".
void set_node(std::string_view text, Event& event) {
  Scan scan(text);
  if (!scan.past("node '")) {
    if (scan.past("node ")) {
      const auto name = scan.until(" compatible ");
      if (name && is_kernel_name(*name)) return event.set_text("node", *name);
    }
    scan = Scan(text);
    if (!scan.past("CMA area ")) return;
    const std::string_view name = scan.up_to(" ");
    if (is_kernel_name(name)) event.set_text("node", name);
    return;
  }
  if (const auto name = scan.until("'"); name && is_kernel_name(*name)) {
    event.set_text("node", *name);
  }
}

void set_reserved_size(std::string_view text, Event& event) {
  Scan scan(text);
  std::optional<std::int64_t> mib;
  if (scan.past("size ") || (scan = Scan(text)).past("reserve ")) {
    mib = scan.number();
    if (mib && *mib >= 0 && *mib < (1LL << 40) && scan.literal(" MiB")) {
      event.set_number("size", *mib << 20);
      return;
    }
  }
  scan = Scan(text);
  if (!scan.past("allocate ")) return;
  const auto bytes = scan.number();
  if (bytes && *bytes >= 0 && scan.literal(" bytes")) event.set_number("size", *bytes);
}

Piece reserved(std::string_view text, std::string_view message, Event& event) {
  event.reset(EventKind::kReservedMemoryFailure);
  set_node(message, event);
  set_reserved_size(message, event);
  event.set_text("text", text);
  return {.role = Role::kWhole};
}

bool is_failure(const Words& words) {
  return reports_failure(words) ||
         words.has_any({"could not", "not enough slots", "exceeds limit", "incorrect alignment",
                        "not yet supported", "overlaps", "unaligned", "too small",
                        "unsupported node", "only able", "should be at least"});
}

// "cma: Failed to reserve 512 MiB", "OF: fdt: Reserved memory: failed to reserve memory for node
// 'vpr-carveout': base 0x..., size 16 MiB" (without the blank in 4.9), "OF: reserved mem: ... node
// 'vpr-carveout': base 0x..., size 64 MiB", "Reserved memory: unable to setup CMA region".
Piece at_boot(std::string_view text, Event& event) {
  Scan scan(text);
  // Old kernels fill "OF" up with blanks.
  if (scan.literal("OF")) {
    scan.blanks();
    if (!scan.literal(": ")) return {};
  }
  if (scan.literal("fdt:")) scan.blanks();
  bool known = false;
  for (const std::string_view head : {"cma: ", "CMA: ", "reserved mem: ", "Reserved memory: ",
                                      "reserved-memory: ", "hugetlb_cma: "}) {
    known = scan.literal(head) || known;
  }
  const bool contiguous = known && text.find("alloc failed, req-size") != std::string_view::npos;
  if (!known || contiguous) return {};
  const Words words(scan.rest());
  const bool reserves = words.has_any({"reserv", "memory for node", "region", "cma area", "slots",
                                       "memory pool", "unsupported node"});
  if (!reserves || !is_failure(words)) return {};
  // A node that the boot loader fills in, and did not: "fb0_carveout" of every Nano without a
  // display. Nothing was to be reserved.
  if (contains(scan.rest(), ": base 0x0000000000000000, size 0 MiB")) return {};
  return reserved(scan.rest(), text, event);
}

// "software IO TLB: Cannot allocate buffer". "No low mem" is normal where all devices reach all
// memory.
Piece bounce_buffers(std::string_view text, Event& event) {
  Scan scan(text);
  if (!scan.literal("software IO TLB: ")) return {};
  const Words words(scan.rest());
  if (!is_failure(words)) return {};
  if (words.has("new pool")) {
    event.reset(EventKind::kSwiotlbFull);
    event.set_text("text", scan.rest());
    return {.role = Role::kWhole};
  }
  return reserved(scan.rest(), text, event);
}

// "HugeTLB: allocating 512 of page size 2.00 MiB failed node0.  Only allocated 12 hugepages."
Piece huge_pages(std::string_view text, Event& event) {
  Scan scan(text);
  // The process touched a page that its mapping had no huge page left for.
  Scan killed(text);
  killed.literal("HugeTLB: ");
  if (killed.literal("PID ")) {
    event.reset(EventKind::kHugetlbFailure);
    if (!take_natural(killed, event, "pid")) return {};
    if (!killed.literal(" killed due to inadequate hugepage pool")) return {};
    return {.role = Role::kWhole};
  }
  if (!scan.literal("HugeTLB: allocating ")) return {};
  event.reset(EventKind::kHugetlbFailure);
  if (!take_natural(scan, event, "wanted") || !scan.literal(" of page size ")) return {};
  const auto size = scan.number();
  std::int64_t unit = 0;
  if (size && scan.literal(".")) scan.number();
  if (scan.literal(" MiB")) unit = 1024;
  if (scan.literal(" GiB")) unit = std::int64_t{1024} * 1024;
  if (scan.literal(" KiB")) unit = 1;
  if (size && *size > 0 && *size < 4096 && unit != 0) event.set_number("size_kb", *size * unit);
  if (!scan.literal(" failed")) return {};
  if (scan.past("Only allocated ")) take_natural(scan, event, "allocated");
  return {.role = Role::kWhole};
}

// NVIDIA's nvmap declares its carve-outs: "nvmap_heap_create: vpr: dma coherent declare fail
// 0x...".
Piece carveout(std::string_view text, Event& event) {
  Scan scan(text);
  const std::string_view function = scan.up_to(":");
  if (function != "nvmap_heap_create" && function != "nvmap_co_device_init" &&
      function != "nvmap_init" && function != "nvmap_populate_ivm_carveout") {
    return {};
  }
  scan.literal(": ");
  const Words words(scan.rest());
  const bool fails =
      words.has_any({"coherent declare fail", "mem declare fail", "declaration failed",
                     "unable to acquire memory-region", "failed to reserve"});
  if (!fails) return {};
  event.reset(EventKind::kReservedMemoryFailure);
  event.set_text("function", function);
  event.set_text("text", scan.rest());
  return {.role = Role::kWhole};
}

Piece decode_reserved_memory(std::string_view text, Event& event) {
  text = without_vendor_prefix(text);
  const Piece piece = first_piece({at_boot, bounce_buffers, huge_pages, carveout}, text, event);
  if (piece.role == Role::kNothing || !contains_any(text, kReservedMemoryAnchors)) return {};
  return piece;
}

void describe_reserved_memory(const Event& event, std::string& out) {
  if (event.kind() == EventKind::kHugetlbFailure && event.has("pid")) {
    out += process_in_words(event) + " was killed: no huge page was left for it";
    return;
  }
  if (event.kind() == EventKind::kHugetlbFailure) {
    out += "the kernel could not allocate as many huge pages as requested";
    add_number(out, event, "allocated", ", only ");
    add_number(out, event, "wanted", " of ");
    return;
  }
  if (event.kind() != EventKind::kReservedMemoryFailure) return;
  out += "reserved memory";
  add_name(out, event, "node", " of node ");
  add_name(out, event, "dev", " for ");
  out += " was not available";
  if (const auto size = event.number("size")) {
    out += ", " + size_in_words((*size >> 10) + (*size % 1024 != 0)) + " requested";
  }
  add_quote(out, event, "text", ", \"", "\"", 120);
}

}  // namespace

const Family kReservedMemory{.name = "reserved_memory",
                             .anchors = kReservedMemoryAnchors,
                             .decode = decode_reserved_memory,
                             .describe = describe_reserved_memory};

}  // namespace jetmem::kernel_log
