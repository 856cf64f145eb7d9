// SPDX-License-Identifier: Apache-2.0
// The kernel's own allocators: pages (mm/page_alloc.c), slabs (mm/slub.c, mm/slab.c) and vmalloc.
#include "collectors/kernel_log/families/common/family.h"
#include "collectors/kernel_log/text/line_parts.h"
#include "collectors/kernel_log/text/sentence_parts.h"

namespace jetmem::kernel_log {
namespace {

constexpr std::array<std::string_view, 10> kAllocationAnchors{
    ": page allocation failure",
    ": page allocation stalls for ",
    ": Unable to allocate memory on ",
    ", object size: ",
    "vmalloc error: size ",
    "vmalloc size ",
    "vmalloc: allocation failure",
    " for size ",
    "kmem_cache_create",
    "warn_alloc from __alloc_",
};

// ", mode:0x2084020(GFP_ATOMIC|__GFP_COMP), nodemask=(null),cpuset=/,mems_allowed=0", of which the
// versions print more and more. False for garbage.
bool set_mode(Scan scan, Event& event, bool bare = false) {
  if (!scan.literal(", mode:")) return true;
  if (const auto mode = bare ? scan.hex() : take_gfp(scan)) event.set_text("mode", *mode);
  const bool garbage = scan.rest().find_first_of("(,") != 0 && !scan.at_end();
  if (garbage && scan.rest() != "0x") return false;
  if (!scan.past(", nodemask=")) return true;
  if (scan.literal("(null)")) {
    event.set_text("nodemask", "(null)");
    return true;
  }
  // "0-1,3": what comes behind it is parted by a comma too.
  const std::string_view rest = scan.rest();
  std::string_view nodes = rest.substr(0, rest.find_first_not_of("0123456789-,"));
  while (!nodes.empty() && !is_digit(nodes.back())) nodes.remove_suffix(1);
  set_if(event, "nodemask", nodes);
  return true;
}

// "order:3, ..."; false for garbage. A line that ends here may lack a digit.
bool set_order(Scan& scan, Event& event) {
  const auto order = scan.number();
  if (!order || *order < 0 || *order > 64) return false;
  if (scan.at_end()) return true;
  if (scan.rest().front() != ',') return false;
  event.set_number("order", *order);
  return true;
}

Piece page_failure(std::string_view text, Event& event) {
  Scan scan(text);
  const auto comm = scan.until_last(": page allocation failure");
  if (!comm || !is_leading_comm(*comm)) return {};
  // 2.6 ends the sentence here.
  if (!scan.literal(". order:") && !scan.literal(": order:")) return {};
  event.reset(EventKind::kPageAllocFailure);
  event.set_text("comm", *comm);
  if (!set_order(scan, event)) return {};
  // Kernels before 4.4 end the line with the bare mask.
  if (!set_mode(scan, event, true)) return {};
  // Who may not sleep gets nothing as soon as the reserve is used up; 0x20 is GFP_ATOMIC
  // before 4.4.
  if (contains(scan.rest(), "(GFP_ATOMIC") || contains(scan.rest(), "(GFP_NOWAIT") ||
      scan.rest() == ", mode:0x20") {
    event.set_bool("atomic", true);
  }
  return {.role = Role::kOpens};
}

Piece page_stall(std::string_view text, Event& event) {
  Scan scan(text);
  const auto comm = scan.until_last(": page allocation stalls for ");
  if (!comm || !is_leading_comm(*comm)) return {};
  event.reset(EventKind::kPageAllocStall);
  event.set_text("comm", *comm);
  if (!take_count(scan, event, "ms") || !scan.literal("ms, order:")) return {};
  if (!set_order(scan, event)) return {};
  if (!set_mode(scan, event)) return {};
  return {.role = Role::kOpens};
}

// " warn_alloc from __alloc_pages+0xe9c/0xfe8", of 32-bit ARM's backtraces, which name who called
// whom in one line: the page allocator warned, and the line that says of what is missing.
Piece warned(std::string_view text, Event& event) {
  Scan scan(text);
  scan.blanks();
  if (!scan.literal("warn_alloc from __alloc_")) return {};
  if (!scan.literal("pages") && !scan.literal("frozen_pages")) return {};
  if (scan.rest().substr(0, 1) != "+") return {};
  event.reset(EventKind::kPageAllocFailure);
  return {.role = Role::kFollowsOrOpens, .step = 1, .of = {EventKind::kPageAllocStall}};
}

Piece slab(std::string_view text, Event& event) {
  Scan scan(text);
  if (!scan.literal("SLUB") && !scan.literal("SLAB")) return {};
  if (!scan.literal(": Unable to allocate memory on ")) return {};
  event.reset(EventKind::kSlabAllocFailure);
  if (scan.literal("CPU ")) {  // from 6.14 on
    if (!take_number(scan, event, "cpu") || !scan.past(") on ")) return {};
  }
  if (!scan.literal("node ") || !take_number(scan, event, "node")) return {};
  if (!scan.literal(", gfp=") && !scan.literal(" (gfp=")) return {};
  if (!Scan(scan).hex()) return {};
  if (const auto gfp = take_gfp(scan); gfp && !scan.at_end()) event.set_text("gfp", *gfp);
  return {.role = Role::kOpens};
}

// "  cache: kmalloc-4k, object size: 4096, buffer size: 4096, default order: 3, min order: 0"
Piece slab_cache(std::string_view text, Event& event) {
  Scan scan(text);
  scan.blanks();
  if (!scan.literal("cache: ")) return {};
  const auto cache = scan.until_last(", object size: ");
  if (!cache) return {};
  event.reset(EventKind::kSlabAllocFailure);
  event.set_text("cache", *cache);
  if (!take_count(scan, event, "object_size") || !scan.literal(", ")) return {};
  return {.role = Role::kFollows, .step = 1, .last = true};
}

// "__kmem_cache_create_args(nvmap_handle_sgt) failed with error -12", "kmem_cache_create(x) failed
// with error -12"
Piece new_cache(std::string_view text, Event& event) {
  Scan scan(text);
  scan.literal("__");
  if (!scan.literal("kmem_cache_create") || !scan.past("(")) return {};
  const auto cache = scan.until(") failed with error ");
  if (!cache || !is_kernel_words(*cache)) return {};
  event.reset(EventKind::kSlabAllocFailure);
  event.set_text("cache", *cache);
  if (!take_number(scan, event, "errno")) return {};
  constexpr std::int64_t kNoMemory = -12;
  return event.number("errno") == kNoMemory ? Piece{.role = Role::kWhole} : Piece{};
}

// No room in the address range: the error line of the process that asked comes next.
Piece vmap(std::string_view text, Event& event) {
  Scan scan(text);
  if (!scan.literal("vmap allocation") && !scan.literal("vmalloc_node_range")) return {};
  if (!scan.literal(" for size ")) return {};
  event.reset(EventKind::kVmallocFailure);
  if (!take_count(scan, event, "size") || !scan.literal(" failed")) return {};
  return {.role = Role::kOpens};
}

Piece vmalloc_end(Scan scan, Event& event) {
  if (!set_mode(scan, event)) return {};
  return {.role = Role::kFollowsOrOpens, .step = 1, .last = true, .stands_alone = true};
}

// The range is larger than what was asked for by a guard page, and both may be rounded up to pages,
// of 64 KiB at most.
bool joins(const Event& open, const Event& part) {
  const auto range = open.number("size");
  const auto requested = part.number("size");
  if (open.kind() != EventKind::kVmallocFailure || !range || !requested) return true;
  constexpr std::int64_t kTwoPages = std::int64_t{2} * 65536;
  return *range >= *requested && *range - *requested <= kTwoPages;
}

// Sets the reason, and leaves the scan at the mode if one follows.
void set_reason(Scan& scan, Event& event) {
  const std::string_view rest = scan.rest();
  const std::size_t mode = std::min(rest.rfind(", mode:"), rest.size());
  if (mode > 0) event.set_text("error", rest.substr(0, mode));
  scan = Scan(rest.substr(mode));
}

// "insmod: vmalloc error: size 65536, page order 0, failed to allocate pages, mode:0xcc0(...)"
Piece vmalloc_error(std::string_view text, Event& event) {
  Scan scan(text);
  auto comm = scan.until_last(": vmalloc error: size ");
  const bool failure = !comm;  // 5.11 and 5.12
  if (failure) comm = scan.until_last(": vmalloc size ");
  if (!comm || !is_leading_comm(*comm)) return {};
  event.reset(EventKind::kVmallocFailure);
  event.set_text("comm", *comm);
  if (!take_count(scan, event, "size")) return {};
  if (!scan.literal(failure ? " allocation failure: " : ", ")) return {};
  set_reason(scan, event);
  return vmalloc_end(scan, event);
}

// To 5.10: "insmod: vmalloc: allocation failure: 65536 bytes, mode:0x24000c2(...)", and the same
// with ", allocated 4096 of 65536 bytes". 4.8 and older print no name and no mode.
Piece vmalloc_old(std::string_view text, Event& event) {
  Scan scan(text);
  const auto comm = scan.until_last("vmalloc: allocation failure");
  if (!comm) return {};
  event.reset(EventKind::kVmallocFailure);
  if (!comm->empty()) {
    if (comm->size() < 3 || comm->substr(comm->size() - 2) != ": ") return {};
    const std::string_view name = comm->substr(0, comm->size() - 2);
    if (!is_leading_comm(name)) return {};
    event.set_text("comm", name);
  }
  if (scan.literal(", allocated ")) {
    if (!take_count(scan, event, "allocated") || !scan.literal(" of ")) return {};
  } else if (!scan.literal(": ")) {
    return {};
  }
  if (!take_count(scan, event, "size") || !scan.literal(" bytes")) return {};
  return vmalloc_end(scan, event);
}

Piece decode_allocation(std::string_view text, Event& event) {
  text = without_vendor_prefix(text);
  return first_piece({page_failure, page_stall, warned, slab, slab_cache, new_cache, vmap,
                      vmalloc_error, vmalloc_old},
                     text, event);
}

void describe_allocation(const Event& event, std::string& out) {
  const auto order = event.number("order");
  const auto size = event.number("size");
  switch (event.kind()) {
    case EventKind::kPageAllocFailure:
      out += process_in_words(event) + " was refused memory";
      if (order) out += " (" + order_in_words(*order) + ")";
      break;
    case EventKind::kPageAllocStall:
      out += process_in_words(event) + " waited";
      if (const auto ms = event.number("ms")) {
        out += *ms < 2000 ? " " + std::to_string(*ms) + " ms"
                          : " " + std::to_string((*ms + 500) / 1000) + " seconds";
      }
      out += " for memory";
      if (order) out += " (" + order_in_words(*order) + ")";
      break;
    case EventKind::kSlabAllocFailure:
      out += "the kernel was refused memory for ";
      if (const std::string_view cache = event.text("cache"); cache.empty()) {
        out += "objects of its own";
      } else {
        out += "objects of the slab cache " + name_in_words(cache);
      }
      break;
    case EventKind::kVmallocFailure:
      out += event.has("comm") ? process_in_words(event) : "the kernel";
      out += " was refused ";
      if (size) out += size_in_words((*size + 1023) / 1024) + " of ";
      // There was room in the address range, but no memory to fill it with.
      out += contains(event.text("error"), "allocate pages") || event.has("allocated")
                 ? "memory (vmalloc)"
                 : "kernel address space (vmalloc)";
      break;
    default:
      break;
  }
}

}  // namespace

const Family kAllocation{.name = "allocation",
                         .anchors = kAllocationAnchors,
                         .decode = decode_allocation,
                         .describe = describe_allocation,
                         .joins = joins};

}  // namespace jetmem::kernel_log
