// SPDX-License-Identifier: Apache-2.0
// Where the clocks are (collectors/sysfs/clocks/source.h says what is in each file).
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

#include "base/root/gatherer.h"
#include "collectors/sysfs/clocks/source.h"

namespace jetmem::clocks {

inline constexpr std::string_view kCpufreq = "/sys/devices/system/cpu/cpufreq";
inline constexpr std::string_view kOnline = "/sys/devices/system/cpu/online";
inline constexpr std::string_view kPresent = "/sys/devices/system/cpu/present";
inline constexpr std::string_view kDevfreq = "/sys/class/devfreq";
inline constexpr std::string_view kCompatible = "/proc/device-tree/compatible";
inline constexpr std::string_view kModeStatus = "/var/lib/nvpmodel/status";
inline constexpr std::string_view kModeNames = "/etc/nvpmodel.conf";

inline constexpr std::size_t kMaxPolicies = 64;
inline constexpr std::size_t kMaxDevices = 32;

// What is known of a clock, and the files that say it.
enum Leaf : std::size_t { kNow, kMin, kMax, kHardwareMax, kGovernor, kOfName, kLoad, kLeaves };
inline constexpr std::array<std::string_view, 5> kPolicyLeaves{
    "scaling_cur_freq", "scaling_min_freq", "scaling_max_freq", "cpuinfo_max_freq",
    "scaling_governor"};
inline constexpr std::array<std::string_view, kLeaves> kDeviceLeaves{
    "cur_freq",   "min_freq",
    "max_freq",   "available_frequencies",
    "governor",   "device/of_node/name",
    "device/load"};

// GPUs whose devfreq device or load the class does not show. The first that has it counts.
inline constexpr std::array<std::string_view, 9> kGpus{
    "/sys/devices/gpu.0",
    "/sys/devices/57000000.gpu",
    "/sys/devices/17000000.gp10b",
    "/sys/devices/17000000.gv11b",
    "/sys/devices/17000000.ga10b",
    "/sys/devices/platform/17000000.gv11b",
    "/sys/devices/platform/17000000.ga10b",
    "/sys/devices/platform/17000000.gpu",
    "/sys/devices/platform/bus@0/17000000.gpu",
};

// The memory's clock. Of several files with one meaning the first that can be read counts.
enum class EmcValue : unsigned char { kRate, kMin, kMax, kLocked, kCap, kActivity, kRaw0, kRaw1 };
struct EmcFile {
  std::string_view path;
  EmcValue value;
};
inline constexpr std::array<EmcFile, 12> kEmcFiles{{
    {"/sys/kernel/debug/bpmp/debug/clk/emc/rate", EmcValue::kRate},
    {"/sys/kernel/debug/clk/emc/clk_rate", EmcValue::kRate},
    {"/sys/kernel/debug/clk/override.emc/clk_rate", EmcValue::kRate},
    {"/sys/kernel/debug/bpmp/debug/clk/emc/min_rate", EmcValue::kMin},
    {"/sys/kernel/debug/tegra_bwmgr/emc_min_rate", EmcValue::kMin},
    {"/sys/kernel/debug/bpmp/debug/clk/emc/max_rate", EmcValue::kMax},
    {"/sys/kernel/debug/tegra_bwmgr/emc_max_rate", EmcValue::kMax},
    {"/sys/kernel/debug/bpmp/debug/clk/emc/mrq_rate_locked", EmcValue::kLocked},
    {"/sys/kernel/nvpmodel_emc_cap/emc_iso_cap", EmcValue::kCap},
    {"/sys/kernel/nvpmodel_clk_cap/emc", EmcValue::kCap},
    {"/sys/kernel/debug/cactmon/mc_all", EmcValue::kActivity},
    {"/sys/kernel/actmon_avg_activity/mc_all", EmcValue::kRaw0},
}};
// Asked only where no other tells the memory's activity: each question goes to the firmware.
inline constexpr EmcFile kFirmwareActivity{
    "/sys/kernel/debug/bpmp/debug/actmon/mc_all_avg_activity", EmcValue::kRaw1};

// Of a devfreq device: from its device tree node's name, which NUL ends ("gpu"), else from its own
// ("17000000.gv11b").
Clocks::Domain domain_of(std::string_view device, std::string_view node);

void gather(Gatherer& files);
// Notes of gather(): clocks beyond the bounds.
inline constexpr std::string_view kLeftOut = "clocks omitted";

}  // namespace jetmem::clocks
