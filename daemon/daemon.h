// jetmemd's loop: one thread that owns all state, woken by sd-event only when something is due.
//
//   timer ──▶ round: read what is due, derive, publish a page for the web thread
//   reader ─▶ text of privileged sources, then as above
//   signals ▶ stop, reload
//
// Nothing here blocks: files that may hang are read by jetmem-reader, logs go to the scribe,
// clients to the web thread.
#pragma once

#include <systemd/sd-event.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/log.h"
#include "base/root.h"
#include "base/sample.h"
#include "base/spawn.h"
#include "collectors/reader/client.h"
#include "collectors/sampler.h"
#include "config/load.h"
#include "config/settings.h"
#include "daemon/alert_actions.h"
#include "daemon/boot_keeper.h"
#include "daemon/history_feed.h"
#include "daemon/incident_capture.h"
#include "daemon/judge.h"
#include "daemon/kernel_log_feed.h"
#include "daemon/page_box.h"
#include "daemon/programs.h"
#include "daemon/readiness.h"
#include "daemon/schedule.h"
#include "daemon/scribe.h"
#include "daemon/self.h"
#include "daemon/service_manager.h"
#include "daemon/source_log.h"
#include "daemon/textfile.h"
#include "daemon/told_box.h"
#include "daemon/web.h"
#include "health/options.h"

namespace jetmem {

struct DaemonOptions {
  std::string root_directory;         // empty: the live machine
  std::vector<std::string> config{};  // settings files named; empty: the usual ones
  // Reads the settings anew, on SIGHUP.
  std::function<Loaded<LoadedSettings>()> load;
  // -v on the command line: more than the settings ask for.
  int verbosity = 0;
  // Of the clock: seconds of a played machine in one. Only of another root than the live one.
  double speed = 1;
};

class Daemon {
 public:
  Daemon(DaemonOptions options, Settings settings, Root root, Scribe& scribe);
  ~Daemon();
  Daemon(const Daemon&) = delete;
  Daemon& operator=(const Daemon&) = delete;

  // To be called first of all: a signal that comes before the loop waits for it, so that an early
  // SIGHUP does not end the process.
  static void block_signals();

  // Runs until SIGTERM or SIGINT. The exit status.
  int run();

 private:
  // How late a round may begin so that the kernel can share the wake-up with others'. sd-event
  // takes 0 for 250 ms, so it is stated.
  static constexpr Nanoseconds kTimerSlack = std::chrono::milliseconds(50);

  // daemon_set_up.cc
  void set_up_sources();
  void set_up_history();
  void set_up_kernel_log();
  void set_up_boot_history();
  void set_up_alerts();
  std::string own_address() const;
  bool set_up_events();
  void start_textfile();
  void start_web();

  // daemon.cc
  // False: but for the rules, which have mistakes; those in force are kept.
  bool apply(const Settings& settings);
  void reload();

  void round(Nanoseconds now);
  void read_source(std::size_t i);
  void run_program(std::size_t i);
  void on_answer(std::string_view source, Result<const Snapshot*> snapshot, Nanoseconds read_time);
  // The kernel log is followed, not read: asks for it where it is not open, else shows its counts.
  void read_kernel_log();
  void on_kernel_log_answer(Result<const Snapshot*> snapshot);
  void show_kernel_log();
  void publish(Nanoseconds now);
  void publish_alerts();
  // A loop that did not get to run for a while reads what is due before it judges what is stale.
  void make_up_round();
  void tell_reader_kind();
  void arm_timer();
  Nanoseconds at_speed(Nanoseconds real) const;
  void on_source_change(const SourceInfo& info, const SourceStatus& status);
  void set_retry_interval(std::size_t i);
  void update_status_text();

  DaemonOptions options_;
  Settings settings_;
  Root root_;
  // Of this machine, whatever the root: for what jetmem itself uses.
  Facts own_facts_ = root_.is_live() ? root_.facts() : Facts::of_this_machine();
  Scribe& log_;
  SystemClock system_clock_;
  FastClock clock_;  // as fast as the machine is played
  SystemSpawner spawner_;
  SampleTable table_;
  HealthOptions health_options_;
  std::unique_ptr<Sampler> sampler_;
  // None when it is switched off. Before all that tell it what happens, and before who shows it.
  std::unique_ptr<HistoryFeed> history_;
  std::unique_ptr<reader::Client> reader_;
  KernelLogSource* kernel_log_ = nullptr;  // the sampler's
  std::size_t kernel_log_index_ = 0;
  std::unique_ptr<KernelLogFeed> kernel_log_feed_;
  std::vector<std::unique_ptr<Program>> programs_;  // none under another root
  BootSource* boot_source_ = nullptr;               // the sampler's
  std::size_t boot_index_ = 0;
  std::unique_ptr<BootKeeper> boot_keeper_;  // none under another root
  Nanoseconds last_news_{0};
  // When /dev/kmsg was asked for last, and how long to wait before it is again.
  Nanoseconds last_kmsg_try_{-3'600'000'000'000};
  Nanoseconds kmsg_pause_{0};
  std::unique_ptr<Judge> judge_;
  std::unique_ptr<AlertActions> alert_actions_;  // none under another root
  std::unique_ptr<IncidentCapture> capture_;     // likewise
  std::size_t judge_entry_ = 0;                  // of the schedule
  std::size_t judge_section_ = 0;
  bool judge_due_ = false;
  bool judge_early_ = false;
  SourceLog source_log_;
  ServiceManager service_manager_;
  Schedule schedule_;
  std::size_t processes_entry_ = 0;  // of the schedule: behind the sources
  std::size_t processes_section_ = 0;
  std::size_t self_section_ = 0;
  std::size_t history_section_ = 0;
  std::vector<std::size_t> due_;
  Nanoseconds next_due_{0};
  SelfCounters counters_;
  std::uint64_t pages_published_ = 0;
  std::string told_fallback_;
  PageBox pages_;
  AlertsBox alerts_;
  SourcesBox told_sources_;
  std::unique_ptr<TextsBox> told_texts_;
  std::shared_ptr<const AlertsTexts> alerts_texts_;
  std::uint64_t alerts_texts_read_ = 0;  // Judge::times_read() of them
  Readiness readiness_;
  std::unique_ptr<Textfile> textfile_;  // none when it is switched off
  std::unique_ptr<Web> web_;

  sd_event* event_ = nullptr;
  sd_event_source* timer_ = nullptr;
};

}  // namespace jetmem
