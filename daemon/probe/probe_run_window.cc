// SPDX-License-Identifier: Apache-2.0
#include "daemon/probe/probe_run_window.h"

#include <algorithm>

namespace jetmem {

void ProbeRunWindow::prepare(ProbeGroup group) {
  if (group == ProbeGroup::kCuda) events_before_ = events();
}

void ProbeRunWindow::open(ProbeGroup group, Nanoseconds now) {
  if (window_.begins) window_.begins(now);
  open_ = group;
  left_at_.reset();
}

void ProbeRunWindow::check(Nanoseconds now, bool is_running, bool is_terminating) {
  if (!open_ || is_running) return;
  if (is_terminating && left_at_ && now - *left_at_ < timeout_) return;
  if (window_.ended) window_.ended(now);
  if (*open_ == ProbeGroup::kCuda) count_at_ = now + settle_;
  open_.reset();
}

std::optional<std::uint64_t> ProbeRunWindow::count_events() {
  count_at_.reset();
  const auto all = events();
  if (!all || !events_before_) return std::nullopt;
  return *all - std::min(*events_before_, *all);
}

}  // namespace jetmem
