// SPDX-License-Identifier: Apache-2.0
#include "daemon/loop/daemon.h"

#include <malloc.h>

#include <algorithm>
#include <csignal>
#include <utility>

#include "base/exit_codes.h"
#include "base/text/text.h"
#include "base/version.h"
#include "config/schema.h"
#include "daemon/children/memory_protection.h"
#include "daemon/loop/system_state.h"
#include "daemon/loop/unused_memory.h"
#include "daemon/state_file_metrics.h"

namespace jetmem {
namespace {

// What is absent or denied may come later (debugfs mounted, a driver loaded), but it is no use to
// ask each second.
constexpr Nanoseconds kRetryInterval = std::chrono::minutes(1);
// A loop away for this many of its pauses, and for longer than the limit, is stuck: its last page
// is no longer served.
constexpr int kStallCycles = 5;
constexpr Nanoseconds kStallLimit = std::chrono::seconds(10);
// By then all is read that is read once. Later it is what queries, writes and alerts used.
constexpr Nanoseconds kTimeToStart = std::chrono::seconds(30);
constexpr Nanoseconds kReleaseInterval = std::chrono::hours(1);
constexpr Nanoseconds kHastenedInterval = std::chrono::seconds(10);
// How long a stop may wait for systemd to say whether the system is being shut down.
constexpr std::chrono::milliseconds kSystemStateTimeout{1000};

// Differs when any setting does.
std::string settings_digest(const Settings& settings) {
  std::string all;
  const Schema schema = Schema::of(settings);
  for (const Setting& setting : schema.settings()) {
    all.append(setting.key).append("=").append(setting.show(settings)).append("\n");
  }
  std::string digest;
  short_digest(all, digest);
  return digest;
}

LogLevel effective_level(LogLevel configured, int verbosity) {
  const int level = std::max(0, static_cast<int>(configured) - verbosity);
  return static_cast<LogLevel>(level);
}

boot::RunEnd run_end(SystemState state) {
  if (state == SystemState::kStopping) return boot::RunEnd::kShutdown;
  return state == SystemState::kRunsOn ? boot::RunEnd::kStopped : boot::RunEnd::kNotReported;
}

std::unique_ptr<HistoryFeed> make_history(const DaemonContext& context,
                                          const HistorySettings& settings) {
  if (!settings.enabled) return nullptr;
  HistoryFeed::Options options;
  options.settings = settings;
  options.state_directory = context.state_directory;
  options.live = context.is_live();
  const Facts& facts = context.root.facts();
  options.boot_id = (context.is_live() ? context.own_facts : facts).boot_id.value_or("");
  if (!context.is_live() && facts.captured_at && facts.boot_time) {
    options.captured_uptime = std::chrono::seconds(*facts.captured_at - *facts.boot_time);
  }
  return std::make_unique<HistoryFeed>(std::move(options), context.clock, context.log);
}

// `history` may be null.
std::unique_ptr<BootHistory> make_boot_history(const DaemonContext& context,
                                               const Settings& settings, HistoryFeed* history) {
  if (!context.is_live()) return nullptr;
  BootHistoryOptions options;
  // On the disk: it keeps what no memory outlives.
  options.directory = context.state_directory;
  options.runtime_directory = context.runtime_directory;
  options.boot_id = context.own_facts.boot_id;
  options.settings = settings_digest(settings);
  options.version = kVersion;
  if (history != nullptr) {
    options.on_mark = [history, boot_id = context.own_facts.boot_id.value_or("")](
                          const boot::Mark& mark) { history->mark(mark, boot_id); };
  }
  return std::make_unique<BootHistory>(std::move(options), context.clock, context.log);
}

}  // namespace

Daemon::Daemon(DaemonOptions options, Settings settings, Root root, AsyncLogger& async_logger)
    : context_(std::move(options), std::move(root), async_logger),
      settings_(std::move(settings)),
      sampling_(context_),
      source_log_(async_logger, context_.clock),
      timer_(context_, *sampling_.sampler, settings_.rules.interval),
      history_(make_history(context_, settings_.history)),
      publisher_(context_, sampling_),
      alerts_(context_, sampling_, history_.get(), [this] { return publisher_.own_address(); }),
      kernel_log_(context_, settings_, sampling_, history_.get(),
                  [this] {
                    alerts_.set_early();
                    publish(context_.clock.boot());
                  }),
      children_(
          context_, settings_, sampling_, kernel_log_.probe_window(),
          [this](std::string_view source, Result<const Snapshot*> snapshot, Nanoseconds elapsed) {
            on_answer(source, std::move(snapshot), elapsed);
          },
          [this] {
            complete_table(context_.clock.boot());
            DeviceNow now;
            now.samples = SampleSet::of(sampling_.table);
            return now;
          },
          [this] { run_missed_cycle(); },
          [this](UniqueFd unread) { kernel_log_.dispose(std::move(unread)); }),
      boot_history_(make_boot_history(context_, settings_, history_.get())) {
  alerts_.ask_missing([this](std::string_view source, const Labels& labels) {
    return children_.missing(source, labels);
  });
  if (context_.is_live() && !context_.own_facts.boot_id) {
    context_.log.warning(
        "cannot read the boot ID from /proc/sys/kernel/random/boot_id: what was kept over a "
        "restart is not used, nor is anything kept now; a restart looks again");
  }
  sampling_.sampler->on_change([this](const SourceInfo& info, const SourceStatus& status) {
    on_source_change(info, status);
  });
  if (boot_history_ && sampling_.boot != nullptr) {
    sampling_.boot->set_history([this](const BootFacts& facts) {
      boot_history_->observe(facts);
      // Not known is not certain.
      if (history_) history_->set_clock_synchronized(facts.clock_synchronized.value_or(false));
      return boot_history_->view();
    });
  }
  apply(settings_);
}

bool Daemon::apply(const Settings& settings) {
  settings_ = settings;
  context_.log.set_level(effective_level(settings.log.level, context_.options.verbosity));
  sampling_.health_options.frame = settings.probe.frame;
  Sampler& sampler = *sampling_.sampler;
  for (std::size_t i = 0; i < sampler.size(); ++i) {
    const SourceSettings* source = settings.find_source(sampler.info(i).name);
    if (source == nullptr) continue;
    sampler.set_interval(i, source->interval);
    sampler.set_enabled(i, source->enabled);
    set_retry_interval(i);
  }
  kernel_log_.apply(settings);
  const bool rules_taken = alerts_.apply(settings);
  settings_.rules = alerts_.evaluator().settings();
  timer_.set_rules_interval(settings_.rules.interval);
  children_.apply(settings);
  return rules_taken;
}

void Daemon::block_signals() {
  sigset_t signals;
  sigemptyset(&signals);
  for (const int s : {SIGTERM, SIGINT, SIGHUP}) sigaddset(&signals, s);
  ::sigprocmask(SIG_BLOCK, &signals, nullptr);
}

Result<void> Daemon::set_up_events() {
  const auto stop = [](sd_event_source* source, const signalfd_siginfo*, void*) {
    return sd_event_exit(sd_event_source_get_event(source), 0);
  };
  const auto hup = [](sd_event_source*, const signalfd_siginfo*, void* self) {
    static_cast<Daemon*>(self)->reload();
    return 0;
  };
  sd_event* const event = context_.loop.event();
  int ok = sd_event_add_signal(event, nullptr, SIGTERM, stop, nullptr);
  if (ok >= 0) ok = sd_event_add_signal(event, nullptr, SIGINT, stop, nullptr);
  if (ok >= 0) ok = sd_event_add_signal(event, nullptr, SIGHUP, hup, this);
  if (ok < 0) return tl::unexpected(errno_error("set up", "sd-event", -ok));
  auto started = timer_.start([this] {
    cycle(context_.clock.boot());
    timer_.arm();
  });
  if (started) started = alerts_.start();
  if (started) started = kernel_log_.start();
  if (started) started = children_.start();
  if (started) {
    started = publisher_.watch_requests(context_.loop, [this] { publish_requested_page(); });
  }
  return started;
}

int Daemon::run() {
  if (const auto started = set_up_events(); !started) {
    context_.log.error("cannot set up the event loop: " + started.error().message);
    return kExitUnavailable;
  }
  if (context_.is_live() && context_.runtime_directory.empty()) {
    context_.log.info(
        "no RUNTIME_DIRECTORY: alerts, kernel log counts and probe times are lost on restart");
  }
  if (history_) history_->start();
  if (boot_history_) boot_history_->start();
  publisher_.start(settings_, history_.get());
  release_memory_in(kTimeToStart);
  cycle(context_.clock.boot());
  update_status_text();
  context_.log.info(service_manager_.status_text());
  service_manager_.ready();
  timer_.arm();
  const int status = sd_event_loop(context_.loop.event());
  if (status < 0) {
    context_.log.error(
        "the event loop failed: " + errno_error("wait in", "sd-event", -status).message +
        "; exiting, systemd will restart it");
  }
  finish();
  return status < 0 ? kExitUnavailable : status;
}

void Daemon::finish() {
  service_manager_.stopping();
  kernel_log_.finish();
  context_.log.info("stopping");
  alerts_.finish_rules();
  if (boot_history_) boot_history_->take_last_marks();  // which are the recorder's too
  if (history_) {
    complete_table(context_.clock.boot());
    history_->finish(sampling_.table);
  }
  if (boot_history_ && boot_history_->keeps()) {
    boot_history_->finish(run_end(query_system_state(kSystemStateTimeout)));
  }
  // A thread of the web still reads there. The process ends soon, and takes both along.
  if (!publisher_.stop()) (void)history_.release();
  children_.stop();
  alerts_.stop();
}

void Daemon::cycle(Nanoseconds now) {
  const Nanoseconds begin = context_.clock.mono();
  counters_.last_lag = timer_.lag(now);
  const std::vector<std::size_t>& due = timer_.take_due(now);
  const Sampler& sampler = *sampling_.sampler;
  // Cheap sources first: the gates of the expensive ones use them.
  for (const Access access :
       {Access::kDirect, Access::kReader, Access::kStream, Access::kProgram}) {
    for (const std::size_t i : due) {
      if (i < sampler.size() && sampler.info(i).access == access) read_source(i);
    }
  }
  if (timer_.is_processes_due()) {
    SampleWriter out(sampling_.table, sampling_.processes_section, now);
    write_process_usage(out, context_.own_facts, ::getpid(), "jetmemd");
    write_memory_protection(out, read_memory_protection());
    if (const pid_t pid = kernel_log_.journal_pid(); pid > 0) {
      write_process_usage(out, context_.own_facts, pid, "jetmem-journal");
    }
    children_.write_usage(out);
    // What is new is shown at once.
    if (boot_history_ && boot_history_->cycle()) read_source(sampling_.boot_index);
  }
  ++counters_.cycles;
  counters_.missed_cycles = timer_.missed();
  counters_.last_cycle_time = context_.clock.mono() - begin;
  {
    SampleWriter out(sampling_.table, sampling_.cycle_section, now);
    write_cycle_metrics(out, counters_);
  }
  if (timer_.is_rules_due()) alerts_.set_due();
  if (sampling_.is_memory_shrinking_fast()) {
    alerts_.set_early();
    // Who grows is asked now: once a minute is too seldom where a minute is left.
    if (now >= hasten_processes_at_) {
      hasten_processes_at_ = now + kHastenedInterval;
      read_source(sampling_.processes_index);
    }
  }
  publish(now);
  publisher_.readiness().beat(now);
  service_manager_.progressed(context_.clock.mono());
  // What is unmapped is evicted first where memory is short, and reading it again may block.
  if (now >= release_memory_at_ && !sampling_.is_memory_shrinking_fast()) {
    release_unused_memory();
    release_memory_in(kReleaseInterval);
  }
}

void Daemon::release_memory_in(Nanoseconds real) {
  release_memory_at_ = context_.clock.boot() + context_.at_speed(real);
}

void Daemon::read_source(std::size_t i) {
  Sampler& sampler = *sampling_.sampler;
  const SourceInfo& info = sampler.info(i);
  if (i == sampling_.kernel_log_index) {
    kernel_log_.read(children_.reader());
  } else if (info.access == Access::kDirect ||
             (info.access == Access::kProgram && !context_.is_live())) {
    sampler.collect(i);
  } else if (info.access == Access::kProgram) {
    // No gate: its program knows when not to run.
    if (sampler.status(i).state != SourceState::kDisabled) children_.run_program(info.name);
  } else if (sampler.admit(i)) {
    children_.reader().request(info.name);
  }
}

void Daemon::run_missed_cycle() {
  const Nanoseconds now = context_.clock.boot();
  if (!timer_.is_due(now)) return;
  cycle(now);
  timer_.arm();
}

void Daemon::on_answer(std::string_view source, Result<const Snapshot*> snapshot,
                       Nanoseconds read_time) {
  Sampler& sampler = *sampling_.sampler;
  for (std::size_t i = 0; i < sampler.size(); ++i) {
    if (sampler.info(i).name != source) continue;
    if (i == sampling_.kernel_log_index) {
      kernel_log_.on_answer(std::move(snapshot), children_.reader());
      break;
    }
    if (snapshot) {
      publisher_.take_program_text(source, *snapshot);
      sampler.accept(i, **snapshot, read_time);
      if (i == sampling_.boot_index) publish_boot_history();
    } else {
      // What was skipped on purpose says nothing against what came before.
      if (snapshot.error().code != Errc::kSkipped) publisher_.take_program_text(source, nullptr);
      sampler.reject(i, std::move(snapshot.error()));
    }
  }
  publish(context_.clock.boot());
}

// Its files are in the state directory, wherever that is: the source knows only the usual one.
void Daemon::publish_boot_history() {
  if (!boot_history_ || boot_history_->view().history == nullptr) return;
  const auto usual = [](std::string_view file) {
    return std::string(boot::kStateDirectory).append("/").append(file);
  };
  Snapshot texts;
  texts.add(usual(boot::kHistoryFile), boot::to_text(boot_history_->history()), 0);
  texts.add(usual(boot::kMarksFile), boot_history_->marks_text(), 0);
  publisher_.take_program_text("boot", &texts);
}

// jetmem's own series are half of all, and most cycles nobody reads them, nor most others: neither
// rules nor the history nor a client.
void Daemon::publish(Nanoseconds now) {
  sampling_.sampler->finish_eager();
  source_log_.flush_due();
  children_.log_reader_state(service_manager_.present());
  publisher_.begin_page(now);
  const bool is_step_due = history_ && history_->is_step_due(sampling_.table);
  const bool is_whole = is_step_due || alerts_.is_due() || publisher_.is_page_due();
  if (is_whole) complete_table(now);
  if (alerts_.evaluate(now)) publisher_.publish_alerts(alerts_.evaluator());
  if (is_whole) alerts_.write(now);
  if (history_) history_->cycle(sampling_.table, is_whole);
  if (is_whole) publish_page(now);
}

void Daemon::publish_requested_page() {
  const Nanoseconds now = context_.clock.boot();
  if (publisher_.is_page_current()) return;
  complete_table(now);
  alerts_.write(now);
  publish_page(now);
}

void Daemon::publish_page(Nanoseconds now) {
  if (history_) {
    SampleWriter out(sampling_.table, sampling_.history_section, now);
    history_->write(out);
  }
  counters_.hidden_series = publisher_.publish_page();
}

void Daemon::complete_table(Nanoseconds now) {
  sampling_.sampler->finish_lazy();
  children_.fill(counters_);
  counters_.log_written = context_.log.written();
  counters_.log_dropped = context_.log.dropped();
  counters_.log_failed = context_.log.failed();
  counters_.suppressed_log_entries = source_log_.suppressed() + kernel_log_.suppressed() +
                                     alerts_.suppressed() + children_.suppressed();
  SampleWriter out(sampling_.table, sampling_.daemon_section, now);
  write_daemon_metrics(out, counters_);
  write_state_file_failures(out, kernel_log_.state_file());
  kernel_log_.write(out);
  children_.write(out);
}

void Daemon::on_source_change(const SourceInfo& info, const SourceStatus& status) {
  source_log_.changed(info, status);
  for (std::size_t i = 0; i < sampling_.sampler->size(); ++i) {
    if (sampling_.sampler->info(i).name == info.name) set_retry_interval(i);
  }
  update_status_text();
}

void Daemon::set_retry_interval(std::size_t i) {
  const SourceStatus& status = sampling_.sampler->status(i);
  Nanoseconds interval = status.interval;
  if (status.state == SourceState::kAbsent || status.state == SourceState::kDenied) {
    interval = std::max(interval, kRetryInterval);
  }
  timer_.set_interval(i, interval);
  // Whether the loop hangs has nothing to do with how fast its clock runs.
  publisher_.readiness().set_timeout(
      std::max(context_.at_speed(kStallLimit), kStallCycles * timer_.shortest_interval()));
}

// "Sampling: 6 ok, 1 absent (cma), 1 denied (pagetypeinfo)"; and what /readyz goes by.
void Daemon::update_status_text() {
  const Sampler& sampler = *sampling_.sampler;
  std::uint32_t cheap = 0;
  std::uint32_t cheap_good = 0;
  for (std::size_t i = 0; i < sampler.size(); ++i) {
    const SourceStatus& status = sampler.status(i);
    if (sampler.info(i).access != Access::kDirect) continue;
    if (status.state == SourceState::kDisabled) continue;
    ++cheap;
    if (status.state == SourceState::kOk && !status.stale) ++cheap_good;
  }
  publisher_.readiness().set_sources(cheap, cheap_good);

  std::string text = "Sampling:";
  const char* separator = " ";
  for (const SourceState state :
       {SourceState::kOk, SourceState::kPending, SourceState::kAbsent, SourceState::kDenied,
        SourceState::kFailed, SourceState::kDisabled}) {
    std::string names;
    std::size_t count = 0;
    for (std::size_t i = 0; i < sampler.size(); ++i) {
      if (sampler.status(i).state != state) continue;
      ++count;
      names += (names.empty() ? "" : ", ") + std::string(sampler.info(i).name);
    }
    if (count == 0) continue;
    text += separator + std::to_string(count) + " " + std::string(state_name(state));
    if (state != SourceState::kOk) text += " (" + names + ")";
    separator = ", ";
  }
  service_manager_.status(text);
}

void Daemon::reload() {
  release_memory_in(kTimeToStart);
  service_manager_.reloading(context_.clock.mono());
  publisher_.reload_access();
  run_missed_cycle();
  const auto loaded = context_.options.load();
  if (!loaded) {
    ++counters_.reloads_refused;
    for (const ConfigError& error : loaded.error()) {
      context_.log.error("settings: " + describe(error), {{"JETMEM_CONFIG_FILE", error.file}});
    }
    publish(context_.clock.boot());
    context_.log.error("reload refused: the settings in force are kept");
  } else {
    for (const std::string& key : keys_that_need_restart(settings_, loaded->values)) {
      context_.log.warning(
          "settings: a change of " + key + " needs a restart; the old value is kept",
          {{"JETMEM_CONFIG_KEY", key}});
    }
    const bool rules_taken = apply(applicable_without_restart(settings_, loaded->values));
    ++(rules_taken ? counters_.reloads_ok : counters_.reloads_refused);
    if (boot_history_) boot_history_->set_settings(settings_digest(settings_));
    // New rules are evaluated before somebody asks what they say.
    alerts_.set_early();
    publish(context_.clock.boot());
    // Logged last: who reads this finds the new settings on the page.
    if (rules_taken) {
      context_.log.info("settings reloaded");
    } else {
      context_.log.error(
          "settings reloaded, but not the rules: those in force, and all of rules., are kept");
    }
  }
  // What parsing took beside what stays.
  ::malloc_trim(0);
  timer_.arm();
  update_status_text();
  service_manager_.ready();
}

}  // namespace jetmem
