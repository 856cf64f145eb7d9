// SPDX-License-Identifier: Apache-2.0
// Power, voltage and current of each rail, from the monitor chips that a board has (INA3221 on
// Jetson, INA2xx on others). World readable, but each value is a transfer on an I2C bus, where a
// driver may wait: jetmem-reader is asked.
//
// Where it is found, by what files exist:
//   /sys/class/hwmon/hwmon<N>/ with the name "ina3221" (drivers/hwmon/ina3221.c; L4T 34 on):
//       in<C>_label                name of rail C = 1..3, or "NC": nothing is connected
//       in<C>_enable               0: the channel is off
//       in<C>_input                millivolts of the rail
//       curr<C>_input              milliamperes, may be below zero
//       curr<C>_max, curr<C>_crit  limits in mA: of the average, of each sample
//       shunt<C>_resistor          microohms
//     in4..in6 are voltages of the shunts, in7 and curr4 sums of all three: none is a rail.
//   the same with another name that begins with "ina2" (ina226, ina238, ...; drivers/hwmon/ina2xx.c
//     and ina238.c): one rail. power1_input in microwatts, in1_input, curr1_input, curr1_max,
//     curr1_crit; its name in power1_label, in1_label or label.
//   /sys/bus/i2c/drivers/ina3221x/<bus>-<address>/iio:device<N>/ (NVIDIA's driver, L4T up to 32):
//       rail_name_<C>, C = 0..2   "NC", or "(null)": the device tree has no such channel
//       in_voltage<C>_input mV, in_current<C>_input mA, in_power<C>_input mW
//       warn_current_limit_<C>, crit_current_limit_<C>   mA with their unit: "5000 ma"
//     The shunt is in no file here.
// A channel that is not connected is asked nothing but its name.
// Each file is one value and a newline; without the newline it was cut. Of other hwmon devices only
// the name is read: some of their sensors are slow.
//
// Power is the chip's own figure where there is one, else voltage times current, which the driver
// samples at two moments. Rails overlap (an input rail feeds the others): never add them up.
// The alarm files (curr<C>_*_alarm) are never read: reading one clears the chip's flags of all
// channels, and so does reading any current, so a 0 in them would mean nothing. Compare the current
// with its limits instead; what a limit did is in the over-current events of the source throttle.
//
// Omitted and counted:
//   not_connected   a channel called NC or (null)
//   sum_not_a_rail  in7, "sum of shunt voltages"
//   disabled        the channel is off (in<C>_enable 0, or ENODATA)
//   powered_off     EAGAIN: the rail's power domain is off
//   negative_power  watts below 0: an offset of a rail without load. Amperes keep their sign
//   limit_unset     the limit is the largest that the chip can hold: none was set. Where the shunt
//                   is in no file: what would be the largest over 1, 2, ... or 100 milliohms
//   denied, unreadable, malformed, beyond_bound (32 rails): as they say
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "collectors/source.h"
#include "collectors/sysfs/type_indexes.h"

namespace jetmem {

struct Power : Reading {
  struct Rail {
    std::string name;
    std::uint32_t index = 0;   // among rails of this name; given by PowerSource, not by the text
    std::uint32_t number = 0;  // tells the rails of one boot apart
    std::optional<double> watts;
    std::optional<double> volts;
    std::optional<double> amperes;
    std::optional<double> warning_amperes;
    std::optional<double> critical_amperes;

    bool operator==(const Rail&) const = default;
  };
  std::vector<Rail> rails;  // in the order of chips and channels
};

// Errors: kAbsent when no chip that measures power was found; when there is one and not one rail
// has a name that can be read, why.
Result<void> parse_power(const Snapshot& snapshot, Power& out);

class PowerSource final : public SourceOf<PowerSource, Power> {
 public:
  static const SourceInfo kInfo;
  Result<void> parse(const Snapshot& snapshot, Nanoseconds read_time) override;
  void write(SampleWriter& out, WriteContext& context) const override;

 private:
  TypeIndexes indexes_{128};
};

}  // namespace jetmem
