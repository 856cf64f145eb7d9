// SPDX-License-Identifier: Apache-2.0
#include "daemon/probe/probe_program.h"

#include <unistd.h>

#include <algorithm>
#include <utility>

#include "base/text/text.h"
#include "base/text/units.h"
#include "collectors/probe/source.h"
#include "daemon/children/cgroup_headroom.h"
#include "daemon/state_file_metrics.h"
#include "probes/partial.h"

namespace jetmem {
namespace {

constexpr Nanoseconds kShowProbeThreshold = std::chrono::seconds(2);
// One that an earlier daemon left behind is looked for so often.
constexpr Nanoseconds kOrphanPollInterval = std::chrono::seconds(5);
// One that was killed is looked for so often, until its window is closed.
constexpr Nanoseconds kLook = std::chrono::milliseconds(200);
constexpr std::uint16_t kMaxSkips = kProbeGroups * ProbeSkips::kReasons;
// By then one behind systemd's socket has said which process it is.
constexpr Nanoseconds kIntroduction = std::chrono::seconds(1);

constexpr std::array kProbeMetrics{
    counter("jetmem_probe_skips_total",
            "Times that a group of probes was skipped, by reason. previous_run_unfinished: the "
            "previous run is still there; backoff: jetmem-probe failed and is retried at growing "
            "intervals; cgroup_headroom: without jetmem-probe.socket it would run within jetmemd's "
            "own memory limit, which is too tight; throttling_unknown, pressure_unknown: that "
            "source is failing; disabled: a reload disabled the group while it ran.",
            {"group", "reason"}, kMaxSkips),
    gauge("jetmem_probe_running", "1 while jetmem-probe runs for this group.", {"group"},
          kProbeGroups),
    gauge("jetmem_probe_interval_seconds",
          "Current time between two probes of this group: longer than in the settings after "
          "failures, and for CUDA where a probe makes the GPU's driver print errors. Absent where "
          "the group is disabled.",
          {"group"}, kProbeGroups),
    gauge("jetmem_probe_age_seconds",
          "Age of the group's results, suspend included. Absent while it has none.", {"group"},
          kProbeGroups),
    counter("jetmem_probe_side_effects_total",
            "Events in the kernel log since boot while a probe ran, so probably caused by it. They "
            "are in jetmem_kernel_events_total as origin=probe; when a probe with CUDA causes "
            "some, its interval doubles. Absent while the kernel log is not followed."),
};
enum ProbeMetric : std::size_t { kSkips, kRunning, kInterval, kAge, kSideEffects };

// The program ends itself a tenth of the deadline before it is killed.
std::chrono::seconds own_deadline(std::chrono::milliseconds deadline) {
  const auto earlier = std::max<std::chrono::milliseconds>(deadline / 10, std::chrono::seconds(1));
  return std::max(std::chrono::duration_cast<std::chrono::seconds>(deadline - earlier),
                  std::chrono::seconds(1));
}

std::string words_of(Nanoseconds duration) {
  return format_duration(std::chrono::duration_cast<std::chrono::seconds>(duration));
}

}  // namespace

ProbeProgram::ProbeProgram(const ProgramContext& context, ProbeProgramOptions options)
    : clock_(context.clock),
      done_(context.done),
      readings_(context.readings),
      source_states_(context.source_states),
      options_(std::move(options)),
      log_(context.log, context.clock, ProbeSource::kInfo.name),
      event_log_(context.log, context.clock),
      runner_(context.clock, context.spawner, [this](ProbeRunEnd end) { on_end(std::move(end)); },
              {.check_room =
                   [this](const ProbeRequest& request) {
                     const bool cuda = probe_group_of(request.kinds.front()) == ProbeGroup::kCuda;
                     return check_probe_headroom(options_.root, request.frame_bytes, cuda);
                   }}),
      schedule_(options_.schedule),
      look_(context.look),
      skips_(log_),
      window_(context.probe_window, options_.settle, options_.window_timeout),
      state_store_(context.runtime_directory, context.log) {}

std::string_view ProbeProgram::source() const { return ProbeSource::kInfo.name; }

Result<void> ProbeProgram::start(EventLoop& loop) {
  if (auto ok = timer_.attach(
          loop, [this] { step(); }, TimerClock::kBoot);
      !ok)
    return ok;
  started_ = clock_.boot();
  schedule_.begin(started_);
  state_store_.restore(schedule_, started_);
  if (auto started = runner_.start(loop); !started) return started;
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
  if (!timer_.is_attached()) return;
  if (!settings_.cuda) {
    if (running_ == ProbeGroup::kCuda) {
      runner_.kill();
      running_.reset();
      window_.leave(clock_.boot());
      skips_.count_disabled(ProbeGroup::kCuda);
      save_state();
    }
    if (results_.drop(ProbeGroup::kCuda)) update_source(Nanoseconds(0));
    skips_.forget(ProbeGroup::kCuda);
  }
  if (enabled_) schedule_.soon(clock_.boot());
  arm();
}

std::string_view ProbeProgram::missing(const Labels& labels) const {
  std::optional<ProbeGroup> group;
  for (const auto& [name, value] : labels) {
    if (name == "kind") group = probe_group_of(value);
  }
  const auto lacks = [&](ProbeGroup each) {
    return enabled_ && (!group || *group == each) && !results_.has(each);
  };
  if (lacks(ProbeGroup::kMemory)) return "source probe has no result of memory";
  if (settings_.cuda && lacks(ProbeGroup::kCuda)) return "source probe has no result of cuda";
  return {};
}

void ProbeProgram::due() {
  const Nanoseconds now = clock_.boot();
  const bool dropped = results_.drop_old(schedule_, now);
  // Nothing else is reported while memory is left alone: what holds must not go stale with it.
  if (dropped || (results_.has_any() && schedule_.pauses(ProbeGroup::kMemory, now))) {
    update_source(Nanoseconds(0));
  }
  schedule_.due(now);
  step();
}

void ProbeProgram::stop() {
  runner_.kill();
  if (const auto group = std::exchange(running_, std::nullopt)) {
    window_.leave(clock_.boot());
    if (!enabled_) skips_.count_disabled(*group);
    save_state();
  }
  schedule_.cancel();
  turn_.reset();
  logged_wedged_ = false;
  for (const ProbeGroup group : kProbeGroupList) skips_.forget(group);
  results_.clear();
  check_window(clock_.boot());
  arm();
}

pid_t ProbeProgram::pid() const {
  return runner_.runs_for() >= kShowProbeThreshold ? runner_.pid() : -1;
}

// Nothing is started but from here, so never from within a callback of the run before.
void ProbeProgram::step() {
  const Nanoseconds now = clock_.boot();
  check_window(now);
  (void)state_store_.find_orphan();
  if (const auto at = window_.count_at(); at && now >= *at) count_events();
  if (save_at_ && now >= *save_at_) save_state();
  if (schedule_.begin_cycle(now)) {
    turn_ = ProbeGroup::kMemory;
    turn_at_ = now;
    skip_reason_.clear();
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
  if (ran) skip_reason_.clear();
  if (turn_ || skip_reason_.empty()) return;
  done_(source(), fail(Errc::kSkipped, std::exchange(skip_reason_, {})), Nanoseconds(0));
}

bool ProbeProgram::try_to_run(ProbeGroup group, Nanoseconds now) {
  if (!schedule_.wants(group, now)) {
    if (schedule_.pauses(group, now)) skips_.count_backoff(group);
    return false;
  }
  if (runner_.running()) {
    skip(group, ProbeSkips::kPreviousRunUnfinished, "the run before it has not ended yet");
    return false;
  }
  if (runner_.is_terminating()) {
    const std::string process = "jetmem-probe " + std::to_string(runner_.terminating_pid());
    skip(group, ProbeSkips::kPreviousRunUnfinished,
         process + (runner_.from_socket() ? ", of the run before, has not ended yet"
                                          : " was killed and is not gone yet"));
    // A moment after it was killed it is merely dying; one of systemd's has until its deadline.
    if (runner_.wedged()) log_wedged();
    return false;
  }
  if (const pid_t orphan = state_store_.find_orphan(); orphan > 0) {
    const std::string process = "jetmem-probe " + std::to_string(orphan);
    skip(group, ProbeSkips::kPreviousRunUnfinished,
         process + " of an earlier jetmemd is not gone yet");
    return false;
  }
  logged_wedged_ = false;
  const GateInputs machine = inputs();
  const GateLimits limits{settings_.frame, settings_.min_available, settings_.min_free};
  if (const auto closed = gate_refusal(group, machine, limits)) {
    skip(group, static_cast<std::size_t>(closed->reason), closed->words);
    return false;
  }
  auto started = run(group, machine);
  if (!started && started.error().code == Errc::kSkipped) {
    skip(group, ProbeSkips::kCgroupHeadroom, started.error().message);
    return false;
  }
  skips_.resume(group);
  schedule_.started(group, now);
  save_state();
  if (started && runner_.pid() <= 0) save_at_ = now + kIntroduction;
  if (started) return true;
  const Errc code = started.error().code == Errc::kDenied ? Errc::kDenied : Errc::kUnavailable;
  take_failure(group,
               {ChildProcessFailure::kNotStarted, code, std::move(started.error().message), {}});
  return false;
}

Result<void> ProbeProgram::run(ProbeGroup group, const GateInputs& inputs) {
  ProbeRequest request;
  for (const std::string_view kind : probe_kinds(group)) request.kinds.emplace_back(kind);
  request.frame_bytes = settings_.frame;
  request.largest_runs = inputs.largest_runs;
  request.deadline = own_deadline(settings_.deadline);
  const Nanoseconds now = clock_.boot();
  if (look_) predictions_.predict(look_(), static_cast<double>(settings_.frame));
  window_.prepare(group);
  if (auto ran = runner_.run(std::move(request), settings_.deadline); !ran) return ran;
  check_window(now);
  window_.open(group, now);
  running_ = group;
  ++stats_.starts;
  if (const std::string& why = runner_.fallback(); why != logged_fallback_) {
    logged_fallback_ = why;
    log_.log_message(LogLevel::kInfo,
                     why.empty() ? "jetmem-probe is systemd's now, with its rights"
                                 : "jetmem-probe runs with the daemon's own rights: " + why);
  }
  return {};
}

void ProbeProgram::skip(ProbeGroup group, std::size_t reason, const std::string& words) {
  if (group == ProbeGroup::kMemory) skip_reason_ = words;
  skips_.skip(group, reason, words);
}

void ProbeProgram::save_state() {
  save_at_.reset();
  state_store_.save(schedule_,
                    runner_.is_terminating() ? runner_.terminating_pid() : runner_.pid());
}

void ProbeProgram::log_wedged() {
  std::string message = "jetmem-probe " + std::to_string(runner_.terminating_pid()) +
                        " hangs in the kernel and " +
                        (runner_.from_socket() ? "outlives its deadline" : "cannot be killed") +
                        ": no other is started until it is gone";
  skip_reason_.clear();
  if (!std::exchange(logged_wedged_, true)) {
    stats_.failed(ChildProcessFailure::kWedged);
    log_.log_message(LogLevel::kError, message);
  }
  done_(source(), fail(Errc::kTimeout, std::move(message)), Nanoseconds(0));
}

void ProbeProgram::on_end(ProbeRunEnd end) {
  if (!running_) return;
  const ProbeGroup group = *std::exchange(running_, std::nullopt);
  const Nanoseconds now = clock_.boot();
  window_.leave(now);
  turn_at_ = now + options_.settle;
  check_window(now);
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
  if (const auto named = names_.take(end.run, now); !named) {
    take_failure(group,
                 {ChildProcessFailure::kInvalidOutput,
                  Errc::kMalformed,
                  "jetmem-probe printed invalid output: " + named.error().message,
                  {}},
                 {});
    return;
  }
  schedule_.succeeded(group, now);
  event_log_.succeeded(group, end.run);
  for (const ProbeRun::Probe& probe : end.run.probes) note(probe, &end.run);
  results_.set(group, std::move(end.line), now);
  save_state();
  results_.drop_old(schedule_, now);
  update_source(end.elapsed);
}

void ProbeProgram::take_failure(ProbeGroup group, ProbeFailure failure, ProbeRunEnd end) {
  const Nanoseconds now = clock_.boot();
  stats_.failed(failure.kind);
  const Nanoseconds pause = schedule_.failed(group, now);
  save_state();
  log_.log_message(LogLevel::kWarning, failure.message + "; probes of " +
                                           std::string(probe_group_name(group)) +
                                           " are tried again in " + words_of(pause));
  ProbeRun named = end.run;
  if (failure.lost) named.probes.push_back(*failure.lost);
  if (!names_.take(named, now)) {
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
  if (failure.lost) {
    end.line = with_lost_probe(std::move(end.line), *failure.lost,
                               {.cuda = group == ProbeGroup::kCuda,
                                .frame_bytes = settings_.frame,
                                .started_boot = now - end.elapsed,
                                .started_wall = clock_.wall() - end.elapsed,
                                .elapsed = end.elapsed});
  }
  results_.set(group, std::move(end.line), now);
  results_.drop_old(schedule_, now);
  update_source(Nanoseconds(0));
  if (results_.has(group)) return;
  // "Denied" would take along what still holds of the other group.
  const Errc code = results_.is_reported() ? Errc::kUnavailable : failure.code;
  done_(source(), fail(code, std::move(failure.message)), Nanoseconds(0));
}

void ProbeProgram::note(const ProbeRun::Probe& probe, const ProbeRun* run) {
  predictions_.happened(probe);
  const auto change = probe_stats_.result(probe, clock_.boot());
  if (change) event_log_.result(probe, *change, inputs(), run);
}

void ProbeProgram::update_source(Nanoseconds elapsed) {
  if (const Snapshot* snapshot = results_.update(clock_.boot())) done_(source(), snapshot, elapsed);
}

void ProbeProgram::check_window(Nanoseconds now) {
  window_.check(now, running_.has_value(), runner_.is_terminating());
}

void ProbeProgram::count_events() {
  const auto counted = window_.count_events();
  if (!counted) return;
  const std::uint64_t events = *counted;
  if (!schedule_.complained(events > 0)) return;
  save_state();
  const std::string interval = words_of(schedule_.interval(ProbeGroup::kCuda));
  if (events == 0) {
    log_.log_message(LogLevel::kInfo,
                     "the probe with CUDA left no trace in the kernel's log: the next "
                     "ones come every " +
                         interval);
    return;
  }
  log_.log_message(LogLevel::kWarning, "the probe with CUDA made the kernel log " +
                                           std::to_string(events) +
                                           " events: the next ones come only every " + interval);
}

void ProbeProgram::arm() {
  const Nanoseconds now = clock_.boot();
  std::optional<Nanoseconds> next = schedule_.next();
  const auto or_at = [&](Nanoseconds at) { next = std::min(next.value_or(at), at); };
  if (turn_ && !running_) or_at(turn_at_);
  if (const auto at = window_.count_at()) or_at(*at);
  if (save_at_) or_at(*save_at_);
  if (state_store_.has_orphan()) or_at(now + kOrphanPollInterval);
  if (window_.is_open() && !running_) or_at(now + kLook);
  timer_.cancel();
  if (next) timer_.set(*next - now);
}

GateInputs ProbeProgram::inputs() const {
  if (readings_ == nullptr) return {};
  const auto page_size = static_cast<std::uint64_t>(std::max(::sysconf(_SC_PAGESIZE), 1L));
  return gate_inputs(*readings_, source_states_, page_size, clock_.boot());
}

void ProbeProgram::write(SampleWriter& out) const {
  ChildProcessStats stats = stats_;
  stats.lines = runner_.lines();
  // One of an earlier daemon has had its time by then.
  const Nanoseconds now = clock_.boot();
  stats.wedged =
      runner_.wedged() || (state_store_.has_orphan() && now - started_ > settings_.deadline);
  write_child_process_stats(out, name(), stats);
  probe_stats_.write(out, now, {enabled_, enabled_ && schedule_.cuda()});
  predictions_.write(out);
  for (const ProbeGroup group : kProbeGroupList) {
    const std::string_view group_name = probe_group_name(group);
    for (std::size_t reason = 0; reason < ProbeSkips::kReasons; ++reason) {
      out.put(kProbeMetrics[kSkips], static_cast<double>(skips_.count(group, reason)), group_name,
              ProbeSkips::name(reason));
    }
    out.put(kProbeMetrics[kRunning], running_ == group ? 1 : 0, group_name);
    if (results_.is_shown(group, schedule_, now)) {
      out.put(kProbeMetrics[kAge], to_seconds(results_.age(group, now)), group_name);
    }
    if (!enabled_ || (group == ProbeGroup::kCuda && !schedule_.cuda())) continue;
    out.put(kProbeMetrics[kInterval], to_seconds(schedule_.interval(group)), group_name);
  }
  if (const auto all = window_.events())
    out.put(kProbeMetrics[kSideEffects], static_cast<double>(*all));
  write_state_file_failures(out, state_store_.file());
}

std::span<const Descriptor> probe_program_metrics() { return kProbeMetrics; }

}  // namespace jetmem
