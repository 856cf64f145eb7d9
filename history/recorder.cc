#include "history/recorder.h"

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "history/recorder_figures.h"
#include "history/recorder_past.h"
#include "history/recorder_thread.h"
#include "history/urgent_budget.h"
#include "history/waiting.h"
#include "history/waiting_events.h"

namespace jetmem {
namespace {

constexpr const char* kField = "JETMEM_HISTORY_FILE";
constexpr Nanoseconds kFirstRetry = std::chrono::seconds(10);
constexpr Nanoseconds kLongestRetry = std::chrono::minutes(1);
// Between two writes of nothing but the clock.
constexpr Nanoseconds kClockPause = std::chrono::minutes(1);
// Between two looks at a disk that is not used meanwhile.
constexpr Nanoseconds kLookPause = std::chrono::minutes(1);
// Between two words of a file that cannot be read.
constexpr Nanoseconds kUnreadPause = std::chrono::minutes(10);
constexpr Nanoseconds kLeap = std::chrono::seconds(1);
// No two steps are nearer than this.
constexpr Nanoseconds kNearest = std::chrono::seconds(1);
// Where the kernel does not count what was written.
constexpr std::uint64_t kGuessedWrite = 128 << 10;

// How much an urgent word weighs against another.
int rank(std::string_view why) { return why == "oom" ? 2 : why.empty() ? 0 : 1; }
bool is_urgent(std::string_view why) { return !why.empty() && why != "full" && why != "stop"; }

}  // namespace

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
    figures.has_file = !file.empty();
    figures.max_bytes = options.max_bytes;
  }

  void look_at_clock(Nanoseconds boot_now);
  void take_step(const SampleTable& table, Nanoseconds boot_now);
  void take_outcome(std::chrono::milliseconds patience = {});
  void take_told(const std::vector<std::string>& told, std::uint64_t set_aside);
  void take(RecorderThread::Outcome outcome);
  void failed(const Error& error, RecorderThread::Reason reason);
  void look_for_hang();
  void look_for_unread();
  void look_ahead(const std::optional<Error>& trouble);
  void trouble_over();
  void take_tidied(const RecorderThread::File& found);
  void want(std::string_view why);
  bool may_write_early(Nanoseconds boot_now);
  void pushed_out(std::size_t events_lost);
  void tell(LogLevel level, std::string message, std::string_view reason = {});
  void begin_job(std::string_view why, bool with_steps);
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
  RecorderFigures figures;
  UrgentBudget budget;

  Nanoseconds next_step{0};
  Nanoseconds last_step{-kNearest};
  std::string_view pending;  // why something is to be written; empty: it is not
  WallSeen wall;             // as seen last
  WallSeen wall_sent;        // as the file has it
  bool wall_seen = false;
  bool clock_news = false;
  Nanoseconds last_clock_job{-kClockPause};
  Nanoseconds last_look{0};
  std::string_view draining;     // why the blocks that are sealed are written
  std::string_view taken_along;  // what was urgent in them
  bool was_well = false;         // a write went well
  bool failing = false;
  bool hanging = false;
  bool ahead = false;  // the next write will fail
  bool tidy_failing = false;
  bool no_room_told = false;
  bool no_room_for_events_told = false;
  std::uint64_t lost_told = 0;
  std::uint64_t lost_events_told = 0;
  std::uint64_t unread_told = 0;
  Nanoseconds unread_told_at{-kUnreadPause};  // mono clock
  std::size_t file_told = 0;                  // lines about the file during the trouble
  Nanoseconds retry_pause{kFirstRetry};
  Nanoseconds retry_at{0};  // mono clock
};

void Recorder::State::tell(LogLevel level, std::string message, std::string_view reason) {
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
  if (figures.lost_events_not_written == lost_events_told) {
    tell(LogLevel::kError,
         "history: memory is full of events that could not be written; the oldest are lost",
         "not_written");
  }
  figures.lost_events_not_written += events_lost;
}

void Recorder::State::look_at_clock(Nanoseconds boot_now) {
  WallSeen seen;
  seen.at = boot_now;
  seen.offset = clock.wall() - boot_now;
  seen.trust = options.wall_trust ? options.wall_trust() : wall_trust(false);
  now->wall_offset.store(seen.offset.count());
  now->wall_trusted.store(seen.trust == WallTrust::kSynced);
  const auto differs = [&](const WallSeen& from) {
    return std::chrono::abs(seen.offset - from.offset) > kLeap;
  };
  if (wall_seen && differs(wall)) {
    const double by = to_seconds(seen.offset - wall.offset);
    daemon_event("clock_leap", "info",
                 "the wall clock leapt by " + std::to_string(by) + " s" +
                     (seen.trust == WallTrust::kUnset ? "; it is not set" : ""));
  }
  if (wall_seen && seen.trust == WallTrust::kSynced && wall.trust != WallTrust::kSynced) {
    daemon_event("clock_trusted", "info",
                 "the wall clock is synchronised now: times of this boot are corrected by it");
  }
  if (!wall_seen || differs(wall_sent) || seen.trust != wall_sent.trust) clock_news = true;
  wall = seen;
  wall_seen = true;
}

void Recorder::State::take_step(const SampleTable& table, Nanoseconds boot_now) {
  const std::size_t lost = steps.take(table, boot_now);
  if (lost > 0 && figures.lost_steps_not_written == lost_told) {
    tell(LogLevel::kError,
         "history: memory is full of steps that could not be written; the oldest are lost",
         "not_written");
  }
  figures.lost_steps_not_written += lost;
  last_step = boot_now;
  ++figures.steps;
  figures.series = steps.series();
  if (steps.without_room() == 0) return;
  ++figures.lost_steps_no_room;
  if (std::exchange(no_room_told, true)) return;
  tell(LogLevel::kWarning,
       "history: " + std::to_string(steps.without_room()) + " series have no room beside " +
           std::to_string(kMaxSeries) +
           " others and are not recorded; take some away with history.metrics",
       "no_room");
}

void Recorder::State::failed(const Error& error, RecorderThread::Reason reason) {
  const std::string_view name = RecorderThread::kReasons[static_cast<std::size_t>(reason)];
  ++figures.errors[static_cast<std::size_t>(reason)];
  retry_at = clock.mono() + retry_pause;
  retry_pause = std::min(retry_pause * 2, kLongestRetry);
  if (std::exchange(failing, true)) return;
  tell(LogLevel::kError,
       "history: what was measured cannot be written: " + printable(error.message, 400) +
           "; the last hour waits in memory, and it is tried again every minute",
       name);
}

// The thread cannot say that it waits for the disk.
void Recorder::State::look_for_hang() {
  const bool hangs = thread && now->disk_hangs();
  if (hangs == hanging) return;
  hanging = hangs;
  if (!hangs) return trouble_over();
  const auto reason = static_cast<std::size_t>(RecorderThread::Reason::kHangs);
  ++figures.errors[reason];
  tell(LogLevel::kError,
       "history: the disk does not answer: nothing is written until it does, and the last hour "
       "waits in memory",
       RecorderThread::kReasons[reason]);
}

// For whoever asked of the past; may be said some minutes later.
void Recorder::State::look_for_unread() {
  figures.unread = past.unread();
  if (figures.unread == unread_told) return;
  const Nanoseconds at = clock.mono();
  if (at - unread_told_at < kUnreadPause) return;
  tell(LogLevel::kWarning,
       "history: questions to the past for which its file could not be read: " +
           std::to_string(figures.unread - unread_told) + "; of the last: " +
           printable(past.why_unread(), 400) + "; they were answered by what waits in memory",
       "not_read");
  unread_told = figures.unread;
  unread_told_at = at;
}

// What the next write would meet.
void Recorder::State::look_ahead(const std::optional<Error>& trouble) {
  if (trouble.has_value() == ahead) return;
  ahead = trouble.has_value();
  if (!ahead) return tell(LogLevel::kInfo, "history: the disk has room and can be written again");
  const auto reason = static_cast<std::size_t>(RecorderThread::reason_of(*trouble));
  ++figures.errors[reason];
  tell(LogLevel::kError,
       "history: the next write will fail: " + printable(trouble->message, 400) +
           "; what waits in memory is kept for an hour or so",
       RecorderThread::kReasons[reason]);
}

void Recorder::State::trouble_over() {
  if (failing || hanging) return;
  const std::uint64_t steps_lost = figures.lost_steps_not_written - lost_told;
  const std::uint64_t events_lost = figures.lost_events_not_written - lost_events_told;
  lost_told = figures.lost_steps_not_written;
  lost_events_told = figures.lost_events_not_written;
  std::string summary = "history: what was measured is written again; ";
  if (steps_lost + events_lost > 0) {
    summary += std::to_string(steps_lost) + " steps and " + std::to_string(events_lost) +
               " events were lost";
  } else {
    summary += "nothing that waited was lost";
  }
  if (file_told > 0) summary += "; what became of the file is said above";
  file_told = 0;
  tell(LogLevel::kInfo, summary);
  if (steps_lost + events_lost > 0) daemon_event("loss", "warning", summary);
}

// What the file's keeper had to do: a damaged one set aside, a removed one begun anew.
void Recorder::State::take_told(const std::vector<std::string>& told, std::uint64_t set_aside) {
  for (const std::string& line : told) {
    tell(LogLevel::kWarning, "history: " + printable(line, 400));
    daemon_event("loss", "warning", "history: " + printable(line, 400));
  }
  if (failing || hanging) file_told += told.size();
  figures.set_aside += set_aside;
  figures.errors[static_cast<std::size_t>(RecorderThread::Reason::kDamaged)] += set_aside;
}

void Recorder::State::take(RecorderThread::Outcome outcome) {
  take_told(outcome.told, outcome.set_aside);
  const bool ok = !outcome.error;
  if (outcome.job.block) {
    steps.let_go(outcome.job.block, ok);
    outcome.job.block.reset();
    if (!ok) steps.reopen();
  }
  if (outcome.written) {
    figures.written_bytes = figures.written_bytes.value_or(0) + *outcome.written;
  }
  if (is_urgent(outcome.job.why)) {
    budget.wrote(outcome.job.why, outcome.written.value_or(kGuessedWrite));
  }
  if (!ok) {
    // What is urgent stays so until it was written.
    want(taken_along);
    taken_along = {};
    draining = {};
    return failed(*outcome.error, outcome.reason);
  }
  look_ahead(outcome.ahead);
  if (outcome.job.only_look) return;
  was_well = true;
  if (!outcome.job.events.empty()) events.written(outcome.job.events.back().number);
  if (!steps.has_sealed()) {
    taken_along = {};
    draining = {};
  }
  wall_sent = outcome.job.wall;
  clock_news =
      std::chrono::abs(wall.offset - wall_sent.offset) > kLeap || wall.trust != wall_sent.trust;
  figures.write_seconds = outcome.seconds;
  figures.last_write = outcome.job.now;
  for (std::size_t i = 0; i < RecorderFigures::kWhys.size(); ++i) {
    if (outcome.job.why == RecorderFigures::kWhys[i]) ++figures.writes[i];
  }
  retry_pause = kFirstRetry;
  if (std::exchange(failing, false)) trouble_over();
}

// What is written already is safe when it cannot be tidied: a trouble of its own.
void Recorder::State::take_tidied(const RecorderThread::File& found) {
  take_told(found.told, found.set_aside);
  if (found.windows_cut > figures.file.windows_cut) {
    figures.lost_steps_no_room += found.windows_cut - figures.file.windows_cut;
  }
  if (found.trouble) {
    const auto reason = static_cast<std::size_t>(RecorderThread::reason_of(*found.trouble));
    ++figures.errors[reason];
    if (!std::exchange(tidy_failing, true)) {
      tell(LogLevel::kWarning,
           "history: what is written cannot be tidied (minutes made of it, old ones dropped): " +
               printable(found.trouble->message, 400) + "; it is tried again after the next write",
           RecorderThread::kReasons[reason]);
    }
  }
  if (found.tidied_well && std::exchange(tidy_failing, false)) {
    tell(LogLevel::kInfo, "history: what is written is tidied again");
  }
}

void Recorder::State::take_outcome(std::chrono::milliseconds patience) {
  if (!thread) return;
  if (auto outcome = thread->take_outcome(patience)) take(std::move(*outcome));
  if (auto found = thread->file(figures.file.version)) {
    take_tidied(*found);
    figures.file = std::move(*found);
  }
  look_for_hang();
  figures.up = was_well && !failing && !hanging && !ahead;
}

void Recorder::State::want(std::string_view why) {
  if (rank(why) > rank(pending)) pending = why;
}

void Recorder::State::begin_job(std::string_view why, bool with_steps) {
  RecorderThread::Job job;
  job.why = why;
  job.now = clock.boot();
  job.wall = wall;
  if (with_steps) job.block = steps.oldest_sealed();
  job.events = events.take_all();
  last_look = job.now;
  thread->begin(std::move(job));
}

bool Recorder::State::may_write_early(Nanoseconds boot_now) {
  if (pending.empty() || !thread || !thread->runs() || !thread->is_idle()) return false;
  return failing ? clock.mono() >= retry_at : budget.may(pending, boot_now);
}

void Recorder::State::write_if_due(Nanoseconds boot_now) {
  if (!thread || !thread->runs() || !thread->is_idle()) return;
  if (failing && clock.mono() < retry_at) return;
  const bool early = may_write_early(boot_now);
  if (early) {
    if (!failing) budget.began(pending, boot_now);
    steps.seal();
    draining = taken_along = std::exchange(pending, {});
    begin_job(draining, true);
  } else if (steps.is_full() || steps.has_sealed() || events.size() >= kMaxEventsWaiting / 4 * 3) {
    // Blocks that were sealed for the same reason follow each other.
    if (draining.empty()) {
      if (!pending.empty() || !steps.has_sealed()) steps.seal();
      draining = "full";
      taken_along = std::exchange(pending, {});
    }
    begin_job(draining, true);
  } else if (failing || (clock_news && boot_now - last_clock_job >= kClockPause)) {
    last_clock_job = boot_now;
    begin_job({}, false);
  } else if (boot_now - last_look >= kLookPause) {
    RecorderThread::Job job;
    job.only_look = true;
    last_look = job.now = boot_now;
    thread->begin(std::move(job));
  }
}

Recorder::Recorder(RecorderOptions options, const Clock& clock, Log& log)
    : state_(std::make_unique<State>(std::move(options), clock, log)) {}

Recorder::~Recorder() = default;

void Recorder::start() {
  State& s = *state_;
  s.look_at_clock(s.clock.boot());
  if (s.file.empty()) {
    s.log.info("history: only the last half hour is kept, in memory: " + s.options.no_directory);
    return;
  }
  HistoryStore::Options store;
  store.file = s.file;
  store.max_bytes = s.options.max_bytes;
  store.raw_step = s.options.interval;
  s.now->disk_patience = s.options.disk_patience;
  s.thread = std::make_unique<RecorderThread>(
      std::move(store), s.options.boot_id, s.now,
      s.options.disk ? s.options.disk : RecorderThread::look_at_disk);
  if (!s.thread->runs()) {
    s.failed({Errc::kUnavailable, "the system gave no thread"}, RecorderThread::Reason::kNoThread);
    return;
  }
  s.last_clock_job = s.clock.boot();
  s.begin_job({}, false);
}

void Recorder::round(const SampleTable& table) {
  State& s = *state_;
  const Nanoseconds now = s.clock.boot();
  s.take_outcome();
  s.look_for_unread();
  const bool due = now >= s.next_step;
  // What is urgent takes along how things are now.
  const bool early = now - s.last_step >= kNearest && s.may_write_early(now);
  if (due || early) {
    s.look_at_clock(now);
    s.take_step(table, now);
    const Nanoseconds interval = s.options.interval;
    s.next_step = now - now % interval + interval;
  }
  s.write_if_due(now);
  s.figures.waiting_steps = s.steps.steps();
}

std::uint64_t Recorder::event(EventRecord record, bool may_be_known) {
  State& s = *state_;
  const auto added = s.events.add(std::move(record), may_be_known, s.clock.boot());
  s.pushed_out(added.pushed_out);
  if (added.refused) {
    ++s.figures.lost_events_no_room;
    if (!std::exchange(s.no_room_for_events_told, true)) {
      s.tell(LogLevel::kWarning,
             "history: too many different events of the kernel in too short a time; not all are "
             "recorded (jetmem_history_lost_events_total)",
             "no_room");
    }
  }
  return added.number;
}

bool Recorder::again(std::uint64_t number, std::optional<Nanoseconds> at, bool may_be_known) {
  return state_->events.again(number, at, may_be_known);
}

void Recorder::urgent(std::string_view why) {
  State& s = *state_;
  for (const std::string_view known : RecorderFigures::kWhys) {
    if (known == why) s.want(known);
  }
}

bool Recorder::finish(std::chrono::milliseconds patience) {
  State& s = *state_;
  if (!s.thread) return true;
  const auto deadline = std::chrono::steady_clock::now() + patience;
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
    s.figures.lost_steps_not_written += s.steps.steps();
    s.figures.lost_events_not_written += s.events.size();
    s.tell(LogLevel::kError,
           "history: " + std::to_string(s.steps.steps()) + " steps and " +
               std::to_string(s.events.size()) + " events could not be written at the end: " +
               (s.failing ? "the disk could not" : "the disk did not answer in time"));
  }
  return ended && all;
}

History& Recorder::history() { return state_->past; }

void Recorder::write(SampleWriter& out) const { state_->figures.write(out, state_->wall.offset); }

std::span<const Descriptor> Recorder::metrics() { return RecorderFigures::metrics(); }

}  // namespace jetmem
