// SPDX-License-Identifier: Apache-2.0
// When the next cycle is due, and what of it: the sources, the rules, the figures of processes.
#pragma once

#include <systemd/sd-event.h>

#include <cstddef>
#include <functional>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "collectors/sampler/sampler.h"
#include "daemon/parts/daemon_context.h"
#include "daemon/loop/schedule.h"

namespace jetmem {

class CycleTimer {
 public:
  CycleTimer(const DaemonContext& context, const Sampler& sampler, Nanoseconds rules_interval);
  ~CycleTimer() { sd_event_source_unref(source_); }
  CycleTimer(const CycleTimer&) = delete;
  CycleTimer& operator=(const CycleTimer&) = delete;

  Result<void> start(std::function<void()> cycle);
  // Waits for the next entry.
  void arm();
  // Nothing was missed until now.
  bool is_due(Nanoseconds now) const { return now >= next_due_; }
  // How late `now` is; the granted slack does not count.
  Nanoseconds lag(Nanoseconds now) const;

  // Takes what is due. Sources by their index in the sampler.
  const std::vector<std::size_t>& take_due(Nanoseconds now);
  bool is_rules_due() const { return has(rules_entry_); }
  bool is_processes_due() const { return has(processes_entry_); }

  void set_interval(std::size_t source, Nanoseconds interval);
  void set_rules_interval(Nanoseconds interval) { set_interval(rules_entry_, interval); }
  Nanoseconds shortest_interval() const { return schedule_.shortest_interval(); }
  std::uint64_t missed() const { return schedule_.missed(); }

 private:
  static int on_due(sd_event_source*, std::uint64_t, void* self);
  bool has(std::size_t entry) const;

  const DaemonContext& context_;
  Schedule schedule_;
  std::size_t processes_entry_ = 0;  // of the schedule: behind the sources
  std::size_t rules_entry_ = 0;      // likewise
  std::vector<std::size_t> due_;
  Nanoseconds next_due_{0};
  std::function<void()> cycle_;
  sd_event_source* source_ = nullptr;
};

}  // namespace jetmem
