#include "daemon/probe_program.h"

#include <unistd.h>

#include <algorithm>
#include <utility>

#include "base/facts.h"
#include "base/small_file.h"
#include "base/text.h"
#include "base/units.h"
#include "collectors/probe/source.h"
#include "probes/partial.h"

namespace jetmem {
namespace {

// Where a captured tree keeps the text, and so what the source looks for.
constexpr std::string_view kPath = "/jetmem/probe";
constexpr std::uint64_t kSlackUs = 50'000;
constexpr Nanoseconds kWorthShowing = std::chrono::seconds(2);
// One that an earlier daemon left behind is looked for so often.
constexpr Nanoseconds kLookLeftBehind = std::chrono::seconds(5);
// One that was killed is looked for so often, until its window is closed.
constexpr Nanoseconds kLook = std::chrono::milliseconds(200);
// A result is worth so many of its intervals, as other sources' are.
constexpr int kStaleAfterIntervals = 3;
constexpr std::array kGroups{ProbeGroup::kMemory, ProbeGroup::kCuda};
constexpr std::uint16_t kMaxSkips = kProbeGroups * (kGateReasons + 4);
// By then one behind systemd's socket has said which process it is.
constexpr Nanoseconds kIntroduction = std::chrono::seconds(1);

constexpr std::array kMetrics{
    Descriptor{.name = "jetmem_probe_skips_total",
               .type = MetricType::kCounter,
               .help = "Times that a group of probes was left out to spare the device, by reason. "
                       "earlier_run: the one before still runs or has not gone; after_failure: "
                       "jetmem-probe failed, and is tried ever more slowly; own_limit: without "
                       "jetmem-probe.socket it would run within jetmemd's own memory limit, which "
                       "is too tight; throttling_unknown, pressure_unknown: the source that "
                       "should tell cannot now; switched_off: it ran when the settings switched "
                       "it off, and was ended.",
               .labels = {"group", "reason"},
               .max_series = kMaxSkips},
    Descriptor{.name = "jetmem_probe_running",
               .type = MetricType::kGauge,
               .help = "1 while jetmem-probe runs for this group.",
               .labels = {"group"},
               .max_series = kProbeGroups},
    Descriptor{.name = "jetmem_probe_interval_seconds",
               .type = MetricType::kGauge,
               .help = "Time between two probes of this group as it is in force: longer than the "
                       "settings say after failures, and for CUDA where a probe makes the GPU's "
                       "driver print errors. Missing where the group is switched off.",
               .labels = {"group"},
               .max_series = kProbeGroups},
    Descriptor{.name = "jetmem_probe_age_seconds",
               .type = MetricType::kGauge,
               .help = "Time since what is shown of this group was measured, suspend included. "
                       "Missing while nothing is shown of it.",
               .labels = {"group"},
               .max_series = kProbeGroups},
    Descriptor{.name = "jetmem_probe_side_effects_total",
               .type = MetricType::kCounter,
               .help =
                   "Events in the kernel's log since boot while a probe ran, so probably its "
                   "doing. They are in jetmem_kernel_events_total as origin=probe; when a probe "
                   "with CUDA causes some, the next ones come at twice the interval. Missing while "
                   "nobody follows that log: then nothing is known of it, and no interval "
                   "changes for it."},
};
enum Metric : std::size_t { kSkips, kRunning, kInterval, kAge, kSideEffects };

std::string words_of(Nanoseconds duration) {
  return format_duration(std::chrono::duration_cast<std::chrono::seconds>(duration));
}

}  // namespace

std::string_view ProbeProgram::skip_reason_name(std::size_t reason) {
  if (reason == kEarlierRun) return "earlier_run";
  if (reason == kAfterFailure) return "after_failure";
  if (reason == kOwnLimit) return "own_limit";
  if (reason == kSwitchedOff) return "switched_off";
  return gate_reason_name(static_cast<GateReason>(reason));
}

ProbeProgram::ProbeProgram(const ProgramContext& context, ProbeProgramOptions options)
    : clock_(context.clock),
      done_(context.done),
      readings_(context.readings),
      source_states_(context.source_states),
      window_(context.probe_window),
      options_(std::move(options)),
      log_(context.log, context.clock, ProbeSource::kInfo.name),
      news_(context.log, context.clock),
      runner_(
          context.clock, context.spawner, [this](ProbeRunEnd end) { on_end(std::move(end)); },
          options_.root),
      schedule_(options_.schedule),
      page_size_(static_cast<std::uint64_t>(std::max(::sysconf(_SC_PAGESIZE), 1L))) {
  if (!context.runtime_directory.empty()) state_file_ = context.runtime_directory + "/probe.json";
}

ProbeProgram::~ProbeProgram() { sd_event_source_unref(timer_); }

std::string_view ProbeProgram::source() const { return ProbeSource::kInfo.name; }

Result<void> ProbeProgram::start(sd_event* event) {
  int ok = sd_event_add_time(event, &timer_, CLOCK_BOOTTIME, 0, kSlackUs, on_timer, this);
  if (ok >= 0) ok = sd_event_source_set_enabled(timer_, SD_EVENT_OFF);
  if (ok < 0) return tl::unexpected(errno_error("set up", "a timer for probes", -ok));
  started_ = clock_.boot();
  schedule_.begin(started_);
  restore();
  if (auto started = runner_.start(event); !started) return started;
  arm();
  return {};
}

void ProbeProgram::apply(const Settings& settings) {
  settings_ = settings.probe;
  runner_.set_paths(settings_.socket, settings_.program);
  Nanoseconds interval = ProbeSource::kInfo.interval;
  if (const SourceSettings* source = settings.find_source(this->source())) {
    interval = source->interval;
    enabled_ = source->enabled;
  }
  schedule_.set(interval, settings_.cuda, settings_.cuda_interval);
  if (timer_ == nullptr) return;
  if (!settings_.cuda) {
    if (running_ == ProbeGroup::kCuda) {
      runner_.kill();
      running_.reset();
      left_at_ = clock_.boot();
      count_switched_off(ProbeGroup::kCuda);
      keep();
    }
    drop_line(ProbeGroup::kCuda);
    of(ProbeGroup::kCuda).skipping.reset();
  }
  if (enabled_) schedule_.soon(clock_.boot());
  arm();
}

void ProbeProgram::due() {
  const Nanoseconds now = clock_.boot();
  const bool dropped = drop_old_lines(now);
  const bool holds = std::any_of(groups_.begin(), groups_.end(),
                                 [](const Group& group) { return !group.line.empty(); });
  // Nothing else is told while memory is left alone: what holds must not go stale with it.
  if (dropped || (holds && schedule_.pauses(ProbeGroup::kMemory, now))) {
    tell_source(Nanoseconds(0));
  }
  schedule_.due(now);
  step();
}

void ProbeProgram::stop() {
  runner_.kill();
  if (const auto group = std::exchange(running_, std::nullopt)) {
    left_at_ = clock_.boot();
    if (!enabled_) count_switched_off(*group);
    keep();
  }
  schedule_.cancel();
  turn_.reset();
  told_wedged_ = false;
  for (Group& group : groups_) {
    group.line.clear();
    group.skipping.reset();
  }
  has_told_ = false;  // the source has dropped all by then
  look_at_window(clock_.boot());
  arm();
}

pid_t ProbeProgram::pid() const { return runner_.runs_for() >= kWorthShowing ? runner_.pid() : -1; }

int ProbeProgram::on_timer(sd_event_source*, std::uint64_t, void* self) {
  static_cast<ProbeProgram*>(self)->step();
  return 0;
}

// Nothing is started but from here, so never from within a callback of the run before.
void ProbeProgram::step() {
  const Nanoseconds now = clock_.boot();
  look_at_window(now);
  (void)is_left_behind();
  if (judge_at_ && now >= *judge_at_) judge_complaints();
  if (keep_at_ && now >= *keep_at_) keep();
  if (schedule_.begin_cycle(now)) {
    turn_ = ProbeGroup::kMemory;
    turn_at_ = now;
    why_skipped_.clear();
  }
  take_turns(now);
  arm();
}

void ProbeProgram::take_turns(Nanoseconds now) {
  bool ran = false;
  while (turn_ && now >= turn_at_ && !ran) {
    const ProbeGroup group = *turn_;
    turn_.reset();
    if (group == ProbeGroup::kMemory) turn_ = ProbeGroup::kCuda;
    ran = try_to_run(group, now);
  }
  if (ran) why_skipped_.clear();
  if (turn_ || why_skipped_.empty()) return;
  done_(source(), fail(Errc::kSkipped, std::exchange(why_skipped_, {})), Nanoseconds(0));
}

bool ProbeProgram::try_to_run(ProbeGroup group, Nanoseconds now) {
  if (!schedule_.wants(group, now)) {
    if (schedule_.pauses(group, now)) ++of(group).skips[kAfterFailure];
    return false;
  }
  if (runner_.running()) {
    skip(group, kEarlierRun, "the run before it has not ended yet");
    return false;
  }
  if (runner_.leaving()) {
    const std::string process = "jetmem-probe " + std::to_string(runner_.leaving_pid());
    skip(group, kEarlierRun,
         process + (runner_.from_socket() ? ", of the run before, has not ended yet"
                                          : " was killed and is not gone yet"));
    // A moment after it was killed it is merely dying; one of systemd's has until its deadline.
    if (runner_.wedged()) say_wedged();
    return false;
  }
  if (is_left_behind()) {
    const std::string process = "jetmem-probe " + std::to_string(left_behind_->pid);
    skip(group, kEarlierRun, process + " of an earlier jetmemd is not gone yet");
    return false;
  }
  told_wedged_ = false;
  const GateInputs machine = inputs();
  const GateLimits limits{settings_.frame, settings_.min_available, settings_.min_free};
  if (const auto closed = closed_gate(group, machine, limits)) {
    skip(group, static_cast<std::size_t>(closed->reason), closed->words);
    return false;
  }
  auto started = run(group, machine);
  if (!started && started.error().code == Errc::kSkipped) {
    skip(group, kOwnLimit, started.error().message);
    return false;
  }
  go_on(group);
  schedule_.started(group, now);
  keep();
  if (started && runner_.pid() <= 0) keep_at_ = now + kIntroduction;
  if (started) return true;
  const Errc code = started.error().code == Errc::kDenied ? Errc::kDenied : Errc::kUnavailable;
  take_failure(group, {ProgramFailure::kNotStarted, code, std::move(started.error().message), {}});
  return false;
}

Result<void> ProbeProgram::run(ProbeGroup group, const GateInputs& inputs) {
  ProbeRequest request;
  for (const std::string_view kind : probe_kinds(group)) request.kinds.emplace_back(kind);
  request.frame_bytes = settings_.frame;
  request.largest_runs = inputs.largest_runs;
  const Nanoseconds now = clock_.boot();
  if (group == ProbeGroup::kCuda) complaints_before_ = complaints();
  if (auto ran = runner_.run(std::move(request), settings_.deadline); !ran) return ran;
  look_at_window(now);
  if (window_.begins) window_.begins(now);
  window_of_ = group;
  left_at_.reset();
  running_ = group;
  ++figures_.starts;
  if (const std::string& why = runner_.fallback(); why != told_fallback_) {
    told_fallback_ = why;
    log_.say(LogLevel::kInfo, why.empty()
                                  ? "jetmem-probe is systemd's now, with its rights"
                                  : "jetmem-probe runs with the daemon's own rights: " + why);
  }
  return {};
}

void ProbeProgram::skip(ProbeGroup group, std::size_t reason, const std::string& words) {
  Group& state = of(group);
  ++state.skips[reason];
  const std::string name(probe_group_name(group));
  if (group == ProbeGroup::kMemory) why_skipped_ = words;
  const bool same = state.skipping == reason;
  if (!state.skipping) state.skips_in_a_row = 0;
  ++state.skips_in_a_row;
  state.skipping = reason;
  if (same) return;
  log_.say(LogLevel::kInfo, "probes of " + name + " are left out: " + words,
           {{"JETMEM_REASON", std::string(skip_reason_name(reason))}});
}

void ProbeProgram::go_on(ProbeGroup group) {
  Group& state = of(group);
  if (!state.skipping) return;
  log_.say(LogLevel::kInfo, "probes of " + std::string(probe_group_name(group)) +
                                " go on, after being left out " +
                                std::to_string(state.skips_in_a_row) + " times");
  state.skipping.reset();
}

// Not a skip of the usual kind: there is none to come that could go on.
void ProbeProgram::count_switched_off(ProbeGroup group) {
  ++of(group).skips[kSwitchedOff];
  log_.say(LogLevel::kInfo, "the probe of " + std::string(probe_group_name(group)) +
                                " that ran was ended: it is switched off now");
}

void ProbeProgram::restore() {
  if (state_file_.empty()) {
    log_.say(LogLevel::kInfo,
             "when was probed last does not outlive a restart: no RUNTIME_DIRECTORY");
    return;
  }
  boot_id_ = Facts::of_this_machine().boot_id.value_or("");
  if (boot_id_.empty()) {
    log_.say(LogLevel::kInfo, "when was probed last does not outlive a restart: no boot ID");
    return;
  }
  const auto text = read_small_file(state_file_, KeptProbes::kMaxBytes);
  if (!text && text.error().code == Errc::kAbsent) return;
  const auto state = text ? parse_probe_state(*text) : tl::unexpected(text.error());
  if (!state) {
    log_.say(LogLevel::kWarning, "when was probed last is not known: " + state_file_ + ": " +
                                     printable(state.error().message));
    return;
  }
  if (state->boot_id != boot_id_) return;  // its times are another clock's
  schedule_.restore(state->schedule, clock_.boot());
  left_behind_ = state->process;
  (void)is_left_behind();  // most are gone by now
}

void ProbeProgram::keep() {
  keep_at_.reset();
  if (state_file_.empty() || boot_id_.empty()) return;
  KeptProbes state{boot_id_, schedule_.save(), {}};
  state.process = find_probe_process(runner_.leaving() ? runner_.leaving_pid() : runner_.pid());
  if (!state.process && is_left_behind()) state.process = left_behind_;
  const auto written = replace_small_file(state_file_, to_text(state));
  if (!written && !std::exchange(told_state_trouble_, true)) {
    log_.say(LogLevel::kError, "after a restart it will not be known when was probed last: " +
                                   written.error().message);
  }
  if (written) told_state_trouble_ = false;
}

bool ProbeProgram::is_left_behind() {
  if (left_behind_ && find_probe_process(left_behind_->pid) != left_behind_) left_behind_.reset();
  return left_behind_.has_value();
}

void ProbeProgram::say_wedged() {
  std::string message = "jetmem-probe " + std::to_string(runner_.leaving_pid()) +
                        " hangs in the kernel and " +
                        (runner_.from_socket() ? "outlives its deadline" : "cannot be killed") +
                        ": no other is started until it is gone";
  why_skipped_.clear();
  if (!std::exchange(told_wedged_, true)) {
    figures_.failed(ProgramFailure::kWedged);
    log_.say(LogLevel::kError, message);
  }
  done_(source(), fail(Errc::kTimeout, std::move(message)), Nanoseconds(0));
}

void ProbeProgram::on_end(ProbeRunEnd end) {
  if (!running_) return;
  const ProbeGroup group = *std::exchange(running_, std::nullopt);
  const Nanoseconds now = clock_.boot();
  left_at_ = now;
  turn_at_ = now + options_.settle;
  look_at_window(now);
  if (end.failure) {
    ProbeFailure failure = std::move(*end.failure);
    take_failure(group, std::move(failure), std::move(end));
  } else {
    take_results(group, std::move(end));
  }
  arm();
}

void ProbeProgram::take_results(ProbeGroup group, ProbeRunEnd end) {
  const Nanoseconds now = clock_.boot();
  if (const auto named = take_names(end.run, now); !named) {
    take_failure(group,
                 {ProgramFailure::kGarbage,
                  Errc::kMalformed,
                  "jetmem-probe printed garbage: " + named.error().message,
                  {}},
                 {});
    return;
  }
  schedule_.succeeded(group, now);
  Group& state = of(group);
  if (!std::exchange(state.told_first, true)) news_.first(group, end.run);
  for (const ProbeRun::Probe& probe : end.run.probes) note(probe, &end.run);
  state.line = std::move(end.line);
  state.line_at = now;
  keep();
  drop_old_lines(now);
  tell_source(end.took);
}

// Neither takes anything of what the other refuses.
Result<void> ProbeProgram::take_names(const ProbeRun& run, Nanoseconds now) {
  if (ledger_.takes(run, now)) return names_.take(run, now);
  return fail(Errc::kTooLarge, "it names more new targets than are taken in a day");
}

void ProbeProgram::take_failure(ProbeGroup group, ProbeFailure failure, ProbeRunEnd end) {
  const Nanoseconds now = clock_.boot();
  figures_.failed(failure.kind);
  const Nanoseconds pause = schedule_.failed(group, now);
  keep();
  log_.say(LogLevel::kWarning, failure.message + "; probes of " +
                                   std::string(probe_group_name(group)) + " are tried again in " +
                                   words_of(pause));
  ProbeRun named = end.run;
  if (failure.lost) named.probes.push_back(*failure.lost);
  if (!take_names(named, now)) {
    end.line.clear();
    end.run = {};
    failure.lost.reset();
  }
  for (const ProbeRun::Probe& probe : end.run.probes) note(probe, &end.run);
  if (failure.lost) {
    failure.lost->reason = failure.message;
    note(*failure.lost, nullptr);
  }
  // What earlier runs found is no longer so; what this one was through with holds, and what the
  // other group found. What it was at failed.
  Group& state = of(group);
  if (failure.lost) {
    end.line = with_lost_probe(std::move(end.line), *failure.lost,
                               {.cuda = group == ProbeGroup::kCuda,
                                .frame_bytes = settings_.frame,
                                .started_boot = now - end.took,
                                .started_wall = clock_.wall() - end.took,
                                .took = end.took});
  }
  state.line = std::move(end.line);
  state.line_at = now;
  drop_old_lines(now);
  tell_source(Nanoseconds(0));
  if (!state.line.empty()) return;
  // "Denied" would take along what still holds of the other group.
  const Errc code = has_told_ ? Errc::kUnavailable : failure.code;
  done_(source(), fail(code, std::move(failure.message)), Nanoseconds(0));
}

void ProbeProgram::note(const ProbeRun::Probe& probe, const ProbeRun* run) {
  const auto change = ledger_.result(probe, clock_.boot());
  if (change) news_.result(probe, *change, inputs(), run);
}

void ProbeProgram::drop_line(ProbeGroup group) {
  if (std::exchange(of(group).line, {}).empty()) return;
  tell_source(Nanoseconds(0));
}

bool ProbeProgram::drop_old_lines(Nanoseconds now) {
  bool dropped = false;
  for (const ProbeGroup group : kGroups) {
    Group& state = of(group);
    const Nanoseconds worth = kStaleAfterIntervals * schedule_.set_interval(group);
    if (state.line.empty() || now - state.line_at <= worth) continue;
    state.line.clear();
    dropped = true;
  }
  return dropped;
}

void ProbeProgram::tell_source(Nanoseconds took) {
  text_.clear();
  for (const Group& group : groups_) {
    if (!group.line.empty()) text_.append(group.line).append("\n");
  }
  // What was told before must not stand on when none of it holds.
  const bool has_results = !text_.empty();
  if (!has_results && !has_told_) return;
  has_told_ = has_results;
  if (!has_results) text_.append("\n");
  snapshot_.clear();
  snapshot_.add(kPath, text_, 0);
  told_at_ = clock_.boot();
  done_(source(), &snapshot_, took);
}

void ProbeProgram::look_at_window(Nanoseconds now) {
  if (!window_of_ || running_) return;
  if (runner_.leaving() && left_at_ && now - *left_at_ < options_.window_patience) return;
  if (window_.ended) window_.ended(now);
  if (*window_of_ == ProbeGroup::kCuda) judge_at_ = now + options_.settle;
  window_of_.reset();
}

void ProbeProgram::judge_complaints() {
  judge_at_.reset();
  const auto all = complaints();
  if (!all || !complaints_before_) return;
  const std::uint64_t events = *all - std::min(*complaints_before_, *all);
  if (!schedule_.complained(events > 0)) return;
  keep();
  const std::string interval = words_of(schedule_.interval(ProbeGroup::kCuda));
  if (events == 0) {
    log_.say(LogLevel::kInfo,
             "the probe with CUDA left no trace in the kernel's log: the next "
             "ones come every " +
                 interval);
    return;
  }
  log_.say(LogLevel::kWarning, "the probe with CUDA made the kernel log " + std::to_string(events) +
                                   " events: the next ones come only every " + interval);
}

void ProbeProgram::arm() {
  if (timer_ == nullptr) return;
  const Nanoseconds now = clock_.boot();
  std::optional<Nanoseconds> next = schedule_.next();
  const auto or_at = [&](Nanoseconds at) { next = std::min(next.value_or(at), at); };
  if (turn_ && !running_) or_at(turn_at_);
  if (judge_at_) or_at(*judge_at_);
  if (keep_at_) or_at(*keep_at_);
  if (left_behind_) or_at(now + kLookLeftBehind);
  if (window_of_ && !running_) or_at(now + kLook);
  const Nanoseconds from_now = next ? std::max(*next - now, Nanoseconds(0)) : Nanoseconds(0);
  sd_event_source_set_time_relative(timer_, static_cast<std::uint64_t>(from_now.count() / 1000));
  sd_event_source_set_enabled(timer_, next ? SD_EVENT_ONESHOT : SD_EVENT_OFF);
}

GateInputs ProbeProgram::inputs() const {
  return readings_ == nullptr ? GateInputs{}
                              : gate_inputs(*readings_, source_states_, page_size_, clock_.boot());
}

void ProbeProgram::write(SampleWriter& out) const {
  ProgramFigures figures = figures_;
  figures.lines = runner_.lines();
  // One of an earlier daemon has had its time by then.
  const Nanoseconds now = clock_.boot();
  figures.wedged = runner_.wedged() || (left_behind_ && now - started_ > settings_.deadline);
  write_program(out, name(), figures);
  ledger_.write(out, now, {enabled_, enabled_ && schedule_.cuda()});
  // The source drops what was told too long ago.
  const bool is_shown =
      has_told_ &&
      now - told_at_ <= kStaleAfterIntervals * schedule_.set_interval(ProbeGroup::kMemory);
  for (const ProbeGroup group : kGroups) {
    const std::string_view group_name = probe_group_name(group);
    const Group& state = groups_[static_cast<std::size_t>(group)];
    for (std::size_t reason = 0; reason < kSkipReasons; ++reason) {
      out.put(kMetrics[kSkips], static_cast<double>(state.skips[reason]), group_name,
              skip_reason_name(reason));
    }
    out.put(kMetrics[kRunning], running_ == group ? 1 : 0, group_name);
    if (is_shown && !state.line.empty()) {
      out.put(kMetrics[kAge], to_seconds(now - state.line_at), group_name);
    }
    if (!enabled_ || (group == ProbeGroup::kCuda && !schedule_.cuda())) continue;
    out.put(kMetrics[kInterval], to_seconds(schedule_.interval(group)), group_name);
  }
  if (const auto all = complaints()) out.put(kMetrics[kSideEffects], static_cast<double>(*all));
}

std::span<const Descriptor> probe_program_metrics() { return kMetrics; }

}  // namespace jetmem
