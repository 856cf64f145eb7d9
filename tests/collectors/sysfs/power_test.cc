// SPDX-License-Identifier: Apache-2.0
#include "collectors/sysfs/power.h"

#include <gtest/gtest.h>

#include <cerrno>

#include "tests/collectors/source_fixture.h"

namespace jetmem {
namespace {

class PowerTest : public SourceTest<PowerSource> {
 protected:
  void hwmon(const std::string& leaf, std::string_view text, int number = 1) {
    fixture.file("/sys/class/hwmon/hwmon" + std::to_string(number) + "/" + leaf, text);
  }
  void hwmon(const std::string& files, int number = 1) {
    each_file(files, [&](const auto& leaf, const auto& text) { hwmon(leaf, text, number); });
  }
  void hwmon_error(const std::string& leaf, int error) {
    fixture.error("/sys/class/hwmon/hwmon1/" + leaf, error);
  }
  void iio(const std::string& leaf, std::string_view text) {
    fixture.file("/sys/bus/i2c/drivers/ina3221x/6-0040/iio:device0/" + leaf, text);
  }
  void iio(const std::string& files) {
    each_file(files, [&](const auto& leaf, const auto& text) { iio(leaf, text); });
  }
  // A chip with one channel that works.
  void one_channel(std::string_view label = "VDD_IN\n") {
    hwmon("name", "ina3221\n");
    hwmon("in1_label", label);
    hwmon("in1_enable=1 in1_input=5000 curr1_input=1500");
  }
};

TEST_F(PowerTest, FromTextToSamples) {
  one_channel();
  hwmon("curr1_max=4968 curr1_crit=32760 shunt1_resistor=5000");
  hwmon("in7_label", "sum of shunt voltages\n");
  EXPECT_DOUBLE_EQ(value("jetmem_rail_watts{index=0,rail=VDD_IN}"), 7.5);
  EXPECT_DOUBLE_EQ(value("jetmem_rail_volts{index=0,rail=VDD_IN}"), 5);
  EXPECT_DOUBLE_EQ(value("jetmem_rail_amperes{index=0,rail=VDD_IN}"), 1.5);
  EXPECT_DOUBLE_EQ(value("jetmem_rail_warning_limit_amperes{index=0,rail=VDD_IN}"), 4.968);
  EXPECT_EQ(reading().rails[0].critical_amperes, std::nullopt);
  EXPECT_EQ(absent("limit_unset"), 1U);
  EXPECT_EQ(absent("sum_not_a_rail"), 1U);
}

TEST_F(PowerTest, NvidiasOldDriverHasItsOwnNamesAndUnits) {
  iio("rail_name_0=POM_5V_IN in_voltage0_input=5064 in_current0_input=872 in_power0_input=4415");
  iio("warn_current_limit_0", "4000 ma\n");
  iio("crit_current_limit_0=5000 rail_name_2=POM_5V_CPU in_power2_input=12 "
      "in_power2_input_scale=1");
  ASSERT_EQ(reading().rails.size(), 2U);
  EXPECT_DOUBLE_EQ(value("jetmem_rail_watts{index=0,rail=POM_5V_IN}"), 4.415);
  EXPECT_DOUBLE_EQ(value("jetmem_rail_volts{index=0,rail=POM_5V_IN}"), 5.064);
  EXPECT_DOUBLE_EQ(value("jetmem_rail_critical_limit_amperes{index=0,rail=POM_5V_IN}"), 5);
  EXPECT_DOUBLE_EQ(value("jetmem_rail_warning_limit_amperes{index=0,rail=POM_5V_IN}"), 4);
  EXPECT_DOUBLE_EQ(value("jetmem_rail_watts{index=0,rail=POM_5V_CPU}"), 0.012);
}

TEST_F(PowerTest, OfTheOldDriverALimitAtTheChipsEndIsUnset) {
  const auto critical = [&](const char* text) {
    fixture.clear();
    iio("rail_name_0", "VDD_IN\n");
    iio("crit_current_limit_0", text);
    return reading().rails[0].critical_amperes;
  };
  // Over 5, 10, 1, 11 (rounded both ways) and 100 milliohms.
  for (const char* unset :
       {"32760 ma\n", "16380 ma\n", "163800\n", "14890 ma\n", "14891 ma\n", "1638 ma\n"}) {
    EXPECT_EQ(critical(unset), std::nullopt) << unset;
    EXPECT_EQ(absent("limit_unset"), 1U) << unset;
  }
  for (const char* set : {"5000 ma\n", "4000 ma\n", "32758 ma\n", "1637 ma\n", "0 ma\n"}) {
    EXPECT_NE(critical(set), std::nullopt) << set;
    EXPECT_EQ(absent("limit_unset"), 0U) << set;
  }
  for (const char* bad : {"5000 ma", " ma\n", "ma\n", "5000 mw\n", "5000 ma ma\n"}) {
    EXPECT_EQ(critical(bad), std::nullopt) << bad;
    iio("in_power0_input", "5 ma\n");
    EXPECT_EQ(absent("malformed"), 2U) << bad;
  }
}

TEST_F(PowerTest, OfTheOldDriverAChannelThatNobodyDescribedIsNotConnected) {
  iio("rail_name_0=(null) in_voltage0_input=8 rail_name_1=VDD_IN");
  ASSERT_EQ(reading().rails.size(), 1U);
  EXPECT_EQ(reading().rails[0].name, "VDD_IN");
  EXPECT_EQ(absent("not_connected"), 1U);
}

TEST_F(PowerTest, NegativePowerIsLeftOutAndCounted) {
  hwmon("name=ina3221 in1_label=VDD_IN in1_input=5000 curr1_input=-8");
  iio("rail_name_0=POM_5V_IN in_power0_input=-12");
  hwmon("name=ina226 power1_input=-1000 in1_input=5000", 2);
  ASSERT_EQ(reading().rails.size(), 3U);
  for (const Power::Rail& rail : reading().rails) EXPECT_EQ(rail.watts, std::nullopt);
  EXPECT_EQ(absent("negative_power"), 3U);
  EXPECT_EQ(reading().rails[0].amperes, -0.008) << "it may flow back";
}

TEST_F(PowerTest, OtherMonitorsMeasureOneRailInMicrowatts) {
  hwmon(
      "name=ina238 label=VIN in1_input=19870 curr1_input=2961 power1_input=58835000 "
      "in2_input=7");
  hwmon("name=ina226 power1_input=1000000 in1_input=5000", 2);
  ASSERT_EQ(reading().rails.size(), 2U);
  EXPECT_DOUBLE_EQ(value("jetmem_rail_watts{index=0,rail=VIN}"), 58.835);
  EXPECT_DOUBLE_EQ(value("jetmem_rail_volts{index=0,rail=VIN}"), 19.87);
  EXPECT_DOUBLE_EQ(value("jetmem_rail_watts{index=0,rail=ina226}"), 1) << "has no label";
}

TEST_F(PowerTest, ShuntVoltagesAndSumsAreNoRails) {
  one_channel();
  hwmon("in4_input=7500 in5_input=7500 in7_input=15000 curr4_input=3000");
  EXPECT_EQ(reading().rails.size(), 1U);
}

TEST_F(PowerTest, WhatIsNotConnectedIsNoRail) {
  one_channel("NC\n");
  EXPECT_TRUE(reading().rails.empty());
  EXPECT_EQ(absent("not_connected"), 1U);
}

TEST_F(PowerTest, RailsOfOneNameKeepTheirIndex) {
  const auto chips = [&](bool first) {
    fixture.clear();
    for (int number : {1, 2}) {
      if (number == 1 && !first) continue;
      hwmon("name", "ina3221\n", number);
      hwmon("in1_label", "VDD\n", number);
      hwmon("in1_input", number == 1 ? "1000\n" : "2000\n", number);
    }
  };
  chips(true);
  EXPECT_EQ(value("jetmem_rail_volts{index=0,rail=VDD}"), 1);
  EXPECT_EQ(value("jetmem_rail_volts{index=1,rail=VDD}"), 2);
  chips(false);
  EXPECT_EQ(value("jetmem_rail_volts{index=1,rail=VDD}"), 2) << "not the first one's";
}

TEST_F(PowerTest, AChannelWithoutALabelHasItsNumber) {
  hwmon("name=ina3221 in2_input=5000");
  EXPECT_EQ(value("jetmem_rail_volts{index=0,rail=channel 2}"), 5);
}

TEST_F(PowerTest, GatedAndDisabledRailsAreAbsentNotZero) {
  hwmon("name=ina3221 in1_label=VDD_GPU in1_input=12000");
  hwmon_error("curr1_input", EAGAIN);
  hwmon("in2_label=VDD_CPU in2_enable=0 in2_input=0 curr2_input=0 in3_label=VIN");
  hwmon_error("in3_input", ENODATA);
  hwmon_error("curr3_input", EIO);
  hwmon_error("curr3_max", EACCES);
  ASSERT_EQ(reading().rails.size(), 3U);
  EXPECT_EQ(reading().rails[0].volts, 12);
  EXPECT_EQ(reading().rails[0].watts, std::nullopt);
  EXPECT_EQ(reading().rails[1].volts, std::nullopt);
  EXPECT_EQ(absent("powered_off"), 1U);
  EXPECT_EQ(absent("disabled"), 2U);
  EXPECT_EQ(absent("unreadable"), 1U);
  EXPECT_EQ(absent("denied"), 1U);
}

// The ugly ladder.
TEST_F(PowerTest, ABadFileCostsItsValueOnly) {
  for (const std::string_view bad : no_numbers({"9223372036854775807\n"})) {
    fixture.clear();
    hwmon("name=ina3221 in1_label=VDD_IN in1_input=5000");
    hwmon("curr1_input", bad);
    EXPECT_EQ(reading().rails[0].volts, 5);
    EXPECT_EQ(reading().rails[0].amperes, std::nullopt);
    EXPECT_EQ(reading().rails[0].watts, std::nullopt);
    EXPECT_EQ(absent("malformed") + absent("impossible"), 1U);
  }
}

TEST_F(PowerTest, ABadNameCostsItsRailOnly) {
  for (const std::string& bad : {std::string("VDD_I"), std::string("\n"), std::string("a\033[2J\n"),
                                 std::string(100, 'x') + "\n"}) {
    fixture.clear();
    one_channel(bad);
    hwmon("in2_label=VDD_SOC in2_input=5000");
    ASSERT_EQ(reading().rails.size(), 1U);
    EXPECT_EQ(reading().rails[0].name, "VDD_SOC");
    EXPECT_EQ(absent("malformed"), 1U);
  }
}

TEST_F(PowerTest, Errors) {
  EXPECT_EQ(fixture.error_message(),
            "no chip that measures power (INA3221 or INA2xx) on this machine");
  EXPECT_EQ(fixture.run().error().code, Errc::kAbsent);
  fixture.error("/sys/class/hwmon", ENOENT);
  fixture.error("/sys/bus/i2c/drivers/ina3221x", ENOENT);
  hwmon("name=nvme in1_input=1");
  EXPECT_EQ(fixture.run().error().code, Errc::kAbsent);
  fixture.clear();
  fixture.error("/sys/class/hwmon", EACCES);
  EXPECT_EQ(fixture.run().error().code, Errc::kDenied);
  fixture.clear();
  hwmon("name", "ina3221\n");
  hwmon_error("in1_label", EACCES);
  EXPECT_EQ(fixture.run().error().code, Errc::kDenied);
  fixture.clear();
  one_channel("a\033");
  EXPECT_EQ(fixture.error_message(),
            "/sys/class/hwmon/hwmon1/in1_label: expected the name of a rail, found 'a?'");
}

TEST_F(PowerTest, TooManyAreCounted) {
  for (int chip = 0; chip < 20; ++chip) {
    hwmon("name", "ina3221\n", chip);
    for (const char* leaf : {"in1_input", "in2_input", "in3_input"}) hwmon(leaf, "1\n", chip);
  }
  EXPECT_EQ(reading().rails.size(), 32U);
  EXPECT_EQ(absent("beyond_bound"), 4U + 16 * 3 - 32);
}

using PowerTree = TreeTest<PowerSource>;

TEST_F(PowerTree, OnlyPowerMonitorsAreAskedMoreThanTheirName) {
  const auto file = [&](const std::string& path, std::string_view text) {
    dir.write("sys/class/hwmon/" + path, text);
  };
  each_file(
      "hwmon0/name=nvme hwmon0/in1_input=1 hwmon1/name=ina3221 hwmon1/in1_label=NC "
      "hwmon1/in1_input=1 hwmon1/in2_label=VDD hwmon1/in2_enable=0 hwmon1/in2_input=1 "
      "hwmon1/in3_label=VIN hwmon1/in3_input=5000 hwmon1/curr3_input=1000 "
      "hwmon1/curr3_max_alarm=0",
      file);
  const Snapshot& snapshot = read();
  EXPECT_EQ(snapshot.find("/sys/class/hwmon/hwmon0/in1_input").error, ENOENT);
  EXPECT_EQ(snapshot.find("/sys/class/hwmon/hwmon1/in1_input").error, ENOENT) << "not connected";
  EXPECT_EQ(snapshot.find("/sys/class/hwmon/hwmon1/in2_input").error, ENOENT) << "off";
  EXPECT_EQ(snapshot.find("/sys/class/hwmon/hwmon1/curr3_max_alarm").error, ENOENT);
  Power power;
  ASSERT_TRUE(parse_power(snapshot, power));
  ASSERT_EQ(power.rails.size(), 2U);
  EXPECT_EQ(power.rails[1].watts, 5);
}

TEST_F(PowerTree, OfTheOldDriverWhatIsNotConnectedIsAskedItsNameOnly) {
  const std::string folder = "/sys/bus/i2c/drivers/ina3221x/6-0040/iio:device0/";
  const auto file = [&](const std::string& leaf, std::string_view text) {
    dir.write(folder.substr(1) + leaf, text);
  };
  for (const char* channel : {"0", "1", "2"}) {
    for (const char* quantity : {"voltage", "current", "power"}) {
      file("in_" + std::string(quantity) + channel + "_input", "5000\n");
    }
    for (const char* limit : {"warn", "crit"}) {
      file(limit + std::string("_current_limit_") + channel, "4000 ma\n");
    }
  }
  each_file("rail_name_0=NC rail_name_1=(null) rail_name_2=VDD_IN", file);
  dir.write("sys/bus/i2c/drivers/ina3221x/uevent", "");
  const Snapshot& snapshot = read();
  for (std::size_t i = 0; i < snapshot.size(); ++i) {
    const std::string_view path = snapshot[i].path;
    if (path.substr(0, folder.size()) != folder) continue;
    const std::string_view leaf = path.substr(folder.size());
    EXPECT_TRUE(leaf.find("rail_name_") == 0 || leaf.find('2') != leaf.npos) << path;
  }
  Power power;
  ASSERT_TRUE(parse_power(snapshot, power));
  ASSERT_EQ(power.rails.size(), 1U);
  EXPECT_EQ(power.rails[0].volts, 5);
  EXPECT_EQ(power.rails[0].amperes, 5);
  EXPECT_EQ(power.rails[0].watts, 5);
  EXPECT_EQ(power.rails[0].warning_amperes, 4);
  EXPECT_EQ(power.rails[0].critical_amperes, 4);
}

}  // namespace
}  // namespace jetmem
