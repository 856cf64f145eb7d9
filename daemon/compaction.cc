#include "daemon/compaction.h"

#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <cerrno>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/small_file.h"
#include "base/text.h"
#include "base/units.h"

namespace jetmem {
namespace {

using Json = nlohmann::json;

constexpr std::string_view kName = "compaction";
constexpr std::uint64_t kSlackUs = 50'000;
constexpr std::size_t kMaxState = 4096;
constexpr int kFormat = 1;
constexpr std::string_view kBefore = "before";
constexpr std::string_view kAfter = "after";

constexpr std::array kMetrics{
    Descriptor{.name = "jetmem_compactions_total",
               .type = MetricType::kCounter,
               .help = "Compactions of memory that jetmem asked for because "
                       "JetmemBuddyFragmented fires (alerts.compact), by result: ok, "
                       "not_started (jetmem-compact.socket is not there), failed, timeout, "
                       "garbage. Cameras may lose frames during each.",
               .labels = {"result"},
               .max_series = 5},
    Descriptor{.name = "jetmem_compaction_seconds",
               .help = "Time that the last compaction took, in which allocations may have waited. "
                       "Missing before the first."},
    Descriptor{.name = "jetmem_compaction_largest_order",
               .help = "Order of the zone's largest free block outside CMA before and after the "
                       "last compaction. The same twice: it brought nothing, for what is in the "
                       "way cannot be moved. Missing where nothing is free, or where it is not "
                       "known how much of the free memory is CMA's.",
               .labels = {"node", "zone", "when"},
               .max_series = 2 * kMaxZoneSeries},
    Descriptor{.name = "jetmem_compaction_skips_total",
               .type = MetricType::kCounter,
               .help = "Times that memory was not compacted although the alert fires, by reason: "
                       "interval, the last one was too short ago; probe_running, put off until "
                       "jetmem's own probe is over; not_kept, a restart would forget when it "
                       "was, as the runtime directory cannot be written.",
               .labels = {"reason"},
               .max_series = 3},
};
enum Metric : std::size_t { kCompactions, kSeconds, kLargestOrder, kSkipped };

std::string words_of(Nanoseconds duration) {
  return format_duration(std::chrono::duration_cast<std::chrono::seconds>(duration));
}

// When the last one was, if it was in this boot.
Result<std::optional<Nanoseconds>> parse_state(std::string_view text, std::string_view boot_id) {
  try {
    const Json json = Json::parse(text);
    if (!json.is_object() || json.at("format") != kFormat) {
      return fail(Errc::kMalformed, "not of this version's format");
    }
    const Json& last = json.at("last");
    if (!last.is_number_unsigned() || last.get<std::uint64_t>() > INT64_MAX / 4) {
      return fail(Errc::kMalformed, "not a time");
    }
    if (json.at("boot_id").get<std::string>() != boot_id) return std::nullopt;
    return Nanoseconds(last.get<std::uint64_t>());
  } catch (const Json::exception& error) {
    return fail(Errc::kMalformed, printable(error.what()));
  }
}

}  // namespace

Compaction::Compaction(const Clock& clock, Spawner& spawner, Log& log, CompactionOptions options)
    : clock_(clock),
      options_(std::move(options)),
      log_(log, clock, kName),
      child_(clock, spawner,
             {[this](std::string_view bytes) { on_output(bytes); },
              [this](bool, const std::string&) { on_end(); }}),
      backoff_(options_.first_pause, std::chrono::hours(1)) {
  if (!options_.runtime_directory.empty() && !options_.boot_id.empty()) {
    state_file_ = options_.runtime_directory + "/compaction.json";
  }
}

Compaction::~Compaction() {
  sd_event_source_unref(step_timer_);
  sd_event_source_unref(deadline_timer_);
}

Result<void> Compaction::start(sd_event* event) {
  int ok = sd_event_add_time(event, &step_timer_, CLOCK_BOOTTIME, 0, kSlackUs, on_step, this);
  if (ok >= 0) ok = sd_event_source_set_enabled(step_timer_, SD_EVENT_OFF);
  if (ok >= 0) {
    ok =
        sd_event_add_time(event, &deadline_timer_, CLOCK_MONOTONIC, 0, kSlackUs, on_deadline, this);
  }
  if (ok >= 0) ok = sd_event_source_set_enabled(deadline_timer_, SD_EVENT_OFF);
  if (ok < 0) return tl::unexpected(errno_error("set up", "a timer for compaction", -ok));
  restore();
  if (auto attached = child_.attach(event); !attached) return attached;
  // What was told before there were timers: alerts that fired already.
  if (wanted()) say_if_too_soon();
  arm();
  return {};
}

// What cannot be known counts as just now: a daemon that starts again and again must not have
// memory compacted again and again.
void Compaction::restore() {
  const Nanoseconds now = clock_.boot();
  last_ = now;
  if (state_file_.empty()) return;
  const auto text = read_small_file(state_file_, kMaxState);
  if (!text && text.error().code == Errc::kAbsent) {
    last_.reset();
    return;
  }
  const auto state = text ? parse_state(*text, options_.boot_id) : tl::unexpected(text.error());
  if (!state) {
    log_.say(LogLevel::kWarning, "when memory was compacted last is not known: " + state_file_ +
                                     ": " + printable(state.error().message));
    return;
  }
  last_ = *state;
  if (last_) last_ = std::min(*last_, now);
}

Result<void> Compaction::keep() const {
  if (state_file_.empty()) return {};
  const Json json{{"format", kFormat},
                  {"boot_id", options_.boot_id},
                  {"last", static_cast<std::uint64_t>(clock_.boot().count())}};
  return replace_small_file(state_file_,
                            json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n");
}

void Compaction::apply(const AlertsSettings& settings) {
  settings_ = settings;
  not_before_.reset();
  backoff_.reset();
  if (!settings_.compact) stop();
  arm();
}

void Compaction::tell(const Transition& transition) {
  if (transition.rule == nullptr || transition.rule->name != kAlert) return;
  const auto at = std::find(firing_.begin(), firing_.end(), transition.labels);
  if (transition.change == Change::kPending || transition.change == Change::kDropped) return;
  if (transition.change != Change::kFiring) {
    if (at != firing_.end()) firing_.erase(at);
    return arm();
  }
  if (at != firing_.end()) return;
  if (firing_.size() < kMaxSeries) firing_.push_back(transition.labels);
  if (settings_.compact && !child_.running()) say_if_too_soon();
  arm();
}

void Compaction::say_if_too_soon() {
  const auto next = next_at();
  if (!next || !last_ || *next != *last_ + settings_.compact_interval) return;
  skip(Skip::kInterval, "the last compaction was too short ago; the next may come in " +
                            words_of(*next - clock_.boot()));
}

void Compaction::forget() {
  firing_.clear();
  arm();
}

// What the unit does it does to its end; nobody looks at what it brought.
void Compaction::stop(std::string_view why) {
  if (child_.running()) {
    ++outcomes_[static_cast<std::size_t>(Outcome::kFailed)];
    log_.say(LogLevel::kInfo, "a compaction of memory was not waited for: " + std::string(why));
  }
  child_.kill();
  set_timer(deadline_timer_, std::nullopt);
  set_timer(step_timer_, std::nullopt);
}

std::optional<Nanoseconds> Compaction::next_at() const {
  std::optional<Nanoseconds> at = not_before_;
  if (last_) at = std::max(at.value_or(Nanoseconds(0)), *last_ + settings_.compact_interval);
  if (at && *at <= clock_.boot()) at.reset();
  return at;
}

void Compaction::arm() {
  if (!wanted() || child_.running()) return set_timer(step_timer_, std::nullopt);
  const auto next = next_at();
  set_timer(step_timer_, next ? *next - clock_.boot() : Nanoseconds(0));
}

int Compaction::on_step(sd_event_source*, std::uint64_t, void* self) {
  static_cast<Compaction*>(self)->step();
  return 0;
}

// Nothing is asked for but from here, so never from within a callback of the one before.
void Compaction::step() {
  if (wanted() && !child_.running() && !next_at()) compact();
  arm();
}

void Compaction::compact() {
  if (options_.probe_runs && options_.probe_runs()) {
    not_before_ = clock_.boot() + options_.look;
    return skip(Skip::kProbe, "a probe of jetmem's runs; memory is compacted when it is over");
  }
  if (auto kept = keep(); !kept) {
    not_before_ = clock_.boot() + backoff_.next();
    return skip(Skip::kNotKept, "a restart would forget it: " + kept.error().message);
  }
  skipping_.reset();
  text_.clear();
  const std::optional<Nanoseconds> before = std::exchange(last_, clock_.boot());
  if (auto connected = connect(); !connected) {
    // Nothing was compacted. What is on file errs to the careful side.
    last_ = before;
    const Nanoseconds pause = backoff_.next();
    not_before_ = clock_.boot() + pause;
    return end(Outcome::kNotStarted, "cannot " + connected.error().message +
                                         " (is jetmem-compact.socket enabled?); it is tried again "
                                         "in " +
                                         words_of(pause));
  }
  not_before_.reset();
  set_timer(deadline_timer_, options_.deadline);
  log_.say(LogLevel::kInfo, "memory is compacted because " + std::string(kAlert) +
                                " fires: cameras may lose frames meanwhile");
}

Result<void> Compaction::connect() {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string& path = settings_.compact_socket;
  if (path.size() >= sizeof address.sun_path) {
    return fail(Errc::kInvalid, "connect to a path that long: " + path);
  }
  path.copy(address.sun_path, sizeof address.sun_path - 1);
  UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd.valid() ||
      ::connect(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) {
    return tl::unexpected(errno_error("connect to", path, errno));
  }
  return child_.read_from(std::move(fd));
}

void Compaction::on_output(std::string_view bytes) {
  text_.append(bytes);
  if (text_.size() <= CompactionReport::kMaxBytes) return;
  child_.kill();
  end(Outcome::kGarbage, "its unit printed more than " + format_size(CompactionReport::kMaxBytes));
}

void Compaction::on_end() {
  if (text_.size() == 0) {
    return end(Outcome::kFailed,
               "its unit ended without a word; the journal of jetmem-compact@ may say why");
  }
  auto report = parse_compaction_report(text_.view());
  if (!report && report.error().code == Errc::kUnavailable) {
    return end(Outcome::kFailed, report.error().message);
  }
  if (!report) return end(Outcome::kGarbage, "its unit printed garbage: " + report.error().message);
  report_ = std::move(*report);
  backoff_.reset();
  end(Outcome::kOk, {});
}

int Compaction::on_deadline(sd_event_source*, std::uint64_t, void* self) {
  auto* compaction = static_cast<Compaction*>(self);
  // If it was we who were away, its answer is there.
  compaction->child_.read_now();
  if (!compaction->child_.running()) return 0;
  compaction->child_.kill();
  compaction->end(Outcome::kTimeout,
                  "its unit did not answer within " + words_of(compaction->options_.deadline));
  return 0;
}

void Compaction::end(Outcome outcome, const std::string& how) {
  set_timer(deadline_timer_, std::nullopt);
  ++outcomes_[static_cast<std::size_t>(outcome)];
  text_.clear();
  if (outcome == Outcome::kOk) {
    tell_report();
  } else {
    log_.say(LogLevel::kWarning, "memory was not compacted, or it is not known: " + how,
             {{"JETMEM_RESULT", std::string(kOutcomeNames[static_cast<std::size_t>(outcome)])}});
  }
  arm();
}

void Compaction::tell_report() {
  const std::string seconds =
      format_duration(std::chrono::duration_cast<std::chrono::milliseconds>(report_->took));
  const std::string changes = largest_orders_changed(*report_);
  std::string message = "memory was compacted in " + seconds + ": ";
  message += changes.empty() ? "the largest free blocks are what they were"
                             : "largest free order outside CMA: " + changes;
  log_.say(LogLevel::kInfo, std::move(message),
           {{"JETMEM_RESULT", "ok"},
            {"JETMEM_SECONDS", std::to_string(to_seconds(report_->took))},
            {"JETMEM_REPORT", to_json(*report_)}});
}

void Compaction::skip(Skip why, const std::string& words) {
  ++skips_[static_cast<std::size_t>(why)];
  if (std::exchange(skipping_, why) == why) return;
  log_.say(LogLevel::kInfo, "memory is not compacted now: " + words,
           {{"JETMEM_REASON", std::string(kSkipNames[static_cast<std::size_t>(why)])}});
}

void Compaction::set_timer(sd_event_source* timer, std::optional<Nanoseconds> from_now) {
  if (timer == nullptr) return;
  const auto us = std::max<std::int64_t>(from_now.value_or(Nanoseconds(0)).count() / 1000, 0);
  sd_event_source_set_time_relative(timer, static_cast<std::uint64_t>(us));
  sd_event_source_set_enabled(timer, from_now ? SD_EVENT_ONESHOT : SD_EVENT_OFF);
}

void Compaction::write(SampleWriter& out) const {
  if (!settings_.compact) return;
  for (std::size_t i = 0; i < kOutcomes; ++i) {
    out.put(kMetrics[kCompactions], static_cast<double>(outcomes_[i]), kOutcomeNames[i]);
  }
  for (std::size_t i = 0; i < kSkips; ++i) {
    out.put(kMetrics[kSkipped], static_cast<double>(skips_[i]), kSkipNames[i]);
  }
  if (!report_) return;
  out.put(kMetrics[kSeconds], to_seconds(report_->took));
  for (const CompactionReport::Zone& zone : report_->zones) {
    const std::string_view name = zone.id.name;
    const auto put = [&](const FreeBlocks& free, std::string_view when) {
      if (!free.largest_order) return;
      out.put(kMetrics[kLargestOrder], *free.largest_order, zone.id.node, name, when);
    };
    put(zone.before, kBefore);
    put(zone.after, kAfter);
  }
}

std::span<const Descriptor> compaction_metrics() { return kMetrics; }

}  // namespace jetmem
