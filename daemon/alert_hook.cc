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
                       "than it took (the oldest goes first); switched_off by the settings "
                       "before they were told. The journal has them.",
               .labels = {"reason"},
               .max_series = 2},
    Descriptor{.name = "jetmem_alert_hook_waiting",
               .help = "Alerts that wait to be told to the program or socket: one is told at a "
                       "time, and ten a minute."},
    Descriptor{.name = "jetmem_alert_hook_wedged",
               .help = "1 while the program of alerts.program hangs in the kernel although it was "
                       "killed: nobody is told of alerts before it is gone."},
};
enum Metric : std::size_t { kCalled, kDropped, kWaiting, kWedged };

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

}  // namespace

AlertHook::AlertHook(const Clock& clock, Spawner& spawner, Log& log, AlertHookOptions options)
    : clock_(clock),
      options_(options),
      log_(log, clock, kName),
      child_(clock, spawner,
             {[this](std::string_view bytes) { on_output(bytes); },
              [this](bool well, std::string how) {
                end(well ? Call::kOk : Call::kFailed, std::move(how));
              }}),
      socket_([this](AlertSocket::End how_ended, std::string how) {
        const bool taken = how_ended == AlertSocket::End::kTaken;
        const bool flood = how_ended == AlertSocket::End::kFlood;
        end(taken ? Call::kOk : flood ? Call::kFlood : Call::kFailed, std::move(how));
      }) {
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
  return change == Change::kFiring || change == Change::kResolved || change == Change::kUnknown ||
         change == Change::kSilenced || change == Change::kWithdrawn;
}

void AlertHook::tell(AlertNews news) {
  if (!on() || step_timer_ == nullptr || !tells(news.change)) return;
  if (waiting_.size() == kMaxWaiting) {
    drop(Drop::kQueueFull, waiting_.front().alert);
    waiting_.pop_front();
  }
  waiting_.push_back(std::move(news));
  // Not at once: who tells is in the midst of its own work.
  step_in(Nanoseconds(0));
}

void AlertHook::stop() {
  if (child_.running() || socket_.busy()) drop(Drop::kSwitchedOff, telling_);
  child_.kill();
  socket_.close();
  set_deadline(false);
  for (const AlertNews& news : waiting_) drop(Drop::kSwitchedOff, news.alert);
  waiting_.clear();
  if (step_timer_ != nullptr) sd_event_source_set_enabled(step_timer_, SD_EVENT_OFF);
}

int AlertHook::on_step(sd_event_source*, std::uint64_t, void* self) {
  static_cast<AlertHook*>(self)->step();
  return 0;
}

// Nothing is started but from here, so never from within a callback of the one before.
void AlertHook::step() {
  if (is_busy() || waiting_.empty()) return;
  if (const auto wait = wait_for_turn()) return step_in(*wait);
  tell_next();
  step_in(Nanoseconds(0));
}

// While one runs its end leads to the next step; one that was killed is looked for.
bool AlertHook::is_busy() {
  if (child_.running() || socket_.busy()) return true;
  if (!child_.leaving()) {
    told_wedged_ = false;
    return false;
  }
  const bool wedged = child_.wedged();
  if (wedged && !std::exchange(told_wedged_, true)) {
    log_.say(LogLevel::kError, settings_.program + " " + std::to_string(child_.leaving_pid()) +
                                   " hangs in the kernel and cannot be killed: nobody is told of "
                                   "alerts until it is gone");
  }
  step_in(wedged ? kLookWedged : options_.look);
  return true;
}

std::optional<Nanoseconds> AlertHook::wait_for_turn() const {
  if (told_count_ < kPerWindow) return std::nullopt;
  const Nanoseconds oldest = told_[told_count_ % kPerWindow];
  const Nanoseconds wait = oldest + options_.window - clock_.boot();
  if (wait <= Nanoseconds(0)) return std::nullopt;
  return wait;
}

void AlertHook::tell_next() {
  const AlertNews news = std::move(waiting_.front());
  waiting_.pop_front();
  told_[told_count_++ % kPerWindow] = clock_.boot();
  telling_ = printable(news.alert, AlertNews::kMaxName) + " (" +
             std::string(change_name(news.change)) + ")";
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
  request.stranger = true;
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
    hook->end(Call::kTimeout, std::move(how));
    return 0;
  }
  // If it was we who were away, it has ended long since.
  hook->child_.read_now();
  if (!hook->child_.running()) return 0;
  const std::string words = hook->child_.last_words();
  hook->child_.kill();
  how += " and was killed";
  if (!words.empty()) how += ": " + words;
  hook->end(Call::kTimeout, std::move(how));
  return 0;
}

void AlertHook::end(Call call, std::string how) {
  set_deadline(false);
  ++calls_[static_cast<std::size_t>(call)];
  step_in(Nanoseconds(0));
  if (call == Call::kOk) return;
  std::string message = telling_ + " was not told: ";
  message += call == Call::kNotStarted ? "cannot " + how : whom() + " " + how;
  const std::string line = first_line_.substr(0, first_line_.find('\n'));
  if (!line.empty()) message += "; it printed: " + printable(line, kFirstLine);
  log_.say(LogLevel::kWarning, std::move(message),
           {{"JETMEM_RESULT", std::string(kCallNames[static_cast<std::size_t>(call)])}});
}

void AlertHook::drop(Drop why, const std::string& alert) {
  ++drops_[static_cast<std::size_t>(why)];
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
}

std::span<const Descriptor> alert_hook_metrics() { return kMetrics; }

}  // namespace jetmem
