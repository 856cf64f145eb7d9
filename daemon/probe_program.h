// Has jetmem-probe take memory of each kind now and then, where the machine can bear it, and tells
// the source `probe` what it found. The daemon itself never takes such memory nor loads CUDA.
//
// Host memory and DMA-BUFs ("memory") are probed at the source's interval, the kinds that need CUDA
// ("cuda") at a longer one, after them and in a process of their own: one that hangs in the GPU's
// driver costs no other result. Never two at a time, and none while an earlier one has not gone.
// Before each run the gates are asked (probes/gates.h); what is left out is counted, by reason.
#pragma once

#include <systemd/sd-event.h>

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/snapshot.h"
#include "config/settings.h"
#include "daemon/probe_ledger.h"
#include "daemon/probe_names.h"
#include "daemon/probe_news.h"
#include "daemon/probe_runner.h"
#include "daemon/probe_schedule.h"
#include "daemon/probe_state.h"
#include "daemon/program_figures.h"
#include "daemon/programs.h"
#include "probes/gates.h"

namespace jetmem {

struct ProbeProgramOptions {
  ProbeScheduleOptions schedule;
  // Between the run without CUDA and the one with it, so that the kernel's log tells them apart,
  // and before that log is asked what it had to say.
  Nanoseconds settle = std::chrono::seconds(3);
  // One that was killed and does not go no longer answers for what the kernel says.
  Nanoseconds window_patience = std::chrono::minutes(1);
  // Where /proc and /sys/fs/cgroup are.
  std::string root;
};

class ProbeProgram final : public Program {
 public:
  ProbeProgram(const ProgramContext& context, ProbeProgramOptions options);
  ~ProbeProgram() override;

  std::string_view source() const override;
  Result<void> start(sd_event* event) override;
  void apply(const Settings& settings) override;
  void due() override;
  void stop() override;
  // Lives for a moment only; one that takes longer is worth showing.
  pid_t pid() const override;
  std::string_view name() const override { return "jetmem-probe"; }
  void write(SampleWriter& out) const override;
  std::uint64_t withheld() const override { return log_.withheld() + news_.withheld(); }

 private:
  // The gates' reasons, and four of the program's own.
  static constexpr std::size_t kEarlierRun = kGateReasons;
  static constexpr std::size_t kAfterFailure = kGateReasons + 1;
  static constexpr std::size_t kOwnLimit = kGateReasons + 2;
  static constexpr std::size_t kSwitchedOff = kGateReasons + 3;
  static constexpr std::size_t kSkipReasons = kGateReasons + 4;
  static std::string_view skip_reason_name(std::size_t reason);

  struct Group {
    // The newest result that still holds, and when it came (boot clock).
    std::string line;
    Nanoseconds line_at{0};
    bool told_first = false;
    std::array<std::uint64_t, kSkipReasons> skips{};
    // Left out now, for this reason, so many times in a row.
    std::optional<std::size_t> skipping;
    std::uint64_t skips_in_a_row = 0;
  };
  Group& of(ProbeGroup group) { return groups_[static_cast<std::size_t>(group)]; }

  static int on_timer(sd_event_source*, std::uint64_t, void* self);
  void step();
  void take_turns(Nanoseconds now);
  bool try_to_run(ProbeGroup group, Nanoseconds now);
  Result<void> run(ProbeGroup group, const GateInputs& inputs);
  void skip(ProbeGroup group, std::size_t reason, const std::string& words);
  void go_on(ProbeGroup group);
  void count_switched_off(ProbeGroup group);
  // Over a restart of the daemon.
  void restore();
  void keep();
  bool is_left_behind();
  void say_wedged();
  void on_end(ProbeRunEnd end);
  void take_results(ProbeGroup group, ProbeRunEnd end);
  Result<void> take_names(const ProbeRun& run, Nanoseconds now);
  void take_failure(ProbeGroup group, ProbeFailure failure, ProbeRunEnd end = {});
  void note(const ProbeRun::Probe& probe, const ProbeRun* run);
  void drop_line(ProbeGroup group);
  bool drop_old_lines(Nanoseconds now);
  // False: there is nothing that still holds.
  void tell_source(Nanoseconds took);
  void look_at_window(Nanoseconds now);
  void judge_complaints();
  void arm();
  GateInputs inputs() const;
  // Nothing while nobody follows the kernel's log.
  std::optional<std::uint64_t> complaints() const {
    return window_.events ? window_.events() : std::nullopt;
  }

  const Clock& clock_;
  Program::Done done_;
  const Readings* readings_;
  SourceStates source_states_;
  ProbeWindow window_;
  ProbeProgramOptions options_;
  ProgramLog log_;
  ProbeNews news_;
  ProbeRunner runner_;
  ProbeSchedule schedule_;
  ProbeLedger ledger_;
  ProbeNames names_;
  ProgramFigures figures_;
  ProbeSettings settings_;
  bool enabled_ = true;
  std::uint64_t page_size_;
  std::array<Group, kProbeGroups> groups_;
  Snapshot snapshot_;
  std::string text_;
  sd_event_source* timer_ = nullptr;

  std::string state_file_;  // empty: nothing is kept
  std::string boot_id_;
  bool told_state_trouble_ = false;
  // Of a daemon before this one, and still there when last looked for.
  std::optional<ProbeProcess> left_behind_;
  Nanoseconds started_{0};              // boot clock
  std::optional<Nanoseconds> keep_at_;  // boot clock; which process it is was not known yet

  std::optional<ProbeGroup> running_;
  // Whose turn it is in the present cycle, not before when; and why the source has nothing of it.
  std::optional<ProbeGroup> turn_;
  Nanoseconds turn_at_{0};  // boot clock
  std::string why_skipped_;
  std::string told_fallback_;
  bool told_wedged_ = false;
  bool has_told_ = false;   // results, which the source shows
  Nanoseconds told_at_{0};  // boot clock

  // The kernel log's window: open from the start of a run until it is gone.
  std::optional<ProbeGroup> window_of_;
  std::optional<Nanoseconds> left_at_;              // boot clock; when it was killed or ended
  std::optional<std::uint64_t> complaints_before_;  // when the last run with CUDA began
  std::optional<Nanoseconds> judge_at_;             // boot clock
};

std::span<const Descriptor> probe_program_metrics();

}  // namespace jetmem
