// SPDX-License-Identifier: Apache-2.0
#include "daemon/probe/probe_skips.h"

namespace jetmem {

std::string_view ProbeSkips::name(std::size_t reason) {
  if (reason == kPreviousRunUnfinished) return "previous_run_unfinished";
  if (reason == kBackoff) return "backoff";
  if (reason == kCgroupHeadroom) return "cgroup_headroom";
  if (reason == kDisabled) return "disabled";
  return gate_reason_name(static_cast<GateReason>(reason));
}

void ProbeSkips::skip(ProbeGroup group, std::size_t reason, const std::string& words) {
  Group& state = of(group);
  ++state.counts[reason];
  const bool same = state.skipping == reason;
  if (!state.skipping) state.in_a_row = 0;
  ++state.in_a_row;
  state.skipping = reason;
  if (same) return;
  log_.log_message(LogLevel::kInfo,
                   "probes of " + std::string(probe_group_name(group)) + " are skipped: " + words,
                   {{"JETMEM_REASON", std::string(name(reason))}});
}

void ProbeSkips::count_disabled(ProbeGroup group) {
  ++of(group).counts[kDisabled];
  log_.log_message(LogLevel::kInfo, "the running probe of " + std::string(probe_group_name(group)) +
                                        " was ended: it is disabled now");
}

void ProbeSkips::resume(ProbeGroup group) {
  Group& state = of(group);
  if (!state.skipping) return;
  log_.log_message(LogLevel::kInfo, "probes of " + std::string(probe_group_name(group)) +
                                        " resume after " + std::to_string(state.in_a_row) +
                                        " skipped");
  state.skipping.reset();
}

}  // namespace jetmem
