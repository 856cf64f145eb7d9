#include "daemon/boot_keeper.h"

#include <algorithm>
#include <utility>

#include "base/small_file.h"
#include "base/text.h"
#include "collectors/boot/story.h"

namespace jetmem {
namespace {

using boot::Boot;
using boot::Change;
using boot::DeviceEnd;
using boot::History;
using boot::Mark;
using boot::Moment;
using boot::RunEnd;
using boot::What;

// What the chip and pstore say is waited for this long before the journal is told without.
constexpr Nanoseconds kTellLate = std::chrono::seconds(30);
constexpr std::chrono::milliseconds kWritePatience{1000};
// Of each round, so that a mark is shown at once where the disk is well; of a stop.
constexpr std::chrono::milliseconds kMarksPatience{20};
constexpr std::chrono::milliseconds kLastMarksPatience{100};
// News is written no more often than this, whoever makes it.
constexpr Nanoseconds kNewsPause = std::chrono::minutes(1);
// A wall clock that is slewed must not move the time of boot at each scrape.
constexpr Nanoseconds kWallSlew = std::chrono::seconds(1);
// Of marks from before the start; the rest is told by their number.
constexpr std::size_t kMostMarksTold = 20;
constexpr std::size_t kMostOfStarts = 4096;

// `journalctl MESSAGE_ID=...` shows all of one kind.
constexpr const char* kDeviceRestarted = "d644ab837fd14767b5b757d285a78ddf";
constexpr const char* kJetmemRestarted = "f8f19d04d5d446f9a1c2b0e5fe9946a9";
constexpr const char* kChanged = "c975a1090f0143cb8e6497f78ee31f09";
constexpr const char* kMarked = "40b54f53188a462d9d0ab3adca975eac";
constexpr const char* kTrouble = "e748cff9f6f543049391c8cd14ca9004";

std::string bounded(const std::string& text) { return printable(text, History::kMaxValue); }

}  // namespace

BootKeeper::BootKeeper(BootKeeperOptions options, const Clock& clock, Log& log)
    : options_(std::move(options)), clock_(clock), log_(log) {}

std::string BootKeeper::path(std::string_view file) const {
  return options_.directory + "/" + std::string(file);
}

Moment BootKeeper::now() const {
  using std::chrono::duration_cast;
  using std::chrono::seconds;
  Moment moment;
  moment.wall = std::max<std::int64_t>(duration_cast<seconds>(clock_.wall()).count(), 0);
  moment.uptime = static_cast<std::uint64_t>(duration_cast<seconds>(clock_.boot()).count());
  return moment;
}

void BootKeeper::start() {
  wall_offset_ = clock_.wall() - clock_.boot();
  note_start();
  if (options_.directory.empty()) {
    log_.info("no history of boots is kept: no STATE_DIRECTORY");
    return;
  }
  if (!options_.boot_id) {
    log_.warning("no history of boots is kept: this kernel tells no boot ID",
                 {{"MESSAGE_ID", kTrouble}});
    return;
  }
  started_ = clock_.boot();
  writer_ = std::make_unique<StateWriter>(path(boot::kHistoryFile));
  if (!writer_->runs()) {
    writer_.reset();
    log_.error("no history of boots is kept: no thread could be started",
               {{"MESSAGE_ID", kTrouble}});
    return;
  }
  first_.ask(*writer_, [directory = options_.directory, before = options_.before_reading] {
    if (before) before();
    return open_state(directory);
  });
  if (begin(kStartPatience)) return;
  log_.warning("the history of boots is not known yet: the disk has not answered for " +
                   std::to_string(kStartPatience.count()) + " ms; it is waited for",
               {{"MESSAGE_ID", kTrouble}});
}

// In memory, so that no start is lost, however short the run.
void BootKeeper::note_start() {
  if (options_.runtime_directory.empty() || !options_.boot_id) return;
  const std::string file = options_.runtime_directory + "/" + std::string(boot::kStartsFile);
  boot::Starts starts;
  bool is_lost = false;
  const auto text = read_small_file(file, kMostOfStarts);
  if (text) {
    if (auto ok = boot::parse_starts(*text, starts); !ok) {
      log_.warning("earlier starts in this boot are not known: " + file + ": " + ok.error().message,
                   {{"MESSAGE_ID", kTrouble}});
      is_lost = true;
    }
  } else if (text.error().code != Errc::kAbsent) {
    log_.warning("earlier starts in this boot are not known: " + text.error().message,
                 {{"MESSAGE_ID", kTrouble}});
    is_lost = true;
  }
  if (is_lost) starts.begin_anew(*options_.boot_id, clock_.boot());
  starts.add(*options_.boot_id, clock_.boot());
  if (const auto ok = replace_small_file(file, to_text(starts)); !ok) {
    log_.warning("this start will not be counted by the next: " + ok.error().message,
                 {{"MESSAGE_ID", kTrouble}});
  }
  starts_ = std::move(starts);
}

// False: the disk has not answered yet.
bool BootKeeper::begin(std::chrono::milliseconds patience) {
  std::optional<StateFound> found = first_.take(patience);
  if (!found) return false;
  history_ = std::move(found->history);
  if (!found->lost.empty()) {
    ++bad_files_;
    log_.error("the history of boots is lost and begins anew: " + found->lost,
               {{"MESSAGE_ID", kTrouble}});
  }
  const bool keep_now = begin_run();
  begun_ = true;
  if (!found->no_marks.empty()) {
    log_.warning("jetmem mark can only be used by root, if at all: " + found->no_marks,
                 {{"MESSAGE_ID", kTrouble}});
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
bool BootKeeper::begin_run() {
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
    if (history_.boots.size() == History::kMaxBoots) history_.boots.erase(history_.boots.begin());
    Boot& boot = history_.boots.emplace_back();
    boot.number = number;
    boot.id = id;
    boot.first = now();
    ++history_.boots_seen;
  } else if (history_.boots.back().run == RunEnd::kRunning) {
    ended_unclean_ = true;
    ++history_.boots.back().unclean_runs;
    ++history_.unclean_runs;
    saved_ = std::chrono::seconds(history_.boots.back().last.uptime);
    const Nanoseconds since = clock_.boot() - saved_;
    keep_now = since < Nanoseconds(0) || since >= kNewsPause;
  }
  Boot& boot = history_.boots.back();
  ++boot.starts;
  ++history_.starts;
  boot.run = RunEnd::kRunning;
  boot.end = DeviceEnd::kNotYet;
  boot.last = now();
  if (!is_new_boot) set_moments();  // the clock may have been set since the last run
  note(What::kSettings, options_.settings);
  note(What::kVersion, options_.version);
  return keep_now;
}

void BootKeeper::set_settings(const std::string& digest) {
  options_.settings = digest;
  if (begun_) note(What::kSettings, digest);
}

void BootKeeper::note(What what, const std::string& given) {
  if (given.empty()) return;
  const auto index = static_cast<std::size_t>(what);
  std::string& value = history_.boots.back().values[index];
  if (known_[index] == given && value == given) return;
  dirty_ = true;
  value = bounded(given);
  const std::string from = std::exchange(known_[index], value);
  if (from.empty() || from == value) return;  // known for the first time, or no other
  ++history_.changes_seen[index];
  if (history_.changes.size() == History::kMaxChanges) {
    history_.changes.erase(history_.changes.begin());
  }
  history_.changes.push_back({history_.boots.back().number, now(), what, from, value});
  log_.info(boot::change_words(history_.changes.back()),
            {{"MESSAGE_ID", kChanged}, {"JETMEM_CHANGED", std::string(what_name(what))}});
}

void BootKeeper::observe(const BootFacts& facts) {
  if (!begun_) return;
  for (const What what : {What::kKernel, What::kL4t, What::kPowerMode, What::kCommandLine}) {
    note(what, facts.values[static_cast<std::size_t>(what)]);
  }
  Boot& boot = history_.boots.back();
  const bool was_told = boot.told;
  const bool had_looked = boot.looked;
  // The first: a wake from suspend is a reset to the chip, and says nothing of this boot's begin.
  if (!facts.reset_reason.empty() && boot.reset_reason.empty()) {
    boot.reset_reason = facts.reset_reason;
    boot.reset_level = facts.reset_level;
    dirty_ = true;
  }
  note_crash(facts);
  if (!told_) tell();
  // What a boot found is kept at once, but once only: if it ends soon, the next must not find it
  // again.
  if (boot.told != was_told || boot.looked != had_looked) save();
}

// A record tells of the last boot's end only if it was not there before: RAM and disk keep old ones
// until somebody removes them. What is found when the history begins is older than it.
void BootKeeper::note_crash(const BootFacts& facts) {
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
  const bool is_sure = !facts.may_hide_crash();
  if (fresh == nullptr && !is_sure) return;
  // Only the first look in a boot, whichever run has it: what comes later was written in this one.
  Boot& boot = history_.boots.back();
  if (fresh != nullptr && history_.boots_seen > 1 && !boot.looked) {
    boot.crash = fresh->is_crash ? bounded(fresh->line) : "(no line of it could be understood)";
    if (boot.told) {
      log_.warning("before this boot the kernel crashed and left a record in pstore: " + boot.crash,
                   {{"MESSAGE_ID", kDeviceRestarted}});
    }
  }
  dirty_ = dirty_ || !boot.looked;
  boot.looked = true;
  std::size_t count = is_sure ? 0 : known.size();
  for (const PstoreRecord& record : facts.records) {
    if (record.unreadable || count == History::kMaxDigests) continue;
    if (!is_sure && is_known(record)) continue;
    if (count == known.size()) known.push_back(0);
    dirty_ = dirty_ || known[count] != record.digest;
    known[count++] = record.digest;
  }
  dirty_ = dirty_ || known.size() != count;
  known.resize(count);
}

// Once it is known what the chip and pstore say, or will not be. The story of a boot is told by the
// first run that lives long enough.
void BootKeeper::tell() {
  told_ = true;
  if (!std::exchange(history_.boots.back().told, true)) {
    dirty_ = true;
    boot::Story story = boot::why_restarted(history_, kSignOfLife);
    LogEntry entry;
    entry.level = story.worrying ? LogLevel::kWarning : LogLevel::kInfo;
    entry.message = std::move(story.text);
    const Boot* before = history_.before();
    entry.fields = {
        {"MESSAGE_ID", kDeviceRestarted},
        {"JETMEM_BOOT", std::to_string(history_.boots.back().number)},
        {"JETMEM_LAST_STOP",
         std::string(device_end_name(before != nullptr ? before->end : DeviceEnd::kUnknown))}};
    log_.write(std::move(entry));
  }
  const boot::Boot& boot = history_.boots.back();
  if (boot.starts < 2) return;
  const std::string what = "jetmem was started again in the same boot (start " +
                           std::to_string(boot.starts) + " in it): its last run ";
  if (ended_unclean_) {
    log_.warning(what + "ended without a clean stop: it was killed or crashed",
                 {{"MESSAGE_ID", kJetmemRestarted}});
  } else {
    log_.info(what + "was told to stop", {{"MESSAGE_ID", kJetmemRestarted}});
  }
}

// A disk that has not answered the last question is not waited for.
bool BootKeeper::look_for_marks(std::chrono::milliseconds patience) {
  if (marks_.is_asked()) patience = std::chrono::milliseconds(0);
  marks_.ask(*writer_, [directory = options_.directory, seen = marks_seen_] {
    return look_at_marks(directory, seen);
  });
  std::optional<MarksLook> look = marks_.take(patience);
  return look && read_marks(std::move(*look), false);
}

bool BootKeeper::read_marks(MarksLook look, bool at_start) {
  marks_seen_ = look.seen;
  if (!look.text) return false;
  const Result<std::string>& text = *look.text;
  if (!text) {
    if (marks_trouble_ == text.error().message) return false;
    marks_trouble_ = text.error().message;
    ++bad_marks_;
    log_.error("marks cannot be read: " + printable(*marks_trouble_), {{"MESSAGE_ID", kTrouble}});
    return true;
  }
  marks_trouble_.reset();
  boot::Marks marks;
  boot::parse_marks(*text, marks);
  if (marks.malformed > bad_marks_) {
    bad_marks_ = marks.malformed;
    log_.warning(
        std::to_string(marks.malformed) + " lines of " + path(boot::kMarksFile) + " are no marks",
        {{"MESSAGE_ID", kTrouble}});
  }
  take_marks(marks, at_start);
  return true;
}

void BootKeeper::take_marks(const boot::Marks& marks, bool at_start) {
  std::uint64_t largest = 0;
  for (const Mark& mark : marks.list) largest = std::max(largest, mark.number);
  // Somebody removed the file: its numbers begin anew.
  if (largest < history_.last_mark) history_.last_mark = 0;
  std::size_t told = 0;
  std::size_t fresh = 0;
  // What is there when the history begins may have been told by the one before it.
  const std::size_t most = at_start && is_new_ ? 0 : kMostMarksTold;
  for (const Mark& mark : marks.list) {
    if (mark.number <= history_.last_mark) continue;
    ++fresh;
    ++history_.marks_seen;
    // Whoever made it may not have known the time yet.
    const Moment at = by_last_clock(history_, mark.boot, mark.at);
    history_.mark_at = at;
    history_.mark_boot = mark.boot;
    if (told == most) continue;
    ++told;
    if (options_.on_mark) options_.on_mark(mark);
    log_.info("mark" + std::string(at_start ? " (set while jetmemd was not running)" : "") + ", " +
                  boot::moment_text(at) + ": " + mark.text,
              {{"MESSAGE_ID", kMarked}, {"JETMEM_MARK", mark.text}});
  }
  if (fresh > told) {
    log_.info(std::to_string(fresh - told) + " more marks: jetmem mark --list shows them",
              {{"MESSAGE_ID", kMarked}});
  }
  if (largest == history_.last_mark) return;
  history_.last_mark = largest;
  dirty_ = true;
}

// True when it was set.
bool BootKeeper::follow_clock() {
  const Nanoseconds offset = clock_.wall() - clock_.boot();
  const Nanoseconds moved = offset - wall_offset_;
  if (moved <= kWallSlew && moved >= -kWallSlew) return false;
  wall_offset_ = offset;
  return true;
}

// True when it was set.
bool BootKeeper::look_at_clock() {
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
void BootKeeper::set_moments() {
  Boot& boot = history_.boots.back();
  boot.first = by_last_clock(history_, boot.id, boot.first);
  for (Change& change : history_.changes) {
    if (change.boot == boot.number) change.at = by_last_clock(history_, boot.id, change.at);
  }
  if (history_.mark_at && history_.mark_boot == boot.id) {
    history_.mark_at = by_last_clock(history_, boot.id, *history_.mark_at);
  }
}

bool BootKeeper::round() {
  const bool was_set = look_at_clock();
  if (!keeps()) return was_set;
  const bool begins = !begun_ && begin(std::chrono::milliseconds(0));
  if (!begun_) return was_set;
  if (!told_ && clock_.boot() - started_ >= kTellLate) tell();
  const bool marked = look_for_marks(kMarksPatience);
  const Nanoseconds since = clock_.boot() - saved_;
  if (since >= kSignOfLife || (dirty_ && since >= kNewsPause)) save();
  return tell_trouble() || marked || begins || was_set;
}

// Once when it begins and once when it ends. True when it grew.
bool BootKeeper::tell_trouble() {
  const StateWriter::Counts counts = writer_->counts();
  const bool grew = counts.failed != seen_failures_;
  seen_failures_ = counts.failed;
  std::string trouble = counts.trouble;
  if (writer_->waits() && clock_.boot() - saved_ >= kNewsPause) {
    trouble = "the disk does not answer";
  }
  // What was not kept is something new until it is.
  dirty_ = dirty_ || grew;
  if (trouble.empty() == !in_trouble_) return grew;
  in_trouble_ = !in_trouble_;
  if (in_trouble_) {
    log_.error("the history of boots cannot be written, tried again every " +
                   boot::duration_text(
                       std::chrono::duration_cast<std::chrono::seconds>(kNewsPause).count()) +
                   ": " + trouble,
               {{"MESSAGE_ID", kTrouble}});
  } else {
    log_.info("the history of boots can be written again", {{"MESSAGE_ID", kTrouble}});
  }
  return grew;
}

void BootKeeper::save() {
  saved_ = clock_.boot();
  dirty_ = false;
  history_.boots.back().last = now();
  writer_->put(to_text(history_));
}

void BootKeeper::take_last_marks() {
  if (!keeps() || (!begun_ && !begin(std::chrono::milliseconds(0)))) return;
  look_for_marks(kLastMarksPatience);
}

void BootKeeper::finish(RunEnd how) {
  if (!keeps()) return;
  if (!begun_ && !begin(std::chrono::milliseconds(0))) {
    log_.error("the history of boots could not be read in time: nothing of this run is kept",
               {{"MESSAGE_ID", kTrouble}});
    writer_->finish(std::chrono::milliseconds(0));
    return;
  }
  look_at_clock();
  if (!told_) tell();
  history_.boots.back().run = how;
  save();
  if (!writer_->finish(kWritePatience)) {
    log_.error(
        "the history of boots could not be written in time: this stop will look like one "
        "that was not clean",
        {{"MESSAGE_ID", kTrouble}});
  } else {
    tell_trouble();
  }
}

BootHistoryView BootKeeper::view() const {
  BootHistoryView view;
  view.boot_time = std::chrono::duration_cast<std::chrono::seconds>(wall_offset_).count();
  view.wall_offset = wall_offset_;
  if (starts_) view.starts = &*starts_;
  if (!begun_) return view;
  view.history = &history_;
  view.failed_writes = writer_->counts().failed;
  view.bad_files = bad_files_;
  view.bad_marks = bad_marks_;
  return view;
}

}  // namespace jetmem
