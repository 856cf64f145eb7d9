#include "collectors/clocks.h"

#include "collectors/clocks/files.h"

namespace jetmem {
namespace {

constexpr std::array<std::string_view, 2> kPaths{clocks::kOnline, clocks::kPresent};
constexpr std::uint16_t kMaxClocks = clocks::kMaxPolicies + clocks::kMaxDevices + 1;

constexpr std::array kMetrics{
    Descriptor{.name = "jetmem_clock_hertz",
               .type = MetricType::kGauge,
               .help =
                   "The clock now. Low while idle is normal; low under load means a power mode, "
                   "a limit (jetmem_clock_max_hertz) or throttling (jetmem_throttle_active). "
                   "domain memory is the DRAM's: its bandwidth shrinks with it.",
               .labels = {"domain", "clock"},
               .max_series = kMaxClocks},
    Descriptor{.name = "jetmem_clock_min_hertz",
               .type = MetricType::kGauge,
               .help = "The lowest that the clock may go now. As high as jetmem_clock_max_hertz: "
                       "held there, as jetson_clocks does.",
               .labels = {"domain", "clock"},
               .max_series = kMaxClocks},
    Descriptor{.name = "jetmem_clock_max_hertz",
               .type = MetricType::kGauge,
               .help =
                   "The highest that the clock may go now. Below jetmem_clock_hardware_max_hertz "
                   "the power mode, a person or cooling has lowered it.",
               .labels = {"domain", "clock"},
               .max_series = kMaxClocks},
    Descriptor{.name = "jetmem_clock_hardware_max_hertz",
               .type = MetricType::kGauge,
               .help = "The highest clock that the hardware has.",
               .labels = {"domain", "clock"},
               .max_series = kMaxClocks},
    Descriptor{.name = "jetmem_clock_governor_info",
               .type = MetricType::kGauge,
               .help = "What sets the clock (schedutil, nvhost_podgov, performance): always 1. It "
                       "changes when somebody changes it.",
               .labels = {"domain", "clock", "governor"},
               .max_series = kMaxClocks},
    Descriptor{
        .name = "jetmem_gpu_load_ratio",
        .type = MetricType::kGauge,
        .help = "How busy the GPU was in its driver's last short sample, 0 to 1, at the clock it "
                "had then; 0 also while it is powered off. A single one says little. Missing "
                "on Thor, where NVML tells it.",
        .labels = {"clock"},
        .max_series = clocks::kMaxDevices},
    Descriptor{.name = "jetmem_emc_cap_hertz",
               .type = MetricType::kGauge,
               .help = "The power mode's limit on the memory's clock. Missing when it sets none."},
    Descriptor{.name = "jetmem_emc_locked",
               .type = MetricType::kGauge,
               .help = "1 while the memory's clock is held where it is, as jetson_clocks does; 0 "
                       "while it follows demand."},
    Descriptor{.name = "jetmem_emc_activity_hertz",
               .type = MetricType::kGauge,
               .help = "Clock cycles a second in which the memory controller was busy, averaged by "
                       "the hardware."},
    Descriptor{.name = "jetmem_emc_utilization_ratio",
               .type = MetricType::kGauge,
               .help =
                   "How busy the memory is, 0 to 1: jetmem_emc_activity_hertz by its clock now. "
                   "Near 1 with the clock at its maximum its bandwidth is used up; with a lower "
                   "clock it is only slow to rise. Missing right after the clock fell below the "
                   "average.",
               .worst = Worst::kMax},
    Descriptor{.name = "jetmem_emc_activity_raw",
               .type = MetricType::kGauge,
               .help =
                   "The memory's activity where nobody documents its unit (counter: the file it "
                   "is from). More is busier; compare it with itself on this device only.",
               .labels = {"counter"},
               .max_series = Clocks::kRawCounters.size()},
    Descriptor{.name = "jetmem_cpus_online",
               .type = MetricType::kGauge,
               .help = "CPUs that run. Fewer than jetmem_cpus_present: a power mode, or a person, "
                       "has switched some off."},
    Descriptor{.name = "jetmem_cpus_present",
               .type = MetricType::kGauge,
               .help = "CPUs that the machine has."},
    Descriptor{.name = "jetmem_power_mode",
               .type = MetricType::kGauge,
               .help = "Number of the power mode set (nvpmodel). It decides which clocks and CPUs "
                       "there are. 0 is a mode like others; jetmem_power_mode_info has the name."},
    Descriptor{.name = "jetmem_power_mode_info",
               .type = MetricType::kGauge,
               .help = "The power mode set, with its name from nvpmodel.conf: always 1.",
               .labels = {"mode", "name"}},
};
enum Metric : std::size_t {
  kNow,
  kMin,
  kMax,
  kHardwareMax,
  kGovernor,
  kLoad,
  kCap,
  kLocked,
  kActivity,
  kUtilization,
  kRaw,
  kOnline,
  kPresent,
  kMode,
  kModeInfo,
};

}  // namespace

const SourceInfo ClocksSource::kInfo{
    .name = "clocks",
    .what = "clocks of CPU, GPU and memory (EMC), and the power mode",
    .paths = kPaths,
    .access = Access::kReader,
    .interval = std::chrono::seconds(10),
    .shortest_interval = std::chrono::seconds(1),
    .grant =
        "CAP_DAC_READ_SEARCH for jetmem-reader, or run as root: the memory's clock is in "
        "debugfs, which is root's",
    .metrics = kMetrics,
    // 64 policies of 5 files, 32 devices of 7, the memory's; and nvpmodel.conf, the largest.
    .limits = {.file_bytes = 256U << 10, .total_bytes = 512U << 10, .files = 1024},
    .gather = clocks::gather,
};

std::string_view domain_name(Clocks::Domain domain) {
  switch (domain) {
    case Clocks::Domain::kCpu:
      return "cpu";
    case Clocks::Domain::kGpu:
      return "gpu";
    case Clocks::Domain::kMemory:
      return "memory";
    case Clocks::Domain::kOther:
      break;
  }
  return "other";
}

void Clocks::Clock::clear() {
  domain = Domain::kOther;
  name.clear();
  now.reset();
  min.reset();
  max.reset();
  hardware_max.reset();
  governor.clear();
  load.reset();
}

Result<void> ClocksSource::parse(const Snapshot& snapshot, Nanoseconds /*read_time*/) {
  return parse_clocks(snapshot, reading_);
}

void ClocksSource::write(SampleWriter& out, WriteContext& context) const {
  for (const AbsentValues::Count& entry : reading_.absent.counts()) {
    if (entry.count > 0) context.absent.add(entry.reason, entry.count);
  }
  const auto put = [&](Metric metric, const auto& value, const auto&... labels) {
    if (value) out.put(kMetrics[metric], static_cast<double>(*value), labels...);
  };
  for (const Clocks::Clock& clock : reading_.clocks) {
    const std::string_view domain = domain_name(clock.domain);
    put(kNow, clock.now, domain, clock.name);
    put(kMin, clock.min, domain, clock.name);
    put(kMax, clock.max, domain, clock.name);
    put(kHardwareMax, clock.hardware_max, domain, clock.name);
    put(kLoad, clock.load, clock.name);
    if (!clock.governor.empty()) {
      out.put(kMetrics[kGovernor], 1, domain, clock.name, clock.governor);
    }
  }
  put(kCap, reading_.emc.cap);
  put(kLocked, reading_.emc.locked);
  put(kActivity, reading_.emc.activity);
  put(kUtilization, reading_.emc.utilization);
  for (std::size_t i = 0; i < Clocks::kRawCounters.size(); ++i) {
    put(kRaw, reading_.emc.raw[i], Clocks::kRawCounters[i]);
  }
  put(kOnline, reading_.cpus_online);
  put(kPresent, reading_.cpus_present);
  put(kMode, reading_.power_mode);
  if (reading_.power_mode && !reading_.power_mode_name.empty()) {
    out.put(kMetrics[kModeInfo], 1, *reading_.power_mode, reading_.power_mode_name);
  }
}

}  // namespace jetmem
