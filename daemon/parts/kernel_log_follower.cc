// SPDX-License-Identifier: Apache-2.0
#include "daemon/parts/kernel_log_follower.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/text/text.h"
#include "collectors/kernel_log/state.h"

namespace jetmem {
namespace {

// /dev/kmsg is asked for again sooner at first, in case it was only its reader that failed.
constexpr Nanoseconds kFirstRetryPause = std::chrono::milliseconds(500);
constexpr Nanoseconds kLongestRetryPause = std::chrono::minutes(1);
// Else a broken file could drown the rest of the log.
constexpr std::size_t kMaxErrorsShown = 20;

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

constexpr std::array kMessageMetrics{
    gauge("jetmem_messages", "Messages of the site's own that the kernel log is searched for."),
    gauge("jetmem_message_config_errors",
          "Errors in the site's own messages when they were last read; the journal of jetmemd and "
          "jetmem messages check list them. Messages without errors are in force."),
};

bool is_long_ago(const std::optional<std::chrono::steady_clock::time_point>& since) {
  return since && std::chrono::steady_clock::now() - *since > kHangTime;
}

bool follows_libraries(const Settings& settings, const kernel_log::SocFound& found) {
  const ProcessLines lines = settings.kernel_log.library_errors;
  return lines == ProcessLines::kAlways || (lines == ProcessLines::kAuto && found.is_tegra);
}

}  // namespace

KernelLogFollower::KernelLogFollower(DaemonContext& context, const Settings& settings,
                                     Sampling& sampling, HistoryFeed* history,
                                     std::function<void()> on_new_events)
    : context_(context),
      sampling_(sampling),
      history_(history),
      on_new_events_(std::move(on_new_events)),
      soc_(kernel_log::find_soc(context.root)),
      accept_packets_(!settings.reader.program.empty() && settings.reader.socket.empty()),
      library_errors_(context.is_live() && follows_libraries(settings, soc_)),
      // Systemd keeps it over a restart and empties it at boot: memory, not flash.
      state_file_({.directory = context.is_live() ? context.runtime_directory : "",
                   .name = "kernel-log.json",
                   .boot_id = context.root.facts().boot_id.value_or(""),
                   .what = "the counts of the kernel log",
                   .format = kernel_log::SavedLog::kFormat,
                   .max_bytes = 1U << 20},
                  context.log),
      events_(context.log, context.clock),
      log_(context.clock,
           {kernel_log::soc_named(soc_choice_name(settings.kernel_log.soc)).value_or(soc_.soc),
            settings.kernel_log.accept_user_records},
           [this](const kernel_log::Event& event, const kernel_log::Occurrence& occurrence) {
             events_.event(event, occurrence);
             if (history_ != nullptr) history_->kernel_event(event, occurrence);
           }),
      text_(log_),
      thread_([this](const KernelLogThread::Batch& batch) { on_batch(batch); }),
      journal_({.program = journal::find_journal_program()}, context.clock, context.spawner,
               {.line = [this](const kernel_log::LogLine& line) { log_.line(line); },
                .lines_done = [this] { after_lines(); },
                .state = [this](const journal::State& state) { on_journal_state(state); },
                .lost =
                    [this](const journal::Lost& lost) {
                      log_.journal_loss();
                      context_.log.warning(
                          "lines of the journal were passed over: " + printable(lost.why) +
                              (lost.count ? " (" + std::to_string(*lost.count) + " lines)" : ""),
                          {{"JETMEM_SOURCE", "kernel_log"}});
                    }}) {
  if (!soc_.problem.empty()) {
    context.log.warning(
        "unknown SoC: " + soc_.problem +
        "; SMMU faults may lack their client's name, and what NVIDIA's libraries print is not "
        "followed unless kernel_log.library_errors says so; a restart looks again");
  }
  sampling.health_options.probes = &log_.tally();
  if (context.is_live()) return;
  log_.set_captured();
  std::optional<Nanoseconds> boot;
  if (context.root.facts().boot_time) boot = std::chrono::seconds(*context.root.facts().boot_time);
  events_.set_captured(boot);
}

Result<void> KernelLogFollower::start() {
  EventLoop& loop = context_.loop;
  if (auto ok = thread_.start(loop); !ok) return ok;
  if (auto ok = flush_timer_.attach(loop, [this] { on_flush(); }); !ok) return ok;
  if (auto ok = publish_timer_.attach(loop, [this] { publish_events(); }); !ok) return ok;
  if (auto ok = journal_.attach(loop); !ok) return ok;
  restore();
  return {};
}

void KernelLogFollower::apply(const Settings& settings) {
  log_.set_accept_user_records(settings.kernel_log.accept_user_records);
  load_messages(settings.messages.directory);
  const SourceSettings* source = settings.find_source(KernelLogSource::kInfo.name);
  if (source != nullptr && !source->enabled) stop();
}

void KernelLogFollower::load_messages(const std::string& directory) {
  std::shared_ptr<const SiteMessages> messages = SiteMessages::load(directory);
  const std::vector<ConfigError>& errors = messages->errors();
  for (std::size_t i = 0; i < std::min(errors.size(), kMaxErrorsShown); ++i) {
    context_.log.error("messages: " + describe(errors[i]),
                       {{"JETMEM_CONFIG_FILE", errors[i].file}});
  }
  if (errors.size() > kMaxErrorsShown) {
    context_.log.error("messages: and " + std::to_string(errors.size() - kMaxErrorsShown) +
                       " more errors: jetmem messages check lists them all");
  }
  if (!errors.empty()) {
    context_.log.error(
        "the messages of " + printable(directory) +
        " have errors; those without are in force: " + std::to_string(messages->size()));
  }
  site_messages_ = messages->size();
  message_errors_ = errors.size();
  set_site_messages(std::move(messages));
  if (following()) show();  // the series of those that are new, and no longer of others
}

std::span<const Descriptor> KernelLogFollower::metrics() { return kMessageMetrics; }

void KernelLogFollower::write(SampleWriter& out) const {
  out.put(kMessageMetrics[0], site_messages_);
  out.put(kMessageMetrics[1], message_errors_);
}

void KernelLogFollower::read(reader::Client& reader) {
  if (!sampling_.sampler->admit(sampling_.kernel_log_index)) return;
  check_thread();
  report_backlog();
  log_losses();
  events_.flush_due(log_.tally());
  // Lines that still wait are not counted yet, but their records are: both must be saved together.
  if (!log_.holding()) keep();
  if (following()) show();
  if (auto error = hang()) return settle(tl::unexpected(std::move(*error)));
  if (is_attaching()) return;
  const Nanoseconds now = context_.clock.boot();
  if (context_.is_live()) {
    if (now - last_try_ >= kLongestRetryPause) pause_ = kFirstRetryPause;
    if (attached_ || now - last_try_ < pause_) return;
    pause_ = std::min(pause_ * 2, kLongestRetryPause);
    last_try_ = now;
  }
  // A captured file may have grown, or another may stand in its place: it is asked for each time.
  reader.request(KernelLogSource::kInfo.name);
}

void KernelLogFollower::on_answer(Result<const Snapshot*> snapshot, reader::Client& reader) {
  // Switched off while the answer was on its way.
  if (is_disabled()) return;
  Result<void> opened;
  if (!snapshot) {
    opened = tl::unexpected(std::move(snapshot.error()));
  } else if ((*snapshot)->size() == 0) {
    opened = fail(Errc::kUnavailable, "jetmem-reader named no file");
  } else if (const FileText file = (**snapshot)[0]; !file.ok()) {
    opened = tl::unexpected(file.as_error());
  } else {
    opened = attach(reader.take_descriptor());
    if (opened) return;  // whether it can be read is known in a moment
  }
  settle(std::move(opened));
}

bool KernelLogFollower::is_disabled() const {
  return sampling_.sampler->status(sampling_.kernel_log_index).state == SourceState::kDisabled;
}

void KernelLogFollower::settle(Result<void> opened) {
  if (is_disabled()) return;
  if (!opened) fall_back(opened.error());
  if (following()) return show();
  Error error{Errc::kIo, "the kernel log can no longer be read"};
  if (!opened) error = std::move(opened.error());
  const std::string& journal = journal_.state().blind;
  if (!journal.empty()) error.message += "; nor can the journal be read: " + printable(journal);
  sampling_.sampler->reject(sampling_.kernel_log_index, std::move(error));
}

void KernelLogFollower::show() {
  sampling_.kernel_log->set_reading(reading());
  sampling_.sampler->accept(sampling_.kernel_log_index, Snapshot(), Nanoseconds(0));
}

void KernelLogFollower::show_news() {
  if (!following()) return;
  show();
  on_new_events_();
}

void KernelLogFollower::on_attached(Result<void> opened) {
  const SourceState before = sampling_.sampler->status(sampling_.kernel_log_index).state;
  settle(std::move(opened));
  // What changes a second later anyway is no reason for a page of its own.
  if (sampling_.sampler->status(sampling_.kernel_log_index).state != before) on_new_events_();
}

Result<void> KernelLogFollower::attach(UniqueFd fd) {
  if (!fd.valid()) return fail(Errc::kUnavailable, "jetmem-reader sent no descriptor");
  attaching_since_ = std::chrono::steady_clock::now();
  using Use = KernelLogThread::Use;
  const Use device = accept_packets_ ? Use::kPackets : Use::kDevice;
  auto taken = thread_.take(std::move(fd), context_.root.is_live() ? device : Use::kFile);
  if (!taken) attaching_since_.reset();
  return taken;
}

std::optional<Error> KernelLogFollower::hang() const {
  if (!is_long_ago(thread_.waiting_since()) && !is_long_ago(thread_.pinged_since()) &&
      !is_long_ago(attaching_since_)) {
    return std::nullopt;
  }
  return Error{Errc::kTimeout,
               "what jetmem-reader handed over as the kernel log does not let itself be read: its "
               "thread hangs in the kernel"};
}

void KernelLogFollower::on_batch(const KernelLogThread::Batch& batch) {
  if (!attaching_since_ && !attached_) return;  // it was switched off meanwhile
  if (batch.is_file) {
    take_file(batch);
  } else {
    take_device(batch);
  }
}

void KernelLogFollower::take_file(const KernelLogThread::Batch& batch) {
  attaching_since_.reset();
  attached_ = !batch.error;
  batch.each([this](std::string_view text) { text_.take(text, true); });
  if (batch.is_drained) {
    log_.flush();  // it has nothing more to say
    caught_up();
  }
  after_lines();
  if (batch.error) {
    on_attached(tl::unexpected(*batch.error));
  } else if (batch.is_drained) {
    on_attached({});
  }
}

void KernelLogFollower::take_device(const KernelLogThread::Batch& batch) {
  const bool is_new = attaching_since_.has_value();
  attaching_since_.reset();
  // What can be opened can perhaps not be read: then the journal goes on standing in.
  if (is_new && batch.error && batch.bytes.empty()) {
    on_attached(tl::unexpected(*batch.error));
    return;
  }
  if (is_new) {
    // The ring is read from its start: what is new in it was there before us.
    log_.begin();
    begun_ = context_.clock.mono();
    attached_ = true;
    next_ping_ = std::chrono::steady_clock::now() + kFirstPing;
  }
  batch.each([this](std::string_view text) { text_.take(text, false); });
  if (is_new) {
    if (journal_.needs_kernel_log()) {
      context_.log.info("the kernel log is read from /dev/kmsg, no longer from the journal",
                        {{"JETMEM_SOURCE", "kernel_log"}});
    }
    journal_.follow(false, library_errors_);
  }
  if (batch.error) {
    attached_ = false;
    fall_back(*batch.error);
  } else if (batch.is_drained || context_.clock.mono() - begun_ > kLongestBacklog) {
    caught_up();
  }
  after_lines();
  if (is_new) on_attached({});
}

void KernelLogFollower::fall_back(const Error& why) {
  if (!context_.root.is_live() || journal_.needs_kernel_log()) return;
  context_.log.warning(
      "the kernel log is looked for in the journal instead: " + printable(why.message),
      {{"JETMEM_SOURCE", "kernel_log"}});
  log_.input_changed();
  journal_.follow(true, library_errors_);
}

void KernelLogFollower::stop() {
  thread_.drop();
  attaching_since_.reset();
  attached_ = false;
  journal_.follow(false, false);
}

void KernelLogFollower::caught_up() {
  log_.caught_up();
  report_backlog();
}

// Once all lines from before us were read, from wherever.
void KernelLogFollower::report_backlog() {
  const journal::State& journal = journal_.state();
  const bool journal_done =
      !journal_.needs_process_lines() || journal.caught_up || !journal.blind.empty();
  if (log_.is_caught_up() && journal_done) events_.caught_up(log_.tally());
}

void KernelLogFollower::set_journal_needles() {
  std::vector<std::string> needles;
  if (const kernel_log::Catalogue* site = messages_->catalogue(); site != nullptr) {
    for (const kernel_log::Message& message : site->messages()) {
      if (!message.program) continue;
      for (const kernel_log::Form& form : message.forms) needles.emplace_back(form.anchor());
    }
  }
  journal_.set_needles(std::move(needles));
}

void KernelLogFollower::on_journal_state(const journal::State& state) {
  if (state.blind != logged_blind_ && (!state.blind.empty() || state.received)) {
    logged_blind_ = state.blind;
    if (state.blind.empty()) {
      context_.log.info("the journal is followed", {{"JETMEM_SOURCE", "kernel_log"}});
    } else {
      context_.log.warning("the journal cannot be followed: " + printable(state.blind),
                           {{"JETMEM_SOURCE", "kernel_log"}});
    }
  }
  if (state.caught_up && journal_.needs_kernel_log()) log_.caught_up();
  report_backlog();
  show_news();
}

void KernelLogFollower::set_site_messages(std::shared_ptr<const SiteMessages> messages) {
  if (messages_ && messages_->has_same_text(*messages)) return;
  // Twice in the lifetime of one event: it is not worth more.
  if (former_messages_) log_.flush();
  former_messages_ = std::exchange(messages_, std::move(messages));
  log_.set_site_messages(messages_->catalogue());
  set_journal_needles();
  after_lines();
}

void KernelLogFollower::on_flush() {
  log_.flush();
  after_lines();
}

void KernelLogFollower::after_lines() {
  if (log_.holding()) {
    flush_timer_.set(kHold);
  } else {
    former_messages_.reset();
  }
  if (new_events_ == log_.tally().changes() || !log_.is_caught_up()) return;
  const Nanoseconds wait = last_publish_ + kTallyInterval - context_.clock.mono();
  if (wait <= Nanoseconds(0)) {
    publish_events();
    return;
  }
  publish_timer_.set(wait);
}

void KernelLogFollower::publish_events() {
  if (new_events_ == log_.tally().changes()) return;
  new_events_ = log_.tally().changes();
  last_publish_ = context_.clock.mono();
  show_news();
  // Not only once a cycle: what was logged before a crash must not be logged again after it.
  if (!log_.holding()) keep();
}

// Where it hangs, hang() says so until the thread comes back; then the device is asked for anew.
void KernelLogFollower::check_thread() {
  if (!attached_ || !context_.root.is_live()) return;
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

// At most once a minute; the counters have each.
void KernelLogFollower::log_losses() {
  const kernel_log::LogCounters& counters = log_.counters();
  if (counters.lost == logged_lost_ && counters.malformed == logged_malformed_) return;
  const Nanoseconds now = context_.clock.mono();
  if (now < next_loss_) return;
  next_loss_ = now + kKeepPause;
  if (const std::uint64_t lost = counters.lost - logged_lost_; lost > 0) {
    context_.log.warning(
        std::to_string(lost) +
            " records of the kernel log were overwritten before they were read: events "
            "among them are not counted",
        {{"JETMEM_SOURCE", "kernel_log"}});
  }
  if (const std::uint64_t malformed = counters.malformed - logged_malformed_; malformed > 0) {
    context_.log.warning(
        std::to_string(malformed) + " records of the kernel log are not in its format",
        {{"JETMEM_SOURCE", "kernel_log"}});
  }
  logged_lost_ = counters.lost;
  logged_malformed_ = counters.malformed;
}

ProbeWindow KernelLogFollower::probe_window() {
  return {[this](Nanoseconds at) { log_.tally().probe_begins(at); },
          [this](Nanoseconds at) { log_.tally().probe_ended(at); },
          [this]() -> std::optional<std::uint64_t> {
            if (!following()) return std::nullopt;
            return log_.tally().events(kernel_log::Origin::kProbe);
          }};
}

KernelLogReading KernelLogFollower::reading() {
  KernelLogReading reading;
  reading.log = &log_;
  if (attached_) {
    reading.input = context_.root.is_live() ? KernelLogInput::kKmsg : KernelLogInput::kFile;
  } else if (journal_follows_kernel()) {
    reading.input = KernelLogInput::kJournal;
  }
  if (journal_.needs_process_lines()) {
    const journal::State& journal = journal_.state();
    reading.library_errors = journal.received;
    reading.process_lines_read = journal.caught_up;
    reading.process_lines_awaited = !journal.caught_up && journal.blind.empty();
  }
  if (context_.root.is_live()) {
    const Nanoseconds offset = context_.clock.wall() - context_.clock.boot();
    const Nanoseconds moved = offset - wall_offset_;
    if (moved > kLogWallSlew || moved < -kLogWallSlew) wall_offset_ = offset;
    reading.wall_offset = wall_offset_;
  } else if (context_.root.facts().boot_time) {
    reading.wall_offset = std::chrono::seconds(*context_.root.facts().boot_time);
  }
  return reading;
}

void KernelLogFollower::finish() {
  log_.flush();
  events_.caught_up(log_.tally());
  keep(true);
}

void KernelLogFollower::restore() {
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

void KernelLogFollower::keep(bool at_end) {
  if (!state_file_.is_enabled()) return;
  const std::uint64_t lost = log_.counters().lost + log_.counters().lost_before_start;
  const bool same =
      kept_ == log_.tally().changes() && kept_lost_ == lost && kept_written_ == events_.written();
  // Without news it is enough to say now and then how far the log was read.
  const Nanoseconds now = context_.clock.mono();
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
