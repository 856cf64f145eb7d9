// SPDX-License-Identifier: Apache-2.0
// jetmemd's loop: one thread that owns all state, woken by sd-event only when something is due.
//
//   timer ──▶ cycle: read what is due, derive, evaluate rules, publish a page for the web thread
//   reader ─▶ text of privileged sources, then as above
//   signals ▶ stop, reload
//
// Nothing here blocks: files that may hang are read by jetmem-reader, logs go to the async logger,
// clients to the web thread. Each part below owns what it needs; a part uses only those before it.
#pragma once

#include <systemd/sd-event.h>

#include <memory>
#include <string_view>

#include "base/result.h"
#include "base/root/snapshot.h"
#include "config/settings.h"
#include "daemon/log/source_log.h"
#include "daemon/loop/cycle_timer.h"
#include "daemon/loop/service_manager.h"
#include "daemon/parts/alerts.h"
#include "daemon/parts/children.h"
#include "daemon/parts/daemon_context.h"
#include "daemon/parts/daemon_metrics.h"
#include "daemon/parts/kernel_log_follower.h"
#include "daemon/parts/publisher.h"
#include "daemon/parts/sampling.h"
#include "daemon/state/boot_history.h"
#include "daemon/state/history_feed.h"

namespace jetmem {

class Daemon {
 public:
  Daemon(DaemonOptions options, Settings settings, Root root, AsyncLogger& async_logger);
  Daemon(const Daemon&) = delete;
  Daemon& operator=(const Daemon&) = delete;

  // To be called first of all: a signal that comes before the loop waits for it, so that an early
  // SIGHUP does not end the process.
  static void block_signals();

  // Runs until SIGTERM or SIGINT. The exit status.
  int run();

 private:
  Result<void> set_up_events();
  // False: but for the rules, which have mistakes; those in force are kept.
  bool apply(const Settings& settings);
  void reload();
  void finish();

  void cycle(Nanoseconds now);
  void read_source(std::size_t i);
  void on_answer(std::string_view source, Result<const Snapshot*> snapshot, Nanoseconds read_time);
  void publish_boot_history();
  void publish(Nanoseconds now);
  // Writes what only somebody who reads the whole table needs.
  void complete_table(Nanoseconds now);
  void publish_page(Nanoseconds now);
  // The page of the last cycle, for who asked for it.
  void publish_requested_page();
  // A loop that did not run for a while reads what is due before it judges what is stale.
  void run_missed_cycle();
  void on_source_change(const SourceInfo& info, const SourceStatus& status);
  void set_retry_interval(std::size_t i);
  void update_status_text();
  // What was needed once is released, this much later.
  void release_memory_in(Nanoseconds real);

  DaemonContext context_;
  Settings settings_;
  DaemonCounters counters_;
  Nanoseconds release_memory_at_{0};     // boot clock
  Nanoseconds hasten_processes_at_{0};  // likewise
  ServiceManager service_manager_;
  Sampling sampling_;
  SourceLog source_log_;
  CycleTimer timer_;
  std::unique_ptr<HistoryFeed> history_;  // none when it is switched off
  Publisher publisher_;
  Alerts alerts_;
  KernelLogFollower kernel_log_;
  Children children_;
  std::unique_ptr<BootHistory> boot_history_;  // none under another root
};

}  // namespace jetmem
