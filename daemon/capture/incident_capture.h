// SPDX-License-Identifier: Apache-2.0
// Has a bundle written (`jetmem capture`) when a critical alert fires, so that what the device was
// like then can still be read when somebody comes.
//
// Memory may be short at that very moment: the program steps back itself (it is the first that the
// kernel kills, idle to the disk and the processors), one runs at a time, and at most one within
// the settings' interval, restarts of the daemon included.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
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
#include "daemon/capture/bundle_count.h"
#include "daemon/children/child_process_stats.h"
#include "daemon/state/disk_question.h"
#include "metrics/sample.h"
#include "rules/engine/transition.h"

namespace jetmem {

struct IncidentCaptureOptions {
  std::string state_directory{};    // on the disk; empty: only where the settings name one
  std::string runtime_directory{};  // when the last one was, over a restart
  std::string boot_id{};
  std::vector<std::string> config{};  // settings files named to the daemon; empty: the usual ones
  // The address at which the program finds this daemon and no other; empty: there is none.
  std::function<std::string()> own_address{};
  std::string program{};  // empty: the one beside the daemon
  // Time for the recorder to write what belongs to the alert.
  Nanoseconds delay = std::chrono::seconds(5);
  // The pause after the first failed try; doubles with each. There are three tries in all.
  Nanoseconds retry = std::chrono::seconds(30);
};

class IncidentCapture {
 public:
  IncidentCapture(const Clock& clock, Spawner& spawner, Log& log, IncidentCaptureOptions options);
  IncidentCapture(const IncidentCapture&) = delete;
  IncidentCapture& operator=(const IncidentCapture&) = delete;

  // To be called once. Transitions that came before are handled then.
  Result<void> start(EventLoop& loop);
  void apply(const Settings& settings);
  // Every change of every alert; what fired already before a restart is not one.
  void notify(const Transition& transition);
  // At the end of the daemon: terminates a running one, which starts again with the next daemon.
  void stop();

  // Nothing while it is off or has no directory.
  void write(SampleWriter& out);
  std::uint64_t suppressed() const { return log_.suppressed(); }
  pid_t pid() const { return child_.pid(); }

 private:
  enum class Outcome : std::uint8_t { kOk, kFailed, kTimeout, kNotStarted, kInterval, kRunning };
  static constexpr std::size_t kOutcomes = 6;
  static constexpr std::array<std::string_view, kOutcomes> kOutcomeNames{
      "ok", "failed", "timeout", "not_started", "skipped_interval", "skipped_running"};

  void on_deadline();
  void on_recount();
  bool on() const { return settings_.enabled && !base().empty(); }
  const std::string& base() const;  // where the recorder's file lies
  std::string folder() const;
  void restore();
  void keep();
  void begin();
  void end(Outcome outcome, const std::string& how);
  // Counts what lies in the folder; after a look that is under way.
  void look(const std::string& remove_parts_of = {});
  void take_count();
  bool too_many(const std::string& alert);
  // "no bundle" is written for that alert; logged the first time only.
  void skip(Outcome outcome, bool& logged, const std::string& what, const std::string& alert,
            const std::string& why);
  std::uint64_t recent_bundles() const;
  void end_child();

  const Clock& clock_;
  IncidentCaptureOptions options_;
  ChildProcessLog log_;
  StateFile state_file_;
  ChildProcess child_;
  CaptureSettings settings_;
  std::string history_directory_;
  Timer begin_timer_;
  Timer deadline_timer_;
  Timer recount_timer_;

  std::string alert_;  // that it is written for; empty: none waits or runs
  std::string file_;
  std::uint32_t tries_ = 0;       // for that alert
  std::uint32_t disk_waits_ = 0;  // before the next of them
  bool logged_skip_ = false;
  bool logged_running_ = false;
  std::optional<Nanoseconds> last_;       // boot clock: when one was begun
  std::optional<Nanoseconds> last_wall_;  // of the last that was written
  DiskQuestion<std::optional<BundlesSeen>> look_;
  bool is_look_wanted_ = false;      // after the one under way
  std::string remove_parts_of_;      // with the next look
  std::optional<BundlesSeen> seen_;  // as of the last look
  std::array<std::uint64_t, kOutcomes> outcomes_{};
};

std::span<const Descriptor> incident_capture_metrics();

}  // namespace jetmem
