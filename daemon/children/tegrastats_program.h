// SPDX-License-Identifier: Apache-2.0
// Runs NVIDIA's tegrastats, where it is installed, and takes the newest line that it printed.
//
// Each line costs the device something: tegrastats opens sensors and clocks that may have been
// switched off, so it prints as seldom as sources.tegrastats.interval says. It is started for us
// alone, with "--interval <ms>" and nothing else: "--start" and "--stop" act on instances that
// belong to others.
//
// It runs with the daemon's rights, and ends with it. When it ends, is silent for too long or
// floods, it is started again after a pause that grows. While it prints as it should, the loop is
// woken by its lines and by nothing else.
#pragma once

#include <string>
#include <vector>

#include "base/process/child_process.h"
#include "base/root/snapshot.h"
#include "daemon/children/child_process_stats.h"
#include "daemon/children/latest_line.h"
#include "daemon/children/program.h"

namespace jetmem {

class TegrastatsProgram final : public Program {
 public:
  explicit TegrastatsProgram(const ProgramContext& context);

  std::string_view source() const override;
  Result<void> start(EventLoop& loop) override;
  void apply(const Settings& settings) override;
  void due() override;
  void stop() override;
  pid_t pid() const override { return child_.pid(); }
  std::string_view name() const override { return "tegrastats"; }
  void write(SampleWriter& out) const override;
  std::uint64_t suppressed() const override { return log_.suppressed(); }

 private:
  enum class Waits { kForNothing, kToStart, kForLine };

  void on_timer();
  void run();
  Result<void> spawn();
  void on_output(std::string_view bytes);
  void on_silence();
  void hand_over();
  void log_losses();
  // The program has ended or did not start: it is tried again later.
  void abandon_run(ChildProcessFailure why, std::string how);
  void wait(Waits what, Nanoseconds how_long);
  Nanoseconds timeout() const;

  const Clock& clock_;
  Program::Done done_;
  ChildProcessLog log_;
  ChildProcess child_;
  NewestLine line_;
  Snapshot snapshot_;
  ChildProcessStats stats_;
  Backoff backoff_;
  Timer timer_;
  Waits waits_ = Waits::kForNothing;

  std::string program_;
  std::chrono::milliseconds interval_{0};
  bool needed_ = false;
  bool logged_wedged_ = false;
  Nanoseconds started_{0};        // mono clock, as all here
  std::uint64_t first_line_ = 0;  // lines before this start
  Nanoseconds handed_over_{0};
  Nanoseconds logged_losses_at_{0};
  std::uint64_t logged_lost_ = 0;
};

// The tegrastats to run: `configured` if that is not empty, else where NVIDIA installs it, else on
// the usual PATH. kAbsent when it is nowhere, with where was looked.
Result<std::string> find_tegrastats(const std::string& configured);

}  // namespace jetmem
