// SPDX-License-Identifier: Apache-2.0
// What the forms of messages/{allocation,swap,reserved-memory,corruption}.yaml cannot say.
#include <algorithm>
#include <array>
#include <optional>

#include "base/text/text.h"
#include "collectors/kernel_log/catalogue/hooks.h"
#include "collectors/kernel_log/event/attention.h"

namespace jetmem::kernel_log::hooks {

// Who may not sleep gets nothing as soon as the reserve is used up.
bool page_refused(Event& event) {
  const std::string_view flags = event.text("flags");
  const bool named = flags.starts_with("GFP_ATOMIC") || flags.starts_with("GFP_NOWAIT");
  const auto mode = parse_hex(event.text("mode"));
  if (named || (flags.empty() && mode && may_not_sleep(*mode))) event.set_bool("atomic", true);
  // ___GFP_DMA and ___GFP_DMA32.
  if (mode && (*mode & 5U) != 0) event.set_text("zone", (*mode & 1U) != 0 ? "DMA" : "DMA32");
  event.remove("flags");
  return true;
}

// The range is larger than what was asked for by a guard page, and both may be rounded up to pages,
// of 64 KiB at most.
bool vmalloc_sizes(const Event& open, const Event& part) {
  const auto range = open.number("size");
  const auto requested = part.number("size");
  constexpr std::int64_t kTwoPages = std::int64_t{2} * 65536;
  return !range || !requested || (*range >= *requested && *range - *requested <= kTwoPages);
}

bool same_size(const Event& open, const Event& part) {
  return !open.has("size") || open.number("size") == part.number("size");
}

bool is_vmalloc(const Event& open, const Event& /*part*/) {
  return open.kind() == EventKind::kVmallocFailure;
}

bool is_printer(Event& event) {
  return suppressed_kind(event.text("function")) != EventKind::kNone;
}

// "%08lx": with fewer digits it was cut off.
bool swap_entry(Event& event) {
  constexpr std::size_t kDigits = 8;
  if (event.text("entry").size() < kDigits) event.remove("entry");
  return true;
}

// It is printed in MiB: what is none was cut off.
bool whole_mib(Event& event) {
  constexpr std::int64_t kMib = std::int64_t{1} << 20;
  if (event.number("size").value_or(0) % kMib != 0) event.remove("size");
  return true;
}

// "q6_code@..." and "q6_region@...": an area and a part of it, which lies in it by intention.
bool are_of_one_owner(std::string_view node, std::string_view other) {
  const std::size_t owner = node.find('_');
  return owner != std::string_view::npos && owner > 0 &&
         other.starts_with(node.substr(0, owner + 1));
}

bool are_different_areas(Event& event) {
  // All have as many digits: with fewer the last was cut off.
  const bool is_whole = event.text("other_end").size() >= event.text("addr").size();
  const auto begin = event.hex("addr"), end = event.hex("end");
  const auto other_begin = event.hex("other_addr"), other_end = event.hex("other_end");
  const bool is_within = is_whole && begin >= other_begin && end <= other_end;
  const bool contains = is_whole && begin <= other_begin && end >= other_end;
  if (is_within || contains) {
    event.set_bool("within", true);
    if (are_of_one_owner(event.text("node"), event.text("other"))) {
      event.set_bool("harmless", true);
    }
  }
  for (const std::string_view name : {"end", "other_addr", "other_end"}) event.remove(name);
  return !is_within || !contains;
}

// "(179:2" of "(179:2:812344)" is no device and sector.
bool swap_device(Event& event) {
  if (event.text("dev").find(':') == std::string_view::npos) event.remove("dev");
  return true;
}

// "2.00 MiB"
bool huge_page_size(Event& event) {
  const auto number =
      parse_u64(event.text("page_size").substr(0, event.text("page_size").find('.')));
  const std::string_view unit = event.text("unit");
  const unsigned bits = unit == "GiB" ? 20 : unit == "MiB" ? 10 : 0;
  if (number && *number < 4096 && !unit.empty()) {
    event.set_number("size_kb", static_cast<std::int64_t>(*number << bits));
  }
  event.remove("page_size");
  event.remove("unit");
  return true;
}

// "by task kworker/" was cut off: these names have a '/' themselves.
bool damaged_by(Event& event) {
  constexpr std::array<std::string_view, 4> kWithSlash{"kworker", "irq", "ksoftirqd", "swapper"};
  const std::string_view comm = event.text("comm");
  if (event.has("pid") &&
      std::find(kWithSlash.begin(), kWithSlash.end(), comm) == kWithSlash.end()) {
    return true;
  }
  event.remove("comm");
  event.remove("pid");
  return true;
}

// The kernel prints them in hexadecimal without "0x", and with leading zeros.
bool page_frames(Event& event) {
  for (const std::string_view name : {"pfn", "pfn_start", "pfn_end"}) {
    if (const auto pfn = event.hex(name)) event.set_hex(name, *pfn);
  }
  return true;
}

}  // namespace jetmem::kernel_log::hooks
