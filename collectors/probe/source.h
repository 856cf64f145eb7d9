// SPDX-License-Identifier: Apache-2.0
// What jetmem-probe found when it last allocated memory of each kind: whether that succeeded, how
// long each step took, and whether CPU and GPU saw the same bytes.
//
// The daemon runs the program now and then (daemon/probe/probe_program.h) and hands over what it
// printed; a captured tree holds that as /jetmem/probe: one line of JSON for each run whose results
// still hold, the one without CUDA and the one with. Each kind is in one of them only. An empty
// line alone: no result holds.
//
// Format of a line: docs/probe.md and docs/probe-result.schema.json, "jetmem-probe/1", which
// report.cc of probes/program/ writes. Members that are not known here may come with later versions
// and are passed over. Durations are in seconds, sizes in bytes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "collectors/source.h"

namespace jetmem {

enum class ProbeState : std::uint8_t {
  kOk,
  kFailed,       // the allocation failed, or a step with it
  kMismatch,     // CPU or GPU did not see the bytes that the other wrote
  kUnsupported,  // this machine, driver or build has no such memory
  kDenied,       // it exists, and jetmem-probe may not use it
  kSkipped,      // skipped, to protect the device
};
inline constexpr std::size_t kProbeStates = 6;
std::string_view probe_state_name(ProbeState state);

// One run of jetmem-probe.
struct ProbeRun {
  struct Step {
    std::string step;
    double seconds = 0;
    std::optional<double> bytes_per_second;

    bool operator==(const Step&) const = default;
  };
  // All steps with a buffer of one size.
  struct SizeStep {
    std::uint64_t bytes = 0;
    std::optional<std::uint64_t> mismatches;  // 64-bit words
    std::vector<Step> steps;

    bool operator==(const SizeStep&) const = default;
  };
  struct Ratio {
    std::string ratio;
    std::optional<double> value;
    std::string expected;
    std::string judgement;

    bool operator==(const Ratio&) const = default;
  };
  struct Bisection {
    std::uint64_t largest_bytes = 0;
    std::uint64_t limit_bytes = 0;
    std::uint64_t tries = 0;
    std::string error;

    bool operator==(const Bisection&) const = default;
  };
  // What a process's pool holds at one moment.
  struct PoolUse {
    std::uint64_t reserved_bytes = 0;
    std::uint64_t used_bytes = 0;

    bool operator==(const PoolUse&) const = default;
  };
  struct Pool {
    std::optional<PoolUse> allocated;
    std::optional<PoolUse> freed;
    std::optional<PoolUse> trimmed;

    bool operator==(const Pool&) const = default;
  };
  struct Probe {
    std::string kind;
    std::string target;  // a heap's name; empty for kinds of which there is one
    ProbeState state = ProbeState::kOk;
    std::string reason;
    std::string failed_step;
    std::uint64_t failed_bytes = 0;
    std::string error;
    std::optional<SizeStep> warm_up;
    std::vector<SizeStep> size_steps;
    std::vector<Ratio> ratios;
    std::optional<Bisection> bisection;
    std::optional<Pool> pool;
    std::string not_checked;  // what this machine does not let be checked; empty: all was

    // Of all rungs; absent where it did not come to a comparison.
    std::optional<std::uint64_t> mismatches() const;

    bool operator==(const Probe&) const = default;
  };
  struct Conditions {
    std::optional<double> cpu_min_hertz;
    std::optional<double> cpu_max_hertz;
    std::optional<double> gpu_hertz;
    std::optional<double> emc_hertz;
    std::optional<double> temperature_celsius;
    std::string hottest_zone;
    std::optional<std::uint64_t> power_mode;
    std::vector<std::pair<std::string, std::string>> absent;  // what, and why

    bool operator==(const Conditions&) const = default;
  };
  // The kernels: what loading them took, compiling included.
  struct Kernels {
    ProbeState state = ProbeState::kUnsupported;
    std::string reason;
    std::string code;  // "cubin": machine code; "ptx", or empty: the driver compiled them
    double seconds = 0;
    std::optional<std::uint64_t> resident_bytes;
    std::optional<std::uint64_t> peak_bytes;
    std::optional<std::uint64_t> gpu_bytes;

    bool operator==(const Kernels&) const = default;
  };
  struct Gpu {
    ProbeState state = ProbeState::kUnsupported;
    std::string reason;
    std::string driver;
    std::string name;
    std::string compute_capability;
    std::optional<bool> integrated;
    std::optional<Kernels> kernels;
    std::vector<Step> start;

    bool operator==(const Gpu&) const = default;
  };

  std::string version;
  std::uint64_t pid = 0;
  Nanoseconds started_boot{0};
  Nanoseconds started_wall{0};
  double seconds = 0;
  std::uint64_t frame_bytes = 0;
  Conditions before;
  Conditions after;
  // Whether the line is of a run with CUDA. `gpu` is absent all the same where the state of the GPU
  // is unknown.
  bool has_gpu = false;
  std::string_view group() const { return has_gpu ? "cuda" : "memory"; }
  std::optional<Gpu> gpu;
  std::vector<Gpu> more_gpus;  // whose results have "gpu1", "gpu2", ... in their targets
  std::uint64_t omitted_gpus = 0;  // beyond what a line has room for: not probed
  std::vector<Probe> probes;

  // Passed over, and counted.
  std::uint64_t unknown_states = 0;  // probes and GPUs with a state that later versions may have
  std::uint64_t repeated = 0;        // probes of a kind and target that were there before

  bool operator==(const ProbeRun&) const = default;
};

// One line, without its newline. Errors say where: "probes[2].rungs[0].bytes: expected a count,
// found \"x\"". Names and words are bounded and made printable. A line is wrong as a whole that has
// more than 64 probes, or one with more than 16 rungs, 32 steps in a rung or 32 ratios.
Result<void> parse_probe_run(std::string_view line, ProbeRun& out);

struct ProbeReading {
  std::vector<ProbeRun> runs;  // at most kMaxRuns

  static constexpr std::size_t kMaxRuns = 4;
  bool operator==(const ProbeReading&) const = default;
};

class ProbeSource final : public SourceOf<ProbeSource, ProbeReading> {
 public:
  static const SourceInfo kInfo;
  Result<void> parse(const Snapshot& snapshot, Nanoseconds read_time) override;
  void write(SampleWriter& out, WriteContext& context) const override;
};

}  // namespace jetmem
