// SPDX-License-Identifier: Apache-2.0
#include "collectors/probe/source.h"

#include <algorithm>

#include "base/text/text.h"

namespace jetmem {
namespace {

constexpr std::array<std::string_view, 1> kProbePaths{"/jetmem/probe"};

// host, the kinds with CUDA, udmabuf, and up to 16 heaps, tried by two kinds.
constexpr std::uint16_t kTargets = 48;
constexpr std::uint16_t kSizeSteps = 8;  // up to the largest frame that can be set, 256 MiB
constexpr std::uint16_t kSteps = 12;
constexpr std::uint16_t kGroups = 2;
constexpr std::uint16_t kRatios = 32;
constexpr std::uint16_t kMoments = 3;

constexpr std::array kProbeMetrics{
    gauge("jetmem_probe_success",
          "1 when the last probe of this kind could allocate, use and free memory, up to "
          "jetmem_probe_frame_bytes; 0 when not: a camera or model that asks for it now fails "
          "too. jetmem_probe_failed_bytes has the size, the step and the error. Absent where "
          "there is no such memory or it was not probed: see jetmem_probe_state. Where "
          "jetmem_probe_kernels_loaded is 0, the GPU's own access is not included.",
          {"kind", "target"}, kTargets),
    gauge("jetmem_probe_state",
          "Always 1, for the state that the last probe of this kind ended in: ok; failed; "
          "mismatch, CPU and GPU did not see the same bytes, which is always serious; "
          "unsupported, this machine, driver or build has no such memory; denied, jetmem-probe "
          "may not use it; skipped, to protect the device.",
          {"kind", "target", "state"}, kTargets),
    gauge("jetmem_probe_failed_bytes",
          "Size of the buffer with which the last probe of this kind failed, at which step and "
          "with which error; smaller ones succeeded, where any were tried. Present only while it "
          "fails.",
          {"kind", "target", "step", "error"}, kTargets),
    gauge("jetmem_probe_last_mismatched_words",
          "64-bit words that differ from what CPU or GPU had written, in all buffers of the last "
          "probe of this kind. Above 0 caches, IOMMU, driver or the memory itself are broken: "
          "take the device out of service. Absent where nothing was compared.",
          {"kind", "target"}, kTargets),
    gauge("jetmem_probe_step_seconds",
          "How long a step took with a whole frame (jetmem_probe_frame_bytes). A slow allocate "
          "or first_touch means that the kernel had to find or move memory first. Compare only "
          "at equal clocks (jetmem_probe_conditions_*). Absent when the step failed or was not "
          "reached.",
          {"kind", "target", "step"}, kTargets* kSteps),
    gauge("jetmem_probe_step_bytes_per_second",
          "What a step moved per second with a whole frame (jetmem_probe_frame_bytes), one "
          "buffer and one thread: compare it with its own past, not with the machine's "
          "bandwidth. Compare only at equal clocks (jetmem_probe_conditions_*).",
          {"kind", "target", "step"}, kTargets* kSteps),
    gauge("jetmem_probe_allocate_seconds",
          "How long it took to allocate a buffer of this size, for each size that was tried. "
          "When only the large ones become slow, memory is fragmented. Absent for a size that "
          "failed or was not tried.",
          {"kind", "target", "bytes"}, kTargets* kSizeSteps),
    gauge("jetmem_probe_warm_up_seconds",
          "All steps of the first buffer of this kind, for which drivers load what they need. "
          "Included in no other metric.",
          {"kind", "target"}, kTargets),
    gauge("jetmem_probe_ratio",
          "Ratio of two measurements taken together, so that clocks hardly change it.",
          {"kind", "target", "ratio"}, kRatios),
    gauge("jetmem_probe_worse_than_expected",
          "1 when jetmem_probe_ratio is worse than what GPUs of this kind reach; 0 when it is as "
          "expected, slow as that may be. Absent when the expected value is unknown. `jetmem "
          "probe` prints it.",
          {"kind", "target", "ratio"}, kRatios),
    gauge("jetmem_probe_gpu_info",
          "Always 1; the GPU that CUDA found, its compute capability and the CUDA version of its "
          "driver.",
          {"name", "compute_capability", "driver"}),
    gauge("jetmem_probe_kernels_loaded",
          "1 when the driver loaded the probe's kernels; 0 when it did not "
          "(`jetmem probe` prints why); allocations and copies are still probed, GPU access is "
          "not."),
    gauge("jetmem_probe_kernels_seconds",
          "How long the driver took to load the probe's kernels, compiling included, without its "
          "cache. "
          "Absent when it could not."),
    gauge("jetmem_probe_kernels_memory_bytes",
          "What loading the probe's kernels took: memory resident, of the process "
          "afterwards; peak, of the process meanwhile; gpu, of the GPU. Absent when it could not "
          "be measured.",
          {"memory"}, 3),
    gauge("jetmem_probe_pool_reserved_bytes",
          "What the pool of cudaMallocAsync() held of the driver's memory with a whole frame: "
          "moment allocated; freed, after the frame was freed; trimmed, after the pool was asked "
          "to keep nothing. Memory reserved but unused is unavailable to other processes.",
          {"moment"}, kMoments),
    gauge("jetmem_probe_pool_used_bytes",
          "Part of jetmem_probe_pool_reserved_bytes in use by allocations.", {"moment"}, kMoments),
    gauge("jetmem_probe_gpu_start_seconds",
          "How long every program that uses CUDA waits at its start: context and kernels. It "
          "grows when memory is short or the driver is slow.",
          {"step"}, kSteps),
    gauge("jetmem_probe_frame_bytes", "The largest buffer that was tried (setting probe.frame).",
          {"group"}, kGroups),
    gauge("jetmem_probe_run_seconds",
          "How long the last run of jetmem-probe took: group memory without CUDA, group cuda "
          "with it.",
          {"group"}, kGroups),
    gauge("jetmem_probe_conditions_cpu_min_hertz",
          "Clock of the slowest CPU when the run ended. Times of two runs are comparable only "
          "where the conditions are alike.",
          {"group"}, kGroups),
    gauge("jetmem_probe_conditions_cpu_max_hertz", "Clock of the fastest CPU when the run ended.",
          {"group"}, kGroups),
    gauge("jetmem_probe_conditions_gpu_hertz", "Clock of the GPU when the run ended.", {"group"},
          kGroups),
    gauge("jetmem_probe_conditions_emc_hertz",
          "Clock of the memory when the run ended. Absent on most boards: only root may read it, "
          "which jetmem-probe is not.",
          {"group"}, kGroups),
    gauge("jetmem_probe_conditions_temperature_celsius",
          "Temperature of the hottest zone when the run ended.", {"group"}, kGroups),
    gauge("jetmem_probe_conditions_power_mode",
          "Number of the power mode (nvpmodel) when the run ended. Absent where there are none.",
          {"group"}, kGroups),
};
constexpr MetricTable probe_metric{kProbeMetrics};

using Probe = ProbeRun::Probe;
using SizeStep = ProbeRun::SizeStep;
using Step = ProbeRun::Step;

bool is_broken(const Probe& probe) {
  return probe.state == ProbeState::kFailed || probe.state == ProbeState::kMismatch;
}

// What a failed step took is no measurement of that step. One that found mismatches was done. Where
// the state is none of these, a call of the last size was refused, and nothing says which.
bool has_failed(const Probe& probe, const SizeStep& size_step, const Step& step) {
  if (probe.state == ProbeState::kOk || probe.state == ProbeState::kMismatch) return false;
  if (probe.state == ProbeState::kFailed) {
    return size_step.bytes == probe.failed_bytes && step.step == probe.failed_step;
  }
  return size_step.bytes == probe.size_steps.back().bytes;
}

void write_frame(SampleWriter& out, const Probe& probe, const SizeStep& frame) {
  for (const Step& step : frame.steps) {
    if (has_failed(probe, frame, step)) continue;
    out.put(probe_metric("jetmem_probe_step_seconds"), step.seconds, probe.kind, probe.target,
            step.step);
    out.put(probe_metric("jetmem_probe_step_bytes_per_second"), step.bytes_per_second, probe.kind,
            probe.target, step.step);
  }
}

void write_ladder(SampleWriter& out, const Probe& probe) {
  for (const SizeStep& size_step : probe.size_steps) {
    for (const Step& step : size_step.steps) {
      if (step.step != "allocate" || has_failed(probe, size_step, step)) continue;
      out.put(probe_metric("jetmem_probe_allocate_seconds"), step.seconds, probe.kind, probe.target,
              size_step.bytes);
    }
  }
  // Where the first buffer failed, its time is that of a part.
  if (!probe.warm_up || probe.size_steps.empty()) return;
  double seconds = 0;
  for (const Step& step : probe.warm_up->steps) seconds += step.seconds;
  out.put(probe_metric("jetmem_probe_warm_up_seconds"), seconds, probe.kind, probe.target);
}

void write_mismatches(SampleWriter& out, const Probe& probe) {
  const auto words = probe.mismatches();
  out.put(probe_metric("jetmem_probe_last_mismatched_words"), words, probe.kind, probe.target);
}

void write_ratios(SampleWriter& out, AbsentValues& absent, const Probe& probe) {
  for (const ProbeRun::Ratio& ratio : probe.ratios) {
    if (!ratio.value) {
      absent.add("ratio_without_value");
      continue;
    }
    out.put(probe_metric("jetmem_probe_ratio"), *ratio.value, probe.kind, probe.target,
            ratio.ratio);
    const bool is_worse = ratio.judgement == "worse_than_expected";
    if (is_worse || ratio.judgement == "as_expected") {
      out.put(probe_metric("jetmem_probe_worse_than_expected"), is_worse ? 1 : 0, probe.kind,
              probe.target, ratio.ratio);
    } else {
      absent.add("ratio_not_judged");
    }
  }
}

void write_kernels(SampleWriter& out, AbsentValues& absent, const ProbeRun::Kernels& kernels) {
  const bool is_loaded = kernels.state == ProbeState::kOk;
  out.put(probe_metric("jetmem_probe_kernels_loaded"), is_loaded ? 1 : 0);
  if (!is_loaded) {
    absent.add("kernels_not_loaded");
    return;
  }
  out.put(probe_metric("jetmem_probe_kernels_seconds"), kernels.seconds);
  const auto put = [&](const std::optional<std::uint64_t>& bytes, std::string_view memory) {
    out.put(probe_metric("jetmem_probe_kernels_memory_bytes"), bytes, memory);
    if (!bytes) absent.add("kernel_memory_unknown");
  };
  put(kernels.resident_bytes, "resident");
  put(kernels.peak_bytes, "peak");
  put(kernels.gpu_bytes, "gpu");
}

void write_pool(SampleWriter& out, AbsentValues& absent, const ProbeRun::Pool& pool) {
  const auto put = [&](const std::optional<ProbeRun::PoolUse>& use, std::string_view moment) {
    if (!use) {
      absent.add("pool_use_unknown");
      return;
    }
    out.put(probe_metric("jetmem_probe_pool_reserved_bytes"), use->reserved_bytes, moment);
    out.put(probe_metric("jetmem_probe_pool_used_bytes"), use->used_bytes, moment);
  };
  put(pool.allocated, "allocated");
  put(pool.freed, "freed");
  put(pool.trimmed, "trimmed");
}

void write_probe(SampleWriter& out, AbsentValues& absent, const Probe& probe,
                 std::uint64_t frame_bytes) {
  if (probe.state == ProbeState::kOk || is_broken(probe)) {
    out.put(probe_metric("jetmem_probe_success"), probe.state == ProbeState::kOk ? 1 : 0,
            probe.kind, probe.target);
  }
  out.put(probe_metric("jetmem_probe_state"), 1, probe.kind, probe.target,
          probe_state_name(probe.state));
  if (is_broken(probe) && probe.failed_bytes > 0) {
    out.put(probe_metric("jetmem_probe_failed_bytes"), probe.failed_bytes, probe.kind, probe.target,
            probe.failed_step, probe.error);
  } else if (is_broken(probe)) {
    absent.add("failed_before_any_size");
  }
  write_mismatches(out, probe);
  // A smaller buffer's figures are not put where the frame's stand: they would look fast.
  if (!probe.size_steps.empty()) {
    const SizeStep& largest = probe.size_steps.back();
    if (largest.bytes >= frame_bytes) {
      write_frame(out, probe, largest);
      if (probe.pool) write_pool(out, absent, *probe.pool);
    } else {
      absent.add("frame_not_reached");
    }
  }
  write_ladder(out, probe);
  write_ratios(out, absent, probe);
}

void write_run(SampleWriter& out, AbsentValues& absent, const ProbeRun& run) {
  if (run.gpu) {
    const ProbeRun::Gpu& gpu = *run.gpu;
    if (!gpu.name.empty()) {
      out.put(probe_metric("jetmem_probe_gpu_info"), 1, gpu.name, gpu.compute_capability,
              gpu.driver);
    }
    if (gpu.kernels) write_kernels(out, absent, *gpu.kernels);
    const bool has_kernels = !gpu.kernels || gpu.kernels->state == ProbeState::kOk;
    // Of a start that failed the last step is the one that did.
    for (std::size_t i = 0; i < gpu.start.size(); ++i) {
      if (gpu.state != ProbeState::kOk && i + 1 == gpu.start.size()) break;
      if (!has_kernels && gpu.start[i].step == "kernels") continue;
      out.put(probe_metric("jetmem_probe_gpu_start_seconds"), gpu.start[i].seconds,
              gpu.start[i].step);
    }
  }
  const std::string_view group = run.group();
  out.put(probe_metric("jetmem_probe_frame_bytes"), run.frame_bytes, group);
  out.put(probe_metric("jetmem_probe_run_seconds"), run.seconds, group);
  const auto put = [&](const Descriptor& descriptor, const auto& value, std::string_view reason) {
    out.put(descriptor, value, group);
    if (!value) absent.add(reason);
  };
  put(probe_metric("jetmem_probe_conditions_cpu_min_hertz"), run.after.cpu_min_hertz,
      "cpu_clock_unknown");
  put(probe_metric("jetmem_probe_conditions_cpu_max_hertz"), run.after.cpu_max_hertz,
      "cpu_clock_unknown");
  put(probe_metric("jetmem_probe_conditions_gpu_hertz"), run.after.gpu_hertz, "gpu_clock_unknown");
  put(probe_metric("jetmem_probe_conditions_emc_hertz"), run.after.emc_hertz, "emc_clock_unknown");
  put(probe_metric("jetmem_probe_conditions_temperature_celsius"), run.after.temperature_celsius,
      "temperature_unknown");
  put(probe_metric("jetmem_probe_conditions_power_mode"), run.after.power_mode,
      "power_mode_unknown");
}

// A later line replaces what an earlier one says of the same memory.
void drop_superseded(std::vector<ProbeRun>& runs) {
  for (std::size_t i = 0; i + 1 < runs.size(); ++i) {
    const auto is_superseded = [&](const Probe& probe) {
      for (std::size_t later = i + 1; later < runs.size(); ++later) {
        for (const Probe& other : runs[later].probes) {
          if (other.kind == probe.kind && other.target == probe.target) return true;
        }
      }
      return false;
    };
    auto& probes = runs[i].probes;
    probes.erase(std::remove_if(probes.begin(), probes.end(), is_superseded), probes.end());
  }
}

}  // namespace

std::optional<std::uint64_t> ProbeRun::Probe::mismatches() const {
  std::optional<std::uint64_t> words;
  const auto add = [&](const SizeStep& size_step) {
    if (size_step.mismatches) words = words.value_or(0) + *size_step.mismatches;
  };
  if (warm_up) add(*warm_up);
  for (const SizeStep& size_step : size_steps) add(size_step);
  return words;
}

std::string_view probe_state_name(ProbeState state) {
  static constexpr std::array<std::string_view, kProbeStates> kNames{
      "ok", "failed", "mismatch", "unsupported", "denied", "skipped"};
  return kNames[static_cast<std::size_t>(state)];
}

const SourceInfo ProbeSource::kInfo{
    .name = "probe",
    .what = "what jetmem-probe found when it last took memory of each kind",
    .paths = kProbePaths,
    .access = Access::kProgram,
    .interval = std::chrono::minutes(5),
    .shortest_interval = std::chrono::minutes(1),
    .grant = "enable the unit jetmem-probe.socket, whose program may open the GPU's devices",
    .metrics = kProbeMetrics,
    .limits = {.file_bytes = 1U << 20},
};

Result<void> ProbeSource::parse(const Snapshot& snapshot, Nanoseconds /*read_time*/) {
  const auto text = snapshot.text_of(kProbePaths[0]);
  if (!text && text.error().code == Errc::kAbsent) {
    return fail(Errc::kAbsent, "nothing was probed when this was captured (no " +
                                   std::string(kProbePaths[0]) + ")");
  }
  if (!text) return tl::unexpected(text.error());
  reading_.runs.clear();
  // An empty line alone: no result holds now. A file of nothing was cut.
  if (*text == "\n") return {};
  Lines lines(*text);
  std::string_view line;
  while (lines.next(line)) {
    if (reading_.runs.size() == ProbeReading::kMaxRuns) {
      return fail(Errc::kTooLarge,
                  "more than " + std::to_string(ProbeReading::kMaxRuns) + " lines");
    }
    // Before the line is looked at: cut by chance behind its last brace it would look whole.
    if (lines.rest().empty() && text->back() != '\n') {
      return lines.malformed("expected a newline at its end: it was cut");
    }
    if (auto ok = parse_probe_run(line, reading_.runs.emplace_back()); !ok) {
      return tl::unexpected(std::move(ok.error()).within("line " + std::to_string(lines.number())));
    }
  }
  if (text->empty()) return fail(Errc::kMalformed, "expected a line of JSON, found nothing");
  drop_superseded(reading_.runs);
  return {};
}

void ProbeSource::write(SampleWriter& out, WriteContext& context) const {
  const auto count = [&](std::string_view reason, std::uint64_t how_many) {
    if (how_many > 0) context.absent.add(reason, how_many);
  };
  for (std::size_t i = 0; i < reading_.runs.size(); ++i) {
    const ProbeRun& run = reading_.runs[i];
    for (const Probe& probe : run.probes) write_probe(out, context.absent, probe, run.frame_bytes);
    count("too_many_gpus", run.omitted_gpus);
    count("state_not_known", run.unknown_states);
    count("reported_twice", run.repeated);
    // Values of a run as a whole have the group as its label: of two, the later counts.
    const auto is_same = [&](const ProbeRun& other) { return other.group() == run.group(); };
    if (std::none_of(reading_.runs.begin() + static_cast<std::ptrdiff_t>(i) + 1,
                     reading_.runs.end(), is_same)) {
      write_run(out, context.absent, run);
    }
  }
}

}  // namespace jetmem
