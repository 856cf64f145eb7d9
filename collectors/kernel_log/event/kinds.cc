// SPDX-License-Identifier: Apache-2.0
#include "collectors/kernel_log/event/kinds.h"

#include <algorithm>

#include <array>

namespace jetmem::kernel_log {
namespace {

#include "collectors/kernel_log/event/kind_table.inc"  // kGroupNames; from messages/kinds.yaml kKinds and kPrinters

}  // namespace

std::string_view group_name(Group group) {
  return kGroupNames[static_cast<std::size_t>(group)];
}

const KindInfo& info_of(EventKind kind) { return kKinds[static_cast<std::size_t>(kind)]; }

std::span<const KindInfo> all_kinds() { return std::span(kKinds).subspan(1); }

std::vector<const KindInfo*> kinds_of_step(std::string_view step) {
  std::vector<const KindInfo*> out;
  for (const KindInfo& info : all_kinds()) {
    if (info.step == step) out.push_back(&info);
  }
  std::stable_sort(out.begin(), out.end(),
                   [](const KindInfo* a, const KindInfo* b) { return a->rank < b->rank; });
  return out;
}

bool only_processes_print(EventKind kind) {
  return info_of(kind).program;
}

std::optional<EventKind> kind_named(std::string_view name) {
  for (const KindInfo& info : all_kinds()) {
    if (info.name == name) return info.kind;
  }
  return std::nullopt;
}

EventKind suppressed_kind(std::string_view function) {
  // A compiler's copy of a function keeps the name in front of the dot.
  const std::string_view name = function.substr(0, function.find('.'));
  // And "__warn_alloc" is what warn_alloc() calls.
  const std::string_view plain = name.starts_with("__") ? name.substr(2) : name;
  for (const Printer& printer : kPrinters) {
    if (printer.function == name || printer.function == plain) return printer.kind;
  }
  // One interrupt handler for each chip, and NVIDIA's own driver.
  const auto has = [&](std::string_view part) { return name.find(part) != std::string_view::npos; };
  const bool handler = name.substr(0, 5) == "tegra" && has("_mc_") && (has("irq") || has("error"));
  if (handler || has("mcerr")) return EventKind::kMcError;
  return EventKind::kNone;
}

}  // namespace jetmem::kernel_log
