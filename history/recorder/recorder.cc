// SPDX-License-Identifier: Apache-2.0
#include "history/recorder/recorder.h"

#include <algorithm>
#include <utility>

#include "base/text/text.h"
#include "history/recorder/recorder_past.h"
#include "history/recorder/recorder_stats.h"
#include "history/recorder/recorder_thread.h"
#include "history/recorder/urgent_budget.h"
#include "history/recorder/waiting.h"
#include "history/recorder/waiting_events.h"

namespace jetmem {
namespace {

constexpr const char* kField = "JETMEM_HISTORY_FILE";
constexpr Nanoseconds kFirstRetry = std::chrono::seconds(10);
constexpr Nanoseconds kLongestRetry = std::chrono::minutes(1);
// Between two writes of nothing but the clock.
constexpr Nanoseconds kClockPause = std::chrono::minutes(1);
// Between two looks at a disk that is not used meanwhile.
constexpr Nanoseconds kCheckPause = std::chrono::minutes(1);
// Between two words of a file that cannot be read.
constexpr Nanoseconds kUnreadPause = std::chrono::minutes(10);
constexpr Nanoseconds kClockStep = std::chrono::seconds(1);
// No two steps are nearer than this.
constexpr Nanoseconds kNearest = std::chrono::seconds(1);
// With fewer steps an hour than usual a block is not full by then.
constexpr Nanoseconds kLongestWait = std::chrono::minutes(30);
// Where the kernel does not count what was written.
constexpr std::uint64_t kGuessedWrite = 128 << 10;

// How much an urgent word weighs against another.
int rank(std::string_view why) { return why == "oom" ? 2 : why.empty() ? 0 : 1; }
bool is_urgent(std::string_view why) { return !why.empty() && why != "full" && why != "stop"; }

}  // namespace

WallTrust wall_trust(bool is_synchronized) {
  if (SystemClock().wall() < kFirstPlausibleTime) return WallTrust::kUnset;
  return is_synchronized ? WallTrust::kSynced : WallTrust::kPlausible;
}

struct Recorder::State {
  State(RecorderOptions given, const Clock& its_clock, Log& its_log)
      : options(std::move(given)),
        clock(its_clock),
        log(its_log),
        file(options.directory.empty() ? "" : options.directory + "/" + std::string(kFile)),
        now(std::make_shared<RecorderNow>()),
        steps(Selection(options.metrics), file.empty() ? 2 : 0),
        events(kMaxEventsWaiting),
        past({file, options.no_directory, options.boot_id, options.interval}, steps, events, now) {
    stats.has_file = !file.empty();
    stats.max_bytes = options.max_bytes;
  }

  void check_clock(Nanoseconds boot_now);
  void take_step(const SampleTable& table, Nanoseconds boot_now);
  void take_outcome(std::chrono::milliseconds timeout = {});
  void take_messages(const std::vector<std::string>& messages, std::uint64_t quarantine);
  void take(RecorderThread::Outcome outcome);
  std::string_view count(RecorderThread::Reason reason);
  void failed(const Error& error, RecorderThread::Reason reason);
  void check_for_hang();
  void check_for_unread();
  void read_ahead(const std::optional<Error>& problem);
  void problem_resolved();
  void take_tidied(const RecorderThread::File& found);
  void want(std::string_view why);
  bool may_write_early(Nanoseconds boot_now);
  void pushed_out(std::size_t events_lost);
  void notify(LogLevel level, std::string message, std::string_view reason = {});
  void begin_job(std::string_view why, bool with_steps, std::string_view urgent = {});
  bool is_step_due(Nanoseconds boot_now);
  void write_if_due(Nanoseconds boot_now);
  void daemon_event(std::string kind, std::string severity, std::string summary);

  const RecorderOptions options;
  const Clock& clock;
  Log& log;
  const std::string file;
  const std::shared_ptr<RecorderNow> now;
  Waiting steps;
  WaitingEvents events;
  RecorderPast past;
  std::unique_ptr<RecorderThread> thread;
  RecorderStats stats;
  UrgentBudget budget;

  Nanoseconds next_step{0};
  Nanoseconds last_step{-kNearest};
  std::string_view pending;        // why something is to be written; empty: it is not
  std::string_view sealed_urgent;  // likewise, of what is sealed and could not be written
  WallSeen wall;                   // as seen last
  WallSeen wall_sent;              // as the file has it
  bool wall_seen = false;
  bool clock_changed = false;
  Nanoseconds last_clock_job{-kClockPause};
  Nanoseconds last_snapshot{0};
  bool was_well = false;  // a write went well
  bool failing = false;
  bool hanging = false;
  bool ahead = false;  // the next write will fail
  bool tidy_failing = false;
  bool logged_no_room = false;
  bool logged_no_room_for_events = false;
  std::uint64_t logged_lost = 0;
  std::uint64_t logged_lost_events = 0;
  std::uint64_t logged_unread = 0;
  Nanoseconds logged_unread_at{-kUnreadPause};  // mono clock
  std::size_t logged_file = 0;                  // lines about the file during the trouble
  Nanoseconds retry_pause{kFirstRetry};
  Nanoseconds retry_at{0};  // mono clock
};

void Recorder::State::notify(LogLevel level, std::string message, std::string_view reason) {
  LogEntry entry{level, std::move(message), {{kField, file}}, false};
  if (!reason.empty()) entry.fields.emplace_back("JETMEM_HISTORY_REASON", reason);
  log.write(std::move(entry));
}

void Recorder::State::daemon_event(std::string kind, std::string severity, std::string summary) {
  EventRecord record;
  record.what = EventWhat::kDaemon;
  record.kind = std::move(kind);
  record.severity = std::move(severity);
  record.summary = std::move(summary);
  const Nanoseconds at = clock.boot();
  record.at = at;
  pushed_out(events.add(std::move(record), false, at).pushed_out);
}

void Recorder::State::pushed_out(std::size_t events_lost) {
  if (events_lost == 0 || file.empty()) return;
  if (stats.lost_events_not_written == logged_lost_events) {
    notify(LogLevel::kError, "history: memory is full of unwritten events; the oldest are lost",
           "not_written");
  }
  stats.lost_events_not_written += events_lost;
}

void Recorder::State::check_clock(Nanoseconds boot_now) {
  WallSeen seen;
  seen.at = boot_now;
  seen.offset = clock.wall() - boot_now;
  seen.trust = options.wall_trust ? options.wall_trust() : wall_trust(false);
  now->wall_offset.store(seen.offset.count());
  now->wall_trusted.store(seen.trust == WallTrust::kSynced);
  const auto differs = [&](const WallSeen& from) {
    return std::chrono::abs(seen.offset - from.offset) > kClockStep;
  };
  if (wall_seen && differs(wall)) {
    const double by = to_seconds(seen.offset - wall.offset);
    daemon_event("clock_step", "info",
                 "the wall clock stepped by " + std::to_string(by) + " s" +
                     (seen.trust == WallTrust::kUnset ? "; it is not set" : ""));
  }
  if (wall_seen && seen.trust == WallTrust::kSynced && wall.trust != WallTrust::kSynced) {
    daemon_event("clock_trusted", "info",
                 "the wall clock is synchronised now; earlier times of this boot are corrected");
  }
  if (!wall_seen || differs(wall_sent) || seen.trust != wall_sent.trust) clock_changed = true;
  wall = seen;
  wall_seen = true;
}

void Recorder::State::take_step(const SampleTable& table, Nanoseconds boot_now) {
  const std::size_t lost = steps.take(table, boot_now);
  if (lost > 0 && stats.lost_steps_not_written == logged_lost) {
    notify(LogLevel::kError, "history: memory is full of unwritten snapshots; the oldest are lost",
           "not_written");
  }
  stats.lost_steps_not_written += lost;
  last_step = boot_now;
  ++stats.steps;
  stats.series = steps.series();
  if (steps.without_room() == 0) return;
  ++stats.lost_steps_full;
  if (std::exchange(logged_no_room, true)) return;
  notify(LogLevel::kWarning,
         "history: more than " + std::to_string(kMaxSeries) +
             " series: " + std::to_string(steps.without_room()) +
             " are not recorded; exclude some with history.metrics",
         "no_room");
}

// Its name, for the log.
std::string_view Recorder::State::count(RecorderThread::Reason reason) {
  const auto index = static_cast<std::size_t>(reason);
  ++stats.errors[index];
  return RecorderThread::kReasons[index];
}

void Recorder::State::failed(const Error& error, RecorderThread::Reason reason) {
  const std::string_view name = count(reason);
  retry_at = clock.mono() + retry_pause;
  retry_pause = std::min(retry_pause * 2, kLongestRetry);
  if (std::exchange(failing, true)) return;
  notify(LogLevel::kError,
         "history: cannot write: " + printable(error.message, 400) +
             "; the last hour stays in memory; retrying every minute",
         name);
}

// The thread cannot say that it waits for the disk.
void Recorder::State::check_for_hang() {
  const bool hangs = thread && now->disk_hangs();
  if (hangs == hanging) return;
  hanging = hangs;
  if (!hangs) return problem_resolved();
  notify(LogLevel::kError,
         "history: the disk does not answer: nothing is written until it does; the last hour stays "
         "in memory",
         count(RecorderThread::Reason::kHangs));
}

// Failed reads of the file, logged at most every kUnreadPause.
void Recorder::State::check_for_unread() {
  stats.unread = past.unread();
  if (stats.unread == logged_unread) return;
  const Nanoseconds at = clock.mono();
  if (at - logged_unread_at < kUnreadPause) return;
  notify(LogLevel::kWarning,
         "history: " + std::to_string(stats.unread - logged_unread) +
             " queries could not read the file (" + printable(past.unread_reason(), 400) +
             ") and were answered from memory",
         "not_read");
  logged_unread = stats.unread;
  logged_unread_at = at;
}

// What the next write would meet.
void Recorder::State::read_ahead(const std::optional<Error>& problem) {
  if (problem.has_value() == ahead) return;
  ahead = problem.has_value();
  if (!ahead) return notify(LogLevel::kInfo, "history: the disk is writable and has room again");
  notify(LogLevel::kError,
         "history: the next write will fail: " + printable(problem->message, 400) +
             "; memory keeps about an hour",
         count(RecorderThread::reason_of(*problem)));
}

void Recorder::State::problem_resolved() {
  if (failing || hanging) return;
  const std::uint64_t steps_lost = stats.lost_steps_not_written - logged_lost;
  const std::uint64_t events_lost = stats.lost_events_not_written - logged_lost_events;
  logged_lost = stats.lost_steps_not_written;
  logged_lost_events = stats.lost_events_not_written;
  std::string summary = "history: writing again; ";
  if (steps_lost + events_lost > 0) {
    summary += std::to_string(steps_lost) + " snapshots and " + std::to_string(events_lost) +
               " events were lost";
  } else {
    summary += "nothing was lost";
  }
  if (logged_file > 0) summary += "; see above for the file";
  logged_file = 0;
  notify(LogLevel::kInfo, summary);
  if (steps_lost + events_lost > 0) daemon_event("loss", "warning", summary);
}

// Messages about the file: a damaged one was quarantined, a removed one created again.
void Recorder::State::take_messages(const std::vector<std::string>& messages,
                                    std::uint64_t quarantine) {
  for (const std::string& line : messages) {
    notify(LogLevel::kWarning, "history: " + printable(line, 400));
    daemon_event("loss", "warning", "history: " + printable(line, 400));
  }
  if (failing || hanging) logged_file += messages.size();
  stats.quarantine += quarantine;
  stats.errors[static_cast<std::size_t>(RecorderThread::Reason::kDamaged)] += quarantine;
}

void Recorder::State::take(RecorderThread::Outcome outcome) {
  take_messages(outcome.messages, outcome.quarantine);
  const bool ok = !outcome.error;
  if (outcome.job.block) {
    steps.release_steps(outcome.job.block, ok);
    outcome.job.block.reset();
  }
  if (outcome.written) {
    stats.written_bytes = stats.written_bytes.value_or(0) + *outcome.written;
  }
  if (is_urgent(outcome.job.why)) {
    budget.wrote(outcome.job.why, outcome.written.value_or(kGuessedWrite));
  }
  if (!ok) {
    sealed_urgent = outcome.job.urgent;
    return failed(*outcome.error, outcome.reason);
  }
  read_ahead(outcome.ahead);
  if (outcome.job.only_snapshot) return;
  was_well = true;
  if (!outcome.job.events.empty()) events.written(outcome.job.events.back().number);
  wall_sent = outcome.job.wall;
  clock_changed = std::chrono::abs(wall.offset - wall_sent.offset) > kClockStep ||
                  wall.trust != wall_sent.trust;
  stats.write_seconds = outcome.seconds;
  stats.last_write = outcome.job.now;
  for (std::size_t i = 0; i < RecorderStats::kWriteReasons.size(); ++i) {
    if (outcome.job.why == RecorderStats::kWriteReasons[i]) ++stats.writes[i];
  }
  retry_pause = kFirstRetry;
  if (std::exchange(failing, false)) problem_resolved();
}

// Values already written are safe when maintenance fails: a problem of its own.
void Recorder::State::take_tidied(const RecorderThread::File& found) {
  take_messages(found.messages, found.quarantine);
  if (found.windows_cut > stats.file.windows_cut) {
    stats.lost_steps_full += found.windows_cut - stats.file.windows_cut;
  }
  if (found.problem) {
    const std::string_view reason = count(RecorderThread::reason_of(*found.problem));
    if (!std::exchange(tidy_failing, true)) {
      notify(LogLevel::kWarning,
             "history: cannot roll up or expire values: " + printable(found.problem->message, 400) +
                 "; retrying after the next write",
             reason);
    }
  }
  if (found.tidied_well && std::exchange(tidy_failing, false)) {
    notify(LogLevel::kInfo, "history: what is written is tidied again");
  }
}

void Recorder::State::take_outcome(std::chrono::milliseconds timeout) {
  if (!thread) return;
  if (auto outcome = thread->take_outcome(timeout)) take(std::move(*outcome));
  if (auto found = thread->file(stats.file.version)) {
    take_tidied(*found);
    stats.file = std::move(*found);
  }
  check_for_hang();
  stats.up = was_well && !failing && !hanging && !ahead;
}

void Recorder::State::want(std::string_view why) {
  if (rank(why) > rank(pending)) pending = why;
}

void Recorder::State::begin_job(std::string_view why, bool with_steps, std::string_view urgent) {
  RecorderThread::Job job;
  job.why = why;
  job.urgent = urgent;
  job.now = clock.boot();
  job.wall = wall;
  if (with_steps) {
    job.block = steps.oldest_sealed();
    job.more_waits = steps.has_several_sealed() || steps.waited(job.now) >= kLongestWait;
  }
  job.events = events.take_all();
  last_snapshot = job.now;
  thread->begin(std::move(job));
}

// Not while older steps wait, or a failing disk would leave a short block each time.
bool Recorder::State::may_write_early(Nanoseconds boot_now) {
  if (pending.empty() || failing || steps.has_sealed()) return false;
  return thread && thread->runs() && thread->is_idle() && budget.may(pending, boot_now);
}

// What is urgent takes along how things are now.
bool Recorder::State::is_step_due(Nanoseconds boot_now) {
  return boot_now >= next_step || (boot_now - last_step >= kNearest && may_write_early(boot_now));
}

void Recorder::State::write_if_due(Nanoseconds boot_now) {
  if (!thread || !thread->runs() || !thread->is_idle()) return;
  if (failing && clock.mono() < retry_at) return;
  const bool early = may_write_early(boot_now);
  if (steps.has_sealed()) {
    const std::string_view urgent = std::exchange(sealed_urgent, {});
    begin_job(urgent.empty() ? "full" : urgent, true, urgent);
  } else if (early || steps.is_full() || steps.waited(boot_now) >= kLongestWait ||
             events.size() >= kMaxEventsWaiting / 4 * 3) {
    if (early) budget.began(pending, boot_now);
    steps.seal();
    const std::string_view urgent = std::exchange(pending, {});
    begin_job(early ? urgent : "full", true, urgent);
  } else if (failing || (clock_changed && boot_now - last_clock_job >= kClockPause)) {
    last_clock_job = boot_now;
    begin_job({}, false);
  } else if (boot_now - last_snapshot >= kCheckPause) {
    RecorderThread::Job job;
    job.only_snapshot = true;
    last_snapshot = job.now = boot_now;
    thread->begin(std::move(job));
  }
}

Recorder::Recorder(RecorderOptions options, const Clock& clock, Log& log)
    : state_(std::make_unique<State>(std::move(options), clock, log)) {}

Recorder::~Recorder() = default;

void Recorder::start() {
  State& s = *state_;
  s.check_clock(s.clock.boot());
  if (s.file.empty()) {
    s.log.info("history: keeps only the last half hour, in memory: " + s.options.no_directory);
    return;
  }
  HistoryStore::Options store;
  store.file = s.file;
  store.max_bytes = s.options.max_bytes;
  store.raw_step = s.options.interval;
  s.now->disk_timeout = s.options.disk_timeout;
  s.thread = std::make_unique<RecorderThread>(
      std::move(store), s.options.boot_id, s.now,
      s.options.disk ? s.options.disk : RecorderThread::check_disk);
  if (!s.thread->runs()) {
    s.failed({Errc::kUnavailable, "cannot start a thread"}, RecorderThread::Reason::kNoThread);
    return;
  }
  s.last_clock_job = s.clock.boot();
  s.begin_job({}, false);
}

bool Recorder::is_step_due() { return state_->is_step_due(state_->clock.boot()); }

void Recorder::cycle(const SampleTable& table, bool is_whole) {
  State& s = *state_;
  const Nanoseconds now = s.clock.boot();
  s.take_outcome();
  s.check_for_unread();
  const bool is_due = s.is_step_due(now);
  if (is_due && !is_whole) return;
  if (is_due) {
    s.check_clock(now);
    s.take_step(table, now);
    const Nanoseconds interval = s.options.interval;
    s.next_step = now - now % interval + interval;
  }
  s.write_if_due(now);
  s.stats.waiting_steps = s.steps.steps();
}

std::uint64_t Recorder::event(EventRecord record, bool may_be_recorded) {
  State& s = *state_;
  const auto added = s.events.add(std::move(record), may_be_recorded, s.clock.boot());
  s.pushed_out(added.pushed_out);
  if (added.refused) {
    ++s.stats.lost_events_full;
    if (!std::exchange(s.logged_no_room_for_events, true)) {
      s.notify(LogLevel::kWarning,
               "history: too many different kernel events; not all are recorded "
               "(jetmem_history_lost_events_total)",
               "no_room");
    }
  }
  return added.number;
}

void Recorder::daemon_event(std::string kind, std::string severity, std::string summary) {
  state_->daemon_event(std::move(kind), std::move(severity), std::move(summary));
}

bool Recorder::again(std::uint64_t number, std::optional<Nanoseconds> at, bool may_be_recorded) {
  return state_->events.again(number, at, may_be_recorded);
}

void Recorder::urgent(std::string_view why) {
  State& s = *state_;
  for (const std::string_view known : RecorderStats::kWriteReasons) {
    if (known == why) s.want(known);
  }
}

bool Recorder::finish(std::chrono::milliseconds timeout) {
  State& s = *state_;
  if (!s.thread) return true;
  const auto deadline = std::chrono::steady_clock::now() + timeout;
  const auto left = [&] {
    return std::max(std::chrono::milliseconds(1),
                    std::chrono::duration_cast<std::chrono::milliseconds>(
                        deadline - std::chrono::steady_clock::now()));
  };
  if (s.thread->runs()) {
    if (!s.thread->is_idle()) s.take_outcome(left());
    s.steps.seal();
    // One job for each block that waits.
    for (std::size_t i = 0; i <= Waiting::kMaxBlocks && s.thread->is_idle(); ++i) {
      if (i > 0 && !s.steps.has_sealed() && s.events.size() == 0) break;
      s.begin_job("stop", true);
      s.take_outcome(left());
      if (s.failing) break;
    }
  }
  const bool all = s.steps.steps() == 0 && s.events.size() == 0;
  const bool ended = s.thread->finish(left());
  if (!all) {
    s.stats.lost_steps_not_written += s.steps.steps();
    s.stats.lost_events_not_written += s.events.size();
    s.notify(LogLevel::kError,
             "history: " + std::to_string(s.steps.steps()) + " snapshots and " +
                 std::to_string(s.events.size()) + " events are lost at exit: " +
                 (s.failing ? "writing failed" : "the disk did not answer in time"));
  }
  return ended && all;
}

History& Recorder::history() { return state_->past; }

void Recorder::write(SampleWriter& out) const { state_->stats.write(out, state_->wall.offset); }

std::span<const Descriptor> Recorder::metrics() { return RecorderStats::metrics(); }

}  // namespace jetmem
