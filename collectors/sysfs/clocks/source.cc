// SPDX-License-Identifier: Apache-2.0
#include "collectors/sysfs/clocks/source.h"

#include <array>

#include "collectors/sysfs/clocks/engines.h"
#include "collectors/sysfs/clocks/files.h"

namespace jetmem {
namespace {

constexpr std::array<std::string_view, 2> kClockPaths{clocks::kOnline, clocks::kPresent};
constexpr std::uint16_t kMaxClocks = clocks::kMaxPolicies + clocks::kMaxDevices + 1;

constexpr std::array kClockMetrics{
    gauge("jetmem_clock_hertz",
          "The clock now. Low while idle is normal; low under load means a power mode, a limit "
          "(jetmem_clock_max_hertz) or throttling (jetmem_throttle_active). domain memory is the "
          "DRAM's: its bandwidth shrinks with it.",
          {"domain", "clock"}, kMaxClocks),
    gauge("jetmem_clock_min_hertz",
          "The lowest that the clock may go now. As high as jetmem_clock_max_hertz: held there, "
          "as jetson_clocks does.",
          {"domain", "clock"}, kMaxClocks),
    gauge("jetmem_clock_max_hertz",
          "The highest that the clock may go now. Below jetmem_clock_hardware_max_hertz the "
          "power mode, a person or cooling has lowered it.",
          {"domain", "clock"}, kMaxClocks),
    gauge("jetmem_clock_hardware_max_hertz", "The highest clock that the hardware has.",
          {"domain", "clock"}, kMaxClocks),
    gauge("jetmem_clock_governor_info",
          "The governor that sets the clock (schedutil, nvhost_podgov, performance): always 1.",
          {"domain", "clock", "governor"}, kMaxClocks),
    gauge("jetmem_gpu_load_ratio",
          "How busy the GPU was in its driver's last short sample, 0 to 1, at the clock of that "
          "moment; 0 also while it is powered off. A single sample means little. Absent on Thor, "
          "where NVML reports it.",
          {"clock"}, clocks::kMaxDevices),
    gauge("jetmem_engine_on",
          "1 while the engine (NVENC, NVDEC, NVJPG, VIC, OFA, NVDLA0, PVA0) has power, 0 while it "
          "is suspended. For DLA and PVA no load is reported.",
          {"engine"}, clocks::kMaxEngines),
    gauge("jetmem_engine_load_ratio",
          "How busy the engine is, 0 to 1, averaged by the hardware over some milliseconds, at the "
          "clock of that moment. Absent while it is off (jetmem_engine_on is 0) and where it has "
          "no such counter. Where tegrastats reports one too "
          "(jetmem_tegrastats_engine_utilization_ratio), this one is preferred.",
          {"engine"}, clocks::kMaxEngines),
    gauge("jetmem_engine_clock_hertz", "Clock of an engine that is on.", {"engine"},
          clocks::kMaxEngines),
    gauge("jetmem_emc_cap_hertz",
          "The highest memory clock that the power mode allows. Absent when it sets no limit; from "
          "L4T 36 on the hardware's own maximum is shown then."),
    gauge("jetmem_emc_locked",
          "1 while the memory's clock is fixed, as jetson_clocks does; 0 while it follows "
          "demand."),
    gauge("jetmem_emc_activity_hertz",
          "Clock cycles per second in which the memory controller was busy, averaged by the "
          "hardware."),
    gauge("jetmem_emc_utilization_ratio",
          "How busy the memory is, 0 to 1: jetmem_emc_activity_hertz divided by its clock now. "
          "Near 1 with the clock at its maximum its bandwidth is used up; with a lower clock it "
          "is only slow to rise. Absent right after the clock fell below the average.",
          {}, 1, Worst::kMax),
    gauge("jetmem_emc_activity_raw",
          "The memory's activity where its unit is undocumented (counter: the file it is from). "
          "More is busier; compare it with itself on this device only.",
          {"counter"}, Clocks::kRawCounters.size()),
    gauge("jetmem_cpus_online",
          "CPUs that run. Fewer than jetmem_cpus_present: a power mode, or a person, has "
          "switched some off."),
    gauge("jetmem_cpus_present", "CPUs that the machine has."),
    gauge("jetmem_power_mode",
          "Number of the power mode set (nvpmodel). It decides which clocks and CPUs there are. "
          "0 is a mode like others; jetmem_power_mode_info has the name."),
    gauge("jetmem_power_mode_info",
          "The power mode set, with its name from nvpmodel.conf: always 1.", {"mode", "name"}),
};
constexpr MetricTable clock_metric{kClockMetrics};

}  // namespace

const SourceInfo ClocksSource::kInfo{
    .name = "clocks",
    .what = "clocks of CPU, GPU and memory (EMC), load of GPU and engines, and the power mode",
    .paths = kClockPaths,
    .access = Access::kReader,
    .interval = std::chrono::seconds(10),
    .shortest_interval = std::chrono::seconds(1),
    .grant =
        "CAP_DAC_READ_SEARCH for jetmem-reader, or run as root: the memory's clock is in "
        "debugfs, which is root's; so are the engines' loads from L4T 36 on",
    .metrics = kClockMetrics,
    // 64 policies of 5 files, 32 devices of 7, 24 engines of 4, the memory's; and nvpmodel.conf,
    // the largest.
    .limits = {.file_bytes = 256U << 10, .total_bytes = 512U << 10, .files = 1024},
    .gather = clocks::gather,
};

std::string_view domain_name(Clocks::Domain domain) {
  static constexpr std::array<std::string_view, 4> kNames{"cpu", "gpu", "memory", "other"};
  return kNames[static_cast<std::size_t>(domain)];
}

void ClocksSource::write(SampleWriter& out, WriteContext& /*context*/) const {
  for (const Clocks::Clock& clock : reading_.clocks) {
    const std::string_view domain = domain_name(clock.domain);
    out.put(clock_metric("jetmem_clock_hertz"), clock.now, domain, clock.name);
    out.put(clock_metric("jetmem_clock_min_hertz"), clock.min, domain, clock.name);
    out.put(clock_metric("jetmem_clock_max_hertz"), clock.max, domain, clock.name);
    out.put(clock_metric("jetmem_clock_hardware_max_hertz"), clock.hardware_max, domain,
            clock.name);
    out.put(clock_metric("jetmem_gpu_load_ratio"), clock.load, clock.name);
    if (!clock.governor.empty()) {
      out.put(clock_metric("jetmem_clock_governor_info"), 1, domain, clock.name, clock.governor);
    }
  }
  for (const Clocks::Engine& engine : reading_.engines) {
    out.put(clock_metric("jetmem_engine_on"), engine.on, engine.name);
    out.put(clock_metric("jetmem_engine_load_ratio"), engine.load, engine.name);
    out.put(clock_metric("jetmem_engine_clock_hertz"), engine.clock, engine.name);
  }
  out.put(clock_metric("jetmem_emc_cap_hertz"), reading_.emc.cap);
  out.put(clock_metric("jetmem_emc_locked"), reading_.emc.locked);
  out.put(clock_metric("jetmem_emc_activity_hertz"), reading_.emc.activity);
  out.put(clock_metric("jetmem_emc_utilization_ratio"), reading_.emc.utilization);
  for (std::size_t i = 0; i < Clocks::kRawCounters.size(); ++i) {
    out.put(clock_metric("jetmem_emc_activity_raw"), reading_.emc.raw[i], Clocks::kRawCounters[i]);
  }
  out.put(clock_metric("jetmem_cpus_online"), reading_.cpus_online);
  out.put(clock_metric("jetmem_cpus_present"), reading_.cpus_present);
  out.put(clock_metric("jetmem_power_mode"), reading_.power_mode);
  if (reading_.power_mode && !reading_.power_mode_name.empty()) {
    out.put(clock_metric("jetmem_power_mode_info"), 1, *reading_.power_mode,
            reading_.power_mode_name);
  }
}

}  // namespace jetmem
