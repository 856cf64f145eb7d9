// SPDX-License-Identifier: Apache-2.0
// The state of memory that the kernel prints below an allocation failure and an OOM kill
// (show_mem() in mm/show_mem.c, before 6.5 lib/show_mem.c and mm/page_alloc.c). Its lines are kept
// with the event above them; where that is missing, because the log begins here, they are an event
// of their own.
#include <array>

#include "collectors/kernel_log/families/common/family.h"
#include "collectors/kernel_log/text/line_parts.h"
#include "collectors/kernel_log/text/sentence_parts.h"

namespace jetmem::kernel_log {
namespace {

constexpr std::array<std::string_view, 9> kMemoryReportAnchors{
    "Mem-Info:",     "kB min:",    " free_cma:",      " slab_unreclaimable:", "Free swap  = ",
    "Total swap = ", " pages RAM", " pages reserved", " pages cma reserved"};

constexpr std::array<EventKind, 4> kReportsOf{EventKind::kOomInvoked, EventKind::kPageAllocFailure,
                                              EventKind::kPageAllocStall, EventKind::kMemoryReport};

// A zone's names as the kernel prints them, and the fields for what is free in it.
struct Zone {
  std::string_view name;
  std::string_view free_kb;
  std::string_view min_kb;
};
constexpr std::array kZones{Zone{"DMA", "free_dma_kb", "min_dma_kb"},
                            Zone{"DMA32", "free_dma32_kb", "min_dma32_kb"},
                            Zone{"Normal", "free_normal_kb", "min_normal_kb"},
                            Zone{"HighMem", "free_highmem_kb", "min_highmem_kb"},
                            Zone{"Movable", "free_movable_kb", "min_movable_kb"}};

Piece line_of_report(bool opens) {
  Piece piece{.role = opens ? Role::kFollowsOrOpens : Role::kFollows, .step = 1, .repeats = true};
  piece.of = kReportsOf;
  return piece;
}

// "Node 0 DMA free:69192kB min:40960kB low:51200kB ... free_cma:44kB"; "Normal free:..." on old
// kernels.
Piece zone_line(std::string_view text, Event& event) {
  Scan scan(text);
  if (scan.literal("Node ")) {
    if (!scan.number() || !scan.literal(" ")) return {};
  }
  const auto name = scan.until(" free:");
  if (!name || scan.rest().find("kB min:") == std::string_view::npos) return {};
  for (const Zone& zone : kZones) {
    if (zone.name != *name) continue;
    event.reset(EventKind::kMemoryReport);
    if (!take_count(scan, event, zone.free_kb) || !scan.literal("kB")) return {};
    // 5.8 and later may have "boost:" between.
    set_sized(event, zone.min_kb, scan.rest(), " min:", "kB");
    set_sized(event, "free_cma_kb", scan.rest(), " free_cma:", "kB");
    // One zone has the CMA pages; the others print 0.
    if (event.number("free_cma_kb") == 0) event.remove("free_cma_kb");
    return line_of_report(true);
  }
  return {};
}

// " slab_reclaimable:9012 slab_unreclaimable:41100", " free:22123 free_pcp:81 free_cma:11", on old
// kernels " free:22123 slab_reclaimable:9012 slab_unreclaimable:41100": pages.
Piece counts_line(std::string_view text, Event& event) {
  event.reset(EventKind::kMemoryReport);
  const auto set = [&](std::string_view name, std::string_view key) {
    Scan scan(text);
    if (!scan.past(key)) return false;
    const auto pages = scan.number();
    if (pages && *pages >= 0 && (scan.at_end() || scan.literal(" "))) {
      event.set_number(name, *pages);
    }
    return true;
  };
  Scan scan(text);
  scan.blanks();
  const bool opens_free = scan.literal("free:");
  if (!opens_free && !scan.literal("slab_reclaimable:")) return {};
  const bool slab = set("slab_unreclaimable_pages", " slab_unreclaimable:");
  const bool free = opens_free && text.find(" free_cma:") != std::string_view::npos;
  if (!slab && !free) return {};
  if (!slab) set("free_pages", "free:");
  return event.size() > 0 ? line_of_report(true) : Piece{};
}

// "Total swap = 3901436kB", "983040 pages RAM", "65536 pages cma reserved".
Piece total_line(std::string_view text, Event& event) {
  Scan scan(text);
  event.reset(EventKind::kMemoryReport);
  if (scan.literal("Mem-Info:")) return scan.at_end() ? line_of_report(false) : Piece{};
  for (const auto& [head, name] :
       {std::pair{"Free swap  = ", "swap_free_kb"}, std::pair{"Total swap = ", "swap_total_kb"}}) {
    if (!scan.literal(head)) continue;
    if (!take_natural(scan, event, name) || scan.rest() != "kB") return {};
    return line_of_report(name == std::string_view("swap_total_kb"));
  }
  const auto pages = scan.number();
  if (!pages || *pages < 0) return {};
  for (const auto& [tail, name] :
       {std::pair{" pages RAM", "ram_pages"}, std::pair{" pages reserved", "reserved_pages"},
        std::pair{" pages cma reserved", "cma_pages"}}) {
    if (scan.rest() != tail) continue;
    event.set_number(name, *pages);
    return line_of_report(name == std::string_view("cma_pages"));
  }
  return {};
}

Piece decode_memory_report(std::string_view text, Event& event) {
  return first_piece({zone_line, total_line, counts_line}, without_vendor_prefix(text), event);
}

void describe_memory_report(const Event& event, std::string& out) {
  if (event.kind() != EventKind::kMemoryReport) return;
  out += "the kernel printed a memory report";
  for (const Zone& zone : kZones) {
    const auto free = event.number(zone.free_kb);
    const auto min = event.number(zone.min_kb);
    if (!free || !min) continue;
    out += "; zone " + std::string(zone.name) + " had " + size_in_words(*free) + " free, ";
    out += *free < *min ? "below its min watermark of " : "above its min watermark of ";
    out += size_in_words(*min);
  }
  const auto swap = event.number("swap_total_kb");
  if (swap == 0) out += "; there is no swap";
  if (swap && *swap > 0 && event.has("swap_free_kb")) {
    out += "; swap had " + size_in_words(*event.number("swap_free_kb")) + " of " +
           size_in_words(*swap) + " free";
  }
  add_number(out, event, "cma_pages", "; ", " pages are reserved for CMA");
}

}  // namespace

const Family kMemoryReport{.name = "memory_report",
                           .anchors = kMemoryReportAnchors,
                           .decode = decode_memory_report,
                           .describe = describe_memory_report};

}  // namespace jetmem::kernel_log
