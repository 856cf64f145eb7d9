// SPDX-License-Identifier: Apache-2.0
// Under which conditions it was measured: slow is only comparable with equal clocks.
//
// Only what everybody may read; this process may hang in a driver or firmware without harm, so no
// reader stands between. Read before and after the probes: a GPU that was asleep before is awake
// after.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

namespace jetmem::probe {

struct Conditions {
  // Slowest and fastest of the CPUs that are on: /sys/devices/system/cpu/cpufreq/policy*/.
  std::optional<std::uint64_t> cpu_min_hertz;
  std::optional<std::uint64_t> cpu_max_hertz;
  // /sys/class/devfreq/*, whose device is a GPU.
  std::optional<std::uint64_t> gpu_hertz;
  // The memory's: debugfs' bpmp/debug/clk/emc/rate and its like, which only root may read, or
  // Thor's devfreq device.
  std::optional<std::uint64_t> emc_hertz;
  // The hottest of /sys/class/thermal/thermal_zone*, and its type.
  std::optional<double> temperature_celsius;
  std::string hottest_zone;
  // The ID in /var/lib/nvpmodel/status.
  std::optional<std::uint64_t> power_mode;
  // What could not be read, by the names above, and why; also "cpu_policies", "devices" and
  // "thermal_zones", where there are too many.
  std::map<std::string, std::string> absent;
};

// `root`: a folder that stands for /, for tests.
Conditions read_conditions(const std::string& root = "");

}  // namespace jetmem::probe
