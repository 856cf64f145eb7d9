#include "daemon/kernel_log_feed.h"

#include <sys/epoll.h>

#include <chrono>
#include <utility>

#include "base/small_file.h"
#include "base/text.h"
#include "collectors/kernel_log/state.h"

namespace jetmem {
namespace {

// Of one wake-up, so that a full ring or a storm does not hold up a round.
constexpr std::size_t kRecordsPerWake = 512;
// The lines of one event come within milliseconds, on a slow serial console within some tens.
constexpr std::uint64_t kHoldUs = 40'000;
// More wake-ups than this within a second are a storm: from then on the log is read at intervals,
// until it is quiet. The kernel's ring holds thousands of records meanwhile.
constexpr std::uint32_t kWakesPerSecond = 8;
constexpr std::uint64_t kPaceUs = 50'000;
constexpr std::size_t kRecordsPerPace = 4096;
constexpr int kFileParts = 16;
// A storm makes a page no more often than this.
constexpr Nanoseconds kNewsPause = std::chrono::milliseconds(250);
// A log that grows faster than it is read has no end; what it tells must be shown nevertheless.
constexpr Nanoseconds kLongestBacklog = std::chrono::seconds(30);
constexpr std::uint64_t kSlackUs = 5'000;
constexpr Nanoseconds kKeepPause = std::chrono::minutes(1);
// A wall clock that is slewed must not move every timestamp at each scrape.
constexpr Nanoseconds kWallSlew = std::chrono::seconds(1);

}  // namespace

KernelLogFeed::KernelLogFeed(KernelLogFeedOptions options, const Root& root, const Clock& clock,
                             Spawner& spawner, Log& log, std::function<void()> on_news)
    : options_(std::move(options)),
      root_(root),
      clock_(clock),
      out_(log),
      on_news_(std::move(on_news)),
      events_(log, clock),
      log_(clock, {options_.soc, options_.accept_user_records},
           [this](const kernel_log::Event& event, const kernel_log::Occurrence& occurrence) {
             events_.event(event, occurrence);
             if (options_.on_event) options_.on_event(event, occurrence);
           }),
      kmsg_(log_),
      journal_(
          spawner, log_, log, [this] { after_lines(); }, [this] { on_journal_change(); }) {
  if (root_.is_live()) return;
  log_.set_captured();
  std::optional<Nanoseconds> boot;
  if (root_.facts().boot_time) boot = std::chrono::seconds(*root_.facts().boot_time);
  events_.set_captured(boot);
}

KernelLogFeed::~KernelLogFeed() {
  sd_event_source_unref(io_);
  sd_event_source_unref(flush_timer_);
  sd_event_source_unref(pace_timer_);
  sd_event_source_unref(news_timer_);
}

Result<void> KernelLogFeed::start(sd_event* event) {
  event_ = event;
  for (const auto& [timer, handler] : {std::pair(&flush_timer_, &KernelLogFeed::on_flush),
                                       std::pair(&pace_timer_, &KernelLogFeed::on_pace),
                                       std::pair(&news_timer_, &KernelLogFeed::on_news_due)}) {
    int ok = sd_event_add_time(event_, timer, CLOCK_MONOTONIC, 0, kSlackUs, handler, this);
    if (ok >= 0) ok = sd_event_source_set_enabled(*timer, SD_EVENT_OFF);
    if (ok < 0) return tl::unexpected(errno_error("set up", "a timer for the kernel log", -ok));
  }
  if (auto ok = journal_.start(event_); !ok) return ok;
  restore();
  return {};
}

Result<void> KernelLogFeed::attach(UniqueFd fd) {
  // Before what it waits for is closed: another process may hold the same file, and then only the
  // event loop's registration would go on.
  io_ = sd_event_source_unref(io_);
  if (auto ok = kmsg_.attach(std::move(fd)); !ok) return ok;
  return kmsg_.is_file() ? read_file() : follow_device();
}

// Nobody wakes us for a file. A large one is read in parts: the rest in the next rounds.
Result<void> KernelLogFeed::read_file() {
  for (int part = 0; part < kFileParts; ++part) {
    const auto drained = kmsg_.drain(kRecordsPerPace);
    if (!drained) {
      kmsg_.detach();
      return tl::unexpected(drained.error());
    }
    if (!*drained) continue;
    log_.flush();  // it has nothing more to say
    caught_up();
    break;
  }
  after_lines();
  return {};
}

Result<void> KernelLogFeed::follow_device() {
  // The ring is read from its start: what is new in it was there before us.
  const bool was_caught_up = log_.is_caught_up();
  log_.begin();
  begun_ = clock_.mono();
  // What can be opened can perhaps not be read: then the journal goes on standing in.
  const auto drained = kmsg_.drain(kRecordsPerWake);
  if (!drained) {
    kmsg_.detach();
    if (was_caught_up) log_.caught_up();
    return tl::unexpected(drained.error());
  }
  const int ok = sd_event_add_io(event_, &io_, kmsg_.fd(), EPOLLIN, on_ready, this);
  if (ok < 0) {
    kmsg_.detach();
    return tl::unexpected(errno_error("wait for", "/dev/kmsg", -ok));
  }
  if (journal_.wants_kernel()) {
    out_.info("the kernel log is read from /dev/kmsg, no longer from the journal",
              {{"JETMEM_SOURCE", "kernel_log"}});
  }
  journal_.follow(false, options_.process_lines);
  if (*drained) caught_up();
  after_lines();
  return {};
}

void KernelLogFeed::fall_back(const Error& why) {
  if (!root_.is_live() || journal_.wants_kernel()) return;
  out_.warning("the kernel log is looked for in the journal instead: " + printable(why.message),
               {{"JETMEM_SOURCE", "kernel_log"}});
  log_.input_changed();
  journal_.follow(true, options_.process_lines);
}

void KernelLogFeed::stop() {
  io_ = sd_event_source_unref(io_);
  kmsg_.detach();
  journal_.follow(false, false);
}

void KernelLogFeed::caught_up() {
  log_.caught_up();
  tell_earlier();
}

// Once nothing from before us is to come any more, from wherever.
void KernelLogFeed::tell_earlier() {
  const bool journal_done =
      !journal_.wants_processes() || journal_.caught_up() || !journal_.blind().empty();
  if (log_.is_caught_up() && journal_done) events_.caught_up(log_.tally());
}

void KernelLogFeed::on_journal_change() {
  if (journal_.caught_up() && journal_.wants_kernel()) log_.caught_up();
  tell_earlier();
  on_news_();
}

int KernelLogFeed::on_ready(sd_event_source*, int, std::uint32_t, void* self) {
  auto* feed = static_cast<KernelLogFeed*>(self);
  feed->drain(kRecordsPerWake);
  feed->pace();
  return 0;
}

int KernelLogFeed::on_flush(sd_event_source*, std::uint64_t, void* self) {
  auto* feed = static_cast<KernelLogFeed*>(self);
  feed->log_.flush();
  feed->after_lines();
  return 0;
}

int KernelLogFeed::on_pace(sd_event_source* timer, std::uint64_t, void* self) {
  auto* feed = static_cast<KernelLogFeed*>(self);
  if (!feed->attached()) return 0;
  const std::uint64_t before = feed->log_.counters().records;
  feed->drain(kRecordsPerPace);
  if (feed->log_.counters().records == before) {
    // Quiet: the kernel may wake us again.
    if (feed->io_ != nullptr) sd_event_source_set_enabled(feed->io_, SD_EVENT_ON);
    return 0;
  }
  sd_event_source_set_time_relative(timer, kPaceUs);
  sd_event_source_set_enabled(timer, SD_EVENT_ONESHOT);
  return 0;
}

void KernelLogFeed::pace() {
  const Nanoseconds now = clock_.mono();
  if (now - second_ >= std::chrono::seconds(1)) {
    second_ = now;
    wakes_ = 0;
  }
  // The ring's first reading is no storm.
  if (!log_.is_caught_up() || ++wakes_ <= kWakesPerSecond || io_ == nullptr) return;
  sd_event_source_set_enabled(io_, SD_EVENT_OFF);
  sd_event_source_set_time_relative(pace_timer_, kPaceUs);
  sd_event_source_set_enabled(pace_timer_, SD_EVENT_ONESHOT);
}

void KernelLogFeed::drain(std::size_t budget) {
  const auto drained = kmsg_.drain(budget);
  if (!drained) {
    io_ = sd_event_source_unref(io_);
    kmsg_.detach();
    fall_back(drained.error());
  } else if (*drained || clock_.mono() - begun_ > kLongestBacklog) {
    caught_up();
  }
  after_lines();
}

void KernelLogFeed::after_lines() {
  if (log_.holding()) {
    sd_event_source_set_time_relative(flush_timer_, kHoldUs);
    sd_event_source_set_enabled(flush_timer_, SD_EVENT_ONESHOT);
  }
  if (news_ == log_.tally().changes() || !log_.is_caught_up()) return;
  const Nanoseconds wait = last_news_ + kNewsPause - clock_.mono();
  if (wait <= Nanoseconds(0)) {
    tell_news();
    return;
  }
  sd_event_source_set_time_relative(news_timer_, static_cast<std::uint64_t>(wait.count() / 1000));
  sd_event_source_set_enabled(news_timer_, SD_EVENT_ONESHOT);
}

int KernelLogFeed::on_news_due(sd_event_source*, std::uint64_t, void* self) {
  static_cast<KernelLogFeed*>(self)->tell_news();
  return 0;
}

void KernelLogFeed::tell_news() {
  if (news_ == log_.tally().changes()) return;
  news_ = log_.tally().changes();
  last_news_ = clock_.mono();
  on_news_();
  // Not only once a round: what was told before a crash must not be told again after it.
  if (!log_.holding()) keep();
}

void KernelLogFeed::round() {
  tell_earlier();
  tell_losses();
  events_.catch_up(log_.tally());
  // What is held back is not counted yet, but its records are: the two must be kept together.
  if (!log_.holding()) keep();
}

// At most once a minute; the counters have each.
void KernelLogFeed::tell_losses() {
  const kernel_log::LogCounters& counters = log_.counters();
  if (counters.lost == told_lost_ && counters.malformed == told_malformed_) return;
  const Nanoseconds now = clock_.mono();
  if (now < next_loss_) return;
  next_loss_ = now + kKeepPause;
  if (const std::uint64_t lost = counters.lost - told_lost_; lost > 0) {
    out_.warning(std::to_string(lost) +
                     " records of the kernel log were overwritten before they were read: events "
                     "among them are not counted",
                 {{"JETMEM_SOURCE", "kernel_log"}});
  }
  if (const std::uint64_t malformed = counters.malformed - told_malformed_; malformed > 0) {
    out_.warning(std::to_string(malformed) + " records of the kernel log are not in its format",
                 {{"JETMEM_SOURCE", "kernel_log"}});
  }
  told_lost_ = counters.lost;
  told_malformed_ = counters.malformed;
}

ProbeWindow KernelLogFeed::probe_window() {
  return {[this](Nanoseconds at) { log_.tally().probe_begins(at); },
          [this](Nanoseconds at) { log_.tally().probe_ended(at); },
          [this]() -> std::optional<std::uint64_t> {
            if (!following()) return std::nullopt;
            return log_.tally().events(kernel_log::Origin::kProbe);
          }};
}

KernelLogReading KernelLogFeed::reading() {
  KernelLogReading reading;
  reading.log = &log_;
  if (kmsg_.attached()) {
    reading.input = kmsg_.is_file() ? KernelLogInput::kFile : KernelLogInput::kKmsg;
  } else if (journal_.follows_kernel()) {
    reading.input = KernelLogInput::kJournal;
  }
  if (journal_.wants_processes()) {
    reading.process_lines = journal_.follows_processes();
    reading.process_lines_read = journal_.caught_up();
    reading.process_lines_awaited = !journal_.caught_up() && journal_.blind().empty();
  }
  if (root_.is_live()) {
    const Nanoseconds offset = clock_.wall() - clock_.boot();
    const Nanoseconds moved = offset - wall_offset_;
    if (moved > kWallSlew || moved < -kWallSlew) wall_offset_ = offset;
    reading.wall_offset = wall_offset_;
  } else if (root_.facts().boot_time) {
    reading.wall_offset = std::chrono::seconds(*root_.facts().boot_time);
  }
  return reading;
}

void KernelLogFeed::finish() {
  log_.flush();
  events_.caught_up(log_.tally());
  keep(true);
}

void KernelLogFeed::restore() {
  if (root_.is_live() && options_.state_file.empty()) {
    out_.info("what is counted of the kernel log does not outlive a restart: no RUNTIME_DIRECTORY");
  }
  if (options_.state_file.empty() || !root_.facts().boot_id) return;
  auto text = read_small_file(options_.state_file);
  if (!text) {
    if (text.error().code != Errc::kAbsent) {
      out_.warning("what was counted before is not known: " + text.error().message);
    }
    return;
  }
  auto saved = kernel_log::parse_saved_log(*text);
  if (!saved) {
    out_.warning("what was counted before is not known: " + options_.state_file + ": " +
                 saved.error().message);
    return;
  }
  if (saved->boot_id != *root_.facts().boot_id) return;  // another boot, another log
  log_.resume_after(saved->last_seq, saved->last_stamp, saved->last_was_line);
  journal_.set_cursor(journal::Voice::kKernel, saved->kernel_cursor);
  journal_.set_cursor(journal::Voice::kProcesses, saved->process_cursor);
  log_.restore_lost(saved->lost, saved->lost_before_start);
  told_lost_ = saved->lost;
  log_.tally().restore(std::move(saved->tally));
  news_ = kept_ = log_.tally().changes();
}

void KernelLogFeed::keep(bool at_end) {
  if (options_.state_file.empty() || !root_.facts().boot_id) return;
  const std::uint64_t lost = log_.counters().lost + log_.counters().lost_before_start;
  const bool same =
      kept_ == log_.tally().changes() && kept_lost_ == lost && kept_written_ == events_.written();
  // Without news it is enough to say now and then how far the log was read.
  const Nanoseconds now = clock_.mono();
  if (same && !at_end && now - kept_at_ < kKeepPause) return;
  const std::string& kernel_cursor = journal_.cursor(journal::Voice::kKernel);
  const std::string& process_cursor = journal_.cursor(journal::Voice::kProcesses);
  if (same && kept_seq_ == log_.last_seq() && kept_cursors_ == kernel_cursor + process_cursor) {
    return;
  }
  kept_ = log_.tally().changes();
  kept_lost_ = lost;
  kept_written_ = events_.written();
  kept_at_ = now;
  kept_seq_ = log_.last_seq();
  kept_cursors_ = kernel_cursor + process_cursor;
  kernel_log::SavedLog saved;
  saved.boot_id = *root_.facts().boot_id;
  saved.kernel_cursor = kernel_cursor;
  saved.process_cursor = process_cursor;
  saved.last_seq = log_.last_seq();
  saved.last_stamp = log_.last_stamp();
  saved.last_was_line = log_.last_was_line();
  saved.lost = log_.counters().lost;
  saved.lost_before_start = log_.counters().lost_before_start;
  saved.tally = log_.tally().save();
  const auto written = replace_small_file(options_.state_file, to_text(saved));
  if (!written && !std::exchange(told_state_trouble_, true)) {
    out_.error("events will be counted anew after a restart: " + written.error().message);
  }
  if (written) told_state_trouble_ = false;
}

}  // namespace jetmem
