// SPDX-License-Identifier: Apache-2.0
#include "daemon/state/boot_history.h"

#include <algorithm>
#include <utility>

#include "base/root/small_file.h"
#include "base/text/text.h"
#include "collectors/device/boot/restart_summary.h"

namespace jetmem {
namespace {

using boot::Boot;
using boot::DeviceEnd;
using boot::Mark;
using boot::RunEnd;
using boot::What;

// The restart is logged without the chip's and pstore's reasons if they take longer than this.
constexpr Nanoseconds kLateReportThreshold = std::chrono::seconds(30);
constexpr std::chrono::milliseconds kWriteTimeout{1000};
// Of each round, so that a mark is shown at once where the disk is well; of a stop.
constexpr std::chrono::milliseconds kMarksTimeout{20};
constexpr std::chrono::milliseconds kFinalMarksTimeout{100};
// Changes are written at most this often, whoever makes them.
constexpr Nanoseconds kPublishInterval = std::chrono::minutes(1);
// A wall clock that is slewed must not move the time of boot at each scrape.
constexpr Nanoseconds kWallSlew = std::chrono::seconds(1);
// Of marks from before the start; of the rest only the number is logged.
constexpr std::size_t kMaxMarksReported = 20;
constexpr std::size_t kMostOfStarts = 4096;

// `journalctl MESSAGE_ID=...` shows all of one kind.
constexpr const char* kDeviceRestarted = "d644ab837fd14767b5b757d285a78ddf";
constexpr const char* kJetmemRestarted = "f8f19d04d5d446f9a1c2b0e5fe9946a9";
constexpr const char* kChanged = "c975a1090f0143cb8e6497f78ee31f09";
constexpr const char* kMarked = "40b54f53188a462d9d0ab3adca975eac";
constexpr const char* kProblem = "e748cff9f6f543049391c8cd14ca9004";

std::string bounded(const std::string& text) { return printable(text, boot::History::kMaxValue); }

}  // namespace

BootHistory::BootHistory(BootHistoryOptions options, const Clock& clock, Log& log)
    : options_(std::move(options)), clock_(clock), log_(log) {}

std::string BootHistory::path(std::string_view file) const {
  return options_.directory + "/" + std::string(file);
}

boot::Moment BootHistory::now() const {
  using std::chrono::duration_cast;
  using std::chrono::seconds;
  boot::Moment moment;
  moment.wall = std::max<std::int64_t>(duration_cast<seconds>(clock_.wall()).count(), 0);
  moment.uptime = static_cast<std::uint64_t>(duration_cast<seconds>(clock_.boot()).count());
  return moment;
}

void BootHistory::start() {
  wall_offset_ = clock_.wall() - clock_.boot();
  note_start();
  if (options_.directory.empty()) {
    log_.info("no history of boots is kept: no STATE_DIRECTORY");
    return;
  }
  if (!options_.boot_id) {
    log_.warning("no history of boots is kept: this kernel has no boot ID",
                 {{"MESSAGE_ID", kProblem}});
    return;
  }
  started_ = clock_.boot();
  writer_ = std::make_unique<StateWriter>(path(boot::kHistoryFile));
  const bool is_asked =
      first_.ask([directory = options_.directory, before = options_.before_reading] {
        if (before) before();
        return open_state(directory);
      });
  if (!writer_->runs() || !is_asked) {
    writer_.reset();
    log_.error("no history of boots is kept: no thread could be started",
               {{"MESSAGE_ID", kProblem}});
    return;
  }
  if (begin(kStartTimeout)) return;
  log_.warning("the history of boots is not known yet: the disk has not answered for " +
                   std::to_string(kStartTimeout.count()) + " ms; it is waited for",
               {{"MESSAGE_ID", kProblem}});
}

// In memory, so that no start is lost, however short the run.
void BootHistory::note_start() {
  if (options_.runtime_directory.empty() || !options_.boot_id) return;
  const std::string file = options_.runtime_directory + "/" + std::string(boot::kStartsFile);
  boot::Starts starts;
  bool is_lost = false;
  const auto text = read_small_file(file, kMostOfStarts);
  if (text) {
    if (auto ok = boot::parse_starts(*text, starts); !ok) {
      log_.warning("earlier starts in this boot are not known: " + file + ": " + ok.error().message,
                   {{"MESSAGE_ID", kProblem}});
      is_lost = true;
    }
  } else if (text.error().code != Errc::kAbsent) {
    log_.warning("earlier starts in this boot are not known: " + text.error().message,
                 {{"MESSAGE_ID", kProblem}});
    is_lost = true;
  }
  if (is_lost) starts.start_over(*options_.boot_id, clock_.boot());
  starts.add(*options_.boot_id, clock_.boot());
  starts_ = std::move(starts);
  keep_starts();
}

void BootHistory::keep_starts() {
  const std::string file = options_.runtime_directory + "/" + std::string(boot::kStartsFile);
  if (const auto ok = replace_small_file(file, to_text(*starts_)); !ok) {
    log_.warning("this start will not be counted by the next: " + ok.error().message,
                 {{"MESSAGE_ID", kProblem}});
  }
}

// How many starts of this boot there are by now, of which the history may not have all.
void BootHistory::count_start() {
  Boot& boot = history_.boots.back();
  // The runtime directory was emptied meanwhile: one of a container, perhaps.
  if (starts_ && boot.starts > 0 && starts_->count == 1 && !starts_->is_total) {
    starts_->start_over(*options_.boot_id, clock_.boot());
    starts_->add(*options_.boot_id, clock_.boot());
  }
  const bool is_exact = starts_ && starts_->is_total && starts_->since == 0;
  const bool was_killed = boot.starts > 0 && boot.run == RunEnd::kRunning;
  if ((was_killed && !is_exact) || (starts_ && starts_->since > 0)) {
    boot.starts_are_least = history_.starts_are_least = true;
  }
  std::uint64_t count = boot.starts + 1;
  std::optional<std::uint64_t> stopped;
  if (starts_) {
    const bool is_total = starts_->is_total || boot.starts == 0;
    count = is_total ? std::max(count, starts_->count) : boot.starts + starts_->count;
    if (is_total && count == starts_->count) stopped = starts_->stopped;
  }
  const std::uint64_t unclean_before = boot.unclean_runs;
  history_.count_starts(count, stopped);
  ended_unclean_ = boot.unclean_runs > unclean_before;
  if (!starts_) return;
  boot::Starts counted = *starts_;
  counted.count = count;
  counted.is_total = true;
  counted.stopped = count - 1 - std::min(count - 1, boot.unclean_runs);
  if (counted == *starts_) return;
  starts_ = std::move(counted);
  keep_starts();
}

// False: the disk has not answered yet.
bool BootHistory::begin(std::chrono::milliseconds timeout) {
  std::optional<StateFound> found = first_.take(timeout);
  if (!found) return false;
  history_ = std::move(found->history);
  if (!found->lost.empty()) {
    ++bad_files_;
    log_.error("the history of boots is lost and begins anew: " + found->lost,
               {{"MESSAGE_ID", kProblem}});
  }
  const bool keep_now = begin_run();
  begun_ = true;
  if (!found->no_marks.empty()) {
    log_.warning("jetmem mark can only be used by root, if at all: " + found->no_marks,
                 {{"MESSAGE_ID", kProblem}});
  }
  read_marks(std::move(found->marks), true);
  if (keep_now) {
    save();
  } else {
    dirty_ = true;
  }
  return true;
}

// Whether it is to be kept at once. A start after a crash is not when the last one was kept within
// the minute: systemd starts us again every few seconds for as long as we crash.
bool BootHistory::begin_run() {
  const std::string id = printable(*options_.boot_id, 40);
  is_new_ = history_.boots.empty();
  const bool is_new_boot = is_new_ || history_.boots.back().id != id;
  bool keep_now = true;
  for (const Boot& boot : history_.boots) {
    for (std::size_t i = 0; i < boot::kWhats; ++i) {
      if (!boot.values[i].empty()) known_[i] = boot.values[i];
    }
  }
  if (is_new_boot) {
    std::uint64_t number = 1;
    if (!is_new_) {
      Boot& before = history_.boots.back();
      number = before.number + 1;
      before.end = before.run == RunEnd::kShutdown  ? DeviceEnd::kClean
                   : before.run == RunEnd::kRunning ? DeviceEnd::kUnclean
                                                    : DeviceEnd::kUnknown;
      if (before.end == DeviceEnd::kUnclean) ++history_.unclean_boots;
    }
    if (history_.boots.size() == boot::History::kMaxBoots)
      history_.boots.erase(history_.boots.begin());
    Boot& boot = history_.boots.emplace_back();
    boot.number = number;
    boot.id = id;
    boot.first = now();
    ++history_.boots_seen;
  } else if (history_.boots.back().run == RunEnd::kRunning) {
    saved_ = std::chrono::seconds(history_.boots.back().last.uptime);
    const Nanoseconds since = clock_.boot() - saved_;
    keep_now = since < Nanoseconds(0) || since >= kPublishInterval;
  }
  count_start();
  Boot& boot = history_.boots.back();
  boot.run = RunEnd::kRunning;
  boot.end = DeviceEnd::kNotYet;
  boot.last = now();
  if (!is_new_boot) set_moments();  // the clock may have been set since the last run
  note(What::kSettings, options_.settings);
  note(What::kVersion, options_.version);
  return keep_now;
}

void BootHistory::set_settings(const std::string& digest) {
  options_.settings = digest;
  if (begun_) note(What::kSettings, digest);
}

void BootHistory::note(What what, const std::string& given) {
  if (given.empty()) return;
  const auto index = static_cast<std::size_t>(what);
  std::string& value = history_.boots.back().values[index];
  if (known_[index] == given && value == given) return;
  dirty_ = true;
  value = bounded(given);
  const std::string from = std::exchange(known_[index], value);
  if (from.empty() || from == value) return;  // known for the first time, or no other
  ++history_.changes_seen[index];
  if (history_.changes.size() == boot::History::kMaxChanges) {
    history_.changes.erase(history_.changes.begin());
  }
  history_.changes.push_back({history_.boots.back().number, now(), what, from, value});
  log_.info(boot::change_text(history_.changes.back()),
            {{"MESSAGE_ID", kChanged}, {"JETMEM_CHANGED", std::string(what_name(what))}});
}

void BootHistory::observe(const BootFacts& facts) {
  if (!begun_) return;
  for (const What what : {What::kKernel, What::kL4t, What::kPowerMode, What::kCommandLine}) {
    note(what, facts.values[static_cast<std::size_t>(what)]);
  }
  Boot& boot = history_.boots.back();
  const bool was_reported = boot.reported;
  const bool has_been_read = boot.checked;
  // The first: a wake from suspend is a reset to the chip, and says nothing of this boot's begin.
  if (!facts.reset_reason.empty() && boot.reset_reason.empty()) {
    boot.reset_reason = facts.reset_reason;
    boot.reset_level = facts.reset_level;
    dirty_ = true;
  }
  note_crash(facts);
  if (!logged_) log_restart();
  // What a boot found is kept at once, but once only: if it ends soon, the next must not find it
  // again.
  if (boot.reported != was_reported || boot.checked != has_been_read) save();
}

// A record is about the last boot's end only if it was not there before: RAM and disk keep old ones
// until somebody removes them. What is found when the history begins is older than it.
void BootHistory::note_crash(const BootFacts& facts) {
  if (!facts.pstore_listed && !facts.archive_listed) return;
  std::vector<std::uint32_t>& known = history_.crash_records;
  const auto is_known = [&](const PstoreRecord& record) {
    return std::find(known.begin(), known.end(), record.digest) != known.end();
  };
  const PstoreRecord* fresh = nullptr;
  for (const PstoreRecord& record : facts.records) {
    if (record.unreadable || is_known(record)) continue;
    const bool is_crash =
        record.is_crash || record.kind == PstoreKind::kPanic || record.kind == PstoreKind::kOops;
    if (!is_crash) continue;
    if (fresh == nullptr || (!fresh->is_crash && record.is_crash) ||
        (fresh->kind != PstoreKind::kPanic && record.kind == PstoreKind::kPanic)) {
      fresh = &record;
    }
  }
  // One that cannot be read now may be the crash's, or one that is known: it is looked at when it
  // can.
  const bool is_sure = !facts.can_mask_crash();
  if (fresh == nullptr && !is_sure) return;
  // Only the first look in a boot, whichever run has it: what comes later was written in this one.
  Boot& boot = history_.boots.back();
  if (fresh != nullptr && history_.boots_seen > 1 && !boot.checked) {
    boot.crash = fresh->is_crash ? bounded(fresh->line) : std::string(Boot::kCrashNotUnderstood);
    if (boot.reported) {
      log_.warning("before this boot the kernel crashed and left a record in pstore: " + boot.crash,
                   {{"MESSAGE_ID", kDeviceRestarted}});
    }
  }
  dirty_ = dirty_ || !boot.checked;
  boot.checked = true;
  std::size_t count = is_sure ? 0 : known.size();
  for (const PstoreRecord& record : facts.records) {
    if (record.unreadable || count == boot::History::kMaxDigests) continue;
    if (!is_sure && is_known(record)) continue;
    if (count == known.size()) known.push_back(0);
    dirty_ = dirty_ || known[count] != record.digest;
    known[count++] = record.digest;
  }
  dirty_ = dirty_ || known.size() != count;
  known.resize(count);
}

// Once it is known what the chip and pstore say, or will not be. The summary of a boot is logged by
// the first run that lives long enough.
void BootHistory::log_restart() {
  logged_ = true;
  if (!std::exchange(history_.boots.back().reported, true)) {
    dirty_ = true;
    boot::RestartSummary summary = boot::restart_summary(history_, kSignOfLife);
    LogEntry entry;
    entry.level = summary.worrying ? LogLevel::kWarning : LogLevel::kInfo;
    entry.message = std::move(summary.text);
    const Boot* before = history_.before();
    entry.fields = {
        {"MESSAGE_ID", kDeviceRestarted},
        {"JETMEM_BOOT", std::to_string(history_.boots.back().number)},
        {"JETMEM_LAST_SHUTDOWN",
         std::string(device_end_name(before != nullptr ? before->end : DeviceEnd::kUnknown))}};
    log_.write(std::move(entry));
  }
  const boot::Boot& boot = history_.boots.back();
  if (boot.starts < 2) return;
  const std::string what =
      "jetmem was started again in the same boot (start " + std::to_string(boot.starts) +
      (boot.starts_are_least ? " in it, at least): its last run " : " in it): its last run ");
  if (ended_unclean_) {
    log_.warning(what + "ended without a clean stop: it was killed or crashed",
                 {{"MESSAGE_ID", kJetmemRestarted}});
  } else {
    log_.info(what + "was stopped by request", {{"MESSAGE_ID", kJetmemRestarted}});
  }
}

// A disk that has not answered the last question is not waited for.
bool BootHistory::read_new_marks(std::chrono::milliseconds timeout) {
  if (marks_.is_requested()) timeout = std::chrono::milliseconds(0);
  const bool is_asked = marks_.ask([directory = options_.directory, seen = marks_seen_] {
    return check_marks(directory, seen);
  });
  std::optional<MarksState> snapshot = marks_.take(timeout);
  if (!is_asked) {
    snapshot = {marks_seen_, fail(Errc::kUnavailable, "no thread could be started")};
  }
  return snapshot && read_marks(std::move(*snapshot), false);
}

bool BootHistory::read_marks(MarksState snapshot, bool at_start) {
  marks_seen_ = snapshot.seen;
  if (!snapshot.text) {
    marks_error_.reset();
    return false;
  }
  const Result<std::string>& text = *snapshot.text;
  if (!text) {
    if (marks_error_ == text.error().message) return false;
    marks_error_ = text.error().message;
    ++bad_marks_;
    log_.error("marks cannot be read: " + printable(*marks_error_), {{"MESSAGE_ID", kProblem}});
    return true;
  }
  marks_error_.reset();
  marks_text_ = *text;
  boot::Marks marks;
  boot::parse_marks(marks_text_, marks);
  if (marks.malformed > bad_marks_) {
    bad_marks_ = marks.malformed;
    log_.warning(
        std::to_string(marks.malformed) + " lines of " + path(boot::kMarksFile) + " are no marks",
        {{"MESSAGE_ID", kProblem}});
  }
  take_marks(marks, at_start);
  return true;
}

void BootHistory::take_marks(const boot::Marks& marks, bool at_start) {
  acknowledged_ = boot::acknowledgements(marks);
  std::uint64_t largest = 0;
  for (const Mark& mark : marks.list) largest = std::max(largest, mark.number);
  // Somebody removed the file: its numbers begin anew.
  if (largest < history_.last_mark) history_.last_mark = 0;
  std::size_t reported = 0;
  std::size_t fresh = 0;
  // What is there when the history begins may have been reported by the one before it.
  const std::size_t most = at_start && is_new_ ? 0 : kMaxMarksReported;
  for (const Mark& mark : marks.list) {
    if (mark.number <= history_.last_mark) continue;
    ++fresh;
    ++history_.marks_seen;
    // Whoever made it may not have known the time yet.
    const boot::Moment at = from_last_clock(history_, mark.boot, mark.at);
    history_.mark_at = at;
    history_.mark_boot = mark.boot;
    if (reported == most) continue;
    ++reported;
    if (options_.on_mark) options_.on_mark(mark);
    log_.info("mark" + std::string(at_start ? " (set while jetmemd was not running)" : "") + ", " +
                  boot::moment_text(at) + ": " + mark.sentence(),
              {{"MESSAGE_ID", kMarked}, {"JETMEM_MARK", mark.sentence()}});
  }
  if (fresh > reported) {
    log_.info(std::to_string(fresh - reported) + " more marks: jetmem mark --list shows them",
              {{"MESSAGE_ID", kMarked}});
  }
  if (largest == history_.last_mark) return;
  history_.last_mark = largest;
  dirty_ = true;
}

// True when it was set.
bool BootHistory::follow_clock() {
  const Nanoseconds offset = clock_.wall() - clock_.boot();
  const Nanoseconds moved = offset - wall_offset_;
  if (moved <= kWallSlew && moved >= -kWallSlew) return false;
  wall_offset_ = offset;
  return true;
}

// True when it was set.
bool BootHistory::check_clock() {
  const bool was_set = follow_clock();
  if (!begun_) return was_set;
  history_.boots.back().last = now();
  if (!was_set) return false;
  set_moments();
  dirty_ = true;
  return true;
}

// A clock that is set late tells when the moments of this boot were: it may have been wrong without
// being implausible.
void BootHistory::set_moments() {
  Boot& boot = history_.boots.back();
  boot.first = from_last_clock(history_, boot.id, boot.first);
  for (boot::Change& change : history_.changes) {
    if (change.boot == boot.number) change.at = from_last_clock(history_, boot.id, change.at);
  }
  if (history_.mark_at && history_.mark_boot == boot.id) {
    history_.mark_at = from_last_clock(history_, boot.id, *history_.mark_at);
  }
}

bool BootHistory::cycle() {
  const bool was_set = check_clock();
  if (!keeps()) return was_set;
  const bool begins = !begun_ && begin(std::chrono::milliseconds(0));
  if (!begun_) return was_set;
  if (!logged_ && clock_.boot() - started_ >= kLateReportThreshold) log_restart();
  const bool marked = read_new_marks(kMarksTimeout);
  const Nanoseconds since = clock_.boot() - saved_;
  if (since >= kSignOfLife || (dirty_ && since >= kPublishInterval)) save();
  return log_problem() || marked || begins || was_set;
}

// Once when it begins and once when it ends. True when it grew.
bool BootHistory::log_problem() {
  const StateWriter::Counts counts = writer_->counts();
  const bool growth_sentence = counts.failed != handled_failures_;
  handled_failures_ = counts.failed;
  std::string problem = counts.problem;
  if (writer_->waits() && clock_.boot() - saved_ >= kPublishInterval) {
    problem = "the disk does not answer";
  }
  // What was not kept is something new until it is.
  dirty_ = dirty_ || growth_sentence;
  if (problem.empty() == !write_failing_) return growth_sentence;
  write_failing_ = !write_failing_;
  if (write_failing_) {
    log_.error("the history of boots cannot be written, tried again every " +
                   boot::duration_text(
                       std::chrono::duration_cast<std::chrono::seconds>(kPublishInterval).count()) +
                   ": " + problem,
               {{"MESSAGE_ID", kProblem}});
  } else {
    log_.info("the history of boots can be written again", {{"MESSAGE_ID", kProblem}});
  }
  return growth_sentence;
}

void BootHistory::save() {
  saved_ = clock_.boot();
  dirty_ = false;
  history_.boots.back().last = now();
  writer_->put(to_text(history_));
}

void BootHistory::take_last_marks() {
  if (!keeps() || (!begun_ && !begin(std::chrono::milliseconds(0)))) return;
  read_new_marks(kFinalMarksTimeout);
}

void BootHistory::finish(RunEnd how) {
  if (starts_ && starts_->stopped) {
    ++*starts_->stopped;
    keep_starts();
  }
  if (!keeps()) return;
  if (!begun_ && !begin(std::chrono::milliseconds(0))) {
    log_.error("the history of boots could not be read in time: nothing of this run is kept",
               {{"MESSAGE_ID", kProblem}});
    writer_->finish(std::chrono::milliseconds(0));
    return;
  }
  check_clock();
  if (!logged_) log_restart();
  history_.boots.back().run = how;
  save();
  if (!writer_->finish(kWriteTimeout)) {
    log_.error(
        "the history of boots could not be written in time: this stop will look like one "
        "that was not clean",
        {{"MESSAGE_ID", kProblem}});
  } else {
    log_problem();
  }
}

BootHistoryView BootHistory::view() const {
  BootHistoryView view;
  view.boot_time = std::chrono::duration_cast<std::chrono::seconds>(wall_offset_).count();
  view.wall_offset = wall_offset_;
  if (starts_) view.starts = &*starts_;
  if (!begun_) return view;
  view.history = &history_;
  view.failed_writes = writer_->counts().failed;
  view.bad_files = bad_files_;
  view.bad_marks = bad_marks_;
  view.acknowledged = acknowledged_;
  return view;
}

}  // namespace jetmem
