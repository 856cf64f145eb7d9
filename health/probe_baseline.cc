// SPDX-License-Identifier: Apache-2.0
#include "health/probe_baseline.h"

#include <algorithm>
#include <cmath>

#include "base/text/text.h"

namespace jetmem {
namespace {

constexpr std::array kProbeBaselineMetrics{
    gauge("jetmem_probe_slowness_ratio",
          "Duration of the last probe of this kind, all steps with a whole frame, as a multiple of "
          "the median of earlier ones at the same clocks and power mode. 3: allocating takes three "
          "times as long as before, because the kernel has to reclaim or move memory first, or "
          "because memory is busy. Absent until jetmemd has five runs to compare with, and after a "
          "failed probe.",
          {"kind", "target"}, ProbeBaseline::kTargets),
};

constexpr std::array<std::string_view, 1> kProbeBaselineSources{"probe"};
constexpr float kClockSlack = 0.1F;

bool is_near(float a, float b) {
  if (a == 0 || b == 0) return a == b;
  return std::abs(a - b) <= kClockSlack * std::max(a, b);
}

}  // namespace

ProbeBaseline::ProbeBaseline() = default;

const DerivedInfo ProbeBaseline::kInfo{.name = "probe_baseline",
                                       .sources = kProbeBaselineSources,
                                       .metrics = kProbeBaselineMetrics,
                                       .write_at_once = true};

bool ProbeBaseline::Run::is_comparable(const Run& other) const {
  return frame == other.frame && steps == other.steps && power_mode == other.power_mode &&
         is_near(cpu_hertz, other.cpu_hertz) && is_near(gpu_hertz, other.gpu_hertz) &&
         is_near(emc_hertz, other.emc_hertz);
}

// Absent unless a whole frame was allocated and used from begin to end.
std::optional<ProbeBaseline::Run> ProbeBaseline::run_of(const ProbeRun& run,
                                                        const ProbeRun::Probe& probe) {
  if (probe.state != ProbeState::kOk || probe.size_steps.empty()) return std::nullopt;
  const ProbeRun::SizeStep& frame = probe.size_steps.back();
  if (frame.bytes < run.frame_bytes || frame.steps.empty()) return std::nullopt;
  Run out;
  out.frame = frame.bytes;
  std::uint64_t steps = kFnvBasis;
  for (const ProbeRun::Step& step : frame.steps) {
    out.seconds += step.seconds;
    steps = fnv1a(step.step, fnv1a(" ", steps));
  }
  out.steps = static_cast<std::uint32_t>(steps);
  const auto hertz = [](const std::optional<double>& clock) {
    return static_cast<float>(clock.value_or(0));
  };
  out.cpu_hertz = hertz(run.after.cpu_max_hertz);
  out.emc_hertz = hertz(run.after.emc_hertz);
  if (run.has_gpu) out.gpu_hertz = hertz(run.after.gpu_hertz);
  const std::uint64_t mode = run.after.power_mode.value_or(UINT64_MAX);
  if (mode <= INT32_MAX) out.power_mode = static_cast<std::int32_t>(mode);
  return out;
}

ProbeBaseline::Target& ProbeBaseline::target_of(const ProbeRun::Probe& probe) {
  for (Target& target : targets_) {
    if (target.kind == probe.kind && target.target == probe.target) return target;
  }
  if (targets_.size() < kTargets) {
    Target& target = targets_.emplace_back();
    target.kind = probe.kind;
    target.target = probe.target;
    return target;
  }
  // Evict the one not seen for longest.
  Target& oldest =
      *std::min_element(targets_.begin(), targets_.end(),
                        [](const Target& a, const Target& b) { return a.seen < b.seen; });
  oldest = Target{};
  oldest.kind = probe.kind;
  oldest.target = probe.target;
  return oldest;
}

void ProbeBaseline::take(Target& target, const Run& run, Nanoseconds now) {
  std::array<double, kRuns> past;
  std::size_t count = 0;
  for (std::size_t i = 0; i < target.count; ++i) {
    if (target.runs[i].is_comparable(run)) past[count++] = target.runs[i].seconds;
  }
  if (count >= kLeast) {
    const auto middle = past.begin() + static_cast<std::ptrdiff_t>(count / 2);
    std::nth_element(past.begin(), middle, past.begin() + static_cast<std::ptrdiff_t>(count));
    if (*middle > 0) target.ratio = run.seconds / *middle;
  }
  if (target.ratio && *target.ratio > kSlow) {
    if (!target.slow_since) target.slow_since = now;
    if (now - *target.slow_since < kNewNormal) return;
    target.count = target.next = 0;
    target.ratio.reset();
  }
  target.slow_since.reset();
  target.runs[target.next] = run;
  target.next = (target.next + 1) % kRuns;
  target.count = std::min(target.count + 1, kRuns);
}

void ProbeBaseline::write(SampleWriter& out, WriteContext& context) {
  const auto* reading = context.readings.get<ProbeReading>();
  if (reading == nullptr) return;
  for (const ProbeRun& run : reading->runs) {
    for (const ProbeRun::Probe& probe : run.probes) {
      // Memory of this kind does not exist here.
      if (probe.state == ProbeState::kUnsupported || probe.state == ProbeState::kDenied) continue;
      Target& target = target_of(probe);
      target.seen = context.now;
      // A reading repeats the same run until there is another.
      if (target.started != run.started_boot || target.pid != run.pid) {
        target.started = run.started_boot;
        target.pid = run.pid;
        target.ratio.reset();
        const auto taken = run_of(run, probe);
        target.has_frame = taken.has_value();
        if (taken) take(target, *taken, context.now);
      }
      out.put(kProbeBaselineMetrics[0], target.ratio, probe.kind, probe.target);
      if (!target.ratio) {
        context.absent.add(target.has_frame ? "too_few_comparable_runs" : "no_whole_frame");
      }
    }
  }
}

}  // namespace jetmem
