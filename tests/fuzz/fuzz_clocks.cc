// SPDX-License-Identifier: Apache-2.0
#include <array>

#include "collectors/sysfs/clocks/source.h"
#include "tests/fuzz/snapshot_input.h"

namespace {

constexpr std::array<std::string_view, 36> kPatterns{
    "/sys/devices/system/cpu/cpufreq/policy*/scaling_cur_freq",
    "/sys/devices/system/cpu/cpufreq/policy*/scaling_min_freq",
    "/sys/devices/system/cpu/cpufreq/policy*/scaling_max_freq",
    "/sys/devices/system/cpu/cpufreq/policy*/cpuinfo_max_freq",
    "/sys/devices/system/cpu/cpufreq/policy*/scaling_governor",
    "/sys/devices/system/cpu/online",
    "/sys/devices/system/cpu/present",
    "/sys/class/devfreq/*/cur_freq",
    "/sys/class/devfreq/*/min_freq",
    "/sys/class/devfreq/*/max_freq",
    "/sys/class/devfreq/*/available_frequencies",
    "/sys/class/devfreq/*/governor",
    "/sys/class/devfreq/*.gpu/cur_freq",
    "/sys/class/devfreq/*.gpu/device/load",
    "/sys/class/devfreq/*/device/of_node/name",
    "/sys/class/devfreq/bwmgr/cur_freq",
    "/sys/devices/gpu.0/devfreq/*/cur_freq",
    "/sys/devices/gpu.0/load",
    "/proc/device-tree/compatible",
    "/sys/kernel/debug/bpmp/debug/clk/emc/rate",
    "/sys/kernel/debug/bpmp/debug/clk/emc/max_rate",
    "/sys/kernel/debug/bpmp/debug/clk/emc/mrq_rate_locked",
    "/sys/kernel/debug/clk/emc/clk_rate",
    "/sys/kernel/nvpmodel_emc_cap/emc_iso_cap",
    "/sys/kernel/nvpmodel_clk_cap/emc",
    "/sys/kernel/debug/cactmon/mc_all",
    "/sys/kernel/actmon_avg_activity/mc_all",
    "/sys/kernel/debug/bpmp/debug/actmon/mc_all_avg_activity",
    "/var/lib/nvpmodel/status",
    "/etc/nvpmodel.conf",
    "jetmem:clocks omitted",
    "/sys/bus/platform/devices/1*000000.nvenc/power/runtime_status",
    "/sys/bus/platform/devices/1*000000.nvenc/load",
    "/sys/bus/platform/devices/*",
    "/sys/kernel/debug/tegra-host1x/actmon/nvenc*/module0/usage",
    "/sys/kernel/debug/clk/nvenc*/clk_rate",
};

}  // namespace

FUZZ(input) {
  const auto [ok, fresh, reused] = parsed_twice(parse_clocks, snapshot_of(input, kPatterns));
  if (!ok) return;
  if (fresh.clocks != reused.clocks || fresh.clocks.size() > 97) __builtin_trap();
  if (fresh.emc != reused.emc || fresh.power_mode != reused.power_mode) __builtin_trap();
  if (fresh.power_mode_name != reused.power_mode_name) __builtin_trap();
  if (fresh.cpus_online != reused.cpus_online || fresh.cpus_online > 65536U) __builtin_trap();
  if (fresh.emc.utilization && !(*fresh.emc.utilization >= 0 && *fresh.emc.utilization <= 1)) {
    __builtin_trap();
  }
  if (fresh.engines != reused.engines || fresh.engines.size() > 24) __builtin_trap();
  for (const Clocks::Engine& engine : fresh.engines) {
    if (engine.name.empty() || engine.name.size() > 24) __builtin_trap();
    if (engine.on != true && (engine.load || engine.clock)) __builtin_trap();
    if (engine.load && !(*engine.load >= 0 && *engine.load <= 1)) __builtin_trap();
  }
  for (const Clocks::Clock& clock : fresh.clocks) {
    if (clock.name.empty() || clock.name.size() > 64) __builtin_trap();
    if (clock.now > 1'000'000'000'000U || clock.max == 0U) __builtin_trap();
    if (clock.load && !(*clock.load >= 0 && *clock.load <= 1)) __builtin_trap();
  }
}
