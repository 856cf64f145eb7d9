// SPDX-License-Identifier: Apache-2.0
// The source kernel_log of the daemon: followed rather than read. Asks jetmem-reader for /dev/kmsg
// while it is not open, has a thread read it, hands events to the journal and the history, shows
// the counts and keeps them over a restart.
//
// An idle machine costs next to nothing here: no timer runs unless lines of an event are awaited.
// Twice a minute the thread is asked to read, as one that hangs and an idle log look the same.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "base/clock.h"
#include "base/process/event_loop.h"
#include "base/result.h"
#include "base/root/snapshot.h"
#include "base/root/state_file.h"
#include "collectors/journal/client.h"
#include "collectors/kernel_log/kernel_log.h"
#include "collectors/kernel_log/kmsg.h"
#include "collectors/kernel_log/source.h"
#include "collectors/reader/client.h"
#include "config/settings.h"
#include "daemon/log/event_log.h"
#include "daemon/log/kernel_log_thread.h"
#include "daemon/parts/sampling.h"
#include "daemon/probe_window.h"
#include "daemon/state/history_feed.h"
#include "report/messages/site_messages.h"

namespace jetmem {

class KernelLogFollower {
 public:
  // `history` may be null. `on_new_events` is called while the log is followed, when something was
  // counted that is worth showing before the next cycle.
  KernelLogFollower(DaemonContext& context, const Settings& settings, Sampling& sampling,
                    HistoryFeed* history, std::function<void()> on_new_events);
  KernelLogFollower(const KernelLogFollower&) = delete;
  KernelLogFollower& operator=(const KernelLogFollower&) = delete;

  // To be called once, before read().
  Result<void> start();
  // At a start and at a reload: reads the site's own messages, too. The valid ones are taken.
  void apply(const Settings& settings);
  static std::span<const Descriptor> metrics();
  void write(SampleWriter& out) const;
  // The source is due.
  void read(reader::Client& reader);
  void on_answer(Result<const Snapshot*> snapshot, reader::Client& reader);
  // Closes what jetmem-reader sent and nobody takes.
  void dispose(UniqueFd fd) { (void)thread_.take(std::move(fd), KernelLogThread::Use::kClose); }
  // While a probe runs, one at a time: what the log says from its start until shortly after its end
  // is put down to it. Valid as long as this object.
  ProbeWindow probe_window();
  std::uint64_t suppressed() const { return events_.suppressed(); }
  const StateFile& state_file() const { return state_file_; }
  pid_t journal_pid() const { return journal_.pid(); }
  // Before the process ends: counts the lines that still wait, and writes the file.
  void finish();

 private:
  void load_messages(const std::string& directory);
  void set_site_messages(std::shared_ptr<const SiteMessages> messages);
  void show();
  void show_news();
  bool is_disabled() const;
  // Whether what jetmem-reader sent is followed, or why not: then the journal is.
  void settle(Result<void> opened);
  // The same later, once the thread has looked at it.
  void on_attached(Result<void> opened);

  // What jetmem-reader opened, or says that it is. Under another root the file may have grown or
  // been replaced: it is taken again each time.
  Result<void> attach(UniqueFd fd);
  // Nothing is to be attached meanwhile: the thread has a descriptor that it is not done with.
  bool is_attaching() const { return attaching_since_.has_value() || thread_.is_busy(); }
  // That what jetmem-reader sent does not let go of the thread.
  std::optional<Error> hang() const;
  // /dev/kmsg cannot be had, and why: the journal stands in for it, until attach().
  void fall_back(const Error& why);
  // Whether lines come, from wherever.
  bool following() const { return attached_ || journal_follows_kernel(); }
  bool journal_follows_kernel() const {
    return journal_.needs_kernel_log() && journal_.state().received;
  }
  // Nothing is read until attach() or fall_back().
  void stop();
  KernelLogReading reading();

  void on_flush();
  void on_batch(const KernelLogThread::Batch& batch);
  void take_file(const KernelLogThread::Batch& batch);
  void take_device(const KernelLogThread::Batch& batch);
  void check_thread();
  void caught_up();
  void report_backlog();
  // Programs' lines that a site described are wanted, too.
  void set_journal_needles();
  void on_journal_state(const journal::State& state);
  void after_lines();
  void publish_events();
  void log_losses();
  void restore();
  void keep(bool at_end = false);

  DaemonContext& context_;
  Sampling& sampling_;
  HistoryFeed* const history_;
  std::function<void()> on_new_events_;
  const kernel_log::SocFound soc_;
  // Take a socket of packets in place of /dev/kmsg. Only from a program that the settings name and
  // nobody but the daemon starts: a reader in wrong hands would feed it, or be silent.
  const bool accept_packets_;
  // Follow the journal for what NVIDIA's libraries print in other processes.
  const bool library_errors_;
  StateFile state_file_;
  EventLog events_;
  // Those of before a reload live as long as events wait that point to them.
  std::shared_ptr<const SiteMessages> messages_;
  std::shared_ptr<const SiteMessages> former_messages_;
  kernel_log::KernelLog log_;
  kernel_log::KmsgText text_;
  KernelLogThread thread_;
  // For what /dev/kmsg cannot give: the kernel's lines where that may not be opened, and the error
  // lines that NVIDIA's libraries print in other processes.
  journal::Client journal_;
  std::string logged_blind_;

  Timer flush_timer_;
  Timer publish_timer_;

  // When /dev/kmsg was asked for last, and how long to wait before it is again.
  Nanoseconds last_try_{-3'600'000'000'000};
  Nanoseconds pause_{0};
  std::size_t site_messages_ = 0;
  std::size_t message_errors_ = 0;

  bool attached_ = false;
  // Nothing came of it yet.
  std::optional<std::chrono::steady_clock::time_point> attaching_since_;
  std::chrono::steady_clock::time_point next_ping_{};
  Nanoseconds begun_{0};                      // mono clock; to read the device from its start
  std::uint64_t new_events_ = 0;              // of the tally's changes, shown
  Nanoseconds last_publish_{-1'000'000'000};  // mono clock
  std::uint64_t kept_ = 0;                    // likewise, written to the state file
  std::uint64_t kept_lost_ = 0;
  std::uint64_t kept_written_ = 0;
  std::optional<std::uint64_t> kept_seq_;
  std::string kept_cursors_;
  Nanoseconds kept_at_{0};
  std::uint64_t logged_lost_ = 0;
  std::uint64_t logged_malformed_ = 0;
  Nanoseconds next_loss_{0};  // mono clock
  Nanoseconds wall_offset_{0};
};

}  // namespace jetmem
