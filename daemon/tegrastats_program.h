// Runs NVIDIA's tegrastats, where it is installed, and takes the newest line that it printed.
//
// Each line costs the device something: tegrastats opens sensors and clocks that may have been
// switched off, so it prints as seldom as sources.tegrastats.interval says. It is started for us
// alone, with "--interval <ms>" and nothing else: "--start" and "--stop" act on instances that
// belong to others.
//
// It runs with the daemon's rights, and ends with it. When it ends, is silent for too long or
// floods, it is started anew after a pause that grows. While it prints as it should, the loop is
// woken by its lines and by nothing else.
#pragma once

#include <systemd/sd-event.h>

#include <string>
#include <vector>

#include "base/snapshot.h"
#include "daemon/child_output.h"
#include "daemon/newest_line.h"
#include "daemon/program_figures.h"
#include "daemon/programs.h"

namespace jetmem {

class TegrastatsProgram final : public Program {
 public:
  explicit TegrastatsProgram(const ProgramContext& context);
  ~TegrastatsProgram() override;

  std::string_view source() const override;
  Result<void> start(sd_event* event) override;
  void apply(const Settings& settings) override;
  void due() override;
  void stop() override;
  pid_t pid() const override { return child_.pid(); }
  std::string_view name() const override { return "tegrastats"; }
  void write(SampleWriter& out) const override;
  std::uint64_t withheld() const override { return log_.withheld(); }

 private:
  enum class Waits { kForNothing, kToStart, kForLine };

  static int on_timer(sd_event_source*, std::uint64_t, void* self);
  void run();
  Result<void> spawn();
  void on_output(std::string_view bytes);
  void on_silence();
  void hand_over();
  void tell_losses();
  // It runs no more, or never did: tried again later.
  void give_up(ProgramFailure why, std::string how);
  void wait(Waits what, Nanoseconds how_long);
  Nanoseconds patience() const;

  const Clock& clock_;
  Program::Done done_;
  ProgramLog log_;
  ChildOutput child_;
  NewestLine line_;
  Snapshot snapshot_;
  ProgramFigures figures_;
  Backoff backoff_;
  sd_event_source* timer_ = nullptr;
  Waits waits_ = Waits::kForNothing;

  std::string program_;
  std::chrono::milliseconds interval_{0};
  bool wanted_ = false;
  bool told_wedged_ = false;
  Nanoseconds started_{0};        // mono clock, as all here
  std::uint64_t first_line_ = 0;  // lines before this start
  Nanoseconds handed_over_{0};
  Nanoseconds told_losses_at_{0};
  std::uint64_t told_lost_ = 0;
};

// The tegrastats to run: `configured` if that is not empty, else where NVIDIA installs it, else on
// the usual PATH. kAbsent when it is nowhere, with where was looked.
Result<std::string> find_tegrastats(const std::string& configured);

}  // namespace jetmem
