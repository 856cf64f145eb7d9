// SPDX-License-Identifier: Apache-2.0
// Whether jetmem's probe is slower than its earlier runs.
//
// The time of a probe is the sum of all steps with a whole frame. It is compared only with earlier
// runs under equal conditions: same frame, steps and power mode, and clocks of CPU, memory and (of
// runs with CUDA) GPU within 10 %, each at the end of the run. An unknown clock or mode equals only
// another unknown one.
//
// A run slower than kSlow times the median is not added to the baseline: a slow period would soon
// count as usual. After kNewNormal of slow runs only, the baseline is collected anew.
//
// The last kRuns runs of each kind of memory are kept. A restart forgets them.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "collectors/probe/source.h"

namespace jetmem {

class ProbeBaseline final : public DerivedMetric {
 public:
  static const DerivedInfo kInfo;
  static constexpr std::size_t kRuns = 32;
  static constexpr std::size_t kLeast = 5;  // earlier runs to compare with
  static constexpr std::size_t kTargets = 48;
  static constexpr double kSlow = 2;
  static constexpr Nanoseconds kNewNormal = std::chrono::hours(24);

  ProbeBaseline();

  const DerivedInfo& info() const override { return kInfo; }
  void write(SampleWriter& out, WriteContext& context) override;

 private:
  struct Run {
    double seconds = 0;
    std::uint64_t frame = 0;
    std::uint32_t steps = 0;  // a digest of their names
    std::int32_t power_mode = -1;
    // 0: unknown.
    float cpu_hertz = 0;
    float gpu_hertz = 0;
    float emc_hertz = 0;

    bool is_comparable(const Run& other) const;
  };
  struct Target {
    std::string kind;
    std::string target;
    std::array<Run, kRuns> runs{};
    std::size_t count = 0;
    std::size_t next = 0;
    std::optional<Nanoseconds> slow_since;  // boot clock; every run since then was slow
    // Of the run seen last.
    Nanoseconds started{-1};
    std::uint64_t pid = 0;
    Nanoseconds seen{0};
    bool has_frame = false;
    std::optional<double> ratio;
  };

  static std::optional<Run> run_of(const ProbeRun& run, const ProbeRun::Probe& probe);
  Target& target_of(const ProbeRun::Probe& probe);
  static void take(Target& target, const Run& run, Nanoseconds now);

  std::vector<Target> targets_;
};

}  // namespace jetmem
