// SPDX-License-Identifier: Apache-2.0
// Memory that somebody damaged, as the kernel's checkers find it: KASAN, KFENCE, reference counts,
// slabs, copies to and from users, addresses that nobody allocated. Page tables and lists are in
// hardware/memory_error.cc.
#include "collectors/kernel_log/families/common/family.h"
#include "collectors/kernel_log/text/driver_line.h"
#include "collectors/kernel_log/text/line_parts.h"
#include "collectors/kernel_log/text/sentence_parts.h"

namespace jetmem::kernel_log {
namespace {

constexpr std::array<std::string_view, 20> kCorruptionAnchors{
    "BUG: KASAN: ",        "BUG: KFENCE: ",
    "BUG: Bad page ",      "usercopy: ",
    "refcount_t: ",        "Wrong slab cache",
    "BUG: mempool ",       "Trying to vfree() ",
    "tree is corrupted",   "OVER FREE",
    "reeing reffed",       "already free",
    "already released",    "Buffer overflow detected",
    "BUG: KMSAN: ",        "UBSAN: array-index",
    "object already free", "Redzone overwritten",
    "Poison overwritten",  "bad address ("};

struct Damage {
  std::string_view words;
  std::string_view error;
  bool at_start;
};
constexpr std::array kDamages{
    Damage{"usercopy: Kernel memory ", "usercopy", true},
    Damage{"refcount_t: underflow", "reference count underflow", true},
    Damage{"refcount_t: addition on 0", "reference count use after free", true},
    Damage{"refcount_t: decrement hit 0", "reference count leak", true},
    Damage{"refcount_t: decrement leaks", "reference count leak", true},
    Damage{"refcount_t: saturated", "reference count saturated", true},
    Damage{"Trying to vfree() bad address", "vfree of a bad address", true},
    Damage{"Trying to vfree() nonexistent vm area", "vfree of a bad address", true},
    Damage{"tree is corrupted: ", "tree is corrupted", true},
    Damage{"BUG: mempool element poison mismatch", "mempool element poison mismatch", true},
    Damage{"nvmap: Freeing reffed SGT", "table freed while in use", true},
    Damage{"OVER FREE!", "page freed twice", false},
    Damage{"Wrong slab cache. ", "wrong slab cache", false},
    Damage{"Buffer overflow detected. Allocation size: ", "buffer overflow", false},
    Damage{" already free", "freed twice", false},
    Damage{"VC released a buffer that is already released", "freed twice", false},
};

// "BUG: KASAN: slab-use-after-free in nvmap_handle_put+0x40/0x120 [nvmap]", then
// "Read of size 8 at addr ffff00010a2b3c40 by task nvargus-daemon/1712"
Piece checker(std::string_view text, Event& event) {
  Scan scan(text);
  const bool known =
      scan.literal("BUG: KASAN: ") || scan.literal("BUG: KFENCE: ") || scan.literal("BUG: KMSAN: ");
  if (!known) return {};
  event.reset(EventKind::kMmCorruption);
  event.set_text("checker", text.substr(5, text.find(':', 5) - 5));
  const std::string_view all = scan.rest();
  std::string_view error = all;
  if (const auto before = scan.until_last(" in ")) {
    error = *before;
    const std::string_view where = scan.up_to(" ");
    if (is_kernel_name(where)) event.set_text("function", where.substr(0, where.find('+')));
  }
  if (!is_kernel_words(trim(error))) return {};
  event.set_text("error", trim(error));
  return {.role = Role::kWhole};
}

// "BUG: Bad page state: 27 messages suppressed"
Piece suppressed(std::string_view text, Event& event) {
  Scan scan(text);
  if (!scan.literal("BUG: ")) return {};
  const auto what = scan.until(": ");
  if (!what || what->substr(0, 9) != "Bad page ") return {};
  event.reset(EventKind::kMmCorruption);
  event.set_text("error", *what);
  if (!take_natural(scan, event, "suppressed")) return {};
  if (!scan.literal(" messages suppressed")) return {};
  return {.role = Role::kWhole};
}

Piece damage(std::string_view text, Event& event) {
  for (const Damage& entry : kDamages) {
    const std::size_t at = text.find(entry.words);
    if (at == std::string_view::npos || (entry.at_start && at != 0)) continue;
    const DriverLine line = driver_line(text);
    if (!entry.at_start && !line.has_head) continue;
    if (entry.words == " already free" &&
        (!line.text.starts_with("dma_pool_free ") && !contains(line.text, "double free"))) {
      continue;
    }
    event.reset(EventKind::kMmCorruption);
    if (!entry.at_start) {
      set_if(event, "dev", line.dev);
      set_if(event, "function", line.function);
    }
    event.set_text("error", entry.error);
    event.set_text("text", line.text.empty() ? text : line.text);
    return {.role = Role::kWhole};
  }
  return {};
}

Piece decode_corruption(std::string_view text, Event& event) {
  text = without_vendor_prefix(text);
  const Piece piece = first_piece({checker, suppressed, damage}, text, event);
  if (piece.role == Role::kNothing || !contains_any(text, kCorruptionAnchors)) return {};
  return piece;
}

// memory_error.cc has the sentence of this kind.
void describe_corruption(const Event& /*event*/, std::string& /*out*/) {}

}  // namespace

const Family kCorruption{.name = "corruption",
                         .anchors = kCorruptionAnchors,
                         .decode = decode_corruption,
                         .describe = describe_corruption};

}  // namespace jetmem::kernel_log
