// SPDX-License-Identifier: Apache-2.0
// Runs jetmem-probe, which allocates memory of each kind now and then where the machine has room,
// and passes its results to the source `probe`. The daemon itself never allocates such memory nor
// loads CUDA.
//
// Host memory and DMA-BUFs ("memory") are probed at the source's interval, the kinds that need CUDA
// ("cuda") at a longer one, after them and in a process of their own: one that hangs in the GPU's
// driver costs no other result. Never two at a time, and none while an earlier one has not gone.
// Before each run the gates are checked (probes/gates.h); skipped kinds are counted by reason.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/root/snapshot.h"
#include "config/settings.h"
#include "daemon/children/child_process_stats.h"
#include "daemon/children/program.h"
#include "daemon/probe/fit_predictions.h"
#include "daemon/probe/probe_event_log.h"
#include "daemon/probe/probe_names.h"
#include "daemon/probe/probe_results.h"
#include "daemon/probe/probe_run_window.h"
#include "daemon/probe/probe_schedule.h"
#include "daemon/probe/probe_skips.h"
#include "daemon/probe/probe_state.h"
#include "daemon/probe/probe_stats.h"
#include "probes/gates.h"
#include "probes/probe_runner.h"

namespace jetmem {

struct ProbeProgramOptions {
  ProbeScheduleOptions schedule;
  // Between the run without CUDA and the one with it, so that the kernel log
  // distinguishes them, and before that log is read for either.
  Nanoseconds settle = std::chrono::seconds(3);
  // One that was killed and does not go no longer answers for what the kernel says.
  Nanoseconds window_timeout = std::chrono::minutes(1);
  // Where /proc and /sys/fs/cgroup are.
  std::string root;
};

class ProbeProgram final : public Program {
 public:
  ProbeProgram(const ProgramContext& context, ProbeProgramOptions options);

  std::string_view source() const override;
  Result<void> start(EventLoop& loop) override;
  void apply(const Settings& settings) override;
  void due() override;
  void stop() override;
  // Lives for a moment only; one that takes longer is worth showing.
  pid_t pid() const override;
  std::string_view name() const override { return "jetmem-probe"; }
  std::string_view missing(const Labels& labels) const override;
  void write(SampleWriter& out) const override;
  std::uint64_t suppressed() const override { return log_.suppressed() + event_log_.suppressed(); }

 private:
  void step();
  void take_turns(Nanoseconds now);
  bool try_to_run(ProbeGroup group, Nanoseconds now);
  Result<void> run(ProbeGroup group, const GateInputs& inputs);
  void skip(ProbeGroup group, std::size_t reason, const std::string& words);
  void save_state();
  void log_wedged();
  void on_end(ProbeRunEnd end);
  void take_results(ProbeGroup group, ProbeRunEnd end);
  void take_failure(ProbeGroup group, ProbeFailure failure, ProbeRunEnd end = {});
  void note(const ProbeRun::Probe& probe, const ProbeRun* run);
  void update_source(Nanoseconds elapsed);
  void check_window(Nanoseconds now);
  void count_events();
  void arm();
  GateInputs inputs() const;

  const Clock& clock_;
  Program::Done done_;
  const Readings* readings_;
  SourceStates source_states_;
  ProbeProgramOptions options_;
  ChildProcessLog log_;
  ProbeEventLog event_log_;
  ProbeRunner runner_;
  ProbeSchedule schedule_;
  ProbeStats probe_stats_;
  FitPredictions predictions_;
  std::function<DeviceNow()> look_;
  ProbeNames names_;
  ChildProcessStats stats_;
  ProbeSettings settings_;
  bool enabled_ = true;
  ProbeSkips skips_;
  ProbeResults results_;
  ProbeRunWindow window_;
  Timer timer_;

  ProbeStateStore state_store_;
  Nanoseconds started_{0};              // boot clock
  std::optional<Nanoseconds> save_at_;  // boot clock; which process it is was not known yet

  std::optional<ProbeGroup> running_;
  // The group to probe in this cycle and its earliest time; and why the source is skipped.
  std::optional<ProbeGroup> turn_;
  Nanoseconds turn_at_{0};  // boot clock
  std::string skip_reason_;
  std::string logged_fallback_;
  bool logged_wedged_ = false;
};

std::span<const Descriptor> probe_program_metrics();

}  // namespace jetmem
