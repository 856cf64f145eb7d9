// SPDX-License-Identifier: Apache-2.0
#include "daemon/capture/incident_capture.h"

#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "base/root/bundle_name.h"
#include "base/text/text.h"
#include "base/text/units.h"
#include "daemon/state_file_metrics.h"

namespace jetmem {
namespace {

constexpr std::string_view kCaptureName = "capture";
constexpr std::uint32_t kMostTries = 3;
// Of several boots within capture.interval.
constexpr std::uint64_t kMostOfInterval = 3;
// After one that came to nothing.
constexpr Nanoseconds kAfterFailure = std::chrono::minutes(5);
// So old a one is not begun anew after a restart.
constexpr Nanoseconds kReportMaxAge = std::chrono::minutes(15);
// For what others remove, or leave.
constexpr Nanoseconds kRecount = std::chrono::minutes(10);

// How long a disk may take to say what lies there.
constexpr Nanoseconds kDiskWait = std::chrono::milliseconds(250);
constexpr std::uint32_t kMostDiskWaits = 20;

constexpr std::array kCaptureMetrics{
    counter("jetmem_captures_total",
            "Bundles that jetmem wanted to write because a critical alert fired, by outcome: ok; "
            "failed, the journal has the reason (usually a full disk); timeout, killed at "
            "capture.deadline; not_started, the journal has the reason (no jetmem beside jetmemd, "
            "a disk that does not answer); skipped_interval, the last one was less than "
            "capture.interval ago; skipped_running, one for another alert was just being written.",
            {"outcome"}, 6),
    gauge("jetmem_capture_running",
          "1 while a bundle is written because a critical alert fired, or waits the few seconds "
          "until the history is on the disk."),
    gauge("jetmem_capture_bundles",
          "Bundles of critical alerts that are kept on the device (capture.keep). Absent when "
          "their directory cannot be read."),
    gauge("jetmem_capture_bundle_bytes",
          "Size of the bundles that are kept on the device (capture.max_size), incomplete ones of "
          "killed captures included."),
    gauge("jetmem_capture_last_timestamp_seconds",
          "When the newest bundle of an alert was written. Absent before the first since jetmemd "
          "started."),
};
enum CaptureMetric : std::size_t { kTotal, kCaptureRunning, kBundles, kBytes, kLast };

struct LastCapture {
  Nanoseconds at{0};  // boot clock
  std::uint32_t tries = 0;
  std::string alert;  // that it was unfinished for; empty: none
};

// "4711", or "4711 2 JetmemX"
Result<LastCapture> parse_last_capture(std::string_view text) {
  LastCapture out;
  // Below 0 where one that failed early in this boot is to be tried again soon.
  const auto seconds = take_i64(text);
  if (!seconds || *seconds > 1'000'000'000 || *seconds < -1'000'000'000)
    return fail(Errc::kMalformed, "expected seconds");
  out.at = std::chrono::seconds(*seconds);
  skip_blanks(text);
  const auto tries = take_u64(text);
  skip_blanks(text);
  out.alert = text.substr(0, text.find('\n'));
  if (!tries || *tries >= kMostTries || out.alert.empty()) out.alert.clear();
  if (!out.alert.empty()) out.tries = static_cast<std::uint32_t>(*tries);
  return out;
}

}  // namespace

IncidentCapture::IncidentCapture(const Clock& clock, Spawner& spawner, Log& log,
                                 IncidentCaptureOptions options)
    : clock_(clock),
      options_(std::move(options)),
      log_(log, clock, kCaptureName),
      state_file_({.directory = options_.runtime_directory,
                   .name = "capture-last",
                   .boot_id = options_.boot_id,
                   .what = "the time of the last capture",
                   .max_bytes = 4096},
                  log),
      child_(clock, spawner,
             {[](std::string_view) {},
              [this](const ChildEnd& child) {
                end(child.well ? Outcome::kOk : Outcome::kFailed, child.how);
              }}) {
  if (options_.program.empty()) options_.program = find_companion("jetmem");
  restore();
}

Result<void> IncidentCapture::start(EventLoop& loop) {
  if (auto ok = begin_timer_.attach(loop, [this] { begin(); }); !ok) return ok;
  if (auto ok = deadline_timer_.attach(loop, [this] { on_deadline(); }); !ok) return ok;
  if (auto ok = recount_timer_.attach(loop, [this] { on_recount(); }); !ok) return ok;
  recount_timer_.set(kRecount);
  if (!alert_.empty()) begin_timer_.set(options_.delay);
  return child_.attach(loop);
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
  if (on()) return look();
  end_child();
  alert_.clear();
  keep();
}

void IncidentCapture::notify(const Transition& transition) {
  if (!on() || transition.change != Change::kFiring || transition.rule == nullptr ||
      transition.rule->severity != Severity::kCritical) {
    return;
  }
  // What fires while one is written is in the next look at the device, and in this one's history.
  if (!alert_.empty()) {
    return skip(Outcome::kRunning, logged_running_, "no bundle of its own", transition.rule->name,
                "the one for " + printable(alert_, 100) + " is not done yet");
  }
  const Nanoseconds now = clock_.boot();
  if (last_ && now - *last_ < settings_.interval) {
    return skip(Outcome::kInterval, logged_skip_, "no bundle", transition.rule->name,
                "the last one was begun less than " + format_duration(settings_.interval) +
                    " ago (capture.interval)");
  }
  if (too_many(transition.rule->name)) return;
  alert_ = transition.rule->name;
  last_ = now;
  tries_ = 0;
  disk_waits_ = 0;
  logged_skip_ = false;
  logged_running_ = false;
  keep();
  begin_timer_.set(options_.delay);
}

// A device that its alert restarts, again and again, does not write one for each boot.
bool IncidentCapture::too_many(const std::string& alert) {
  take_count();
  const std::uint64_t recent = recent_bundles();
  if (recent < std::clamp<std::uint64_t>(settings_.keep, 1, kMostOfInterval)) return false;
  skip(Outcome::kInterval, logged_skip_, "no bundle", alert,
       std::to_string(recent) + " were within " + format_duration(settings_.interval) +
           " (capture.interval), earlier boots included");
  return true;
}

void IncidentCapture::skip(Outcome outcome, bool& logged, const std::string& what,
                           const std::string& alert, const std::string& why) {
  ++outcomes_[static_cast<std::size_t>(outcome)];
  if (std::exchange(logged, true)) return;
  log_.log_message(LogLevel::kInfo, what + " is written for " + printable(alert, 100) + ": " + why,
                   {{"JETMEM_ALERT", alert}});
}

void IncidentCapture::begin() {
  if (alert_.empty() || child_.running()) return;
  // A count under way is done in a moment, as a rule.
  take_count();
  if (look_.is_requested() && disk_waits_ < kMostDiskWaits) {
    ++disk_waits_;
    return begin_timer_.set(kDiskWait);
  }
  disk_waits_ = 0;
  file_.clear();
  ++tries_;
  keep();
  if (child_.is_terminating())
    return end(Outcome::kNotStarted, "the one before hangs in the kernel");
  if (options_.program.empty()) {
    return end(Outcome::kNotStarted, "there is no jetmem beside jetmemd");
  }
  if (look_.is_requested())
    return end(Outcome::kNotStarted, "what lies in its folder was not known after 5 s");
  // When it fired nobody may have counted yet.
  if (too_many(alert_)) {
    alert_.clear();
    return keep();
  }
  const std::uint64_t highest = seen_ ? seen_->highest : 0;
  file_ = folder() + "/" + bundle_stem(clock_.wall(), alert_) + "-n" + std::to_string(highest + 1) +
          ".tar.zst";
  const auto seconds = [](std::chrono::milliseconds duration) {
    return std::to_string(std::chrono::ceil<std::chrono::seconds>(duration).count()) + "s";
  };
  SpawnRequest request;
  // When memory runs short it is not to be spared as the daemon is.
  request.own_process_group = true;
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
  deadline_timer_.set(Nanoseconds(settings_.deadline) + std::chrono::seconds(5));
}

void IncidentCapture::on_deadline() {
  // If it was we who were away, it has ended long since.
  child_.read_now();
  if (!child_.running()) return;
  child_.kill();
  end(Outcome::kTimeout,
      "it did not end within " + format_duration(settings_.deadline) + " and was killed");
}

void IncidentCapture::end(Outcome outcome, const std::string& how) {
  deadline_timer_.cancel();
  ++outcomes_[static_cast<std::size_t>(outcome)];
  // What one that was killed cannot remove itself.
  look(outcome == Outcome::kOk ? std::string() : file_);
  const std::string result(kOutcomeNames[static_cast<std::size_t>(outcome)]);
  const std::string alert = alert_;
  if (outcome == Outcome::kOk) {
    alert_.clear();
    keep();
    last_wall_ = clock_.wall();
    log_.log_message(
        LogLevel::kInfo,
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
    begin_timer_.set(pause);
  } else {
    alert_.clear();
    // One that came to nothing does not stand in the way of the next for long.
    last_ =
        std::min(clock_.boot(), clock_.boot() - Nanoseconds(settings_.interval) + kAfterFailure);
    keep();
  }
  log_.log_message(LogLevel::kWarning,
                   "no bundle was written for " + printable(alert, 100) + ": " + how + what_next,
                   {{"JETMEM_ALERT", alert}, {"JETMEM_RESULT", result}});
}

void IncidentCapture::end_child() {
  begin_timer_.cancel();
  deadline_timer_.cancel();
  if (child_.running()) {
    child_.kill();
    look(file_);
  }
}

void IncidentCapture::stop() {
  end_child();
  recount_timer_.cancel();
  // Which one was not done is kept: the next start begins it anew.
  alert_.clear();
}

void IncidentCapture::on_recount() {
  if (on()) look();
  recount_timer_.set(kRecount);
}

void IncidentCapture::look(const std::string& remove_parts_of) {
  if (!remove_parts_of.empty()) remove_parts_of_ = remove_parts_of;
  is_look_wanted_ = true;
  take_count();
}

void IncidentCapture::take_count() {
  if (auto found = look_.take()) seen_ = std::move(*found);
  if (!is_look_wanted_ || look_.is_requested()) return;
  const auto question = [folder = folder(), remove = remove_parts_of_] {
    return look_at_bundles(folder, remove);
  };
  is_look_wanted_ = false;
  if (!look_.ask(question)) return seen_.reset();
  remove_parts_of_.clear();
}

// Written within the interval, in this boot or another. Where no clock can be trusted each of them
// counts as long as this boot is young.
std::uint64_t IncidentCapture::recent_bundles() const {
  if (!seen_) return 0;
  const Nanoseconds now = clock_.wall();
  return static_cast<std::uint64_t>(
      std::count_if(seen_->written.begin(), seen_->written.end(), [&](Nanoseconds written) {
        if (now < kFirstPlausibleTime)
          return written < kFirstPlausibleTime && clock_.boot() < settings_.interval;
        return written <= now && now - written < settings_.interval;
      }));
}

void IncidentCapture::restore() {
  const auto saved = state_file_.load(parse_last_capture);
  // From the future it is damaged; the other error would be to capture nothing indefinitely.
  if (!saved || saved->at > clock_.boot()) return;
  last_ = saved->at;
  // One that the daemon's end cut short.
  if (clock_.boot() - saved->at > kReportMaxAge) return;
  tries_ = saved->tries;
  alert_ = saved->alert;
}

void IncidentCapture::keep() {
  if (!last_) return;
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(*last_).count();
  std::string text = std::to_string(seconds);
  if (!alert_.empty()) text += " " + std::to_string(tries_) + " " + alert_;
  state_file_.store(text + "\n");
}

void IncidentCapture::write(SampleWriter& out) {
  if (!on()) return;
  take_count();
  for (std::size_t i = 0; i < kOutcomes; ++i) {
    out.put(kCaptureMetrics[kTotal], static_cast<double>(outcomes_[i]), kOutcomeNames[i]);
  }
  out.put(kCaptureMetrics[kCaptureRunning], alert_.empty() ? 0 : 1);
  if (seen_) {
    out.put(kCaptureMetrics[kBundles], static_cast<double>(seen_->bundles));
    out.put(kCaptureMetrics[kBytes], static_cast<double>(seen_->bytes));
  }
  if (last_wall_) out.put(kCaptureMetrics[kLast], to_seconds(*last_wall_));
  write_state_file_failures(out, state_file_);
}

std::span<const Descriptor> incident_capture_metrics() { return kCaptureMetrics; }

}  // namespace jetmem
