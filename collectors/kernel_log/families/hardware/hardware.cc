// SPDX-License-Identifier: Apache-2.0
// What messages of failing hardware and of a failing kernel need beyond their forms: see
// messages/hardware-error.yaml, memory-error.yaml, crash.yaml, stall.yaml.
#include <algorithm>
#include <array>
#include <charconv>

#include "base/text/text.h"
#include "collectors/kernel_log/catalogue/hooks.h"
#include "collectors/kernel_log/event/attention.h"

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
bool edac_error(Event& event) {
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

// Bit 61 of MCi_STATUS.
bool machine_check_status(Event& event) {
  if (const auto status = event.hex("status")) {
    event.set_text("severity", (*status >> 61 & 1U) != 0 ? "uncorrected" : "corrected");
  }
  return event.has("cpu");
}

// "AXI2APB_1@0x2390000" is a bridge.
bool machine_check_source(Event& event) { return !contains(event.text("source"), "@"); }

// Links retry: the kernel's own reports of corrected link errors are no events. And firmware keeps
// a log of the boot before, which has no number, in a form of its own: also after each forced
// power-off.
void harmless_report(Event& event, Soc /*soc*/) {
  const std::string_view section = event.text("section_type");
  const bool retried = error_severity(event.text("severity")) == ErrorSeverity::kCorrected &&
                       section.starts_with("PCIe");
  if (retried || (!event.has("ghes") && section.starts_with("unknown, "))) {
    event.set_bool("harmless", true);
  }
}

// "my:app:99": a task's name may have colons.
bool lock_owner(Event& event) {
  std::array<char, Event::kMaxText> text{};
  std::string_view owner = event.text("owner");
  owner = {text.data(), owner.copy(text.data(), text.size())};
  event.remove("owner");
  const std::size_t colon = owner.rfind(':');
  const auto pid =
      colon == std::string_view::npos ? std::nullopt : parse_i64(owner.substr(colon + 1));
  if (!pid) return true;
  event.set_text("owner_comm", owner.substr(0, colon));
  event.set_number("owner_pid", *pid);
  return true;
}

bool rcu_cpu(Event& event) {
  const auto cpu = event.number("cpus");
  if (!cpu) return false;
  std::array<char, 20> digits{};
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), *cpu).ptr;
  event.remove("cpus");
  event.add_item("cpus", {digits.data(), static_cast<std::size_t>(end - digits.data())});
  return true;
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

// A stalled CPU's task, not that of the CPU that reports it.
bool crashed_task(const Event& open, const Event& part) {
  if (open.kind() != EventKind::kRcuStall || !open.has("cpus")) return true;
  const auto cpu = part.number("cpu");
  for (std::size_t i = 0; i < open.size(); ++i) {
    if (open[i].name == "cpus" && cpu && parse_i64(open.text_of(open[i])) == cpu) return true;
  }
  return false;
}

}  // namespace jetmem::kernel_log::hooks
