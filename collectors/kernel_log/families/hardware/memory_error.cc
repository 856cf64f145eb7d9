// SPDX-License-Identifier: Apache-2.0
// Pages that err, as the kernel deals with them (mm/memory-failure.c); damaged bookkeeping (mm,
// lib/list_debug.c); kmemleak. What hardware and firmware report is in hardware_error.cc.
#include "collectors/kernel_log/families/common/family.h"
#include "collectors/kernel_log/text/driver_line.h"
#include "collectors/kernel_log/text/line_parts.h"
#include "collectors/kernel_log/text/sentence_parts.h"
#include "collectors/kernel_log/families/hardware/memory_error_parts.h"

namespace jetmem::kernel_log {
namespace {

constexpr std::array<std::string_view, 35> kMemoryErrorAnchors{"EDAC MC",
                                                               "EDAC DEVICE",
                                                               "[Hardware Error]: ",
                                                               "Memory failure: ",
                                                               "MCE 0x",
                                                               "oft offline: ",
                                                               "RAS Error in ",
                                                               "Status = 0x",
                                                               "IERR = ",
                                                               "SERR = ",
                                                               "Uncorrect",
                                                               "ADDR: 0x",
                                                               "Kernel panic - not syncing: ",
                                                               "Soft-offlining pfn: ",
                                                               "oft-offlining ",
                                                               "dram-ecc: ",
                                                               "Machine check error in ",
                                                               "Machine Check Error:",
                                                               " Memory Error on CPU ",
                                                               "RAS: FHI ",
                                                               "STAT: 0x",
                                                               "Correctable Error",
                                                               "ADDR = 0x",
                                                               "SError Interrupt on CPU",
                                                               ": SError detected",
                                                               "Bad mode in Error handler",
                                                               "BUG: Bad page ",
                                                               "BUG: Bad rss-counter ",
                                                               "BUG: non-zero ",
                                                               "list_del corruption",
                                                               "list_add corruption",
                                                               "list_add double add",
                                                               " new suspected memory leaks",
                                                               "-edac ",
                                                               "_edac "};

// "Kernel panic - not syncing: Memory failure on page 1a2b3", "Memory failure: buffer overflow when
// queuing memory failure at 0x1a2b3", "Memory failure: Out of memory while machine check handling",
// "RAS: Soft-offlining pfn: 0x1a2b3".
Piece other_failure(std::string_view text, Event& event) {
  Scan scan(text);
  event.reset(EventKind::kMemoryError);
  if (scan.literal("Kernel panic - not syncing: Memory failure on page ")) {
    const auto pfn = scan.hex();
    if (!pfn) return {};
    event.set_hex("pfn", parse_hex(*pfn).value_or(0));
    event.set_text("outcome", "panic");
    return {.role = Role::kWhole};
  }
  if (scan.literal("RAS: Soft-offlining pfn: ") || scan.literal("Soft-offlining pfn: ")) {
    if (!take_hex(scan, event, "pfn")) return {};
    event.set_bool("soft_offline", true);
    return {.role = Role::kWhole};
  }
  if (!scan.literal("Memory failure: ")) return {};
  if (scan.rest().substr(0, 16) != "buffer overflow " &&
      scan.rest().substr(0, 21) != "Out of memory while m") {
    return {};
  }
  event.set_text("error", scan.rest());
  if (scan.past(" at ")) take_hex(scan, event, "pfn");
  return {.role = Role::kWhole};
}

// Behind "Memory failure: 0x12345: "; the older form is "MCE 0x12345: dirty LRU page recovery: ".
Piece failure(std::string_view text, Event& event) {
  Scan scan(text);
  if (const Piece piece = other_failure(text, event); piece.role != Role::kNothing) return piece;
  if (!scan.literal("Memory failure: ") && !scan.literal("MCE ")) return {};
  if (scan.rest().substr(0, 2) != "0x") return {};
  event.reset(EventKind::kMemoryError);
  if (!take_hex(scan, event, "pfn") || !scan.literal(": ")) return {};
  const bool named = scan.literal("recovery action for ");
  if (const auto page = scan.until_last(named ? ": " : " recovery: ")) {
    event.set_text("page_type", *page);
    const std::string_view outcome = trim(scan.rest());
    for (const std::string_view known : {"Ignored", "Failed", "Delayed", "Recovered"}) {
      if (outcome == known) event.set_text("outcome", outcome);
    }
    return {.role = Role::kWhole};
  }
  if (named) return {};
  // "unhandlable page.", "Unknown page state", "failed to unmap page (folio mapcount=2)"
  const bool signals = scan.rest().substr(0, 8) == "Sending " ||
                       scan.rest().substr(0, 8) == "Killing " ||
                       scan.rest().substr(0, 17) == "forcibly killing ";
  if (const Words words(scan.rest());
      !signals &&
      (reports_failure(words) || words.has_any({"unhandlable page", "unknown page state",
                                                "not recovered", "still referenced"}))) {
    event.set_text("error", scan.rest());
    return {.role = Role::kWhole};
  }
  if (scan.literal("already hardware poisoned")) {
    event.set_text("error", "already hardware poisoned");
    return {.role = Role::kWhole};
  }
  if (!scan.literal("Sending SIGBUS to ") && !scan.literal("Killing ") &&
      !scan.literal("forcibly killing ")) {
    return {};
  }
  auto who = scan.until_last(" due to ");
  if (!who) who = scan.until_last(" because of ");
  if (!who) return {};
  Scan process(*who);
  const auto comm = process.until_last(":");
  const auto pid = process.number();
  if (!comm || !is_comm(*comm) || !pid || *pid < 0 || !process.at_end()) return {};
  event.set_text("comm", *comm);
  event.set_number("pid", *pid);
  return {.role = Role::kWhole};
}

// "Soft offline: 0x12345: isolation failed: ..."; lower case, and behind the prefix of memory
// failures, in older kernels.
Piece soft_offline(std::string_view text, Event& event) {
  Scan scan(text);
  scan.literal("Memory failure: ");
  if (!scan.literal("Soft offline: ") && !scan.literal("soft offline: ")) return {};
  if (scan.rest().substr(0, 2) != "0x") return {};
  event.reset(EventKind::kMemoryError);
  if (!take_hex(scan, event, "pfn")) return {};
  scan.literal(":");
  scan.blanks();
  if (scan.at_end()) return {};
  event.set_bool("soft_offline", true);
  event.set_text("error", scan.rest());
  return {.role = Role::kWhole};
}

// "BUG: Bad page state in process insmod  pfn:0008f", "BUG: Bad page map in process a  pte:..
// pmd:.."
Piece bad_page(std::string_view text, Event& event) {
  Scan scan(text);
  if (!scan.literal("BUG: ")) return {};
  event.reset(EventKind::kMmCorruption);
  if (scan.rest().substr(0, 16) == "Bad rss-counter ") {
    event.set_text("error", "Bad rss-counter");
    set_sized(event, "idx", text, " idx:", " ");
    Scan value(text);
    if (value.past(" val:")) take_number(value, event, "val");
    Scan who(text);
    if (who.past(" Comm:")) {
      if (const auto comm = who.until_last(" Pid:"); comm && is_comm(*comm)) {
        event.set_text("comm", *comm);
        take_number(who, event, "pid");
      }
    }
    return {.role = Role::kWhole};
  }
  if (scan.literal("non-zero ")) {
    const std::string_view what = scan.up_to(" ");
    if (what != "pgtables_bytes" && what != "nr_ptes" && what != "nr_pmds") return {};
    event.set_text("error", text.substr(5, 9 + what.size()));
    return {.role = Role::kWhole};
  }
  const auto what = scan.until(" in process ");
  if (!what || what->substr(0, 9) != "Bad page ") return {};
  event.set_text("error", *what);
  // Two blanks, of which a web page shows one.
  if (const auto head = scan.until_last(" pfn:")) {
    const std::string_view comm = head->ends_with(' ') ? head->substr(0, head->size() - 1) : *head;
    const auto pfn = scan.hex();
    if (!pfn || !is_comm(comm)) return {};
    event.set_text("comm", comm);
    event.set_hex("pfn", parse_hex(*pfn).value_or(0));
    return {.role = Role::kWhole};
  }
  const auto head = scan.until_last(" pte:");
  if (!head) return {};
  const std::string_view comm = head->ends_with(' ') ? head->substr(0, head->size() - 1) : *head;
  if (!is_comm(comm)) return {};
  event.set_text("comm", comm);
  if (!take_hex(scan, event, "pte")) return {};
  if (scan.literal(" pmd:")) take_hex(scan, event, "pmd");
  return {.role = Role::kWhole};
}

Piece list_damage(std::string_view text, Event& event) {
  for (const std::string_view error :
       {"list_del corruption", "list_add corruption", "list_add double add"}) {
    Scan scan(text);
    if (!scan.literal(error)) continue;
    const std::string_view next = scan.rest().substr(0, 1);
    if (next != "." && next != "," && next != ":") return {};
    event.reset(EventKind::kMmCorruption);
    event.set_text("error", error);
    return {.role = Role::kWhole};
  }
  return {};
}

Piece kmemleak(std::string_view text, Event& event) {
  Scan scan(text);
  if (!scan.literal("kmemleak: ")) return {};
  event.reset(EventKind::kKmemleak);
  if (!take_natural(scan, event, "count")) return {};
  if (!scan.literal(" new suspected memory leaks")) return {};
  return {.role = Role::kWhole};
}

Piece decode_memory_error(std::string_view text, Event& event) {
  text = without_vendor_prefix(text);
  return first_piece(
      {failure, soft_offline, bad_page, list_damage, kmemleak, decode_hardware_error}, text, event);
}

void describe_failure(const Event& event, std::string& out) {
  if (event.has("comm")) {
    out += process_in_words(event) + " was signalled or killed: a page it used is broken";
  } else if (event.has("soft_offline")) {
    out += event.has("error")
               ? "a page with repeated corrected errors could not be taken out of use"
               : "a page with repeated corrected errors is taken out of use";
  } else if (event.text("outcome") == "panic") {
    out += "a page of memory is broken and the kernel stopped (panic)";
  } else if (event.has("error") && event.text("error") != "already hardware poisoned") {
    out += "a broken page could not be taken out of use";
    add_quote(out, event, "error", ", \"", "\"", 80);
  } else if (event.has("error")) {
    out += "a page that is known to be broken was used again";
  } else {
    out += "a page of memory is broken";
    add_quote(out, event, "page_type", " (", ")");
    add_name(out, event, "outcome", "; the kernel's recovery ended with ");
  }
}

void describe_memory_error(const Event& event, std::string& out) {
  switch (event.kind()) {
    case EventKind::kMemoryError:
      if (event.has("pfn") || (event.has("error") && event.size() == 1)) {
        describe_failure(event, out);
      } else {
        describe_hardware_error(event, out);
      }
      break;
    case EventKind::kMmCorruption:
      out += "the kernel's memory bookkeeping is damaged";
      add_quote(out, event, "error", " (", ")", 80);
      if (event.has("comm")) out += "; noticed in " + process_in_words(event);
      break;
    case EventKind::kKmemleak:
      out += "the kernel lost track of ";
      out += std::to_string(event.number("count").value_or(1));
      out += " of its own blocks of memory";
      break;
    default:
      break;
  }
}

}  // namespace

const Family kMemoryError{.name = "memory_error",
                          .anchors = kMemoryErrorAnchors,
                          .decode = decode_memory_error,
                          .describe = describe_memory_error};

}  // namespace jetmem::kernel_log
