// SPDX-License-Identifier: Apache-2.0
// Keeps the journal followed, through jetmem-journal, for what /dev/kmsg cannot give: the kernel's
// lines where that may not be opened, and the error lines that NVIDIA's libraries print in other
// processes.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/clock.h"
#include "base/log.h"
#include "base/process/event_loop.h"
#include "base/result.h"
#include "base/spawn.h"
#include "collectors/journal/client.h"
#include "collectors/kernel_log/kernel_log.h"

namespace jetmem {

class JournalFeed {
 public:
  // `on_lines` is called after lines were fed, `on_change` when following began or ended.
  JournalFeed(const Clock& clock, Spawner& spawner, kernel_log::KernelLog& kernel_log, Log& log,
              std::function<void()> on_lines, std::function<void()> on_change);
  JournalFeed(const JournalFeed&) = delete;
  JournalFeed& operator=(const JournalFeed&) = delete;

  Result<void> start(EventLoop& loop) { return client_->attach(loop); }
  // Which lines are wanted from now on; goes on from the cursor, or from where it was.
  void follow(bool kernel, bool processes) { client_->follow(kernel, processes); }
  // Programs' lines that a site described are wanted, too.
  void set_site_messages(const kernel_log::Catalogue* site);
  void set_cursor(journal::Voice voice, std::string cursor) {
    client_->set_cursor(voice, std::move(cursor));
  }
  const std::string& cursor(journal::Voice voice) const { return client_->cursor(voice); }

  bool needs_kernel_log() const { return client_->needs_kernel_log(); }
  bool needs_process_lines() const { return client_->needs_process_lines(); }
  bool follows_kernel() const { return needs_kernel_log() && client_->state().received; }
  bool follows_processes() const { return needs_process_lines() && client_->state().received; }
  // What was in it before us was read.
  bool caught_up() const { return client_->state().caught_up; }
  // Why it is not followed although it should be.
  const std::string& blind() const { return client_->state().blind; }
  pid_t pid() const { return client_->pid(); }

 private:
  void on_state(const journal::State& state);

  kernel_log::KernelLog& kernel_log_;
  Log& log_;
  std::function<void()> on_change_;
  std::unique_ptr<journal::Client> client_;
  std::string logged_blind_;
};

}  // namespace jetmem
