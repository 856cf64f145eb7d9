// SPDX-License-Identifier: Apache-2.0
#include "collectors/sysfs/clocks/source.h"
#include "tests/fuzz/snapshot_input.h"

FUZZ(input) {
  static const auto kPatterns = expanded(
      {"/sys/devices/system/cpu/cpufreq/policy*/{scaling_cur_freq,scaling_min_freq,"
       "scaling_max_freq,cpuinfo_max_freq,scaling_governor}",
       "/sys/devices/system/cpu/{online,present}",
       "/sys/class/devfreq/*/{cur_freq,min_freq,max_freq,available_frequencies,governor}",
       "/sys/class/devfreq/*.gpu/{cur_freq,device/load}",
       "/sys/class/devfreq/*/device/of_node/name", "/sys/class/devfreq/bwmgr/cur_freq",
       "/sys/devices/gpu.0/{devfreq/*/cur_freq,load}", "/proc/device-tree/compatible",
       "/sys/kernel/debug/bpmp/debug/clk/emc/{rate,max_rate,mrq_rate_locked}",
       "/sys/kernel/debug/clk/emc/clk_rate",
       "/sys/kernel/{nvpmodel_emc_cap/emc_iso_cap,nvpmodel_clk_cap/emc,debug/cactmon/mc_all,"
       "actmon_avg_activity/mc_all,debug/bpmp/debug/actmon/mc_all_avg_activity}",
       "/var/lib/nvpmodel/status", "/etc/nvpmodel.conf", "jetmem:clocks omitted",
       "/sys/bus/platform/devices/1*000000.nvenc/{power/runtime_status,load}",
       "/sys/bus/platform/devices/*",
       "/sys/kernel/debug/{tegra-host1x/actmon/nvenc*/module0/usage,clk/nvenc*/clk_rate}"});
  const auto clocks = parsed_twice(parse_clocks, snapshot_of(input, kPatterns), &Clocks::clocks,
                                   &Clocks::emc, &Clocks::power_mode, &Clocks::power_mode_name,
                                   &Clocks::cpus_online, &Clocks::engines);
  if (!clocks) return;
  check(clocks->clocks.size() <= 97 && clocks->engines.size() <= 24);
  check(clocks->cpus_online <= 65536U);
  const auto check_share = [](const std::optional<double>& of) {
    check(!of || (*of >= 0 && *of <= 1));
  };
  check_share(clocks->emc.utilization);
  for (const Clocks::Engine& engine : clocks->engines) {
    check(!engine.name.empty() && engine.name.size() <= 24);
    check(engine.on == true || (!engine.load && !engine.clock));
    check_share(engine.load);
  }
  for (const Clocks::Clock& clock : clocks->clocks) {
    check(!clock.name.empty() && clock.name.size() <= 64);
    check(clock.now <= 1'000'000'000'000U && clock.max != 0U);
    check_share(clock.load);
  }
}
