// SPDX-License-Identifier: Apache-2.0
#include "collectors/device/boot/starts.h"
#include "collectors/kernel_log/state.h"
#include "daemon/alerts/notifier.h"
#include "daemon/probe/probe_state.h"
#include "tests/fuzz/target.h"

// What jetmemd keeps for its next start, in files that a crash may have cut. What is understood is
// written so that it is understood again as the same. (Alerts and boots have targets of their own.)
FUZZ(text) {
  if (const auto probes = parse_probe_state(text)) {
    const auto again = parse_probe_state(to_text(*probes));
    if (!again || !(*again == *probes)) __builtin_trap();
  }
  if (const auto log = kernel_log::parse_saved_log(text)) {
    const std::string kept = kernel_log::to_text(*log);
    const auto again = kernel_log::parse_saved_log(kept);
    if (!again || kernel_log::to_text(*again) != kept) __builtin_trap();
  }
  static boot::Starts reused;
  boot::Starts starts;
  const bool ok = boot::parse_starts(text, starts).has_value();
  if (boot::parse_starts(text, reused).has_value() != ok) __builtin_trap();
  if (ok) {
    boot::Starts again;
    if (!boot::parse_starts(to_text(starts), again) || again != starts) __builtin_trap();
    if (reused != starts || starts.at.size() > boot::Starts::kMost) __builtin_trap();
  }
  const auto pending = parse_pending_alerts(text);
  if (pending && pending->size() > 32) __builtin_trap();
  if (const auto process = probe_process_of(text); process && process->pid < 0) __builtin_trap();
}
