// SPDX-License-Identifier: Apache-2.0
// Runs the program of alerts.program, where the settings name one, when an alert fires, resolves or
// becomes unknown.
//
// The program runs with the daemon's own few rights and is not trusted: it may be missing, hang
// beyond SIGKILL, fail or print without end, and alerts may come in a storm. So one runs at a time,
// a bounded queue waits, and a bounded number is sent per minute, the most severe first. While a
// process that it started is still running, the program is not started again. Dropped notifications
// are counted; none is sent twice, as the journal and the metrics have everything. Which firing
// alerts are still unsent survives a restart.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/log.h"
#include "base/process/child_process.h"
#include "base/result.h"
#include "base/root/state_file.h"
#include "base/spawn.h"
#include "config/settings.h"
#include "daemon/alerts/alert_notification.h"
#include "daemon/alerts/alert_queue.h"
#include "daemon/children/child_process_stats.h"
#include "daemon/children/orphan_processes.h"
#include "metrics/sample.h"
#include "rules/engine/engine.h"

namespace jetmem {

struct NotifierOptions {
  Nanoseconds window = std::chrono::minutes(1);
  Nanoseconds snapshot =
      std::chrono::milliseconds(200);  // between checks whether a killed one is gone
  // In memory, and kept over a restart. Either empty: unsent notifications are lost at the end.
  std::string runtime_directory{};
  std::string boot_id{};
};

class Notifier {
 public:
  static constexpr std::size_t kPerWindow = 10;
  static constexpr std::size_t kReservedForCritical = 3;  // of them, kept for critical ones
  static constexpr std::size_t kMaxOutput = 64U << 10;

  Notifier(const Clock& clock, Spawner& spawner, Log& log, NotifierOptions options = {});
  Notifier(const Notifier&) = delete;
  Notifier& operator=(const Notifier&) = delete;

  // To be called once. Notifications before it wait for it.
  Result<void> start(EventLoop& loop);
  void apply(const AlertsSettings& settings, std::string runbooks = {});
  bool on() const { return !settings_.program.empty(); }
  // Whether such a change is sent at all: pending alerts, and those that never fired, are not.
  static bool notifies(Change change);
  void notify(const Transition& transition);
  void notify(AlertNotification notification);
  // The rules were replaced, or restored after a restart: sends the alerts that fire now and that
  // the daemon before this one did not send.
  void begin_with(const RuleEngine& engine);
  // Ends the running program and drops what waits.
  void stop();
  // The same at the end of the daemon: the next start sends the firing ones.
  void finish();

  // No samples while it is off.
  void write(SampleWriter& out) const;
  std::uint64_t suppressed() const { return log_.suppressed(); }
  pid_t pid() const { return child_.pid(); }

 private:
  enum class Call : std::uint8_t { kOk, kNotStarted, kFailed, kTimeout, kFlood };
  static constexpr std::size_t kCalls = 5;
  enum class Drop : std::uint8_t { kQueueFull, kSuperseded, kDisabled, kStopping };
  static constexpr std::size_t kDrops = 4;
  static constexpr std::array<std::string_view, kCalls> kCallNames{"ok", "not_started", "failed",
                                                                   "timeout", "flood"};
  static constexpr std::array<std::string_view, kDrops> kDropNames{"queue_full", "superseded",
                                                                   "disabled", "stopping"};

  void on_deadline();
  void step();
  bool is_busy();
  bool orphans_run();
  Nanoseconds wait_for_turn() const;
  void send_next();
  Result<void> run(const AlertNotification& notification);
  void on_output(std::string_view bytes);
  void end(Call call, const std::string& how);
  void count(Drop why) { ++drops_[static_cast<std::size_t>(why)]; }
  void drop(Drop why, const std::string& alert);
  void abandon_run();
  // Whether this alert fired before this start and its notification was not sent then.
  bool was_pending(const std::string& key);
  void save_pending();
  void step_in(Nanoseconds from_now);

  const Clock& clock_;
  NotifierOptions options_;
  ChildProcessLog log_;
  ChildProcess child_;
  AlertsSettings settings_;
  std::string runbooks_;
  Timer step_timer_;
  Timer deadline_timer_;

  AlertQueue waiting_;
  std::string sending_;  // the alert of the run, for the log
  std::string program_;  // of the run; the settings may name another by now
  std::string sending_pending_;  // its alert_key() if it fires
  std::string first_line_;
  std::size_t printed_ = 0;
  Turns<kPerWindow> turns_;
  Turns<kPerWindow - kReservedForCritical> noncritical_turns_;
  bool logged_wedged_ = false;

  OrphanProcesses orphans_;
  std::optional<std::size_t> orphan_count_;  // nothing: not counted yet
  bool check_orphans_ = false;               // a program ran since
  std::optional<Nanoseconds> orphans_since_;
  bool logged_orphans_ = false;

  StateFile state_file_;
  std::vector<std::string> saved_pending_;                      // in that file, by alert_key()
  std::optional<std::vector<std::string>> previously_pending_;  // this start

  std::array<std::uint64_t, kCalls> calls_{};
  std::array<std::uint64_t, kDrops> drops_{};
};

std::span<const Descriptor> notifier_metrics();

// The firing alerts whose notification is not sent yet, as the state file keeps them:
//
//   ["JetmemX\nzone=DMA"]
//
// What is in the text need not be trusted: the keys are only compared.
Result<std::vector<std::string>> parse_pending_alerts(std::string_view text);

}  // namespace jetmem
