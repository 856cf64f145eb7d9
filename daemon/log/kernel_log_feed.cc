// SPDX-License-Identifier: Apache-2.0
#include "daemon/log/kernel_log_feed.h"

#include <chrono>
#include <utility>

#include "base/text/text.h"
#include "collectors/kernel_log/state.h"

namespace jetmem {
namespace {

// The lines of one event come within milliseconds, on a slow serial console within some tens.
constexpr Nanoseconds kHold = std::chrono::milliseconds(40);
// In a storm a page is made at most this often.
constexpr Nanoseconds kTallyInterval = std::chrono::milliseconds(250);
// A log that grows faster than it is read has no end; its events must be shown nevertheless.
constexpr Nanoseconds kLongestBacklog = std::chrono::seconds(30);
// For a thread to take a descriptor and to look at it, on a busy machine.
constexpr Nanoseconds kHangTime = std::chrono::seconds(3);
// Whether the thread still reads; at first sooner, as what was just handed over is least known.
constexpr Nanoseconds kFirstPing = std::chrono::seconds(1);
constexpr Nanoseconds kPingPause = std::chrono::seconds(30);
constexpr Nanoseconds kKeepPause = std::chrono::minutes(1);
// A wall clock that is slewed must not move every timestamp at each scrape.
constexpr Nanoseconds kLogWallSlew = std::chrono::seconds(1);

bool is_long_ago(const std::optional<std::chrono::steady_clock::time_point>& since) {
  return since && std::chrono::steady_clock::now() - *since > kHangTime;
}

}  // namespace

KernelLogFeed::KernelLogFeed(KernelLogFeedOptions options, const Root& root, const Clock& clock,
                             Spawner& spawner, Log& log, std::function<void()> on_new_events)
    : options_(std::move(options)),
      root_(root),
      clock_(clock),
      out_(log),
      on_new_events_(std::move(on_new_events)),
      state_file_({.directory = options_.runtime_directory,
                   .name = "kernel-log.json",
                   .boot_id = root.facts().boot_id.value_or(""),
                   .what = "the counts of the kernel log",
                   .format = kernel_log::SavedLog::kFormat,
                   .max_bytes = 1U << 20},
                  log),
      events_(log, clock),
      log_(clock, {options_.soc, options_.accept_user_records},
           [this](const kernel_log::Event& event, const kernel_log::Occurrence& occurrence) {
             events_.event(event, occurrence);
             if (options_.on_event) options_.on_event(event, occurrence);
           }),
      text_(log_),
      thread_([this](const KernelLogThread::Batch& batch) { on_batch(batch); }),
      journal_(
          clock, spawner, log_, log, [this] { after_lines(); }, [this] { on_journal_change(); }) {
  if (root_.is_live()) return;
  log_.set_captured();
  std::optional<Nanoseconds> boot;
  if (root_.facts().boot_time) boot = std::chrono::seconds(*root_.facts().boot_time);
  events_.set_captured(boot);
}

Result<void> KernelLogFeed::start(EventLoop& loop) {
  if (auto ok = thread_.start(loop); !ok) return ok;
  if (auto ok = flush_timer_.attach(loop, [this] { on_flush(); }); !ok) return ok;
  if (auto ok = publish_timer_.attach(loop, [this] { publish_events(); }); !ok) return ok;
  if (auto ok = journal_.start(loop); !ok) return ok;
  restore();
  return {};
}

Result<void> KernelLogFeed::attach(UniqueFd fd) {
  if (!fd.valid()) return fail(Errc::kUnavailable, "jetmem-reader sent no descriptor");
  attaching_since_ = std::chrono::steady_clock::now();
  using Use = KernelLogThread::Use;
  const Use device = options_.accept_packets ? Use::kPackets : Use::kDevice;
  auto taken = thread_.take(std::move(fd), root_.is_live() ? device : Use::kFile);
  if (!taken) attaching_since_.reset();
  return taken;
}

std::optional<Error> KernelLogFeed::hang() const {
  if (!is_long_ago(thread_.waiting_since()) && !is_long_ago(thread_.pinged_since()) &&
      !is_long_ago(attaching_since_)) {
    return std::nullopt;
  }
  return Error{Errc::kTimeout,
               "what jetmem-reader handed over as the kernel log does not let itself be read: its "
               "thread hangs in the kernel"};
}

void KernelLogFeed::on_batch(const KernelLogThread::Batch& batch) {
  if (!attaching_since_ && !attached_) return;  // it was switched off meanwhile
  if (batch.is_file) {
    take_file(batch);
  } else {
    take_device(batch);
  }
}

void KernelLogFeed::take_file(const KernelLogThread::Batch& batch) {
  attaching_since_.reset();
  attached_ = !batch.error;
  batch.each([this](std::string_view text) { text_.take(text, true); });
  if (batch.is_drained) {
    log_.flush();  // it has nothing more to say
    caught_up();
  }
  after_lines();
  if (batch.error) {
    options_.on_attached(tl::unexpected(*batch.error));
  } else if (batch.is_drained) {
    options_.on_attached({});
  }
}

void KernelLogFeed::take_device(const KernelLogThread::Batch& batch) {
  const bool is_new = attaching_since_.has_value();
  attaching_since_.reset();
  // What can be opened can perhaps not be read: then the journal goes on standing in.
  if (is_new && batch.error && batch.bytes.empty()) {
    options_.on_attached(tl::unexpected(*batch.error));
    return;
  }
  if (is_new) {
    // The ring is read from its start: what is new in it was there before us.
    log_.begin();
    begun_ = clock_.mono();
    attached_ = true;
    next_ping_ = std::chrono::steady_clock::now() + kFirstPing;
  }
  batch.each([this](std::string_view text) { text_.take(text, false); });
  if (is_new) {
    if (journal_.needs_kernel_log()) {
      out_.info("the kernel log is read from /dev/kmsg, no longer from the journal",
                {{"JETMEM_SOURCE", "kernel_log"}});
    }
    journal_.follow(false, options_.library_errors);
  }
  if (batch.error) {
    attached_ = false;
    fall_back(*batch.error);
  } else if (batch.is_drained || clock_.mono() - begun_ > kLongestBacklog) {
    caught_up();
  }
  after_lines();
  if (is_new) options_.on_attached({});
}

void KernelLogFeed::fall_back(const Error& why) {
  if (!root_.is_live() || journal_.needs_kernel_log()) return;
  out_.warning("the kernel log is looked for in the journal instead: " + printable(why.message),
               {{"JETMEM_SOURCE", "kernel_log"}});
  log_.input_changed();
  journal_.follow(true, options_.library_errors);
}

void KernelLogFeed::stop() {
  thread_.drop();
  attaching_since_.reset();
  attached_ = false;
  journal_.follow(false, false);
}

void KernelLogFeed::caught_up() {
  log_.caught_up();
  report_backlog();
}

// Once all lines from before us were read, from wherever.
void KernelLogFeed::report_backlog() {
  const bool journal_done =
      !journal_.needs_process_lines() || journal_.caught_up() || !journal_.blind().empty();
  if (log_.is_caught_up() && journal_done) events_.caught_up(log_.tally());
}

void KernelLogFeed::on_journal_change() {
  if (journal_.caught_up() && journal_.needs_kernel_log()) log_.caught_up();
  report_backlog();
  on_new_events_();
}

void KernelLogFeed::set_site_messages(std::shared_ptr<const SiteMessages> messages) {
  if (messages_ && messages_->has_same_text(*messages)) return;
  // Twice in the lifetime of one event: it is not worth more.
  if (former_messages_) log_.flush();
  former_messages_ = std::exchange(messages_, std::move(messages));
  log_.set_site_messages(messages_->catalogue());
  journal_.set_site_messages(messages_->catalogue());
  after_lines();
}

void KernelLogFeed::on_flush() {
  log_.flush();
  after_lines();
}

void KernelLogFeed::after_lines() {
  if (log_.holding()) {
    flush_timer_.set(kHold);
  } else {
    former_messages_.reset();
  }
  if (new_events_ == log_.tally().changes() || !log_.is_caught_up()) return;
  const Nanoseconds wait = last_publish_ + kTallyInterval - clock_.mono();
  if (wait <= Nanoseconds(0)) {
    publish_events();
    return;
  }
  publish_timer_.set(wait);
}

void KernelLogFeed::publish_events() {
  if (new_events_ == log_.tally().changes()) return;
  new_events_ = log_.tally().changes();
  last_publish_ = clock_.mono();
  on_new_events_();
  // Not only once a cycle: what was logged before a crash must not be logged again after it.
  if (!log_.holding()) keep();
}

// Where it hangs, hang() says so until the thread comes back; then the device is asked for anew.
void KernelLogFeed::check_thread() {
  if (!attached_ || !root_.is_live()) return;
  if (is_long_ago(thread_.pinged_since())) {
    attached_ = false;
    thread_.drop();
    return;
  }
  const auto now = std::chrono::steady_clock::now();
  if (now < next_ping_) return;
  next_ping_ = now + kPingPause;
  thread_.ping();
}

void KernelLogFeed::cycle() {
  check_thread();
  report_backlog();
  log_losses();
  events_.flush_due(log_.tally());
  // Lines that still wait are not counted yet, but their records are: both must be saved together.
  if (!log_.holding()) keep();
}

// At most once a minute; the counters have each.
void KernelLogFeed::log_losses() {
  const kernel_log::LogCounters& counters = log_.counters();
  if (counters.lost == logged_lost_ && counters.malformed == logged_malformed_) return;
  const Nanoseconds now = clock_.mono();
  if (now < next_loss_) return;
  next_loss_ = now + kKeepPause;
  if (const std::uint64_t lost = counters.lost - logged_lost_; lost > 0) {
    out_.warning(std::to_string(lost) +
                     " records of the kernel log were overwritten before they were read: events "
                     "among them are not counted",
                 {{"JETMEM_SOURCE", "kernel_log"}});
  }
  if (const std::uint64_t malformed = counters.malformed - logged_malformed_; malformed > 0) {
    out_.warning(std::to_string(malformed) + " records of the kernel log are not in its format",
                 {{"JETMEM_SOURCE", "kernel_log"}});
  }
  logged_lost_ = counters.lost;
  logged_malformed_ = counters.malformed;
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
  if (attached_) {
    reading.input = root_.is_live() ? KernelLogInput::kKmsg : KernelLogInput::kFile;
  } else if (journal_.follows_kernel()) {
    reading.input = KernelLogInput::kJournal;
  }
  if (journal_.needs_process_lines()) {
    reading.library_errors = journal_.follows_processes();
    reading.process_lines_read = journal_.caught_up();
    reading.process_lines_awaited = !journal_.caught_up() && journal_.blind().empty();
  }
  if (root_.is_live()) {
    const Nanoseconds offset = clock_.wall() - clock_.boot();
    const Nanoseconds moved = offset - wall_offset_;
    if (moved > kLogWallSlew || moved < -kLogWallSlew) wall_offset_ = offset;
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
  auto saved = state_file_.load(kernel_log::parse_saved_log);
  if (!saved) return;
  log_.resume_after(saved->last_seq, saved->last_stamp, saved->last_was_line);
  journal_.set_cursor(journal::Voice::kKernel, saved->kernel_cursor);
  journal_.set_cursor(journal::Voice::kProcesses, saved->process_cursor);
  log_.restore_lost(saved->lost, saved->lost_before_start);
  logged_lost_ = saved->lost;
  log_.tally().restore(std::move(saved->tally));
  new_events_ = kept_ = log_.tally().changes();
}

void KernelLogFeed::keep(bool at_end) {
  if (!state_file_.is_enabled()) return;
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
  saved.kernel_cursor = kernel_cursor;
  saved.process_cursor = process_cursor;
  saved.last_seq = log_.last_seq();
  saved.last_stamp = log_.last_stamp();
  saved.last_was_line = log_.last_was_line();
  saved.lost = log_.counters().lost;
  saved.lost_before_start = log_.counters().lost_before_start;
  saved.tally = log_.tally().save();
  state_file_.store(to_text(saved));
}

}  // namespace jetmem
