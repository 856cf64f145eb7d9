#include "daemon/incident_capture.h"

#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "base/bundle_name.h"
#include "base/small_file.h"
#include "base/text.h"
#include "base/units.h"
#include "base/utc_time.h"

namespace jetmem {
namespace {

constexpr std::string_view kName = "capture";
constexpr std::uint64_t kSlackUs = 50'000;
constexpr std::uint32_t kMostTries = 3;
// Of several boots within capture.interval.
constexpr std::uint64_t kMostOfInterval = 3;
// Before jetmem was written no clock was right.
constexpr Nanoseconds kPlausible = std::chrono::seconds(1'700'000'000);
// After one that came to nothing.
constexpr Nanoseconds kAfterFailure = std::chrono::minutes(5);
// So old a one is not begun anew after a restart.
constexpr Nanoseconds kStillNews = std::chrono::minutes(15);
// For what others remove, or leave.
constexpr Nanoseconds kRecount = std::chrono::minutes(10);

// How long a disk may take to say what lies there.
constexpr Nanoseconds kDiskWait = std::chrono::milliseconds(250);
constexpr std::uint32_t kMostDiskWaits = 20;

constexpr std::array kMetrics{
    Descriptor{.name = "jetmem_capture_total",
               .type = MetricType::kCounter,
               .help = "Bundles that jetmem wanted to write because a critical alert fired, by "
                       "outcome: ok; failed, the journal says why (a full disk as a rule); "
                       "timeout, killed at capture.deadline; not_started, the journal says why "
                       "(no jetmem beside jetmemd, a disk that does not answer); skipped_interval, "
                       "the last one was less than capture.interval "
                       "ago; skipped_running, one for another alert was just being written.",
               .labels = {"outcome"},
               .max_series = 6},
    Descriptor{.name = "jetmem_capture_running",
               .help = "1 while a bundle is written because a critical alert fired, or waits the "
                       "few seconds until the history is on the disk."},
    Descriptor{.name = "jetmem_capture_bundles",
               .help = "Bundles of critical alerts that are kept on the device (capture.keep). "
                       "Missing when their folder cannot be looked at."},
    Descriptor{.name = "jetmem_capture_bundle_bytes",
               .help = "Size of the bundles that are kept on the device (capture.max_size), with "
                       "what captures that were killed left of theirs."},
    Descriptor{.name = "jetmem_capture_last_timestamp_seconds",
               .help = "When the newest bundle of an alert was written. Missing before the first "
                       "since jetmemd started."},
};
enum Metric : std::size_t { kTotal, kRunning, kBundles, kBytes, kLast };

// "20261122T021147Z"
std::string compact_time(Nanoseconds wall) {
  std::string out;
  for (const char c : utc_time(wall).substr(0, 19)) {
    if (c != '-' && c != ':') out += c;
  }
  return out + "Z";
}

// Rules of a site may have any name.
std::string safe_name(std::string_view text) {
  std::string out;
  for (const char c : text.substr(0, 64)) {
    const bool is_plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || is_digit(c);
    out += is_plain ? c : '-';
  }
  return out;
}

}  // namespace

IncidentCapture::IncidentCapture(const Clock& clock, Spawner& spawner, Log& log,
                                 IncidentCaptureOptions options)
    : clock_(clock),
      options_(std::move(options)),
      log_(log, clock, kName),
      child_(clock, spawner,
             {[](std::string_view) {},
              [this](bool well, const std::string& how) {
                end(well ? Outcome::kOk : Outcome::kFailed, how);
              }}) {
  if (options_.program.empty()) options_.program = find_companion("jetmem");
  restore();
}

IncidentCapture::~IncidentCapture() {
  sd_event_source_unref(begin_timer_);
  sd_event_source_unref(deadline_timer_);
  sd_event_source_unref(recount_timer_);
}

Result<void> IncidentCapture::start(sd_event* event) {
  int ok = sd_event_add_time(event, &begin_timer_, CLOCK_MONOTONIC, 0, kSlackUs, on_begin, this);
  if (ok >= 0) ok = sd_event_source_set_enabled(begin_timer_, SD_EVENT_OFF);
  if (ok >= 0) {
    ok =
        sd_event_add_time(event, &deadline_timer_, CLOCK_MONOTONIC, 0, kSlackUs, on_deadline, this);
  }
  if (ok >= 0) ok = sd_event_source_set_enabled(deadline_timer_, SD_EVENT_OFF);
  if (ok >= 0) {
    ok = sd_event_add_time(event, &recount_timer_, CLOCK_MONOTONIC, 0, kSlackUs, on_recount, this);
  }
  if (ok < 0) return tl::unexpected(errno_error("set up", "a timer for captures", -ok));
  set_timer(recount_timer_, kRecount);
  if (!alert_.empty()) set_timer(begin_timer_, options_.delay);
  return child_.attach(event);
}

const std::string& IncidentCapture::base() const {
  return history_directory_.empty() ? options_.state_directory : history_directory_;
}

std::string IncidentCapture::folder() const {
  const std::string& where = base();
  return where.empty() ? std::string() : where + "/captures";
}

void IncidentCapture::apply(const Settings& settings) {
  settings_ = settings.capture;
  history_directory_ = settings.history.directory;
  if (on()) return count_.ask(folder());
  end_child();
  alert_.clear();
  keep();
}

void IncidentCapture::tell(const Transition& transition) {
  if (!on() || transition.change != Change::kFiring || transition.rule == nullptr ||
      transition.rule->severity != Severity::kCritical) {
    return;
  }
  // What fires while one is written is in the next look at the device, and in this one's history.
  if (!alert_.empty()) {
    ++outcomes_[static_cast<std::size_t>(Outcome::kRunning)];
    if (!std::exchange(told_running_, true)) {
      log_.say(LogLevel::kInfo,
               "no bundle of its own is written for " + printable(transition.rule->name, 100) +
                   ": the one for " + printable(alert_, 100) + " is not done yet",
               {{"JETMEM_ALERT", transition.rule->name}});
    }
    return;
  }
  const Nanoseconds now = clock_.boot();
  if (last_ && now - *last_ < settings_.interval) {
    ++outcomes_[static_cast<std::size_t>(Outcome::kInterval)];
    if (!std::exchange(told_skip_, true)) {
      log_.say(LogLevel::kInfo,
               "no bundle is written for " + printable(transition.rule->name, 100) +
                   ": the last one was begun less than " + format_duration(settings_.interval) +
                   " ago (capture.interval)",
               {{"JETMEM_ALERT", transition.rule->name}});
    }
    return;
  }
  if (too_many(transition.rule->name)) return;
  alert_ = transition.rule->name;
  last_ = now;
  tries_ = 0;
  disk_waits_ = 0;
  told_skip_ = false;
  told_running_ = false;
  keep();
  set_timer(begin_timer_, options_.delay);
}

// A device that its alert restarts, again and again, does not write one for each boot.
bool IncidentCapture::too_many(const std::string& alert) {
  take_count();
  const std::uint64_t recent = recent_bundles();
  if (recent < std::clamp<std::uint64_t>(settings_.keep, 1, kMostOfInterval)) return false;
  ++outcomes_[static_cast<std::size_t>(Outcome::kInterval)];
  if (!std::exchange(told_skip_, true)) {
    log_.say(LogLevel::kInfo,
             "no bundle is written for " + printable(alert, 100) + ": " + std::to_string(recent) +
                 " were within " + format_duration(settings_.interval) +
                 " (capture.interval), earlier boots included",
             {{"JETMEM_ALERT", alert}});
  }
  return true;
}

int IncidentCapture::on_begin(sd_event_source*, std::uint64_t, void* self) {
  static_cast<IncidentCapture*>(self)->begin();
  return 0;
}

void IncidentCapture::begin() {
  if (alert_.empty() || child_.running()) return;
  // A count under way is done in a moment, as a rule.
  if (count_.is_asked() && disk_waits_ < kMostDiskWaits) {
    ++disk_waits_;
    return set_timer(begin_timer_, kDiskWait);
  }
  disk_waits_ = 0;
  file_.clear();
  ++tries_;
  keep();
  if (child_.leaving()) return end(Outcome::kNotStarted, "the one before hangs in the kernel");
  if (options_.program.empty()) {
    return end(Outcome::kNotStarted, "there is no jetmem beside jetmemd");
  }
  if (count_.is_asked())
    return end(Outcome::kNotStarted, "what lies in its folder was not known after 5 s");
  // When it fired nobody may have counted yet.
  if (too_many(alert_)) {
    alert_.clear();
    return keep();
  }
  const std::uint64_t highest = seen_ ? seen_->highest : 0;
  file_ = folder() + "/" + std::string(kBundlePrefix) + compact_time(clock_.wall()) + "-" +
          safe_name(alert_) + "-n" + std::to_string(highest + 1) + ".tar.zst";
  const auto seconds = [](std::chrono::milliseconds duration) {
    return std::to_string(std::chrono::ceil<std::chrono::seconds>(duration).count()) + "s";
  };
  SpawnRequest request;
  // When memory runs short it is not to be spared as the daemon is.
  request.stranger = true;
  request.argv = {options_.program,
                  "capture",
                  "--automatic",
                  "--alert",
                  alert_,
                  "--output",
                  file_,
                  "--keep",
                  std::to_string(settings_.keep),
                  "--max-total-size",
                  std::to_string(settings_.max_size) + "B",
                  "--history",
                  seconds(settings_.history),
                  "--deadline",
                  seconds(settings_.deadline),
                  "--history-file",
                  base() + "/history.db"};
  for (const std::string& file : options_.config) {
    request.argv.emplace_back("--config");
    request.argv.push_back(file);
  }
  // Us and no other, though another jetmemd may have the usual socket.
  if (const std::string address = options_.own_address ? options_.own_address() : std::string();
      !address.empty()) {
    request.argv.emplace_back("--daemon");
    request.argv.push_back(address);
  }
  // Where the recorder's file lies; the rest of our environment is none of its business.
  if (!options_.state_directory.empty()) {
    request.environment = {"STATE_DIRECTORY=" + options_.state_directory};
  }
  if (auto started = child_.start(std::move(request)); !started) {
    return end(Outcome::kNotStarted, started.error().message);
  }
  // It gives up by itself first, and cleans up then.
  set_timer(deadline_timer_, Nanoseconds(settings_.deadline) + std::chrono::seconds(5));
}

int IncidentCapture::on_deadline(sd_event_source*, std::uint64_t, void* self) {
  auto* capture = static_cast<IncidentCapture*>(self);
  // If it was we who were away, it has ended long since.
  capture->child_.read_now();
  if (!capture->child_.running()) return 0;
  capture->child_.kill();
  capture->end(
      Outcome::kTimeout,
      "it did not end within " + format_duration(capture->settings_.deadline) + " and was killed");
  return 0;
}

void IncidentCapture::end(Outcome outcome, const std::string& how) {
  set_timer(deadline_timer_, std::nullopt);
  ++outcomes_[static_cast<std::size_t>(outcome)];
  // What one that was killed cannot remove itself.
  count_.ask(folder(), outcome == Outcome::kOk ? std::string() : file_);
  const std::string result(kOutcomeNames[static_cast<std::size_t>(outcome)]);
  const std::string alert = alert_;
  if (outcome == Outcome::kOk) {
    alert_.clear();
    keep();
    last_wall_ = clock_.wall();
    log_.say(LogLevel::kInfo,
             "what the device was like when " + printable(alert, 100) + " fired is in " +
                 printable(file_, 300),
             {{"JETMEM_ALERT", alert}, {"JETMEM_CAPTURE_FILE", file_}, {"JETMEM_RESULT", result}});
    return;
  }
  std::string what_next;
  if (outcome != Outcome::kNotStarted && tries_ < kMostTries) {
    const Nanoseconds pause = options_.retry * (1 << (tries_ - 1));
    what_next = "; tried again in " +
                format_duration(std::chrono::duration_cast<std::chrono::milliseconds>(pause));
    set_timer(begin_timer_, pause);
  } else {
    alert_.clear();
    // One that came to nothing does not stand in the way of the next for long.
    last_ =
        std::min(clock_.boot(), clock_.boot() - Nanoseconds(settings_.interval) + kAfterFailure);
    keep();
  }
  log_.say(LogLevel::kWarning,
           "no bundle was written for " + printable(alert, 100) + ": " + how + what_next,
           {{"JETMEM_ALERT", alert}, {"JETMEM_RESULT", result}});
}

void IncidentCapture::end_child() {
  set_timer(begin_timer_, std::nullopt);
  set_timer(deadline_timer_, std::nullopt);
  if (child_.running()) {
    child_.kill();
    count_.ask(folder(), file_);
  }
}

void IncidentCapture::stop() {
  end_child();
  set_timer(recount_timer_, std::nullopt);
  // Which one was not done is kept: the next start begins it anew.
  alert_.clear();
}

int IncidentCapture::on_recount(sd_event_source*, std::uint64_t, void* self) {
  auto* capture = static_cast<IncidentCapture*>(self);
  if (capture->on()) capture->count_.ask(capture->folder());
  capture->set_timer(capture->recount_timer_, kRecount);
  return 0;
}

void IncidentCapture::take_count() {
  if (auto look = count_.take()) seen_ = std::move(look->seen);
}

// Written within the interval, in this boot or another. Where no clock can be trusted each of them
// counts as long as this boot is young.
std::uint64_t IncidentCapture::recent_bundles() const {
  if (!seen_) return 0;
  const Nanoseconds now = clock_.wall();
  return static_cast<std::uint64_t>(
      std::count_if(seen_->written.begin(), seen_->written.end(), [&](Nanoseconds written) {
        if (now < kPlausible) return written < kPlausible && clock_.boot() < settings_.interval;
        return written <= now && now - written < settings_.interval;
      }));
}

void IncidentCapture::restore() {
  if (options_.runtime_directory.empty() || options_.boot_id.empty()) return;
  const auto text = read_small_file(options_.runtime_directory + "/capture-last", 4096);
  if (!text) {
    if (text.error().code != Errc::kAbsent) {
      log_.say(LogLevel::kWarning, "when the last capture was is not known (" +
                                       text.error().message + "), and the next may come too soon");
    }
    return;
  }
  std::string_view rest = *text;
  if (rest.substr(0, options_.boot_id.size()) != options_.boot_id) return;  // of another boot
  rest.remove_prefix(options_.boot_id.size());
  skip_blanks(rest);
  const auto seconds = take_u64(rest);
  if (!seconds || *seconds > 1'000'000'000) return;
  const Nanoseconds last = std::chrono::seconds(*seconds);
  // From the future it is damaged; the other error would be to capture nothing for ever.
  if (last > clock_.boot()) return;
  last_ = last;
  // One that the daemon's end cut short.
  skip_blanks(rest);
  const auto tries = take_u64(rest);
  skip_blanks(rest);
  const std::string alert(rest.substr(0, rest.find('\n')));
  if (!tries || *tries >= kMostTries || alert.empty()) return;
  if (clock_.boot() - last > kStillNews) return;
  tries_ = static_cast<std::uint32_t>(*tries);
  alert_ = alert;
}

void IncidentCapture::keep() const {
  if (options_.runtime_directory.empty() || options_.boot_id.empty() || !last_) return;
  std::string text = options_.boot_id + " " +
                     std::to_string(std::max<std::int64_t>(
                         std::chrono::duration_cast<std::chrono::seconds>(*last_).count(), 0));
  if (!alert_.empty()) text += " " + std::to_string(tries_) + " " + alert_;
  // Not kept: then a restart may write one too soon, which keep and max_size still bound.
  (void)replace_small_file(options_.runtime_directory + "/capture-last", text + "\n");
}

void IncidentCapture::set_timer(sd_event_source* timer, std::optional<Nanoseconds> from_now) {
  if (timer == nullptr) return;
  const auto us = std::max<std::int64_t>(from_now.value_or(Nanoseconds(0)).count() / 1000, 0);
  sd_event_source_set_time_relative(timer, static_cast<std::uint64_t>(us));
  sd_event_source_set_enabled(timer, from_now ? SD_EVENT_ONESHOT : SD_EVENT_OFF);
}

void IncidentCapture::write(SampleWriter& out) {
  if (!on()) return;
  take_count();
  for (std::size_t i = 0; i < kOutcomes; ++i) {
    out.put(kMetrics[kTotal], static_cast<double>(outcomes_[i]), kOutcomeNames[i]);
  }
  out.put(kMetrics[kRunning], alert_.empty() ? 0 : 1);
  if (seen_) {
    out.put(kMetrics[kBundles], static_cast<double>(seen_->bundles));
    out.put(kMetrics[kBytes], static_cast<double>(seen_->bytes));
  }
  if (last_wall_) out.put(kMetrics[kLast], to_seconds(*last_wall_));
}

std::span<const Descriptor> incident_capture_metrics() { return kMetrics; }

}  // namespace jetmem
