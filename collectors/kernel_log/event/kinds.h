// SPDX-License-Identifier: Apache-2.0
// Every kind of event that a kernel log can report: names, weight, and what it usually means.
//
// messages/kinds.yaml has them; the names are label values and JSON, so they never change.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/log.h"

namespace jetmem::kernel_log {

// Generated: EventKind and kKindCount from messages/kinds.yaml, Group and kGroupCount from
// generate.py. One incident may print several kinds of a group.
#include "collectors/kernel_log/event/kind_enum.inc"

std::string_view group_name(Group group);

struct KindInfo {
  EventKind kind = EventKind::kNone;
  std::string_view name{};
  Group group = Group::kNone;
  LogLevel level = LogLevel::kWarning;
  // Of its journal entries: 32 hexadecimal digits.
  std::string_view message_id{};
  // Fields that tell one source of trouble from another; events that agree in them are counted
  // together. Never an address, a PID or a size: those differ each time.
  std::array<std::string_view, 4> key{};
  // What it usually means, to go on after "; ": no capital, no full stop.
  std::string_view meaning{};
  // What to do about it, likewise.
  std::string_view remedy{};
  // What happened, where the message does not say it itself (message.h); the first whose fields are
  // all there.
  std::span<const std::string_view> say{};
  bool program = false;  // only processes print its lines
  // Who looks after it: the step of `jetmem doctor`, docs/runbooks/NAME.md, the shipped rule that
  // fires on it or why none does, and the rule that fires on the severe ones.
  std::string_view step{};
  std::string_view runbook{};
  std::string_view rule{};
  std::string_view no_rule{};
  std::string_view severe_rule{};
  // Roots before what follows from them: a bus error stalls CPUs, a stalled CPU loses frames.
  unsigned rank = 0;
};

const KindInfo& info_of(EventKind kind);
// All but kNone, in the order of the enum.
std::span<const KindInfo> all_kinds();
// Those that a step of the doctor looks at, by rank.
std::vector<const KindInfo*> kinds_of_step(std::string_view step);
// Whether its lines come from processes alone: found in the journal, never in the kernel log.
bool only_processes_print(EventKind kind);
std::optional<EventKind> kind_named(std::string_view name);

// What the kernel's rate limiter suppressed: "arm_smmu_context_fault: 83 callbacks suppressed"
// names the function. The kind of event that this function's messages are; kNone when it is not
// known.
EventKind suppressed_kind(std::string_view function);

}  // namespace jetmem::kernel_log
