// SPDX-License-Identifier: Apache-2.0
#include "daemon/alerts/notifier.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/text/text.h"
#include "base/text/units.h"
#include "config/files.h"
#include "daemon/state_file_metrics.h"
#include "rules/model/texts.h"

namespace jetmem {
namespace {

constexpr std::string_view kNotifierName = "notifier";
constexpr std::size_t kFirstLine = 200;
constexpr std::size_t kMostPending = 32;
constexpr std::size_t kMaxPendingKey = 4096;
// Between checks whether a hanging program is gone.
constexpr Nanoseconds kWedgedPollInterval = std::chrono::seconds(5);

constexpr std::array kNotifierMetrics{
    counter("jetmem_notifications_total",
            "Notifications sent by running alerts.program, by result: ok; not_started (no such "
            "program), failed (it exited with an error), timeout (killed at alerts.deadline), "
            "flood (it printed too much). Each notification is sent once; journalctl -u jetmemd "
            "shows why one failed.",
            {"result"}, 5),
    counter("jetmem_notifications_dropped_total",
            "Notifications that alerts.program never received, by reason: queue_full (the least "
            "severe are dropped first), superseded (a newer change of the same alert replaced it), "
            "disabled (alerts.program was removed), stopping (jetmemd ended; its next start sends "
            "those still firing). The journal has them all.",
            {"reason"}, 4),
    gauge("jetmem_notification_queue_length",
          "Notifications waiting for alerts.program: one is sent at a time, the most severe first, "
          "at most ten per minute, three of these for critical alerts only."),
    gauge("jetmem_notifier_wedged",
          "1 while alerts.program hangs in the kernel although it was killed: no notification is "
          "sent until it is gone."),
    gauge("jetmem_notifier_orphan_processes",
          "Processes that alerts.program left running when it ended. They count towards the limits "
          "of the daemon's unit, so it is not started again until they are gone."),
};
enum NotifierMetric : std::size_t {
  kCalled,
  kDroppedNotifications,
  kWaiting,
  kWedged,
  kOrphanProcesses
};

// A file in memory, read from its beginning: unlike a pipe it takes everything at once.
Result<UniqueFd> as_file(const std::string& text) {
  UniqueFd fd(::memfd_create("jetmem-alert", MFD_CLOEXEC));
  if (!fd.valid()) return tl::unexpected(errno_error("make", "a file of the alert", errno));
  if (::pwrite(fd.get(), text.data(), text.size(), 0) != static_cast<ssize_t>(text.size())) {
    return tl::unexpected(errno_error("write", "the alert", errno));
  }
  return fd;
}

std::string title_of(const AlertNotification& notification) {
  return printable(notification.alert, AlertNotification::kMaxName) + " (" +
         std::string(change_name(notification.change)) + ")";
}

}  // namespace

Notifier::Notifier(const Clock& clock, Spawner& spawner, Log& log, NotifierOptions options)
    : clock_(clock),
      options_(std::move(options)),
      log_(log, clock, kNotifierName),
      child_(clock, spawner,
             {[this](std::string_view bytes) { on_output(bytes); },
              [this](const ChildEnd& child) {
                end(child.well ? Call::kOk : Call::kFailed, child.how);
              }}),
      orphans_("JETMEM_NOTIFIER=" + std::to_string(::getpid())),
      state_file_({.directory = options_.runtime_directory,
                   .name = "pending-notifications.json",
                   .boot_id = options_.boot_id,
                   .what = "unsent notifications",
                   .format = 2,
                   .max_bytes = kMostPending * kMaxPendingKey},
                  log) {
  child_.allow_stdout_close();
}

Result<void> Notifier::start(EventLoop& loop) {
  if (auto ok = step_timer_.attach(loop, [this] { step(); }); !ok) return ok;
  if (auto ok = deadline_timer_.attach(loop, [this] { on_deadline(); }); !ok) return ok;
  if (on()) step_in(Nanoseconds(0));
  return child_.attach(loop);
}

void Notifier::apply(const AlertsSettings& settings, std::string runbooks) {
  settings_ = settings;
  runbooks_ = std::move(runbooks);
  if (!on()) return stop();
  // It may come later.
  if (const std::string problem = program_problem(settings_.program); !problem.empty()) {
    log_.log_message(LogLevel::kWarning,
                     "alerts.program: " + printable(settings_.program, 4096) + ": " + problem +
                         "; no notification can be sent until it can be started");
  }
}

bool Notifier::notifies(Change change) {
  return change != Change::kPending && change != Change::kCleared;
}

void Notifier::notify(const Transition& transition) {
  if (!on() || !notifies(transition.change)) return;
  // The firing of an alert that never fired was not sent, nor is its end.
  if (transition.change != Change::kFiring && transition.from != AlertState::kFiring) return;
  if (transition.rule == nullptr) return notify(alert_notification(transition));
  const RuleTexts& texts = transition.rule->texts;
  const ValueUnit unit = value_unit(transition.rule->when.front());
  const auto fill = [&](const std::string& text) {
    return fill_text(text, transition.value, unit, transition.labels);
  };
  AlertNotification notification = alert_notification(transition);
  notification.summary = fill(texts.summary);
  notification.cause = fill(texts.cause);
  notification.remedy = fill(texts.remedy);
  if (!texts.runbook.empty()) notification.runbook = runbooks_ + "/" + texts.runbook + ".md";
  notify(std::move(notification));
}

void Notifier::begin_with(const RuleEngine& engine) {
  const auto& rules = engine.rules().rules;
  for (std::size_t i = 0; i < rules.size() && on(); ++i) {
    for (const RuleEngine::Instance& instance : engine.evaluated(i).instances) {
      if (instance.state != AlertState::kFiring) continue;
      Transition transition;
      transition.rule = &rules[i];
      transition.change = Change::kFiring;
      transition.labels = *instance.labels;
      transition.value = instance.value;
      transition.at = instance.firing_since;
      transition.active_since = instance.active_since;
      if (was_pending(alert_key(rules[i].name, transition.labels))) notify(transition);
    }
  }
  previously_pending_.emplace();
}

void Notifier::notify(AlertNotification notification) {
  if (!on() || !notifies(notification.change)) return;
  // The wall clock may be stepped before it is sent.
  if (notification.wall == Nanoseconds(0))
    notification.wall = clock_.wall() - (clock_.boot() - notification.at);
  const AlertQueue::Pushed pushed = waiting_.push(std::move(notification));
  if (pushed.replaced) count(Drop::kSuperseded);
  if (pushed.dropped) drop(Drop::kQueueFull, pushed.dropped->alert);
  // Not at once: the caller is in the middle of its own work.
  step_in(Nanoseconds(0));
}

void Notifier::stop() {
  if (child_.running()) drop(Drop::kDisabled, sending_);
  for (const AlertNotification& notification : waiting_.all())
    drop(Drop::kDisabled, notification.alert);
  abandon_run();
  save_pending();
}

void Notifier::finish() {
  save_pending();
  std::vector<std::string> names;
  if (child_.running()) names.push_back(sending_);
  for (const AlertNotification& notification : waiting_.all())
    names.push_back(title_of(notification));
  abandon_run();
  if (names.empty()) return;
  std::string list;
  for (const std::string& name : names) {
    count(Drop::kStopping);
    list += (list.empty() ? "" : ", ") + name;
  }
  log_.log_message(
      LogLevel::kWarning,
      "jetmemd stops with " + std::to_string(names.size()) +
          " notifications unsent or unfinished: " + list +
          (state_file_.is_enabled() ? "; its next start sends those still firing" : ""));
}

void Notifier::abandon_run() {
  child_.kill();
  deadline_timer_.cancel();
  waiting_.clear();
  sending_pending_.clear();
  step_timer_.cancel();
}

bool Notifier::was_pending(const std::string& key) {
  if (!previously_pending_) {
    saved_pending_ = state_file_.load(parse_pending_alerts).value_or(std::vector<std::string>());
    previously_pending_ = saved_pending_;
  }
  const auto& before = *previously_pending_;
  return std::find(before.begin(), before.end(), key) != before.end();
}

void Notifier::save_pending() {
  std::vector<std::string> pending;
  if (child_.running() && !sending_pending_.empty()) pending.push_back(sending_pending_);
  for (const AlertNotification& notification : waiting_.all()) {
    if (notification.change == Change::kFiring)
      pending.push_back(alert_key(notification.alert, notification.labels));
  }
  if (pending == saved_pending_) return;
  // Not again and again where it cannot be written.
  saved_pending_ = std::move(pending);
  using Json = nlohmann::json;
  state_file_.store(Json(saved_pending_).dump(-1, ' ', false, Json::error_handler_t::replace) +
                    "\n");
}

// The only place that starts the program: never from a callback of the run before.
void Notifier::step() {
  save_pending();
  if (is_busy() || orphans_run() || waiting_.empty()) return;
  if (const auto wait = wait_for_turn(); wait > Nanoseconds(0)) return step_in(wait);
  send_next();
  step_in(Nanoseconds(0));
}

// The end of a running program leads to the next step; a killed one is polled.
bool Notifier::is_busy() {
  if (child_.running()) return true;
  if (!child_.is_terminating()) {
    logged_wedged_ = false;
    return false;
  }
  const bool wedged = child_.wedged();
  if (wedged && !std::exchange(logged_wedged_, true)) {
    log_.log_message(LogLevel::kError,
                     program_ + " (pid " + std::to_string(child_.terminating_pid()) +
                         ") hangs in the kernel and cannot be killed: notifications wait until "
                         "it is gone");
  }
  step_in(wedged ? kWedgedPollInterval : options_.snapshot);
  return true;
}

// Whether processes of the last run are still there. Those about to exit are not logged.
bool Notifier::orphans_run() {
  if (!check_orphans_) return false;
  std::string example;
  orphan_count_ = orphans_.count(example);
  if (orphan_count_.value_or(0) == 0) {
    check_orphans_ = false;
    logged_orphans_ = false;
    orphans_since_.reset();
    return false;
  }
  const Nanoseconds now = clock_.mono();
  if (!orphans_since_) orphans_since_ = now;
  const bool is_new = now - *orphans_since_ < options_.snapshot;
  if (!is_new && !std::exchange(logged_orphans_, true)) {
    log_.log_message(LogLevel::kError, program_ + " ended and left " +
                                           std::to_string(*orphan_count_) + " processes running (" +
                                           example +
                                           "): it is not started again until they are gone");
  }
  step_in(is_new ? options_.snapshot : kWedgedPollInterval);
  return true;
}

Nanoseconds Notifier::wait_for_turn() const {
  const Nanoseconds now = clock_.boot();
  const Nanoseconds any = turns_.wait(now, options_.window);
  if (is_critical(waiting_.next())) return any;
  return std::max(any, noncritical_turns_.wait(now, options_.window));
}

void Notifier::send_next() {
  const AlertNotification notification = waiting_.take_next();
  turns_.take(clock_.boot());
  if (!is_critical(notification)) noncritical_turns_.take(clock_.boot());
  sending_ = title_of(notification);
  program_ = settings_.program;
  sending_pending_.clear();
  if (notification.change == Change::kFiring)
    sending_pending_ = alert_key(notification.alert, notification.labels);
  first_line_.clear();
  printed_ = 0;
  const auto started = run(notification);
  if (!started) return end(Call::kNotStarted, started.error().message);
  deadline_timer_.set(settings_.deadline);
}

Result<void> Notifier::run(const AlertNotification& notification) {
  auto text = as_file(alert_json(notification));
  if (!text) return tl::unexpected(std::move(text.error()));
  SpawnRequest request;
  request.argv = {settings_.program};
  request.descriptors = {{text->get(), 0}};
  request.environment = alert_environment(notification);
  request.environment.insert(request.environment.begin(), orphans_.marker());
  request.own_process_group = true;
  orphans_.before_start();
  check_orphans_ = true;
  return child_.start(std::move(request));
}

void Notifier::on_output(std::string_view bytes) {
  const bool has_line = first_line_.find('\n') != std::string::npos;
  if (!has_line && first_line_.size() < kFirstLine) {
    first_line_.append(bytes.substr(0, kFirstLine - first_line_.size()));
  }
  printed_ += bytes.size();
  if (printed_ <= kMaxOutput) return;
  child_.kill();
  end(Call::kFlood, "printed more than " + format_size(kMaxOutput) + " and was killed");
}

void Notifier::on_deadline() {
  std::string how = "did not end within " + format_duration(settings_.deadline);
  // If the loop itself was late, the program may have ended long ago.
  child_.read_now();
  if (!child_.running()) return;
  const std::string words = child_.stderr_tail();
  child_.kill();
  how += " and was killed";
  if (!words.empty()) how += ": " + words;
  end(Call::kTimeout, how);
}

void Notifier::end(Call call, const std::string& how) {
  deadline_timer_.cancel();
  ++calls_[static_cast<std::size_t>(call)];
  step_in(Nanoseconds(0));
  if (call == Call::kOk) return;
  std::string message = "notification of " + sending_ + " failed: ";
  message += call == Call::kNotStarted ? "cannot " + how : program_ + " " + how;
  const std::string line = first_line_.substr(0, first_line_.find('\n'));
  if (!line.empty()) message += "; it printed: " + printable(line, kFirstLine);
  log_.log_message(LogLevel::kWarning, std::move(message),
                   {{"JETMEM_RESULT", std::string(kCallNames[static_cast<std::size_t>(call)])}});
}

void Notifier::drop(Drop why, const std::string& alert) {
  count(why);
  log_.log_message(LogLevel::kWarning,
                   "notification of " + printable(alert, AlertNotification::kMaxName) +
                       " dropped: " +
                       (why == Drop::kQueueFull ? "too many are waiting for alerts.program"
                                                : "alerts.program was removed"));
}

void Notifier::step_in(Nanoseconds from_now) { step_timer_.set(from_now); }

void Notifier::write(SampleWriter& out) const {
  if (!on()) return;
  for (std::size_t i = 0; i < kCalls; ++i) {
    out.put(kNotifierMetrics[kCalled], static_cast<double>(calls_[i]), kCallNames[i]);
  }
  for (std::size_t i = 0; i < kDrops; ++i) {
    out.put(kNotifierMetrics[kDroppedNotifications], static_cast<double>(drops_[i]), kDropNames[i]);
  }
  out.put(kNotifierMetrics[kWaiting], static_cast<double>(waiting_.size()));
  out.put(kNotifierMetrics[kWedged], child_.wedged() ? 1 : 0);
  if (orphan_count_)
    out.put(kNotifierMetrics[kOrphanProcesses], static_cast<double>(*orphan_count_));
  write_state_file_failures(out, state_file_);
}

std::span<const Descriptor> notifier_metrics() { return kNotifierMetrics; }

Result<std::vector<std::string>> parse_pending_alerts(std::string_view text) {
  try {
    auto alerts = nlohmann::json::parse(text).get<std::vector<std::string>>();
    const auto is_long = [](const std::string& key) { return key.size() > kMaxPendingKey; };
    if (alerts.size() > kMostPending || std::any_of(alerts.begin(), alerts.end(), is_long)) {
      return fail(Errc::kMalformed, "not a list of a few alerts");
    }
    return alerts;
  } catch (const nlohmann::json::exception& error) {
    return fail(Errc::kMalformed, printable(error.what()));
  }
}

}  // namespace jetmem
