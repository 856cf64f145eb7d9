// SPDX-License-Identifier: Apache-2.0
#include "collectors/sysfs/power.h"

#include <array>
#include <initializer_list>
#include <string>

#include "collectors/sysfs/one_value.h"
#include "collectors/sysfs/power_parse.h"

namespace jetmem {
namespace {

// The rest is gathered: of channels that are connected only.
constexpr std::array<std::string_view, 2> kPaths{
    "/sys/class/hwmon/hwmon*/name",
    "/sys/bus/i2c/drivers/ina3221x/*-*/iio:device*/rail_name_*",
};

constexpr std::array kMetrics{
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
enum Metric : std::size_t { kWatts, kVolts, kAmperes, kWarning, kCritical };

using power::is_missing;

// Reads a file that not every chip has; says whether it is there.
bool gather_file(Gatherer& gatherer, std::string& path, std::string_view leaf) {
  if (!gatherer.has_room()) return false;
  const std::size_t folder = path.size();
  path.append(leaf);
  const bool is_there = !is_missing(gatherer.read(path));
  if (!is_there) gatherer.forget();
  path.resize(folder);
  return is_there;
}

bool gathered_is(Gatherer& gatherer, std::string& path, std::string_view leaf,
                 std::string_view value) {
  if (!gatherer.has_room()) return false;
  const std::size_t folder = path.size();
  path.append(leaf);
  const FileText file = gatherer.read(path);
  path.resize(folder);
  if (!is_missing(file)) return file.text == value;
  gatherer.forget();
  return false;
}

void gather_ina3221(Gatherer& gatherer, std::string& path) {
  gather_file(gatherer, path, "in7_label");
  for (char channel = '1'; channel <= '3'; ++channel) {
    const auto leaf = [&](std::string_view before, std::string_view after) {
      return std::string(before) + channel + std::string(after);
    };
    // What is not connected or off is not asked: it would answer late, or with noise.
    if (gathered_is(gatherer, path, leaf("in", "_label"), "NC\n")) continue;
    if (gathered_is(gatherer, path, leaf("in", "_enable"), "0\n")) continue;
    gather_file(gatherer, path, leaf("in", "_input"));
    gather_file(gatherer, path, leaf("curr", "_input"));
    gather_file(gatherer, path, leaf("curr", "_max"));
    gather_file(gatherer, path, leaf("curr", "_crit"));
    gather_file(gatherer, path, leaf("shunt", "_resistor"));
  }
}

void gather_other(Gatherer& gatherer, std::string& path) {
  const bool has_label =
      gather_file(gatherer, path, "power1_label") || gather_file(gatherer, path, "in1_label");
  if (!has_label) gather_file(gatherer, path, "label");
  for (const std::string_view leaf :
       {"power1_input", "in1_input", "curr1_input", "curr1_max", "curr1_crit"}) {
    gather_file(gatherer, path, leaf);
  }
}

void gather_old_driver(Gatherer& gatherer, std::string& path) {
  for (char channel = '0'; channel <= '2'; ++channel) {
    if (!gatherer.has_room()) return;
    const std::size_t folder = path.size();
    path.append("rail_name_").push_back(channel);
    const bool is_connected =
        !power::is_not_connected(one_value(gatherer.read(path).text).value_or(""));
    gatherer.forget();  // the pattern has it
    path.resize(folder);
    if (!is_connected) continue;
    for (const auto& [before, after] :
         std::initializer_list<std::array<std::string_view, 2>>{{"in_voltage", "_input"},
                                                                {"in_current", "_input"},
                                                                {"in_power", "_input"},
                                                                {"warn_current_limit_", ""},
                                                                {"crit_current_limit_", ""}}) {
      gather_file(gatherer, path, std::string(before) + channel + std::string(after));
    }
  }
}

// Folders that cannot be listed are in the records of the patterns.
void gather_old_drivers(Gatherer& gatherer) {
  std::vector<std::string> chips;
  std::vector<std::string> devices;
  std::string path;
  gatherer.list(power::kIio, chips);
  for (const std::string& chip : chips) {
    if (!glob_match("*-*", chip)) continue;
    path.assign(power::kIio).append("/").append(chip);
    devices.clear();
    gatherer.list(path, devices);
    const std::size_t folder = path.size();
    for (const std::string& device : devices) {
      if (!glob_match("iio:device*", device)) continue;
      path.append("/").append(device).append("/");
      gather_old_driver(gatherer, path);
      path.resize(folder);
    }
  }
}

void gather_hwmon(Gatherer& gatherer) {
  std::vector<std::string> names;
  if (gatherer.list(power::kHwmon, names) != 0) return;  // the record of the pattern has the error
  std::string path;
  for (const std::string& name : names) {
    if (!gatherer.has_room()) return;
    path.assign(power::kHwmon).append("/").append(name).append("/");
    const std::size_t folder = path.size();
    path.append("name");
    const std::string_view chip = gatherer.read(path).text;
    const bool is_triple = power::is_ina3221(chip);
    const bool is_other = power::is_other_monitor(chip);
    gatherer.forget();  // the pattern has it
    path.resize(folder);
    if (is_triple) gather_ina3221(gatherer, path);
    if (is_other) gather_other(gatherer, path);
  }
}

void gather(Gatherer& gatherer) {
  gather_hwmon(gatherer);
  gather_old_drivers(gatherer);
}

}  // namespace

const SourceInfo PowerSource::kInfo{
    .name = "power",
    .what = "power of each rail (INA3221)",
    .paths = kPaths,
    .access = Access::kReader,
    .interval = std::chrono::seconds(10),
    .shortest_interval = std::chrono::seconds(1),
    .grant = "read rights on /sys/class/hwmon and /sys/bus/i2c: usually as root",
    .metrics = kMetrics,
    .limits = {.file_bytes = 4U << 10, .total_bytes = 64U << 10, .files = 512, .names = 1024},
    .gather = gather,
};

Result<void> PowerSource::parse(const Snapshot& snapshot, Nanoseconds /*read_time*/) {
  auto ok = parse_power(snapshot, reading_);
  if (!ok) return ok;
  indexes_.next_reading();
  for (Power::Rail& rail : reading_.rails) rail.index = indexes_.of(rail.name, rail.number);
  return {};
}

void PowerSource::write(SampleWriter& out, WriteContext& context) const {
  context.absent.add(reading_.absent);
  for (const Power::Rail& rail : reading_.rails) {
    const auto put = [&](Metric metric, const std::optional<double>& value) {
      out.put(kMetrics[metric], value, rail.name, rail.index);
    };
    put(kWatts, rail.watts);
    put(kVolts, rail.volts);
    put(kAmperes, rail.amperes);
    put(kWarning, rail.warning_amperes);
    put(kCritical, rail.critical_amperes);
  }
}

}  // namespace jetmem
