// SPDX-License-Identifier: Apache-2.0
// Clocks of CPU, GPU and memory, and the power mode: without them neither a slow probe nor a hot
// device can be judged. Mostly world readable; the memory's clock is asked of firmware through
// debugfs, so jetmem-reader reads it all.
//
// CPU     /sys/devices/system/cpu/cpufreq/policy<N>/ (4.3): scaling_cur_freq, scaling_min_freq,
//         scaling_max_freq, cpuinfo_max_freq in kHz, scaling_governor. EBUSY: its CPUs are offline.
//         /sys/devices/system/cpu/{online,present}: "0-3,6".
// GPU,    /sys/class/devfreq/<device>/: cur_freq, min_freq, max_freq, available_frequencies in Hz,
// others  governor. device/of_node/name, ended by NUL, says what it is: gpu, ga10b, gv11b, gp10b.
//         Thor has gpu-gpc-0, gpu-nvd-0 and, for the memory, bwmgr. Where the class has no GPU:
//         <GPU>/devfreq/<device>/ of /sys/devices/gpu.0 and the like (L4T 28 to 35).
//         device/load, a GPU's only: per mille, its power unit's last short sample (nvgpu,
//         gk20a_load_show; nothing is reset by asking). 0 also while the GPU is off, which asking
//         does not wake, and while the driver does not sample.
// EMC,    /sys/kernel/debug/bpmp/debug/clk/emc/{rate,min_rate,max_rate} in Hz, mrq_rate_locked (1:
// the     jetson_clocks holds it); tegra210: /sys/kernel/debug/clk/emc/clk_rate (override.emc on
// memory  some) and /sys/kernel/debug/tegra_bwmgr/{emc_min_rate,emc_max_rate};
//         /sys/kernel/nvpmodel_emc_cap/emc_iso_cap in Hz, 0 for none; on L4T 36
//         /sys/kernel/nvpmodel_clk_cap/emc in Hz.
//         /sys/kernel/debug/cactmon/mc_all (tegra-cactmon-mc-all.c, L4T 36): average count of
//         active cycles * 1000 / period in us, that is kHz. In /sys/kernel/actmon_avg_activity/
//         mc_all (4.9, 5.10) and debug/bpmp/debug/actmon/mc_all_avg_activity (firmware) the unit is
//         documented nowhere: they are shown as they are.
// Engines /sys/bus/platform/devices/<address>.<kind>, of the kinds nvenc, msenc, nvdec, nvjpg, vic,
//         ofa, nvdla and pva, numbered where there are several (NVJPG, NVJPG1; nvdla0).
//         power/runtime_status: "active" while it has power, "suspended" while it has none,
//         "suspending" or "resuming" in between, which is neither on nor off
//         (Documentation/ABI/testing/sysfs-devices-power). It is the runtime PM core's own
//         word, and asking it wakes nothing. Only of an engine that is active more is read:
//         load (nvhost_scale.c, L4T 28 to 35): per mille, the average of host1x's activity monitor.
//         Reading it resumes host1x (nvhost_module_busy), which an active engine has resumed
//         anyway, being its child.
//         /sys/kernel/debug/tegra-host1x/actmon/<kind>/module0/usage (host1x/actmon.c, nv-oot, L4T
//         36): per mille of the engine's present clock, averaged over some samples of 1.5 ms. It is
//         read from host1x's registers without resuming anything: these can be read because host1x
//         holds its own power from probe on, and they are stale while the engine is off, when the
//         driver stops counting (host1x_actmon_disable).
//         tegra234 counts NVENC, NVDEC, NVJPG and VIC. DLA and PVA have no such counter on any
//         release: they are on or off. jetmem_gpu_load_ratio is the GPU's.
//         The clock: devfreq's cur_freq of the same device, else /sys/kernel/debug/clk/<clock>/
//         clk_rate (the common clock framework's, DLA: dla0_core, PVA: pva0_vps). Both
//         take the framework's lock for as long as a cached number is copied.
// Power   /var/lib/nvpmodel/status: "pmode:0002", then perhaps more words; four digits at least,
// mode    so that a cut one shows. /etc/nvpmodel.conf: "< POWER_MODEL ID=2 NAME=MODE_15W >". They
//         are opened anew each time, since nvpmodel may replace them; nvpmodel is never run.
//
// What is no measurement is omitted and counted: denied, debugfs_denied and debugfs_absent (EMC,
// on a Tegra only), powered_off (EAGAIN, ENODEV), offline (EBUSY), unreadable, malformed,
// placeholder (a clock above 1 THz, a limit of 0 for "none"), inconsistent (load or use above 1),
// beyond_bound (64 policies, 32 devices, 24 engines), name_unknown (a mode that the list does not
// have), no_load_counter (an engine that is only on or off), no_runtime_pm (one whose driver does
// not say whether it is), changing_power (one that is suspending or resuming).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "collectors/source.h"

namespace jetmem {

struct Clocks : Reading {
  enum class Domain : std::uint8_t { kCpu, kGpu, kMemory, kOther };
  struct Clock {
    Domain domain = Domain::kOther;
    std::string name;
    // In hertz. The limits are those in force, set by the power mode, a person or the kernel.
    std::optional<std::uint64_t> now;
    std::optional<std::uint64_t> min;
    std::optional<std::uint64_t> max;
    std::optional<std::uint64_t> hardware_max;
    std::string governor;  // empty: unknown
    std::optional<double> load;

    bool operator==(const Clock&) const = default;
  };
  // CPU policies by number, devfreq devices by name, the EMC.
  std::vector<Clock> clocks;

  struct Engine {
    std::string name;  // "NVENC", "NVDLA0"
    std::optional<bool> on;
    // Only of one that is on.
    std::optional<double> load;
    std::optional<std::uint64_t> clock;  // hertz

    bool operator==(const Engine&) const = default;
  };
  std::vector<Engine> engines;  // by address

  struct Emc {
    std::optional<std::uint64_t> cap;  // hertz
    std::optional<bool> locked;
    std::optional<std::uint64_t> activity;  // active cycles a second
    std::optional<double> utilization;
    // Of unknown unit, in the order of kRawCounters.
    std::array<std::optional<std::uint64_t>, 2> raw{};

    bool operator==(const Emc&) const = default;
  };
  static constexpr std::array<std::string_view, 2> kRawCounters{"actmon_avg_activity",
                                                                "mc_all_avg_activity"};
  Emc emc;

  std::optional<std::uint64_t> cpus_online;
  std::optional<std::uint64_t> cpus_present;
  std::optional<std::uint64_t> power_mode;
  std::string power_mode_name;  // empty: unknown
};

std::string_view domain_name(Clocks::Domain domain);

// A file that cannot be read or understood leaves out its value. Errors: kAbsent when there is
// neither a clock nor a power mode; when there are, and no value is available, why.
Result<void> parse_clocks(const Snapshot& snapshot, Clocks& out);

class ClocksSource final : public ParsedSource<ClocksSource, Clocks, parse_clocks> {
 public:
  static const SourceInfo kInfo;
  void write(SampleWriter& out, WriteContext& context) const override;
};

}  // namespace jetmem
