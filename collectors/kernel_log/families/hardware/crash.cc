// SPDX-License-Identifier: Apache-2.0
// The kernel's own end: oopses and panics. A panic that other families know by its cause (memory
// ran out, a page is broken) is theirs.
#include <array>

#include "collectors/kernel_log/families/common/family.h"
#include "collectors/kernel_log/text/line_parts.h"
#include "collectors/kernel_log/text/sentence_parts.h"

namespace jetmem::kernel_log {
namespace {

constexpr std::array<std::string_view, 11> kCrashAnchors{
    "Unable to handle kernel ", "Internal error: ", "Kernel panic - not syncing",
    "Insufficient stack space", "kernel BUG at ",   "BUG: unable to handle ",
    "BUG: kernel NULL pointer", "Oops: ",           "Oops - ",
    "general protection fault", " Comm: "};

// "Unable to handle kernel paging request at virtual address dead000000000108", then
// "Internal error: Oops: 0000000096000044 [#1] SMP"
Piece oops(std::string_view text, Event& event) {
  Scan scan(text);
  event.reset(EventKind::kKernelOops);
  if (scan.literal("Unable to handle kernel ") || scan.literal("BUG: unable to handle kernel ") ||
      scan.literal("BUG: unable to handle ")) {
    const auto error = scan.until(" at ");
    if (!error || !is_kernel_words(*error)) return {};
    event.set_text("error", *error);
    scan.literal("virtual address ");
    scan.literal("address: ");
    if (const auto address = scan.hex()) event.set_text("addr", *address);
    return {.role = Role::kOpens};
  }
  if (scan.literal("BUG: kernel NULL pointer dereference, address: ")) {
    event.set_text("error", "NULL pointer dereference");
    if (const auto address = scan.hex()) event.set_text("addr", *address);
    return {.role = Role::kOpens};
  }
  if (scan.literal("kernel BUG at ")) {
    event.set_text("error", "BUG");
    const std::string_view where = scan.up_to("! ");
    if (is_kernel_name(where)) event.set_text("where", where);
    return {.role = Role::kOpens};
  }
  if (scan.literal("Insufficient stack space to handle exception")) {
    event.set_text("error", "Insufficient stack space");
    return {.role = Role::kWhole};
  }
  const bool internal = scan.literal("Internal error: ");
  // "Oops: 0000 [#1] PREEMPT SMP" of x86; another kind of error has other words: "synchronous
  // external abort: 96000210 [#1]".
  if (!contains(scan.rest(), " [#")) return {};
  if (!internal && scan.rest().substr(0, 6) != "Oops: " && scan.rest().substr(0, 7) != "Oops - " &&
      scan.rest().substr(0, 24) != "general protection fault") {
    return {};
  }
  const std::string_view error = scan.up_to(":[");
  if (!is_kernel_words(trim(error))) return {};
  // The first line of an oops has told what it is.
  if (trim(error).substr(0, 4) != "Oops") event.set_text("error", trim(error));
  return {.role = Role::kFollowsOrOpens, .step = 1};
}

// "CPU: 3 PID: 1719 Comm: kmscube Tainted: G      D     4.16.0 #834", below an oops or a stall;
// since 6.10 with "UID: 0 " before the PID.
Piece task_of_cpu(std::string_view text, Event& event) {
  Scan scan(text);
  event.reset(EventKind::kKernelOops);
  if (!scan.literal("CPU: ") || !take_natural(scan, event, "cpu") || !scan.literal(" ")) return {};
  if (scan.literal("UID: ") && (!scan.number() || !scan.literal(" "))) return {};
  if (!scan.literal("PID: ") || !take_natural(scan, event, "pid")) return {};
  if (!scan.literal(" Comm: ")) return {};
  for (const std::string_view end : {" Kdump: ", " Tainted: ", " Not tainted"}) {
    Scan name = scan;
    const auto comm = name.until(end);
    if (!comm || !is_comm(trim(*comm))) continue;
    event.set_text("comm", trim(*comm));
    return {.role = Role::kFollows,
            .step = 5,
            .last = true,
            .join = "cpu",
            .of = {EventKind::kRcuStall}};
  }
  return {};
}

// A stalled CPU's, not that of the CPU that reports it.
bool joins_crash(const Event& open, const Event& part) {
  if (open.kind() != EventKind::kRcuStall || !open.has("cpus")) return true;
  const auto cpu = part.number("cpu");
  for (std::size_t i = 0; i < open.size(); ++i) {
    if (open[i].name == "cpus" && cpu && open.text_of(open[i]) == std::to_string(*cpu)) return true;
  }
  return false;
}

Piece panic(std::string_view text, Event& event) {
  Scan scan(text);
  if (!scan.literal("Kernel panic - not syncing")) return {};
  scan.literal(": ");
  event.reset(EventKind::kKernelPanic);
  set_if(event, "reason", trim(scan.rest()));
  return {.role = Role::kWhole};
}

Piece decode_crash(std::string_view text, Event& event) {
  return first_piece({panic, oops, task_of_cpu}, without_vendor_prefix(text), event);
}

void describe_crash(const Event& event, std::string& out) {
  if (event.kind() == EventKind::kKernelOops) {
    out += "the kernel hit a bug";
    add_quote(out, event, "error", " (", ")");
    add_name(out, event, "where", " at ");
    add_name(out, event, "addr", ", address ");
    if (event.has("comm")) out += ", in " + process_in_words(event);
  } else if (event.kind() == EventKind::kKernelPanic) {
    out += "the kernel stopped (panic)";
    add_quote(out, event, "reason", ", \"", "\"", 120);
  }
}

}  // namespace

const Family kCrash{.name = "crash",
                    .anchors = kCrashAnchors,
                    .decode = decode_crash,
                    .describe = describe_crash,
                    .joins = joins_crash};

}  // namespace jetmem::kernel_log
