// Tells alerts to a program or a socket of the machine's owner, where the settings name one: when
// an alert fires, is resolved, or its source goes blind.
//
// The program runs with the daemon's own few rights, so it is a stranger here: it may be missing,
// hang beyond SIGKILL, fail or print without end, and alerts may come in a storm. So one runs at a
// time, some wait, and a few are told each minute, the most severe first. What it leaves running
// keeps the next from being started. What was not told is counted; nothing is told twice, for the
// journal and the metrics have it all. Which alerts fire and were not told outlives a restart.
#pragma once

#include <systemd/sd-event.h>

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/log.h"
#include "base/result.h"
#include "base/sample.h"
#include "base/spawn.h"
#include "config/settings.h"
#include "daemon/alert_news.h"
#include "daemon/alert_queue.h"
#include "daemon/alert_socket.h"
#include "daemon/child_output.h"
#include "daemon/left_behind.h"
#include "daemon/program_figures.h"
#include "daemon/untold_alerts.h"

namespace jetmem {

struct AlertHookOptions {
  Nanoseconds window = std::chrono::minutes(1);
  Nanoseconds look = std::chrono::milliseconds(200);  // whether one that was killed is gone
  // Memory, and kept over a restart. Either empty: what waits at the end is not told after it.
  std::string runtime_directory{};
  std::string boot_id{};
};

class AlertHook {
 public:
  static constexpr std::size_t kMaxWaiting = AlertQueue::kMost;
  static constexpr std::size_t kPerWindow = 10;
  static constexpr std::size_t kForCritical = 3;  // of them, kept for critical ones
  static constexpr std::size_t kMaxOutput = 64U << 10;

  AlertHook(const Clock& clock, Spawner& spawner, Log& log, AlertHookOptions options = {});
  ~AlertHook();
  AlertHook(const AlertHook&) = delete;
  AlertHook& operator=(const AlertHook&) = delete;

  // To be called once. What is told before waits for it.
  Result<void> start(sd_event* event);
  void apply(const AlertsSettings& settings);
  // Whether there is anybody to tell: else nobody need render the texts.
  bool on() const { return !settings_.program.empty() || !settings_.socket.empty(); }
  // What pends, or only did, nobody is told of.
  static bool tells(Change change);
  void tell(AlertNews news);
  // Whether this alert, which fired before this start, was not told to anybody then.
  bool was_untold(const std::string& alert, const AlertNews::Labels& labels);
  void forget_untold();
  // Ends what runs and drops what waits; at the end of the daemon, for the next one to tell.
  void stop();
  void finish();

  // Nothing while it is off.
  void write(SampleWriter& out) const;
  std::uint64_t withheld() const { return log_.withheld(); }
  pid_t pid() const { return child_.pid(); }

 private:
  enum class Call : std::uint8_t { kOk, kNotStarted, kFailed, kTimeout, kFlood };
  static constexpr std::size_t kCalls = 5;
  enum class Drop : std::uint8_t { kQueueFull, kSuperseded, kSwitchedOff, kStopping };
  static constexpr std::size_t kDrops = 4;
  static constexpr std::array<std::string_view, kCalls> kCallNames{"ok", "not_started", "failed",
                                                                   "timeout", "flood"};
  static constexpr std::array<std::string_view, kDrops> kDropNames{"queue_full", "superseded",
                                                                   "switched_off", "stopping"};

  static int on_step(sd_event_source*, std::uint64_t, void* self);
  static int on_deadline(sd_event_source*, std::uint64_t, void* self);
  void step();
  bool is_busy();
  bool runs_on();
  Nanoseconds wait_for_turn() const;
  void tell_next();
  Result<void> run(const AlertNews& news);
  void on_output(std::string_view bytes);
  void end(Call call, const std::string& how);
  void count(Drop why) { ++drops_[static_cast<std::size_t>(why)]; }
  void drop(Drop why, const std::string& alert);
  bool is_telling() const { return child_.running() || socket_.busy(); }
  void give_up();
  void keep_untold();
  void step_in(Nanoseconds from_now);
  void set_deadline(bool on);
  std::string whom() const;

  const Clock& clock_;
  AlertHookOptions options_;
  ProgramLog log_;
  ChildOutput child_;
  AlertSocket socket_;
  AlertsSettings settings_;
  sd_event_source* step_timer_ = nullptr;
  sd_event_source* deadline_timer_ = nullptr;

  AlertQueue waiting_;
  std::string telling_;  // the alert, for the log
  std::string telling_to_;
  std::optional<UntoldAlert> telling_untold_;  // one that fires
  std::string first_line_;
  std::size_t printed_ = 0;
  Turns<kPerWindow> turns_;
  Turns<kPerWindow - kForCritical> lesser_turns_;
  bool told_wedged_ = false;

  LeftBehind left_behind_;
  std::optional<std::size_t> left_;  // nothing: not looked for yet
  bool look_behind_ = false;         // a program ran since
  std::optional<Nanoseconds> left_since_;
  bool told_left_ = false;

  UntoldAlerts untold_;
  std::optional<std::vector<UntoldAlert>> untold_before_;  // this start
  bool told_not_kept_ = false;

  std::array<std::uint64_t, kCalls> calls_{};
  std::array<std::uint64_t, kDrops> drops_{};
};

std::span<const Descriptor> alert_hook_metrics();

}  // namespace jetmem
