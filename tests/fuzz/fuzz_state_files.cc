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
    check(again && *again == *probes);
  }
  if (const auto log = kernel_log::parse_saved_log(text)) {
    const std::string kept = kernel_log::to_text(*log);
    const auto again = kernel_log::parse_saved_log(kept);
    check(again && kernel_log::to_text(*again) == kept);
  }
  if (const auto starts = parsed_twice(boot::parse_starts, text, std::identity())) {
    boot::Starts again;
    check(boot::parse_starts(to_text(*starts), again) && again == *starts);
    check(starts->at.size() <= boot::Starts::kMost);
  }
  if (const auto pending = parse_pending_alerts(text)) check(pending->size() <= 32);
  if (const auto process = probe_process_of(text)) check(process->pid >= 0);
}
