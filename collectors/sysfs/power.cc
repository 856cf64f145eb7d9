// SPDX-License-Identifier: Apache-2.0
#include "collectors/sysfs/power.h"

#include <array>
#include <cerrno>
#include <string>

#include "collectors/sysfs/power_parse.h"
#include "collectors/sysfs/sysfs_text.h"

namespace jetmem {
namespace {

// The rest is gathered: of channels that are connected only.
constexpr std::array<std::string_view, 2> kPowerPaths{
    "/sys/class/hwmon/hwmon*/name",
    "/sys/bus/i2c/drivers/ina3221x/*-*/iio:device*/rail_name_*",
};

constexpr std::array kPowerMetrics{
    gauge("jetmem_rail_watts",
          "Power drawn from the rail. Rails overlap (VDD_IN feeds all others): do not add them "
          "up. Several rails of one name differ by index.",
          {"rail", "index"}, power::kMaxRails, Worst::kMax),
    gauge("jetmem_rail_volts",
          "Voltage of the rail. An input that sags under load (a weak supply or a thin cable) "
          "throttles the board before it switches off.",
          {"rail", "index"}, power::kMaxRails, Worst::kMin),
    gauge("jetmem_rail_amperes",
          "Current through the rail; below zero it flows back, or it is noise of a rail that is "
          "off.",
          {"rail", "index"}, power::kMaxRails, Worst::kMax),
    gauge("jetmem_rail_warning_limit_amperes",
          "While the rail's average current is above it, the board is slowed down.",
          {"rail", "index"}, power::kMaxRails),
    gauge("jetmem_rail_critical_limit_amperes",
          "When the rail's current is above it for one sample, the board is slowed down at once.",
          {"rail", "index"}, power::kMaxRails),
};
enum PowerMetric : std::size_t { kWatts, kVolts, kAmperes, kWarning, kCritical };

using power::is_missing;

// Reads a file that not every chip has. Without a record, and with ENOENT, where it is not there.
FileText gather_file(Gatherer& gatherer, const std::string& folder, std::string_view leaf) {
  if (!gatherer.has_room()) return {{}, {}, ENOENT};
  const FileText file = gatherer.read(folder + std::string(leaf));
  if (!is_missing(file)) return file;
  gatherer.forget();
  return {{}, {}, ENOENT};
}

struct ChannelFile {
  std::string_view before;  // the channel's digit
  std::string_view after;
};
template <std::size_t N>
void gather_channel(Gatherer& gatherer, const std::string& folder, char channel,
                    const std::array<ChannelFile, N>& leaves) {
  for (const ChannelFile& leaf : leaves) {
    gather_file(gatherer, folder, std::string(leaf.before) + channel + std::string(leaf.after));
  }
}

void gather_ina3221(Gatherer& gatherer, const std::string& folder) {
  constexpr std::array<ChannelFile, 5> kLeaves{{{"in", "_input"},
                                                {"curr", "_input"},
                                                {"curr", "_max"},
                                                {"curr", "_crit"},
                                                {"shunt", "_resistor"}}};
  gather_file(gatherer, folder, "in7_label");
  for (const char channel : {'1', '2', '3'}) {
    const std::string stem = std::string("in") + channel;
    // What is not connected or off is not asked: it would answer late, or with noise.
    if (gather_file(gatherer, folder, stem + "_label").text == "NC\n") continue;
    if (gather_file(gatherer, folder, stem + "_enable").text == "0\n") continue;
    gather_channel(gatherer, folder, channel, kLeaves);
  }
}

void gather_other(Gatherer& gatherer, const std::string& folder) {
  const auto is_there = [&](std::string_view leaf) {
    return gather_file(gatherer, folder, leaf).error != ENOENT;
  };
  if (!is_there("power1_label") && !is_there("in1_label")) is_there("label");
  for (const std::string_view leaf :
       {"power1_input", "in1_input", "curr1_input", "curr1_max", "curr1_crit"}) {
    gather_file(gatherer, folder, leaf);
  }
}

void gather_old_driver(Gatherer& gatherer, const std::string& folder) {
  constexpr std::array<ChannelFile, 5> kLeaves{{{"in_voltage", "_input"},
                                                {"in_current", "_input"},
                                                {"in_power", "_input"},
                                                {"warn_current_limit_", ""},
                                                {"crit_current_limit_", ""}}};
  for (const char channel : {'0', '1', '2'}) {
    if (!gatherer.has_room()) return;
    const FileText name = gatherer.read(folder + "rail_name_" + channel);
    const bool is_connected = !power::is_not_connected(one_value(name.text).value_or(""));
    gatherer.forget();  // the pattern has it
    if (is_connected) gather_channel(gatherer, folder, channel, kLeaves);
  }
}

// Folders that cannot be listed are in the records of the patterns.
void gather_old_drivers(Gatherer& gatherer) {
  std::vector<std::string> chips;
  std::vector<std::string> devices;
  gatherer.list(power::kIio, chips);
  for (const std::string& chip : chips) {
    if (!glob_match("*-*", chip)) continue;
    const std::string folder = std::string(power::kIio) + "/" + chip;
    devices.clear();
    gatherer.list(folder, devices);
    for (const std::string& device : devices) {
      if (!glob_match("iio:device*", device)) continue;
      gather_old_driver(gatherer, folder + "/" + device + "/");
    }
  }
}

void gather_hwmon(Gatherer& gatherer) {
  std::vector<std::string> names;
  if (gatherer.list(power::kHwmon, names) != 0) return;  // the record of the pattern has the error
  for (const std::string& name : names) {
    if (!gatherer.has_room()) return;
    const std::string folder = std::string(power::kHwmon).append("/").append(name).append("/");
    const std::string_view chip = gatherer.read(folder + "name").text;
    const bool is_triple = power::is_ina3221(chip);
    const bool is_other = power::is_other_monitor(chip);
    gatherer.forget();  // the pattern has it
    if (is_triple) gather_ina3221(gatherer, folder);
    if (is_other) gather_other(gatherer, folder);
  }
}

void gather_power(Gatherer& gatherer) {
  gather_hwmon(gatherer);
  gather_old_drivers(gatherer);
}

}  // namespace

const SourceInfo PowerSource::kInfo{
    .name = "power",
    .what = "power of each rail (INA3221)",
    .paths = kPowerPaths,
    .access = Access::kReader,
    .interval = std::chrono::seconds(10),
    .shortest_interval = std::chrono::seconds(1),
    .grant = "read rights on /sys/class/hwmon and /sys/bus/i2c: usually as root",
    .metrics = kPowerMetrics,
    .limits = {.file_bytes = 4U << 10, .total_bytes = 64U << 10, .files = 512, .names = 1024},
    .gather = gather_power,
};

Result<void> PowerSource::parse(const Snapshot& snapshot, Nanoseconds /*read_time*/) {
  auto ok = parse_power(snapshot, reading_);
  if (!ok) return ok;
  indexes_.next_reading();
  for (Power::Rail& rail : reading_.rails) rail.index = indexes_.of(rail.name, rail.number);
  return {};
}

void PowerSource::write(SampleWriter& out, WriteContext& /*context*/) const {
  for (const Power::Rail& rail : reading_.rails) {
    const auto put = [&](PowerMetric metric, const std::optional<double>& value) {
      out.put(kPowerMetrics[metric], value, rail.name, rail.index);
    };
    put(kWatts, rail.watts);
    put(kVolts, rail.volts);
    put(kAmperes, rail.amperes);
    put(kWarning, rail.warning_amperes);
    put(kCritical, rail.critical_amperes);
  }
}

}  // namespace jetmem
