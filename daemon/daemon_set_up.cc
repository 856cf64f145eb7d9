// What the daemon is made of, and how its parts are tied to one another.
#include <sys/epoll.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <utility>

#include "base/text.h"
#include "base/version.h"
#include "collectors/registry.h"
#include "daemon/daemon.h"
#include "daemon/settings_digest.h"
#include "health/registry.h"

namespace jetmem {
namespace {

constexpr Nanoseconds kProcessesInterval = std::chrono::seconds(10);
// With a fast clock three intervals of it may be over before jetmem-reader gets to run.
constexpr Nanoseconds kAnswerTime = std::chrono::seconds(1);

// The first of the directories that systemd made for us; empty without systemd.
std::string directory_from(const char* variable) {
  const char* value = std::getenv(variable);
  if (value == nullptr) return {};
  const std::string_view all(value);
  return std::string(all.substr(0, all.find(':')));
}

// So that `jetmem alerts` finds the daemon also where no port is open. Read-only. Where a port is
// open to everybody any local user may read the same there: hence open to all then, else to the
// daemon's group.
void add_api_socket(WebOptions& options) {
  const std::string directory = directory_from("RUNTIME_DIRECTORY");
  const auto is_unix = [](const ListenAddress& address) {
    return address.family == ListenAddress::Family::kUnix;
  };
  if (directory.empty() || std::any_of(options.listen.begin(), options.listen.end(), is_unix))
    return;
  auto address = parse_listen_address("unix:" + directory + "/api.socket");
  if (!address) return;
  if (!options.listen.empty() && options.web_config.empty()) options.open_socket = address->host;
  options.listen.push_back(std::move(*address));
}

}  // namespace

Daemon::Daemon(DaemonOptions options, Settings settings, Root root, Scribe& scribe)
    : options_(std::move(options)),
      settings_(std::move(settings)),
      root_(std::move(root)),
      log_(scribe),
      clock_(system_clock_, options_.speed),
      source_log_(scribe, clock_) {
  set_up_sources();
}

Daemon::~Daemon() {
  sd_event_source_unref(timer_);
  sd_event_unref(event_);
}

void Daemon::set_up_sources() {
  if (root_.is_live() && !own_facts_.boot_id) {
    log_.warning(
        "which boot this is could not be read from /proc/sys/kernel/random/boot_id: what was kept "
        "over a restart is not taken for this boot's, nor what is kept now; a restart looks again");
  }
  std::vector<std::unique_ptr<Source>> sources = make_all_sources();
  for (std::size_t i = 0; i < sources.size(); ++i) {
    if (auto* boot = dynamic_cast<BootSource*>(sources[i].get())) {
      boot_source_ = boot;
      boot_index_ = i;
    }
    auto* kernel_log = dynamic_cast<KernelLogSource*>(sources[i].get());
    if (kernel_log == nullptr) continue;
    kernel_log_ = kernel_log;
    kernel_log_index_ = i;
  }
  Sampler::Options options;
  if (clock_.speed() != 1) options.answer_time = at_speed(kAnswerTime);
  sampler_ = std::make_unique<Sampler>(root_, clock_, table_, std::move(sources),
                                       make_all_derivations(health_options_), options);
  told_texts_ = std::make_unique<TextsBox>(*sampler_);
  processes_section_ = table_.add_section("processes of jetmem");
  judge_section_ = table_.add_section("alerts");
  self_section_ = table_.add_section("jetmemd");
  history_section_ = table_.add_section("history");
  for (std::size_t i = 0; i < sampler_->size(); ++i) schedule_.add(sampler_->info(i).interval);
  processes_entry_ = schedule_.add(kProcessesInterval);
  judge_entry_ = schedule_.add(settings_.rules.interval);
  set_up_history();
  set_up_alerts();

  reader::ClientOptions reader;
  // Another root is nothing that systemd's reader could serve.
  if (root_.is_live()) reader.socket = settings_.reader.socket;
  reader.program =
      settings_.reader.program.empty() ? reader::find_reader_program() : settings_.reader.program;
  reader.root = options_.root_directory;
  reader.deadline = settings_.reader.deadline;
  reader.max_wedged = settings_.reader.max_wedged;
  reader_ = std::make_unique<reader::Client>(
      std::move(reader), clock_, spawner_,
      [this](std::string_view source, Result<const Snapshot*> snapshot, Nanoseconds read_time) {
        on_answer(source, std::move(snapshot), read_time);
      });
  sampler_->on_change([this](const SourceInfo& info, const SourceStatus& status) {
    on_source_change(info, status);
  });
  set_up_kernel_log();
  set_up_boot_history();
  if (root_.is_live()) {
    programs_ = make_all_programs(
        {clock_, spawner_, log_,
         [this](std::string_view source, Result<const Snapshot*> snapshot, Nanoseconds took) {
           on_answer(source, std::move(snapshot), took);
         },
         &sampler_->readings(), kernel_log_feed_->probe_window(), source_states(*sampler_),
         directory_from("RUNTIME_DIRECTORY")});
  }
  apply(settings_);
}

void Daemon::set_up_history() {
  if (!settings_.history.enabled) return;
  HistoryFeed::Options options;
  options.settings = settings_.history;
  options.state_directory = directory_from("STATE_DIRECTORY");
  options.live = root_.is_live();
  options.boot_id = (root_.is_live() ? own_facts_ : root_.facts()).boot_id.value_or("");
  if (const Facts& facts = root_.facts();
      !root_.is_live() && facts.captured_at && facts.boot_time) {
    options.captured_uptime = std::chrono::seconds(*facts.captured_at - *facts.boot_time);
  }
  history_ = std::make_unique<HistoryFeed>(std::move(options), clock_, log_);
}

void Daemon::set_up_kernel_log() {
  KernelLogFeedOptions options;
  if (history_) {
    options.on_event = [this](const kernel_log::Event& event,
                              const kernel_log::Occurrence& occurrence) {
      history_->kernel_event(event, occurrence);
    };
  }
  const std::string_view soc = soc_choice_name(settings_.kernel_log.soc);
  const kernel_log::SocFound found = kernel_log::find_soc(root_);
  options.soc = kernel_log::soc_named(soc).value_or(found.soc);
  options.accept_user_records = settings_.kernel_log.accept_user_records;
  const ProcessLines lines = settings_.kernel_log.process_lines;
  options.process_lines = root_.is_live() && (lines == ProcessLines::kAlways ||
                                              (lines == ProcessLines::kAuto && found.is_tegra));
  if (!found.trouble.empty()) {
    log_.warning("which SoC this is could not be told: " + found.trouble +
                 "; SMMU faults may lack their client's name, and what NVIDIA's libraries print is "
                 "not followed unless kernel_log.process_lines says so; a restart looks again");
  }
  // Systemd names it, keeps it over a restart and empties it at boot: memory, not flash.
  const std::string directory = directory_from("RUNTIME_DIRECTORY");
  if (root_.is_live() && !directory.empty()) options.state_file = directory + "/kernel-log.json";
  kernel_log_feed_ =
      std::make_unique<KernelLogFeed>(std::move(options), root_, clock_, spawner_, log_, [this] {
        if (!kernel_log_feed_->following()) return;
        show_kernel_log();
        judge_early_ = true;
        publish(clock_.boot());
      });
  health_options_.probes = &kernel_log_feed_->tally();
}

void Daemon::set_up_alerts() {
  Judge::Options options;
  if (root_.is_live()) {
    options.runtime_directory = directory_from("RUNTIME_DIRECTORY");
    options.boot_id = own_facts_.boot_id.value_or("");
    CompactionOptions compaction;
    compaction.runtime_directory = options.runtime_directory;
    compaction.boot_id = options.boot_id;
    compaction.probe_runs = [this] {
      return table_.value_of("jetmem_probe_running{group=\"memory\"}") > 0 ||
             table_.value_of("jetmem_probe_running{group=\"cuda\"}") > 0;
    };
    alert_actions_ = std::make_unique<AlertActions>(clock_, spawner_, log_, std::move(compaction));
    IncidentCaptureOptions capture;
    capture.state_directory = directory_from("STATE_DIRECTORY");
    capture.runtime_directory = options.runtime_directory;
    capture.boot_id = options.boot_id;
    capture.config = options_.config;
    capture.own_address = [this] { return own_address(); };
    capture_ = std::make_unique<IncidentCapture>(clock_, spawner_, log_, std::move(capture));
  }
  judge_ = std::make_unique<Judge>(std::move(options), clock_, log_, *sampler_,
                                   [this](const Transition& transition) {
                                     if (alert_actions_) alert_actions_->tell(transition);
                                     if (history_) history_->transition(transition);
                                     if (capture_) capture_->tell(transition);
                                   });
}

// Where a program that we start finds us; empty: nowhere.
std::string Daemon::own_address() const {
  if (!web_) return {};
  const std::vector<ListenAddress> all = web_->addresses();
  const auto is_unix = [](const ListenAddress& each) {
    return each.family == ListenAddress::Family::kUnix;
  };
  const auto at = std::find_if(all.begin(), all.end(), is_unix);
  if (at != all.end()) return at->text();
  // Over TCP it would have to prove who it is.
  if (all.empty() || !settings_.http.web_config.empty()) return {};
  return all.front().text();
}

void Daemon::set_up_boot_history() {
  if (!root_.is_live()) return;
  BootKeeperOptions options;
  // On the disk: it tells of what no memory outlives.
  options.directory = directory_from("STATE_DIRECTORY");
  options.runtime_directory = directory_from("RUNTIME_DIRECTORY");
  options.boot_id = own_facts_.boot_id;
  options.settings = digest_of(settings_);
  options.version = kVersion;
  if (history_) {
    options.on_mark = [this](const boot::Mark& mark) {
      history_->mark(mark, own_facts_.boot_id.value_or(""));
    };
  }
  boot_keeper_ = std::make_unique<BootKeeper>(std::move(options), clock_, log_);
  if (boot_source_ == nullptr) return;
  boot_source_->set_history([this](const BootFacts& facts) {
    boot_keeper_->observe(facts);
    // Not known is not certain.
    if (history_) history_->set_clock_synchronized(facts.clock_synchronized.value_or(false));
    return boot_keeper_->view();
  });
}

void Daemon::block_signals() {
  sigset_t signals;
  sigemptyset(&signals);
  for (const int s : {SIGTERM, SIGINT, SIGHUP}) sigaddset(&signals, s);
  ::sigprocmask(SIG_BLOCK, &signals, nullptr);
}

bool Daemon::set_up_events() {
  const auto stop = [](sd_event_source* source, const signalfd_siginfo*, void*) {
    return sd_event_exit(sd_event_source_get_event(source), 0);
  };
  const auto hup = [](sd_event_source*, const signalfd_siginfo*, void* self) {
    static_cast<Daemon*>(self)->reload();
    return 0;
  };
  const auto tick = [](sd_event_source*, std::uint64_t, void* self) {
    auto* daemon = static_cast<Daemon*>(self);
    daemon->round(daemon->clock_.boot());
    daemon->arm_timer();
    return 0;
  };
  const auto answer = [](sd_event_source*, int, std::uint32_t, void* self) {
    auto* daemon = static_cast<Daemon*>(self);
    daemon->make_up_round();
    daemon->reader_->dispatch();
    return 0;
  };
  int ok = sd_event_new(&event_);
  if (ok >= 0) ok = sd_event_add_signal(event_, nullptr, SIGTERM, stop, nullptr);
  if (ok >= 0) ok = sd_event_add_signal(event_, nullptr, SIGINT, stop, nullptr);
  if (ok >= 0) ok = sd_event_add_signal(event_, nullptr, SIGHUP, hup, this);
  if (ok >= 0) ok = sd_event_add_io(event_, nullptr, reader_->fd(), EPOLLIN, answer, this);
  if (ok >= 0) {
    const auto slack =
        static_cast<std::uint64_t>(std::max(1.0, to_seconds(kTimerSlack) * 1e6 / clock_.speed()));
    ok = sd_event_add_time(event_, &timer_, CLOCK_BOOTTIME, 0, slack, tick, this);
  }
  if (ok >= 0) ok = sd_event_source_set_enabled(timer_, SD_EVENT_OFF);
  if (ok < 0) {
    log_.error("cannot set up the event loop: " + errno_error("set up", "sd-event", -ok).message);
    return false;
  }
  if (alert_actions_) {
    if (auto started = alert_actions_->start(event_); !started) {
      log_.error(started.error().message);
      return false;
    }
  }
  if (capture_) {
    if (auto started = capture_->start(event_); !started) {
      log_.error(started.error().message);
      return false;
    }
  }
  if (auto started = kernel_log_feed_->start(event_); !started) {
    log_.error(started.error().message);
    return false;
  }
  for (const std::unique_ptr<Program>& program : programs_) {
    if (auto started = program->start(event_); !started) {
      log_.error(started.error().message);
      return false;
    }
  }
  return true;
}

void Daemon::start_textfile() {
  const TextfileSettings& settings = settings_.textfile;
  if (settings.directory.empty()) return;
  // Its node_exporter would tell Prometheus of a machine that is another one, or made up.
  if (!root_.is_live()) {
    log_.warning("textfile.directory is left alone under --root");
    return;
  }
  textfile_ = std::make_unique<Textfile>(TextfileOptions{settings.directory, settings.interval},
                                         clock_, readiness_, log_);
  if (auto started = textfile_->start(); !started) {
    log_.error("no textfile: " + started.error().message);
    textfile_.reset();
  }
}

void Daemon::start_web() {
  WebOptions options;
  options.listen = settings_.http.listen;
  if (textfile_) options.own_text = textfile_->web_text();
  options.web_config = settings_.http.web_config;
  options.hosts = settings_.http.hosts;
  options.log = [this](LogLevel level, std::string message) {
    log_.write({level, std::move(message), {}, false});
  };
  add_api_socket(options);
  if (options.listen.empty()) return;
  options.max_connections = settings_.http.max_connections;
  options.max_connections_per_client = settings_.http.max_connections_per_client;
  options.request_timeout = settings_.http.request_timeout;
  options.idle_timeout = settings_.http.idle_timeout;
  ApiTold told;
  told.sources = &told_sources_;
  told.texts = told_texts_.get();
  if (history_) told.history = &history_->history();
  told.boot_id = root_.facts().boot_id.value_or("");
  web_ = std::make_unique<Web>(
      std::move(options), clock_, pages_, alerts_, readiness_,
      [this](const ListenAddress& address, const std::optional<Error>& error) {
        if (error) {
          log_.error(error->message, {{"JETMEM_ADDRESS", address.text()}});
        } else {
          log_.info("serving http on " + address.text(), {{"JETMEM_ADDRESS", address.text()}});
        }
      },
      std::move(told),
      [this](bool stuck) {
        if (stuck) {
          log_.error(
              "the history does not answer: a question to it has waited for more than 5 s, its "
              "disk "
              "may hang; until it is answered, /api/v1/history, events and doctor answer 503");
        } else {
          log_.info("the history answers again");
        }
      });
  const auto started = web_->start();
  if (!started) {
    log_.error("no http: " + started.error().message);
    return;
  }
  for (const Error& error : *started) {
    log_.error(error.message + "; tried again every 10s, sampling goes on");
  }
  for (const ListenAddress& address : web_->addresses()) {
    log_.info("serving http on " + address.text(), {{"JETMEM_ADDRESS", address.text()}});
  }
}

}  // namespace jetmem
