// SPDX-License-Identifier: Apache-2.0
// The kernel's part of nvmap, which gives GPU and multimedia buffers: "nvmap nvmap: " (dev_err),
// "nvmap: FUNCTION() " and "nvmap_FUNCTION: " (pr_err), a carve-out's heap as a device (" vpr: ").
// What the libraries print is in messages/nvbuf.yaml.
#include "collectors/kernel_log/families/common/family.h"
#include "collectors/kernel_log/text/driver_line.h"
#include "collectors/kernel_log/text/line_parts.h"
#include "collectors/kernel_log/text/sentence_parts.h"

namespace jetmem::kernel_log {
namespace {

constexpr std::array<std::string_view, 15> kNvmapAnchors{"nvmap",
                                                         "failed to alloc mem of size (",
                                                         ": used:",
                                                         "alloc heap block",
                                                         "Failed to reserve ",
                                                         "alloc size is out of range",
                                                         "cache WB on (",
                                                         "Page count more than max",
                                                         "No mem to prep sgt",
                                                         "get_user_pages requested/got: ",
                                                         "yet to be pinned",
                                                         "gosmem",
                                                         "No memory!!",
                                                         "freed dma_buf",
                                                         "failed to allocate memory"};

// Not a shortage: a program uses a handle that is freed or not its own, or memory that the CPU may
// not touch; its driver, or a driver of the kernel's, counts references wrongly.
bool is_misuse(const Words& words) {
  return words.has_any({"freed handle", "negative references", "invalid handle", "be accessed",
                        "not allowed", "unallocated handle", "yet to be pinned", "freed dma_buf"});
}

Piece refusal(EventKind kind, const DriverLine& line, Event& event) {
  event.reset(kind);
  set_if(event, "function", line.function);
  if (kind == EventKind::kNvmap && is_misuse(Words(line.text))) event.set_text("reason", "misuse");
  event.set_text("error", line.text);
  return {.role = Role::kWhole};
}

// Behind nvmap's own name: what failed, was refused or is used in a way it must not be.
Piece by_name(const DriverLine& line, Event& event) {
  const bool nvmap = line.driver == "nvmap" || line.dev == "nvmap" ||
                     line.function.substr(0, 6) == "nvmap_" ||
                     line.function.substr(0, 8) == "__nvmap_";
  if (!nvmap) return {};
  const Words words(line.text);
  if (words.has("fd limit is crossed")) return refusal(EventKind::kBufferLeak, line, event);
  const bool refused = words.has_any({"out of range", "insufficient", "exceed"});
  if (!is_misuse(words) && !refused && !reports_failure(words)) return {};
  if (words.has_any({"property", "debugfs", "-517", "overflow check"})) return {};
  return refusal(EventKind::kNvmap, line, event);
}

// The carve-outs that nvmap has for devices of their own.
bool is_heap(const DriverLine& line) {
  const std::string_view name = line.dev.empty() ? line.driver : line.dev;
  for (const std::string_view heap :
       {"vpr", "generic", "vidmem", "iram", "fsi", "ivm", "gosmem", "compression"}) {
    if (name.substr(0, heap.size()) != heap) continue;
    const std::string_view rest = name.substr(heap.size());
    if (rest.empty() || rest.front() == '-' || is_digit(rest.front())) return true;
  }
  return false;
}

// Of a carve-out: "DRIVER HEAP: failed to alloc mem of size (4096)", " vpr: used:8388608,
// curr_size:8388608 max:8388608", " vpr: Failed to reserve len(1048576)".
Piece heap(const DriverLine& line, Event& event) {
  if (line.driver.empty() && line.dev.empty()) return {};
  Scan scan(line.text);
  const bool alloc = scan.literal("failed to alloc mem of size (");
  const bool other = line.text.substr(0, 5) == "used:" ||
                     contains(line.text, "failed to alloc heap block") ||
                     contains(line.text, "alloc size is out of range") ||
                     line.text.substr(0, 19) == "Failed to reserve (" ||
                     line.text.substr(0, 22) == "Failed to reserve len(" ||
                     line.text.substr(0, 13) == "cache WB on (" ||
                     line.text.substr(0, 24) == "Page count more than max" ||
                     (is_heap(line) && line.text == "failed to allocate memory");
  if (!alloc && !other) return {};
  event.reset(EventKind::kNvmap);
  event.set_text("dev", line.dev.empty() ? line.driver : line.dev);
  if (alloc) {
    const auto size = scan.hex();
    if (!size || !scan.literal(")")) return {};
    const bool hexadecimal = size->substr(0, 2) == "0x";
    const auto value = hexadecimal ? parse_hex(*size) : parse_u64(*size);
    if (value && *value <= INT64_MAX) event.set_number("size", static_cast<std::int64_t>(*value));
    return {.role = Role::kWhole};
  }
  if (scan.past("len(")) {
    if (const auto size = scan.number(); size && *size >= 0) event.set_number("size", *size);
  }
  event.set_text("error", line.text);
  return {.role = Role::kWhole};
}

// Of a WARN(), without a name, and what prints around a refusal.
Piece nameless(std::string_view text, Event& event) {
  const bool known = text == "No mem to prep sgt." || text == "No memory!!" ||
                     text == "Attempting to get a freed dma_buf!" ||
                     text == "Unpinning handle that has yet to be pinned!" ||
                     text.substr(0, 30) == "get_user_pages requested/got: ";
  if (!known && !contains(text, ": declare coherent memory for gosmem chunk failed")) return {};
  event.reset(EventKind::kNvmap);
  if (is_misuse(Words(text))) event.set_text("reason", "misuse");
  event.set_text("error", text);
  return {.role = Role::kWhole};
}

Piece decode_nvmap(std::string_view text, Event& event) {
  text = without_vendor_prefix(text);
  Piece piece = nameless(trim(text), event);
  if (piece.role == Role::kNothing) {
    DriverLine line = driver_line(text);
    // "nvmap heap array resize failed"
    if (!line.has_head && text.starts_with("nvmap heap array ")) {
      line.driver = "nvmap";
    } else if (!line.has_head) {
      return {};
    }
    piece = by_name(line, event);
    if (piece.role == Role::kNothing) piece = heap(line, event);
  }
  if (piece.role == Role::kNothing || !contains_any(text, kNvmapAnchors)) return {};
  return piece;
}

void describe_nvmap(const Event& event, std::string& out) {
  if (event.kind() != EventKind::kNvmap) return;
  // Events of the user space library have neither.
  if (event.has("dev")) {
    const auto size = event.number("size");
    out += "nvmap's heap " + name_in_words(event.text("dev")) + " had no ";
    if (size) out += size_in_words((*size >> 10) + (*size % 1024 != 0)) + " of ";
    out += "memory for a GPU or multimedia buffer";
  } else if (event.has("error")) {
    const bool misuse = event.text("reason") == "misuse";
    out += misuse ? "a program used a freed or protected buffer of nvmap"
                  : "nvmap refused a GPU or multimedia buffer";
    add_name(out, event, "function", " in ", {}, 60);
    add_quote(out, event, "error", ", \"", "\"", 120);
  }
}

}  // namespace

const Family kNvmap{
    .name = "nvmap", .anchors = kNvmapAnchors, .decode = decode_nvmap, .describe = describe_nvmap};

}  // namespace jetmem::kernel_log
