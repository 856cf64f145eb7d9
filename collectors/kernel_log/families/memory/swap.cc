// SPDX-License-Identifier: Apache-2.0
// Swap devices (mm/page_io.c, mm/swapfile.c) and compressed RAM as one (drivers/block/zram).
#include <array>

#include "collectors/kernel_log/families/common/family.h"
#include "collectors/kernel_log/text/line_parts.h"
#include "collectors/kernel_log/text/sentence_parts.h"

namespace jetmem::kernel_log {
namespace {

constexpr std::array<std::string_view, 15> kSwapAnchors{
    "-error on swap-device",
    " on dio swapfile (",
    " swap file entry ",
    " swap offset entry ",
    "Decompression failed! err=",
    "Compression failed! err=",
    "Error allocating memory for compressed page: ",
    "Bad swap ",
    "Unused swap ",
    "find swap-space signature",
    "Swap area shorter than signature",
    "swapfile has holes",
    "zswap: ",
    "swap is disabled",
    "Unable to allocate temp memory",
};

// "Read-error on swap-device (253:0:2688896)", and bare for a swap file on a network.
Piece io_error(std::string_view text, Event& event) {
  Scan scan(text);
  const bool read = scan.literal("Read-error");
  if (!read && !scan.literal("Write-error")) return {};
  if (!scan.literal(" on swap-device")) return {};
  event.reset(EventKind::kSwapError);
  event.set_text("op", read ? "read" : "write");
  scan.blanks();
  if (scan.at_end()) return {.role = Role::kWhole};
  if (!scan.literal("(")) return {};
  const std::string_view dev = scan.rest();
  const auto major = scan.number();
  if (!major || !scan.literal(":")) return {};
  const auto minor = scan.number();
  if (!minor) return {};
  const std::size_t length = dev.size() - scan.rest().size();
  if (!scan.literal(":")) return {};
  event.set_text("dev", dev.substr(0, length));
  const auto sector = scan.number();
  if (sector && *sector >= 0 && scan.literal(")")) event.set_number("sector", *sector);
  return {.role = Role::kWhole};
}

// "Write error -5 on dio swapfile (4096)"
Piece file_error(std::string_view text, Event& event) {
  Scan scan(text);
  const bool read = scan.literal("Read error ");
  if (!read && !scan.literal("Write error ")) return {};
  const auto err = scan.number();  // not in old kernels
  if (err && !scan.literal(" ")) return {};
  if (!scan.literal("on dio swapfile (")) return {};
  event.reset(EventKind::kSwapError);
  event.set_text("op", read ? "read" : "write");
  if (err) event.set_number("err", *err);
  const auto offset = scan.number();
  if (offset && *offset >= 0 && scan.literal(")")) event.set_number("offset", *offset);
  return {.role = Role::kWhole};
}

// "get_swap_device: Bad swap file entry 4000000000f0": a page table or the swap map is damaged.
Piece bad_entry(std::string_view text, Event& event) {
  Scan scan(text);
  const auto function = scan.until(": ");
  if (!function || function->empty() || function->find(' ') != std::string_view::npos) return {};
  const std::string_view what = scan.rest();
  if (!scan.literal("Bad swap ") && !scan.literal("Unused swap ")) return {};
  if (!scan.literal("file entry ") && !scan.literal("offset entry ")) return {};
  const std::size_t length = what.size() - scan.rest().size() - 1;
  const auto entry = scan.hex();
  if (!entry) return {};
  event.reset(EventKind::kSwapError);
  event.set_text("op", "entry");
  event.set_text("function", *function);
  event.set_text("error", what.substr(0, length));
  event.set_text("entry", *entry);
  return {.role = Role::kWhole};
}

// "Bad swap file entry 058000f0", of kernels that print no function.
Piece bare_entry(std::string_view text, Event& event) {
  Scan scan(text);
  const std::string_view what = scan.rest();
  if (!scan.literal("Bad swap ") && !scan.literal("Unused swap ")) return {};
  if (!scan.literal("file entry ") && !scan.literal("offset entry ")) return {};
  const std::size_t length = what.size() - scan.rest().size() - 1;
  const auto entry = scan.hex();
  if (!entry) return {};
  event.reset(EventKind::kSwapError);
  event.set_text("op", "entry");
  event.set_text("error", what.substr(0, length));
  event.set_text("entry", *entry);
  return {.role = Role::kWhole};
}

// Swap that could not be turned on: "Unable to find swap-space signature", "swapon: swapfile has
// holes", "zswap: alloc failed, zswap disabled for swap type 0".
Piece not_turned_on(std::string_view text, Event& event) {
  Scan scan(text);
  const bool zswap = scan.literal("zswap: ");
  scan.literal("swapon: ");
  constexpr std::array<std::string_view, 4> kTexts{
      "Unable to find swap-space signature", "Swap area shorter than signature",
      "swapfile has holes", "Not enough memory for swap heads, swap is disabled"};
  bool known = zswap && (contains(scan.rest(), "failed") || contains(scan.rest(), "disabled for"));
  for (const std::string_view begin : kTexts) {
    known = known || scan.rest().substr(0, begin.size()) == begin;
  }
  if (!known) return {};
  event.reset(EventKind::kSwapError);
  event.set_text("op", "swapon");
  event.set_text("error", scan.rest());
  return {.role = Role::kWhole};
}

Piece zram(std::string_view text, Event& event) {
  Scan scan(text);
  scan.literal("zram: ");
  event.reset(EventKind::kZramError);
  if (scan.literal("Error allocating memory for compressed page: ")) {
    if (!take_number(scan, event, "page") || !scan.literal(", size=")) return {};
    take_number(scan, event, "size");
    return {.role = Role::kWhole};
  }
  // Up to 4.x, for a page that was written only in part.
  if (scan.literal("Unable to allocate temp memory")) {
    event.set_text("op", "write");
    return {.role = Role::kWhole};
  }
  const bool out = scan.literal("Decompression");
  if (!out && !scan.literal("Compression")) return {};
  if (!scan.literal(" failed! err=")) return {};
  event.set_text("op", out ? "read" : "write");
  if (!take_number(scan, event, "err")) return {};
  if (scan.literal(", page=")) take_number(scan, event, "page");
  return {.role = Role::kWhole};
}

Piece decode_swap(std::string_view text, Event& event) {
  text = without_vendor_prefix(text);
  return first_piece({io_error, file_error, zram, bare_entry, bad_entry, not_turned_on}, text,
                     event);
}

void describe_swap(const Event& event, std::string& out) {
  const std::string_view op = event.text("op");
  if (event.kind() == EventKind::kZramError) {
    if (op.empty()) {
      out += "zram found no memory to keep a compressed page in";
    } else {
      out += op == "read" ? "zram could not decompress a page that was swapped out"
                          : "zram could not compress a page";
    }
    if (const auto err = event.number("err")) out += " (error " + std::to_string(*err) + ")";
  } else if (event.kind() == EventKind::kSwapError) {
    if (op == "entry") {
      out += "the kernel found a swap entry that cannot exist";
      return;
    }
    if (op == "swapon") {
      out += "swap could not be turned on";
      add_quote(out, event, "error", ", \"", "\"", 80);
      return;
    }
    out += op == "read" ? "a page could not be read back from swap"
                        : "a page could not be written to swap";
    add_name(out, event, "dev", " (block device ", ")");
  }
}

}  // namespace

const Family kSwap{
    .name = "swap", .anchors = kSwapAnchors, .decode = decode_swap, .describe = describe_swap};

}  // namespace jetmem::kernel_log
