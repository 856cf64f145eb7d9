// Tells alerts to a program or a socket of the machine's owner, where the settings name one: when
// an alert fires, is resolved, or its source goes blind.
//
// The program runs with the daemon's own few rights, so it is a stranger here: it may be missing,
// hang beyond SIGKILL, fail or print without end, and alerts may come in a storm. So one runs at a
// time, some wait, and a few are told each minute. What was not told is counted and logged; nothing
// is told twice, for the journal and the metrics have it all.
#pragma once

#include <systemd/sd-event.h>

#include <array>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/log.h"
#include "base/result.h"
#include "base/sample.h"
#include "base/spawn.h"
#include "config/settings.h"
#include "daemon/alert_news.h"
#include "daemon/alert_socket.h"
#include "daemon/child_output.h"
#include "daemon/program_figures.h"

namespace jetmem {

struct AlertHookOptions {
  Nanoseconds window = std::chrono::minutes(1);
  Nanoseconds look = std::chrono::milliseconds(200);  // whether one that was killed is gone
};

class AlertHook {
 public:
  static constexpr std::size_t kMaxWaiting = 16;
  static constexpr std::size_t kPerWindow = 10;
  static constexpr std::size_t kMaxOutput = 64U << 10;

  AlertHook(const Clock& clock, Spawner& spawner, Log& log, AlertHookOptions options = {});
  ~AlertHook();
  AlertHook(const AlertHook&) = delete;
  AlertHook& operator=(const AlertHook&) = delete;

  // To be called once, before tell().
  Result<void> start(sd_event* event);
  void apply(const AlertsSettings& settings);
  // Whether there is anybody to tell: else nobody need render the texts.
  bool on() const { return !settings_.program.empty() || !settings_.socket.empty(); }
  // Firing, resolved, unknown and silenced; of other changes nobody is told.
  static bool tells(Change change);
  void tell(AlertNews news);
  // Ends what runs and drops what waits.
  void stop();

  // Nothing while it is off.
  void write(SampleWriter& out) const;
  std::uint64_t withheld() const { return log_.withheld(); }
  pid_t pid() const { return child_.pid(); }

 private:
  enum class Call : std::uint8_t { kOk, kNotStarted, kFailed, kTimeout, kFlood };
  static constexpr std::size_t kCalls = 5;
  enum class Drop : std::uint8_t { kQueueFull, kSwitchedOff };
  static constexpr std::size_t kDrops = 2;
  static constexpr std::array<std::string_view, kCalls> kCallNames{"ok", "not_started", "failed",
                                                                   "timeout", "flood"};
  static constexpr std::array<std::string_view, kDrops> kDropNames{"queue_full", "switched_off"};

  static int on_step(sd_event_source*, std::uint64_t, void* self);
  static int on_deadline(sd_event_source*, std::uint64_t, void* self);
  void step();
  bool is_busy();
  std::optional<Nanoseconds> wait_for_turn() const;
  void tell_next();
  Result<void> run(const AlertNews& news);
  void on_output(std::string_view bytes);
  void end(Call call, std::string how);
  void drop(Drop why, const std::string& alert);
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

  std::deque<AlertNews> waiting_;
  std::string telling_;  // the alert, for the log
  std::string first_line_;
  std::size_t printed_ = 0;
  // When the last ones were told, on the boot clock: a ring.
  std::array<Nanoseconds, kPerWindow> told_{};
  std::uint64_t told_count_ = 0;
  bool told_wedged_ = false;

  std::array<std::uint64_t, kCalls> calls_{};
  std::array<std::uint64_t, kDrops> drops_{};
};

std::span<const Descriptor> alert_hook_metrics();

}  // namespace jetmem
