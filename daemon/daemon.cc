#include "daemon/daemon.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/text.h"
#include "config/restart.h"
#include "daemon/settings_digest.h"
#include "daemon/system_state.h"

namespace jetmem {
namespace {

// What is absent or denied may come later (debugfs mounted, a driver loaded), but it is no use to
// ask each second.
constexpr Nanoseconds kRetryInterval = std::chrono::minutes(1);
// /dev/kmsg is asked for again sooner at first, in case it was only its reader that failed.
constexpr Nanoseconds kFirstKmsgPause = std::chrono::milliseconds(500);
// A loop away for this many of its pauses, and for longer than the limit, is stuck: its last page
// is no longer served.
constexpr int kStallRounds = 5;
constexpr Nanoseconds kStallLimit = std::chrono::seconds(10);
LogLevel effective_level(LogLevel configured, int verbosity) {
  const int level = std::max(0, static_cast<int>(configured) - verbosity);
  return static_cast<LogLevel>(level);
}

// How long a stop may wait for systemd to say whether the system is being shut down.
constexpr std::chrono::milliseconds kSystemStatePatience{1000};
// And how long, when all else has ended, for the text file to be taken away.
constexpr std::chrono::milliseconds kTextfilePatience{500};

boot::RunEnd run_end(SystemState state) {
  if (state == SystemState::kStopping) return boot::RunEnd::kShutdown;
  return state == SystemState::kRunsOn ? boot::RunEnd::kStopped : boot::RunEnd::kNotTold;
}

}  // namespace

bool Daemon::apply(const Settings& settings) {
  settings_ = settings;
  log_.set_level(effective_level(settings.log.level, options_.verbosity));
  health_options_.frame = settings.probe.frame;
  reader_->set_limits(settings.reader.deadline, settings.reader.max_wedged);
  kernel_log_feed_->set_accept_user_records(settings.kernel_log.accept_user_records);
  for (std::size_t i = 0; i < sampler_->size(); ++i) {
    const SourceSettings* source = settings.find_source(sampler_->info(i).name);
    if (source == nullptr) continue;
    sampler_->set_interval(i, source->interval);
    sampler_->set_enabled(i, source->enabled);
    if (i == kernel_log_index_ && !source->enabled) kernel_log_feed_->stop();
    set_retry_interval(i);
  }
  if (alert_actions_) alert_actions_->apply(settings);
  if (capture_) capture_->apply(settings);
  const bool rules_taken = judge_->apply(settings.rules);
  settings_.rules = judge_->settings();
  if (rules_taken && alert_actions_) alert_actions_->begin_with(*judge_->engine());
  schedule_.set_interval(judge_entry_, judge_->interval(), clock_.boot());
  for (const std::unique_ptr<Program>& program : programs_) {
    program->apply(settings);
    const SourceSettings* source = settings.find_source(program->source());
    if (source != nullptr && !source->enabled) program->stop();
  }
  return rules_taken;
}

// What takes so long in the real world, on the daemon's clock.
Nanoseconds Daemon::at_speed(Nanoseconds real) const {
  return Nanoseconds(std::llround(static_cast<double>(real.count()) * clock_.speed()));
}

int Daemon::run() {
  if (!set_up_events()) return 1;
  if (history_) history_->start();
  if (boot_keeper_) boot_keeper_->start();
  start_textfile();
  start_web();
  round(clock_.boot());
  update_status_text();
  log_.info(service_manager_.status_text());
  service_manager_.ready();
  arm_timer();
  const int status = sd_event_loop(event_);
  if (status < 0) {
    log_.error("the event loop failed and cannot go on: " +
               errno_error("wait in", "sd-event", -status).message + "; ends, to be started anew");
  }
  service_manager_.stopping();
  if (textfile_) textfile_->begin_stop();
  kernel_log_feed_->finish();
  log_.info("stopping");
  judge_->finish();
  if (boot_keeper_) boot_keeper_->take_last_marks();  // which are the recorder's too
  if (history_) history_->finish(table_);
  if (boot_keeper_ && boot_keeper_->keeps()) {
    boot_keeper_->finish(run_end(ask_system_state(kSystemStatePatience)));
  }
  // Its thread still reads there. The process ends soon, and takes both along.
  if (web_ && !web_->stop()) (void)history_.release();
  reader_.reset();
  for (const std::unique_ptr<Program>& program : programs_) program->stop();
  if (alert_actions_) alert_actions_->finish();
  if (capture_) capture_->stop();
  if (textfile_) textfile_->finish(kTextfilePatience);
  return status < 0 ? 1 : status;
}

void Daemon::arm_timer() {
  next_due_ = schedule_.next();
  const auto at = std::chrono::ceil<std::chrono::microseconds>(clock_.real_until(next_due_));
  sd_event_source_set_time(timer_, static_cast<std::uint64_t>(at.count()));
  sd_event_source_set_enabled(timer_, SD_EVENT_ONESHOT);
}

void Daemon::round(Nanoseconds now) {
  const Nanoseconds begin = clock_.mono();
  // The slack is granted, not late.
  counters_.last_lag = Nanoseconds(0);
  if (next_due_ > Nanoseconds(0)) {
    counters_.last_lag = std::max(now - next_due_ - kTimerSlack, Nanoseconds(0));
  }
  schedule_.take_due(now, due_);
  // Cheap sources first: the gates of the dear ones look at them.
  for (const Access access :
       {Access::kDirect, Access::kReader, Access::kStream, Access::kProgram}) {
    for (const std::size_t i : due_) {
      if (i < sampler_->size() && sampler_->info(i).access == access) read_source(i);
    }
  }
  if (std::find(due_.begin(), due_.end(), processes_entry_) != due_.end()) {
    SampleWriter out(table_, processes_section_, now);
    ProcessUsage::write(out, own_facts_, ::getpid(), "jetmemd");
    if (reader_->pid() > 0) {
      ProcessUsage::write(out, own_facts_, reader_->pid(), "jetmem-reader");
    }
    if (kernel_log_feed_->journal_pid() > 0) {
      ProcessUsage::write(out, own_facts_, kernel_log_feed_->journal_pid(), "jetmem-journal");
    }
    for (const std::unique_ptr<Program>& program : programs_) {
      if (program->pid() > 0) ProcessUsage::write(out, own_facts_, program->pid(), program->name());
    }
    // What is new is shown at once.
    if (boot_keeper_ && boot_keeper_->round()) read_source(boot_index_);
  }
  ++counters_.rounds;
  counters_.missed_rounds = schedule_.missed();
  counters_.last_round_time = clock_.mono() - begin;
  if (std::find(due_.begin(), due_.end(), judge_entry_) != due_.end()) judge_due_ = true;
  publish(now);
  readiness_.beat(now);
  service_manager_.progressed(clock_.mono());
}

void Daemon::read_source(std::size_t i) {
  if (i == kernel_log_index_) {
    read_kernel_log();
  } else if (sampler_->info(i).access == Access::kDirect) {
    sampler_->collect(i);
  } else if (sampler_->info(i).access == Access::kProgram) {
    run_program(i);
  } else if (sampler_->admit(i)) {
    reader_->request(sampler_->info(i).name);
  }
}

void Daemon::run_program(std::size_t i) {
  if (!root_.is_live()) return sampler_->collect(i);
  // No gate: its program knows when not to run.
  if (sampler_->status(i).state == SourceState::kDisabled) return;
  for (const std::unique_ptr<Program>& program : programs_) {
    if (program->source() == sampler_->info(i).name) program->due();
  }
}

void Daemon::read_kernel_log() {
  if (!sampler_->admit(kernel_log_index_)) return;
  kernel_log_feed_->round();
  if (kernel_log_feed_->following()) show_kernel_log();
  const Nanoseconds now = clock_.boot();
  if (root_.is_live()) {
    if (now - last_kmsg_try_ >= kRetryInterval) kmsg_pause_ = kFirstKmsgPause;
    if (kernel_log_feed_->attached() || now - last_kmsg_try_ < kmsg_pause_) return;
    kmsg_pause_ = std::min(kmsg_pause_ * 2, kRetryInterval);
    last_kmsg_try_ = now;
  }
  // A captured file may have grown, or another may stand in its place: it is asked for each time.
  reader_->request(KernelLogSource::kInfo.name);
}

void Daemon::on_kernel_log_answer(Result<const Snapshot*> snapshot) {
  // Switched off while the answer was on its way.
  if (sampler_->status(kernel_log_index_).state == SourceState::kDisabled) return;
  Result<void> opened;
  if (!snapshot) {
    opened = tl::unexpected(std::move(snapshot.error()));
  } else if ((*snapshot)->size() == 0) {
    opened = fail(Errc::kUnavailable, "jetmem-reader named no file");
  } else if (const FileText file = (**snapshot)[0]; !file.ok()) {
    opened = tl::unexpected(file.as_error());
  } else {
    opened = kernel_log_feed_->attach(reader_->take_descriptor());
  }
  if (!opened) kernel_log_feed_->fall_back(opened.error());
  if (kernel_log_feed_->following()) {
    show_kernel_log();
    return;
  }
  Error error{Errc::kIo, "the kernel log can no longer be read"};
  if (!opened) error = std::move(opened.error());
  const std::string& journal = kernel_log_feed_->journal_trouble();
  if (!journal.empty()) error.message += "; nor is the journal of use: " + printable(journal);
  sampler_->reject(kernel_log_index_, std::move(error));
}

void Daemon::show_kernel_log() {
  kernel_log_->set_reading(kernel_log_feed_->reading());
  sampler_->accept(kernel_log_index_, Snapshot(), Nanoseconds(0));
}

void Daemon::make_up_round() {
  const Nanoseconds now = clock_.boot();
  if (now < next_due_) return;
  round(now);
  arm_timer();
}

void Daemon::on_answer(std::string_view source, Result<const Snapshot*> snapshot,
                       Nanoseconds read_time) {
  for (std::size_t i = 0; i < sampler_->size(); ++i) {
    if (sampler_->info(i).name != source) continue;
    if (i == kernel_log_index_) {
      on_kernel_log_answer(std::move(snapshot));
      break;
    }
    if (snapshot) {
      if (sampler_->info(i).access == Access::kProgram) told_texts_->tell(source, *snapshot);
      sampler_->accept(i, **snapshot, read_time);
    } else {
      // What was left out on purpose says nothing against what came before.
      if (snapshot.error().code != Errc::kSkipped) told_texts_->tell(source, nullptr);
      sampler_->reject(i, std::move(snapshot.error()));
    }
  }
  publish(clock_.boot());
}

void Daemon::publish(Nanoseconds now) {
  sampler_->finish_round();
  source_log_.catch_up();
  tell_reader_kind();
  const reader::ClientCounters& reader = reader_->counters();
  counters_.reader_starts = reader.starts;
  counters_.reader_timeouts = reader.timeouts;
  counters_.reader_failures = reader.failures;
  counters_.readers_wedged = reader_->wedged();
  counters_.log_written = log_.written();
  counters_.log_dropped = log_.dropped();
  counters_.log_failed = log_.failed();
  counters_.log_withheld =
      source_log_.withheld() + kernel_log_feed_->withheld() + judge_->withheld();
  if (alert_actions_) counters_.log_withheld += alert_actions_->withheld();
  if (capture_) counters_.log_withheld += capture_->withheld();
  if (textfile_) counters_.log_withheld += textfile_->withheld();
  for (const std::unique_ptr<Program>& program : programs_) {
    counters_.log_withheld += program->withheld();
  }
  counters_.reader_from_socket = reader_->kind() == reader::ReaderKind::kSocket;
  counters_.reader_spawned = reader_->kind() == reader::ReaderKind::kSpawned;
  {
    SampleWriter out(table_, self_section_, now);
    write_self(out, counters_);
    for (const std::unique_ptr<Program>& program : programs_) program->write(out);
    if (textfile_) textfile_->write(out);
  }
  bool judged = false;
  if (judge_due_) {
    judged = judge_->step(table_, false, now - now % judge_->interval());
    judge_due_ = !judged;
    judge_early_ = judge_due_;
  } else if (judge_early_ && judge_->may_step_early()) {
    // What the kernel has just logged need not wait for the grid.
    judged = judge_->step(table_, true);
    judge_early_ = false;
  }
  if (judged) publish_alerts();
  {
    SampleWriter out(table_, judge_section_, now);
    judge_->write(out);
    if (alert_actions_) alert_actions_->write(out);
    if (capture_) capture_->write(out);
  }
  if (history_) {
    history_->round(table_);
    SampleWriter out(table_, history_section_, now);
    history_->write(out);
  }
  told_sources_.tell(*sampler_);
  // Numbered by itself, not by the round: an answer of the reader makes a new page of the same
  // round, and whoever caches by the number must see it.
  Page& page = pages_.back();
  fill_page(table_, now, ++pages_published_, page);
  counters_.hidden_series = page.layout->hidden();
  if (textfile_) textfile_->round(page);
  pages_.publish();
}

void Daemon::publish_alerts() {
  const RuleEngine* engine = judge_->engine();
  if (engine == nullptr) return;
  if (!alerts_texts_ || alerts_texts_read_ != judge_->times_read()) {
    alerts_texts_ = std::make_shared<const AlertsTexts>(
        AlertsTexts{engine->rules(), judge_->mistakes(), engine->interval(),
                    settings_.rules.runbook_directory()});
    alerts_texts_read_ = judge_->times_read();
  }
  take_alerts(*engine, alerts_texts_, clock_.wall() - clock_.boot(), alerts_.back());
  alerts_.publish();
}

// Once for each change: a reader of the daemon's own rights explains what is denied.
void Daemon::tell_reader_kind() {
  const std::string& reason = reader_->fallback_reason();
  if (reason == told_fallback_) return;
  told_fallback_ = reason;
  if (reason.empty()) {
    log_.info("jetmem-reader is systemd's now, with its privilege");
    return;
  }
  std::string message = "jetmem-reader runs with the daemon's own rights, no more: " + reason +
                        "; the socket is tried again every minute";
  // Without systemd that is how it should be.
  if (service_manager_.present()) {
    log_.warning(std::move(message));
  } else {
    log_.info(std::move(message));
  }
}

void Daemon::on_source_change(const SourceInfo& info, const SourceStatus& status) {
  source_log_.changed(info, status);
  for (std::size_t i = 0; i < sampler_->size(); ++i) {
    if (sampler_->info(i).name == info.name) set_retry_interval(i);
  }
  update_status_text();
}

void Daemon::set_retry_interval(std::size_t i) {
  const SourceStatus& status = sampler_->status(i);
  Nanoseconds interval = status.interval;
  if (status.state == SourceState::kAbsent || status.state == SourceState::kDenied) {
    interval = std::max(interval, kRetryInterval);
  }
  schedule_.set_interval(i, interval, clock_.boot());
  // Whether the loop hangs has nothing to do with how fast its clock runs.
  readiness_.set_patience(
      std::max(at_speed(kStallLimit), kStallRounds * schedule_.shortest_interval()));
}

// "Sampling: 6 ok, 1 absent (cma), 1 denied (pagetypeinfo)"; and what /readyz goes by.
void Daemon::update_status_text() {
  std::uint32_t cheap = 0;
  std::uint32_t cheap_good = 0;
  for (std::size_t i = 0; i < sampler_->size(); ++i) {
    const SourceStatus& status = sampler_->status(i);
    if (sampler_->info(i).access != Access::kDirect) continue;
    if (status.state == SourceState::kDisabled) continue;
    ++cheap;
    if (status.state == SourceState::kOk && !status.stale) ++cheap_good;
  }
  readiness_.set_sources(cheap, cheap_good);

  std::string text = "Sampling:";
  const char* separator = " ";
  for (const SourceState state :
       {SourceState::kOk, SourceState::kPending, SourceState::kAbsent, SourceState::kDenied,
        SourceState::kFailed, SourceState::kDisabled}) {
    std::string names;
    std::size_t count = 0;
    for (std::size_t i = 0; i < sampler_->size(); ++i) {
      if (sampler_->status(i).state != state) continue;
      ++count;
      names += (names.empty() ? "" : ", ") + std::string(sampler_->info(i).name);
    }
    if (count == 0) continue;
    text += separator + std::to_string(count) + " " + std::string(state_name(state));
    if (state != SourceState::kOk) text += " (" + names + ")";
    separator = ", ";
  }
  service_manager_.status(text);
}

void Daemon::reload() {
  service_manager_.reloading(clock_.mono());
  if (web_) web_->reload_access();
  make_up_round();
  const auto loaded = options_.load();
  if (!loaded) {
    ++counters_.reloads_refused;
    for (const ConfigError& error : loaded.error()) {
      log_.error("settings: " + describe(error), {{"JETMEM_CONFIG_FILE", error.file}});
    }
    publish(clock_.boot());
    log_.error("reload refused: the settings in force are kept");
  } else {
    for (const std::string& key : keys_that_need_restart(settings_, loaded->values)) {
      log_.warning("settings: a change of " + key + " needs a restart; the old value is kept",
                   {{"JETMEM_CONFIG_KEY", key}});
    }
    const bool rules_taken = apply(applicable_without_restart(settings_, loaded->values));
    ++(rules_taken ? counters_.reloads_ok : counters_.reloads_refused);
    if (boot_keeper_) boot_keeper_->set_settings(digest_of(settings_));
    // New rules are judged before somebody asks what they say.
    judge_early_ = true;
    publish(clock_.boot());
    // Told last: who reads this finds the new settings on the page.
    if (rules_taken) {
      log_.info("settings reloaded");
    } else {
      log_.error(
          "settings reloaded, but not the rules: those in force, and all of rules., are kept");
    }
  }
  arm_timer();
  update_status_text();
  service_manager_.ready();
}

}  // namespace jetmem
