// Keeps the journal followed, through jetmem-journal, for what /dev/kmsg cannot give: the kernel's
// lines where that may not be opened, and the error lines that NVIDIA's libraries print in other
// processes.
#pragma once

#include <systemd/sd-event.h>

#include <functional>
#include <memory>
#include <string>

#include "base/log.h"
#include "base/spawn.h"
#include "collectors/journal/client.h"
#include "collectors/kernel_log/kernel_log.h"

namespace jetmem {

class JournalFeed {
 public:
  // `on_lines` is called after lines were fed, `on_change` when following began or ended.
  JournalFeed(Spawner& spawner, kernel_log::KernelLog& kernel_log, Log& log,
              std::function<void()> on_lines, std::function<void()> on_change);
  ~JournalFeed();
  JournalFeed(const JournalFeed&) = delete;
  JournalFeed& operator=(const JournalFeed&) = delete;

  void start(sd_event* event) { event_ = event; }
  // Which lines are wanted from now on; none ends it. Goes on from `cursors`, or from where it was.
  void follow(bool kernel, bool processes);
  void set_cursor(journal::Voice voice, std::string cursor);
  std::string cursor(journal::Voice voice) const;

  bool follows_kernel() const { return kernel_ && following(); }
  bool follows_processes() const { return processes_ && following(); }
  bool wants_kernel() const { return kernel_; }
  bool wants_processes() const { return processes_; }
  // Why it is not followed although it should be.
  const std::string& blind() const { return blind_; }
  pid_t pid() const { return client_ ? client_->pid() : -1; }

 private:
  static int on_ready(sd_event_source*, int fd, std::uint32_t events, void* self);
  bool following() const { return client_ != nullptr && blind_.empty() && client_->pid() > 0; }
  void begin();
  void end();
  void line(const journal::JournalLine& line);
  void on_state(const journal::State& state);

  Spawner& spawner_;
  kernel_log::KernelLog& kernel_log_;
  Log& log_;
  std::function<void()> on_lines_;
  std::function<void()> on_change_;
  bool kernel_ = false;
  bool processes_ = false;
  std::array<std::string, journal::kVoices> cursors_;
  std::unique_ptr<journal::Client> client_;
  std::string blind_;
  std::string told_blind_;

  sd_event* event_ = nullptr;
  sd_event_source* io_ = nullptr;
};

}  // namespace jetmem
