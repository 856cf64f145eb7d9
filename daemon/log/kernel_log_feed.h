// SPDX-License-Identifier: Apache-2.0
// Keeps the kernel log followed: has /dev/kmsg, which jetmem-reader opened, read by a thread, hands
// events to the journal, and keeps what was counted over a restart.
//
// An idle machine costs next to nothing here: no timer runs unless lines of an event are awaited.
// Twice a minute the thread is asked to read, as one that hangs and an idle log look the same.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/clock.h"
#include "base/log.h"
#include "base/process/event_loop.h"
#include "base/root/root.h"
#include "base/root/state_file.h"
#include "collectors/kernel_log/kernel_log.h"
#include "collectors/kernel_log/kmsg.h"
#include "collectors/kernel_log/source.h"
#include "daemon/log/event_log.h"
#include "daemon/log/journal_feed.h"
#include "daemon/log/kernel_log_thread.h"
#include "daemon/probe_window.h"
#include "report/messages/site_messages.h"

namespace jetmem {

struct KernelLogFeedOptions {
  kernel_log::Soc soc = kernel_log::Soc::kUnknown;
  bool accept_user_records = false;
  // Take a socket of packets in place of /dev/kmsg. Only from a program that the settings name and
  // nobody but the daemon starts: a reader in wrong hands would feed it, or be silent.
  bool accept_packets = false;
  // Follow the journal for what NVIDIA's libraries print in other processes.
  bool library_errors = false;
  // Where counts survive a restart of the daemon; empty: nowhere.
  std::string runtime_directory;
  // Whether what attach() took is followed, or read to its end; once for each, later than it.
  std::function<void(Result<void>)> on_attached{};
  // Of each event, beside the journal.
  std::function<void(const kernel_log::Event&, const kernel_log::Occurrence&)> on_event{};
};

class KernelLogFeed {
 public:
  // `on_new_events` is called when something was counted that is worth showing before the next
  // round.
  KernelLogFeed(KernelLogFeedOptions options, const Root& root, const Clock& clock,
                Spawner& spawner, Log& log, std::function<void()> on_new_events);
  KernelLogFeed(const KernelLogFeed&) = delete;
  KernelLogFeed& operator=(const KernelLogFeed&) = delete;

  // To be called once, before anything is attached.
  Result<void> start(EventLoop& loop);
  // What jetmem-reader opened, or says that it is. Under another root the file may have grown or
  // been replaced: it is taken again each time.
  Result<void> attach(UniqueFd fd);
  // Closes what jetmem-reader sent and nobody takes.
  void dispose(UniqueFd fd) { (void)thread_.take(std::move(fd), KernelLogThread::Use::kClose); }
  bool attached() const { return attached_; }
  // Nothing is to be attached meanwhile: the thread has a descriptor that it is not done with.
  bool is_attaching() const { return attaching_since_.has_value() || thread_.is_busy(); }
  // That what jetmem-reader sent does not let go of the thread.
  std::optional<Error> hang() const;
  // /dev/kmsg cannot be had, and why: the journal stands in for it, until attach().
  void fall_back(const Error& why);
  // Whether lines come, from wherever; and why the journal gives none where it should.
  bool following() const { return attached() || journal_.follows_kernel(); }
  const std::string& journal_error() const { return journal_.blind(); }
  // Nothing is read until attach() or fall_back().
  void stop();

  // Once a round: digests, and the file that keeps the counts.
  void cycle();
  KernelLogReading reading();

  // While a probe runs, one at a time: what the log says from its start until shortly after its end
  // is put down to it. Valid as long as this object.
  ProbeWindow probe_window();
  // Likewise; knows when probes ran also while nobody follows the log.
  const kernel_log::Tally& tally() const { return log_.tally(); }

  void set_accept_user_records(bool accept) { log_.set_accept_user_records(accept); }
  // A site's own messages. What is the same already stays.
  void set_site_messages(std::shared_ptr<const SiteMessages> messages);
  std::uint64_t suppressed() const { return events_.suppressed(); }
  const StateFile& state_file() const { return state_file_; }
  pid_t journal_pid() const { return journal_.pid(); }
  // Before the process ends: counts the lines that still wait, and writes the file.
  void finish();

 private:
  void on_flush();
  void on_batch(const KernelLogThread::Batch& batch);
  void take_file(const KernelLogThread::Batch& batch);
  void take_device(const KernelLogThread::Batch& batch);
  void check_thread();
  void caught_up();
  void report_backlog();
  void on_journal_change();
  void after_lines();
  void publish_events();
  void log_losses();
  void restore();
  void keep(bool at_end = false);

  KernelLogFeedOptions options_;
  const Root& root_;
  const Clock& clock_;
  Log& out_;
  std::function<void()> on_new_events_;
  StateFile state_file_;
  EventLog events_;
  // Those of before a reload live as long as events wait that point to them.
  std::shared_ptr<const SiteMessages> messages_;
  std::shared_ptr<const SiteMessages> former_messages_;
  kernel_log::KernelLog log_;
  kernel_log::KmsgText text_;
  KernelLogThread thread_;
  JournalFeed journal_;

  Timer flush_timer_;
  Timer publish_timer_;

  bool attached_ = false;
  // Nothing came of it yet.
  std::optional<std::chrono::steady_clock::time_point> attaching_since_;
  std::chrono::steady_clock::time_point next_ping_{};
  Nanoseconds begun_{0};  // mono clock; to read the device from its start
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
