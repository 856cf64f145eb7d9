#include "daemon/alert_hook.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/text.h"
#include "base/units.h"

namespace jetmem {
namespace {

constexpr std::string_view kName = "alert_hook";
constexpr std::uint64_t kSlackUs = 20'000;
constexpr std::size_t kFirstLine = 200;
// One that hangs is looked for so often.
constexpr Nanoseconds kLookWedged = std::chrono::seconds(5);

constexpr std::array kMetrics{
    Descriptor{.name = "jetmem_alert_hook_calls_total",
               .type = MetricType::kCounter,
               .help = "Alerts told to the program or socket of the settings (alerts.program, "
                       "alerts.socket), by how that ended: ok; not_started, there is no such "
                       "program or nobody listens; failed, it ended badly or closed without "
                       "reading; timeout, it was killed at alerts.deadline; flood of output. An "
                       "alert is told once: when this is not ok, look in the journal.",
               .labels = {"result"},
               .max_series = 5},
    Descriptor{.name = "jetmem_alert_hook_dropped_total",
               .type = MetricType::kCounter,
               .help = "Alerts that the program or socket was never told: queue_full, more came "
                       "than it took (the least severe goes first); superseded, a newer change of "
                       "the same alert was told instead; switched_off by the settings before they "
                       "were told; stopping, jetmemd ended: its next start tells those that fire "
                       "on. The journal has them.",
               .labels = {"reason"},
               .max_series = 4},
    Descriptor{.name = "jetmem_alert_hook_waiting",
               .help = "Alerts that wait to be told to the program or socket: one is told at a "
                       "time, the most severe first, and ten a minute, three of them critical "
                       "ones only."},
    Descriptor{.name = "jetmem_alert_hook_wedged",
               .help = "1 while the program of alerts.program hangs in the kernel although it was "
                       "killed: nobody is told of alerts before it is gone."},
    Descriptor{.name = "jetmem_alert_hook_left_behind",
               .help = "Processes that the program of alerts.program left running when it ended: "
                       "it is not started again before they are gone, for they count towards the "
                       "limits of the daemon's unit. What is to stay uses alerts.socket."},
};
enum Metric : std::size_t { kCalled, kDropped, kWaiting, kWedged, kLeftBehind };

// A file in memory, read from its beginning: unlike a pipe it takes all of it at once, whether or
// not anybody reads.
Result<UniqueFd> as_file(const std::string& text) {
  UniqueFd fd(::memfd_create("jetmem-alert", MFD_CLOEXEC));
  if (!fd.valid()) return tl::unexpected(errno_error("make", "a file of the alert", errno));
  if (::pwrite(fd.get(), text.data(), text.size(), 0) != static_cast<ssize_t>(text.size())) {
    return tl::unexpected(errno_error("write", "the alert", errno));
  }
  return fd;
}

std::string title_of(const AlertNews& news) {
  return printable(news.alert, AlertNews::kMaxName) + " (" + std::string(change_name(news.change)) +
         ")";
}

}  // namespace

AlertHook::AlertHook(const Clock& clock, Spawner& spawner, Log& log, AlertHookOptions options)
    : clock_(clock),
      options_(std::move(options)),
      log_(log, clock, kName),
      child_(clock, spawner,
             {[this](std::string_view bytes) { on_output(bytes); },
              [this](bool well, const std::string& how) {
                end(well ? Call::kOk : Call::kFailed, how);
              }}),
      socket_([this](AlertSocket::End how_ended, const std::string& how) {
        const bool taken = how_ended == AlertSocket::End::kTaken;
        const bool flood = how_ended == AlertSocket::End::kFlood;
        end(taken ? Call::kOk : flood ? Call::kFlood : Call::kFailed, how);
      }),
      left_behind_("JETMEM_HOOK=" + std::to_string(::getpid())),
      untold_(options_.runtime_directory, options_.boot_id) {
  child_.let_it_close_its_output();
}

AlertHook::~AlertHook() {
  sd_event_source_unref(step_timer_);
  sd_event_source_unref(deadline_timer_);
}

Result<void> AlertHook::start(sd_event* event) {
  int ok = sd_event_add_time(event, &step_timer_, CLOCK_MONOTONIC, 0, kSlackUs, on_step, this);
  if (ok >= 0) ok = sd_event_source_set_enabled(step_timer_, SD_EVENT_OFF);
  if (ok >= 0) {
    ok =
        sd_event_add_time(event, &deadline_timer_, CLOCK_MONOTONIC, 0, kSlackUs, on_deadline, this);
  }
  if (ok >= 0) ok = sd_event_source_set_enabled(deadline_timer_, SD_EVENT_OFF);
  if (ok < 0) return tl::unexpected(errno_error("set up", "a timer for telling alerts", -ok));
  socket_.attach(event);
  if (on()) step_in(Nanoseconds(0));
  return child_.attach(event);
}

void AlertHook::apply(const AlertsSettings& settings) {
  settings_ = settings;
  if (!on()) stop();
  if (!settings_.socket.empty() && !settings_.program.empty()) {
    log_.say(LogLevel::kWarning, "alerts.socket is told of alerts, so alerts.program is not run");
  }
}

bool AlertHook::tells(Change change) {
  return change != Change::kPending && change != Change::kDropped;
}

void AlertHook::tell(AlertNews news) {
  if (!on() || !tells(news.change)) return;
  // The wall clock may leap before it is told.
  if (news.wall == Nanoseconds(0)) news.wall = clock_.wall() - (clock_.boot() - news.at);
  const AlertQueue::Pushed pushed = waiting_.push(std::move(news));
  if (pushed.replaced) count(Drop::kSuperseded);
  if (pushed.dropped) drop(Drop::kQueueFull, pushed.dropped->alert);
  // Not at once: who tells is in the midst of its own work.
  step_in(Nanoseconds(0));
}

void AlertHook::stop() {
  if (is_telling()) drop(Drop::kSwitchedOff, telling_);
  for (const AlertNews& news : waiting_.all()) drop(Drop::kSwitchedOff, news.alert);
  give_up();
  keep_untold();
}

void AlertHook::finish() {
  keep_untold();
  std::vector<std::string> names;
  if (is_telling()) names.push_back(telling_);
  for (const AlertNews& news : waiting_.all()) names.push_back(title_of(news));
  give_up();
  if (names.empty()) return;
  std::string list;
  for (const std::string& name : names) {
    count(Drop::kStopping);
    list += (list.empty() ? "" : ", ") + name;
  }
  log_.say(LogLevel::kWarning,
           std::to_string(names.size()) +
               " alerts were not told, or not to the end, as jetmemd "
               "stops: " +
               list + (untold_.keeps() ? "; those that fire on are told at its next start" : ""));
}

void AlertHook::give_up() {
  child_.kill();
  socket_.close();
  set_deadline(false);
  waiting_.clear();
  telling_untold_.reset();
  if (step_timer_ != nullptr) sd_event_source_set_enabled(step_timer_, SD_EVENT_OFF);
}

bool AlertHook::was_untold(const std::string& alert, const AlertNews::Labels& labels) {
  if (!on()) return false;
  if (!untold_before_) {
    auto untold = untold_.load();
    if (!untold) {
      log_.say(LogLevel::kWarning, "which alerts were not told before this start is not known: " +
                                       printable(untold.error().message));
    }
    untold_before_ = untold ? std::move(*untold) : std::vector<UntoldAlert>();
  }
  const auto& before = *untold_before_;
  return !before.empty() &&
         std::find(before.begin(), before.end(), untold_alert(alert, labels)) != before.end();
}

void AlertHook::forget_untold() { untold_before_.emplace(); }

void AlertHook::keep_untold() {
  std::vector<UntoldAlert> untold;
  if (is_telling() && telling_untold_) untold.push_back(*telling_untold_);
  for (const AlertNews& news : waiting_.all()) {
    if (news.change == Change::kFiring) untold.push_back(untold_alert(news.alert, news.labels));
  }
  const auto kept = untold_.keep(std::move(untold));
  if (kept || std::exchange(told_not_kept_, true)) return;
  log_.say(LogLevel::kWarning,
           "a restart of jetmemd would forget which alerts were not told: " + kept.error().message);
}

int AlertHook::on_step(sd_event_source*, std::uint64_t, void* self) {
  static_cast<AlertHook*>(self)->step();
  return 0;
}

// Nothing is started but from here, so never from within a callback of the one before.
void AlertHook::step() {
  keep_untold();
  if (is_busy() || runs_on() || waiting_.empty()) return;
  if (const auto wait = wait_for_turn(); wait > Nanoseconds(0)) return step_in(wait);
  tell_next();
  step_in(Nanoseconds(0));
}

// While one runs its end leads to the next step; one that was killed is looked for.
bool AlertHook::is_busy() {
  if (is_telling()) return true;
  if (!child_.leaving()) {
    told_wedged_ = false;
    return false;
  }
  const bool wedged = child_.wedged();
  if (wedged && !std::exchange(told_wedged_, true)) {
    log_.say(LogLevel::kError, telling_to_ + " " + std::to_string(child_.leaving_pid()) +
                                   " hangs in the kernel and cannot be killed: nobody is told of "
                                   "alerts until it is gone");
  }
  step_in(wedged ? kLookWedged : options_.look);
  return true;
}

// Whether what a program started outlives it: then none is started, or the limits of the daemon's
// unit would be taken up. What is only about to end is not spoken of.
bool AlertHook::runs_on() {
  if (!look_behind_) return false;
  std::string example;
  left_ = left_behind_.count(example);
  if (left_.value_or(0) == 0) {
    look_behind_ = false;
    told_left_ = false;
    left_since_.reset();
    return false;
  }
  const Nanoseconds now = clock_.mono();
  if (!left_since_) left_since_ = now;
  const bool is_new = now - *left_since_ < options_.look;
  if (!is_new && !std::exchange(told_left_, true)) {
    log_.say(LogLevel::kError,
             settings_.program + " ended, and " + std::to_string(*left_) +
                 " processes that it started run on (" + example +
                 "): it is not started again until they are gone; use alerts.socket for what is "
                 "to stay");
  }
  step_in(is_new ? options_.look : kLookWedged);
  return settings_.socket.empty();
}

Nanoseconds AlertHook::wait_for_turn() const {
  const Nanoseconds now = clock_.boot();
  const Nanoseconds any = turns_.wait(now, options_.window);
  if (is_critical(waiting_.next())) return any;
  return std::max(any, lesser_turns_.wait(now, options_.window));
}

void AlertHook::tell_next() {
  const AlertNews news = waiting_.take_next();
  turns_.take(clock_.boot());
  if (!is_critical(news)) lesser_turns_.take(clock_.boot());
  telling_ = title_of(news);
  telling_to_ = whom();
  telling_untold_.reset();
  if (news.change == Change::kFiring) telling_untold_ = untold_alert(news.alert, news.labels);
  first_line_.clear();
  printed_ = 0;
  const auto started =
      settings_.socket.empty() ? run(news) : socket_.tell(settings_.socket, alert_json(news));
  if (!started) return end(Call::kNotStarted, started.error().message);
  set_deadline(true);
}

Result<void> AlertHook::run(const AlertNews& news) {
  auto text = as_file(alert_json(news));
  if (!text) return tl::unexpected(std::move(text.error()));
  SpawnRequest request;
  request.argv = {settings_.program};
  request.descriptors = {{text->get(), 0}};
  request.environment = alert_environment(news);
  request.environment.insert(request.environment.begin(), left_behind_.marker());
  request.stranger = true;
  look_behind_ = true;
  return child_.start(std::move(request));
}

void AlertHook::on_output(std::string_view bytes) {
  const bool has_line = first_line_.find('\n') != std::string::npos;
  if (!has_line && first_line_.size() < kFirstLine) {
    first_line_.append(bytes.substr(0, kFirstLine - first_line_.size()));
  }
  printed_ += bytes.size();
  if (printed_ <= kMaxOutput) return;
  child_.kill();
  end(Call::kFlood, "printed more than " + format_size(kMaxOutput) + " and was killed");
}

int AlertHook::on_deadline(sd_event_source*, std::uint64_t, void* self) {
  auto* hook = static_cast<AlertHook*>(self);
  std::string how = "did not end within " + format_duration(hook->settings_.deadline);
  if (hook->socket_.busy()) {
    how += " (" + std::string(hook->socket_.progress()) + "); the connection is closed";
    hook->socket_.close();
    hook->end(Call::kTimeout, how);
    return 0;
  }
  // If it was we who were away, it has ended long since.
  hook->child_.read_now();
  if (!hook->child_.running()) return 0;
  const std::string words = hook->child_.last_words();
  hook->child_.kill();
  how += " and was killed";
  if (!words.empty()) how += ": " + words;
  hook->end(Call::kTimeout, how);
  return 0;
}

void AlertHook::end(Call call, const std::string& how) {
  set_deadline(false);
  ++calls_[static_cast<std::size_t>(call)];
  step_in(Nanoseconds(0));
  if (call == Call::kOk) return;
  std::string message = telling_ + " was not told: ";
  message += call == Call::kNotStarted ? "cannot " + how : telling_to_ + " " + how;
  const std::string line = first_line_.substr(0, first_line_.find('\n'));
  if (!line.empty()) message += "; it printed: " + printable(line, kFirstLine);
  log_.say(LogLevel::kWarning, std::move(message),
           {{"JETMEM_RESULT", std::string(kCallNames[static_cast<std::size_t>(call)])}});
}

void AlertHook::drop(Drop why, const std::string& alert) {
  count(why);
  const std::string what = why == Drop::kQueueFull ? "too many alerts wait for " + whom()
                                                   : "telling alerts was switched off";
  log_.say(LogLevel::kWarning, printable(alert, AlertNews::kMaxName) + " was not told: " + what);
}

std::string AlertHook::whom() const {
  return settings_.socket.empty() ? settings_.program : settings_.socket;
}

void AlertHook::step_in(Nanoseconds from_now) {
  if (step_timer_ == nullptr) return;
  sd_event_source_set_time_relative(step_timer_,
                                    static_cast<std::uint64_t>(from_now.count() / 1000));
  sd_event_source_set_enabled(step_timer_, SD_EVENT_ONESHOT);
}

void AlertHook::set_deadline(bool on) {
  if (deadline_timer_ == nullptr) return;
  const auto from_now = std::chrono::microseconds(settings_.deadline).count();
  sd_event_source_set_time_relative(deadline_timer_, static_cast<std::uint64_t>(on ? from_now : 0));
  sd_event_source_set_enabled(deadline_timer_, on ? SD_EVENT_ONESHOT : SD_EVENT_OFF);
}

void AlertHook::write(SampleWriter& out) const {
  if (!on()) return;
  for (std::size_t i = 0; i < kCalls; ++i) {
    out.put(kMetrics[kCalled], static_cast<double>(calls_[i]), kCallNames[i]);
  }
  for (std::size_t i = 0; i < kDrops; ++i) {
    out.put(kMetrics[kDropped], static_cast<double>(drops_[i]), kDropNames[i]);
  }
  out.put(kMetrics[kWaiting], static_cast<double>(waiting_.size()));
  out.put(kMetrics[kWedged], child_.wedged() ? 1 : 0);
  if (left_) out.put(kMetrics[kLeftBehind], static_cast<double>(*left_));
}

std::span<const Descriptor> alert_hook_metrics() { return kMetrics; }

}  // namespace jetmem
