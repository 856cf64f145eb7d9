// SPDX-License-Identifier: Apache-2.0
// What messages of failing hardware and of a failing kernel need beyond their forms: see
// messages/hardware-error.yaml, memory-error.yaml, crash.yaml, stall.yaml.
#include <algorithm>
#include <array>
#include <charconv>

#include "base/text/text.h"
#include "collectors/kernel_log/catalogue/hooks.h"
#include "collectors/kernel_log/event/attention.h"
#include "collectors/kernel_log/line/scan.h"

namespace jetmem::kernel_log::hooks {

// Older kernels print these without "0x", or with zeros in front.
bool plain_hex(Event& event) {
  for (const std::string_view name : {"pfn", "code", "addr"}) {
    const std::string_view digits = event.text(name);
    if (digits.empty() || (name == "addr" && digits.starts_with("0x"))) continue;
    if (const auto value = parse_hex(digits)) event.set_hex(name, *value);
  }
  return true;
}

// A task may be named "EDAC MC0: 1 UE ": what the kernel prints behind a task's name is no error.
// And what EDAC prints where it does not know the place is no label.
bool edac_error(Event& event) {
  const std::string_view place = event.text("label");
  if (place == "any memory" || place.starts_with("unknown ")) event.remove("label");
  for (const std::string_view name : {"error", "label"}) {
    const std::string_view text = event.text(name);
    if (text.starts_with("[") || text.starts_with("(")) return false;
  }
  return event.has("severity") || event.has("error");
}

bool edac_where(Event& event) {
  return event.has("name") || event.has("address") || event.has("mc");
}

// "node:6 card:1 module:0", and "node: 6 card: 1" of older kernels.
bool memory_location(Event& event) {
  if (!event.has("where") || !event.has("location")) return false;
  std::array<char, Event::kMaxText> location{};
  std::size_t size = event.text("where").copy(location.data(), 8);
  location[size++] = ':';
  for (const char c : event.text("location")) {
    if (size < location.size() && (c != ' ' || location[size - 1] != ':')) location[size++] = c;
  }
  event.remove("where");
  event.set_text("location", {location.data(), size});
  return true;
}

// Bits 61 (UC), 60 (EN) and 57 (PCC) of MCi_STATUS. With all of them a CPU that runs takes an
// exception; without one the kernel reads such only when it brings a CPU up.
bool machine_check_status(Event& event) {
  if (const auto status = event.hex("status")) {
    const bool uncorrected = (*status >> 61 & 1U) != 0;
    event.set_text("severity", uncorrected ? "uncorrected" : "corrected");
    const bool raises = uncorrected && (*status >> 60 & 1U) != 0 && (*status >> 57 & 1U) != 0;
    if (raises && event.text("error") == "Machine Check") {
      event.set_text("happened", "before Linux started or woke up");
    }
  }
  return event.has("cpu");
}

// At most a second where 250 jiffies are one (100 on some boards: 2.5 s): a driver's start takes as long.
void short_wait_is_harmless(Event& event, Soc /*soc*/) {
  if (event.number("jiffies").value_or(1000) < 250) event.set_bool("harmless", true);
}

// "AXI2APB_1@0x2390000" is a bridge.
bool machine_check_source(Event& event) { return !contains(event.text("source"), "@"); }

// Links retry: the kernel's own reports of corrected link errors are no events. And firmware keeps
// a log of a boot before, which has no number, some in a form of its own: also after each forced
// power-off.
void harmless_report(Event& event, Soc /*soc*/) {
  const std::string_view section = event.text("section_type");
  const bool retried = error_severity(event.text("severity")) == ErrorSeverity::kCorrected &&
                       section.starts_with("PCIe");
  const bool of_former_boot = !event.has("ghes") && !event.has("source");
  if (of_former_boot) event.set_text("happened", "before this boot");
  if (retried || (of_former_boot && section.starts_with("unknown, "))) {
    event.set_bool("harmless", true);
  }
}

// "my:app:99": a task's name may have colons.
bool lock_owner(Event& event) {
  const std::string_view owner = event.text("owner");
  event.remove("owner");
  const std::size_t colon = owner.rfind(':');
  const auto pid =
      colon == std::string_view::npos ? std::nullopt : parse_i64(owner.substr(colon + 1));
  if (!pid) return true;
  event.set_text("owner_comm", owner.substr(0, colon));
  event.set_number("owner_pid", *pid);
  return true;
}

// "idle=cf8/0/0x0 softirq=": dynticks, and how deep it is nested in the kernel and in interrupts.
bool rcu_cpu(Event& event) {
  const auto cpu = event.number("cpus");
  if (!cpu) return false;
  const std::string_view nesting = event.text("idle");
  const std::string_view depth = nesting.substr(std::min(nesting.find('/'), nesting.size()));
  const bool is_idle = depth.starts_with("/0/0x0 ") || depth.starts_with("/0/0 ");
  // Of a line that was cut off.
  const bool is_open = std::string_view("/0/0x0 ").starts_with(depth) || std::string_view("/0/0 ").starts_with(depth);
  event.remove("idle");
  std::array<char, 20> digits{};
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), *cpu).ptr;
  event.remove("cpus");
  if (is_open && !is_idle) return true;
  event.add_item(is_idle ? "idle_cpus" : "cpus",
                 {digits.data(), static_cast<std::size_t>(end - digits.data())});
  return true;
}

// RCU's thread did nothing for most of the stall.
void rcu_thread_was_late(Event& open, const Event& part) {
  const auto inactive = part.number("inactive");
  if (inactive && *inactive > open.number("jiffies").value_or(INT64_MAX) / 2) {
    open.set_bool("starved", true);
  }
}

// "RIP: 0010:NAME+0x1f5/0x260", up to 4.8 with the address before the name; "pc : NAME+0x40/0x1b0".
// In user mode it is an address: behind segment 0x33 or 0x23, else with its upper bits 0.
Piece lockup_place(std::string_view text, Event& event) {
  Scan scan(text);
  const bool x86 = scan.literal("RIP: ");
  if (!x86 && !scan.literal("pc : ") && !scan.literal("epc : ") && !scan.literal("PC is at ")) {
    return {};
  }
  event.reset(EventKind::kSoftLockup);
  const std::string_view place = scan.rest();
  const bool user =
      x86 ? place.starts_with("0033:") || place.starts_with("0023:") : place.starts_with("0000");
  if (user) event.set_text("mode", "user mode");
  if (x86) scan.past(contains(place, "] ") ? "] " : "0010:");
  const bool waits =
      scan.rest().starts_with("smp_call_function_") || scan.rest().starts_with("csd_lock_");
  const auto function = scan.until("+0x");
  if (waits && function) event.set_text("waits_in", function->substr(0, function->find('.')));
  return {.role = Role::kFollows, .step = 1, .last = true, .alone = true};
}

// Those that have a message of their own.
bool plain_panic(Event& event) {
  constexpr std::array<std::string_view, 7> kOthers{"Out of memory",
                                                    "out of memory",
                                                    "System is deadlocked on memory",
                                                    "Memory failure on page ",
                                                    "UE ",
                                                    "EDAC",
                                                    "Watchdog detected hard LOCKUP on cpu "};
  const std::string_view reason = event.text("reason");
  return std::none_of(kOthers.begin(), kOthers.end(),
                      [&](std::string_view other) { return reason.starts_with(other); });
}

namespace {

// DFSC and IFSC of ESR_ELx, without the level of the page table. Empty: reserved.
std::string_view abort_name(std::uint64_t status) {
  constexpr std::array<std::string_view, 4> kOfLevels{"address size fault", "translation fault",
                                                      "access flag fault", "permission fault"};
  if (status < 0x10) return kOfLevels[status / 4];
  if (status >= 0x13 && status < 0x18) return "external abort on a page table walk";
  if (status >= 0x1b && status < 0x20) return "parity error on a page table walk";
  switch (status) {
    case 0x10:
      return "external abort";
    case 0x11:
      return "tag check fault";
    case 0x18:
      return "parity error";
    case 0x21:
      return "alignment fault";
    case 0x29:
      return kOfLevels[0];
    case 0x2b:
      return kOfLevels[1];
    case 0x30:
      return "TLB conflict abort";
    case 0x31:
      return "unsupported atomic update";
    case 0x35:
      return "unsupported exclusive access";
    default:
      return {};
  }
}

// What 32-bit Arm prints, the FSR.
std::string_view fault_of_fsr(std::uint64_t fsr, bool of_instruction) {
  constexpr std::uint64_t kLpae = 1U << 9;
  constexpr std::uint64_t kAsynchronousAbort = 0x11, kAsynchronousParity = 0x19;
  if ((fsr & kLpae) != 0) {
    const std::uint64_t status = fsr & 0x3f;
    if (status == kAsynchronousAbort) return "external abort";
    return status == kAsynchronousParity ? "parity error" : abort_name(status);
  }
  switch ((fsr & 0xf) | (fsr >> 6 & 0x10)) {
    case 0x1:
      return of_instruction ? "" : "alignment fault";
    // 0x3 was alignment, too; since Armv6 it is an access flag fault.
    case 0x5:
    case 0x7:
      return "translation fault";
    case 0x9:
    case 0xb:
      return "domain fault";
    case 0xd:
    case 0xf:
      return "permission fault";
    case 0x8:
    case 0xa:
    case 0x16:
      return "external abort";
    case 0xc:
    case 0xe:
      return "external abort on a page table walk";
    case 0x10:
      return "TLB conflict abort";
    case 0x18:
    case 0x19:
      return "parity error";
    case 0x1c:
    case 0x1e:
      return "parity error on a page table walk";
    default:
      return {};
  }
}

// arm64's ESR says in its upper bits whether it was an abort of an instruction or of data, from
// user space or the kernel. The FSR is small, but for what the kernel adds.
std::string_view fault_of_arm(std::uint64_t code) {
  constexpr std::uint64_t kInstruction = 0x80000000;  // FSR_LNX_PF
  constexpr std::uint64_t kLargestFsr = 0x3fff;
  const std::uint64_t fsr = code & ~kInstruction;
  if (fsr <= kLargestFsr) return fault_of_fsr(fsr, (code & kInstruction) != 0);
  const std::uint64_t of = code >> 26 & 0x3f;
  const bool is_abort = of == 0x20 || of == 0x21 || of == 0x24 || of == 0x25;
  return is_abort ? abort_name(code & 0x3f) : "";
}

// The error code of x86's page fault.
std::string_view fault_of_x86(std::uint64_t code) {
  constexpr std::uint64_t kProtection = 1, kReserved = 1U << 3, kKey = 1U << 5;
  if ((code & kReserved) != 0) return "reserved bit violation";
  if ((code & (kProtection | kKey)) != 0) return "permission fault";
  return "translation fault";
}

}  // namespace

// What kind of access failed: by itself "paging request" is any.
bool fault_of_code(Event& event) {
  std::string_view fault;
  if (const auto code = event.hex("esr")) fault = fault_of_arm(*code);
  if (const auto code = event.hex("pf")) fault = fault_of_x86(*code);
  event.remove("esr");
  event.remove("pf");
  if (!fault.empty()) event.set_text("fault", fault);
  return true;
}

// A stalled CPU's task, not that of the CPU that reports it.
bool crashed_task(const Event& open, const Event& part) {
  if (open.kind() != EventKind::kRcuStall) return true;
  if (!open.has("cpus")) return !open.has("starved");
  const auto cpu = part.number("cpu");
  if (!cpu) return true;
  for (std::size_t i = 0; i < open.size(); ++i) {
    if (open[i].name == "cpus" && parse_i64(open.text_of(open[i])) == cpu) return true;
  }
  return false;
}

// Takes nothing over: both lines report one crash, but their names may be of two processors.
void reported_before(Event& /*open*/, const Event& /*part*/) {}

}  // namespace jetmem::kernel_log::hooks
