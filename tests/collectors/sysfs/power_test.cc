// SPDX-License-Identifier: Apache-2.0
#include "collectors/sysfs/power.h"

#include <gtest/gtest.h>

#include <cerrno>

#include "tests/collectors/source_fixture.h"

namespace jetmem {
namespace {

// Of the old driver.
const std::string kIio = "/sys/bus/i2c/drivers/ina3221x/6-0040/iio:device0/";

class PowerTest : public SourceTest<PowerSource> {
 protected:
  static std::string chip(int number) {
    return "/sys/class/hwmon/hwmon" + std::to_string(number) + "/";
  }
  void hwmon(const std::string& leaf, std::string_view text) { fixture.file(chip(1) + leaf, text); }
  void hwmon(const std::string& files, int number = 1) { fixture.files(chip(number), files); }
  void hwmon_error(const std::string& leaf, int error) { fixture.error(chip(1) + leaf, error); }
  void iio(const std::string& leaf, std::string_view text) { fixture.file(kIio + leaf, text); }
  void iio(const std::string& files) { fixture.files(kIio, files); }
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
  expect("jetmem_rail_*{index=0,rail=VDD_IN}",
         "watts=7.5 volts=5 amperes=1.5 warning_limit_amperes=4.968");
  EXPECT_EQ(reading().rails[0].critical_amperes, std::nullopt);
  EXPECT_EQ(all_absent(), "limit_unset 1, sum_not_a_rail 1");
}

TEST_F(PowerTest, NvidiasOldDriverHasItsOwnNamesAndUnits) {
  iio("rail_name_0=POM_5V_IN in_voltage0_input=5064 in_current0_input=872 in_power0_input=4415");
  iio("warn_current_limit_0", "4000 ma\n");
  iio("crit_current_limit_0=5000 rail_name_2=POM_5V_CPU in_power2_input=12 "
      "in_power2_input_scale=1");
  ASSERT_EQ(reading().rails.size(), 2U);
  expect("jetmem_rail_*{index=0,rail=POM_5V_IN}",
         "watts=4.415 volts=5.064 critical_limit_amperes=5 warning_limit_amperes=4");
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
    EXPECT_EQ(all_absent(), "limit_unset 1") << unset;
  }
  for (const char* set : {"5000 ma\n", "4000 ma\n", "32758 ma\n", "1637 ma\n", "0 ma\n"}) {
    EXPECT_NE(critical(set), std::nullopt) << set;
    EXPECT_EQ(all_absent(), "") << set;
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

TEST_F(PowerTest, ShuntVoltagesAndSumsAndWhatIsNotConnectedAreNoRails) {
  one_channel();
  hwmon("in4_input=7500 in5_input=7500 in7_input=15000 curr4_input=3000");
  EXPECT_EQ(reading().rails.size(), 1U);
  fixture.clear();
  one_channel("NC\n");
  EXPECT_TRUE(reading().rails.empty());
  EXPECT_EQ(all_absent(), "not_connected 1");
}

TEST_F(PowerTest, RailsOfOneNameKeepTheirIndex) {
  const auto chips = [&](bool first) {
    fixture.clear();
    for (int number : {1, 2}) {
      if (number == 1 && !first) continue;
      hwmon("name=ina3221 in1_label=VDD in1_input=" + std::to_string(number * 1000), number);
    }
  };
  chips(true);
  expect("jetmem_rail_volts{index=*,rail=VDD}", "0=1 1=2");
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
  EXPECT_EQ(all_absent(), "denied 1, disabled 2, powered_off 1, unreadable 1");
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
  EXPECT_EQ(fixture.code_with("/sys/class/hwmon", EACCES), Errc::kDenied);
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
    hwmon("name=ina3221 in1_input=1 in2_input=1 in3_input=1", chip);
  }
  EXPECT_EQ(reading().rails.size(), 32U);
  EXPECT_EQ(absent("beyond_bound"), 4U + 16 * 3 - 32);
}

using PowerTree = TreeTest<PowerSource>;

TEST_F(PowerTree, OnlyPowerMonitorsAreAskedMoreThanTheirName) {
  files("/sys/class/hwmon/",
        "hwmon0/name=nvme hwmon0/in1_input=1 hwmon1/name=ina3221 hwmon1/in1_label=NC "
        "hwmon1/in1_input=1 hwmon1/in2_label=VDD hwmon1/in2_enable=0 hwmon1/in2_input=1 "
        "hwmon1/in3_label=VIN hwmon1/in3_input=5000 hwmon1/curr3_input=1000 "
        "hwmon1/curr3_max_alarm=0");
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
  for (const std::string channel : {"0", "1", "2"}) {
    for (const char* quantity : {"in_voltage", "in_current", "in_power"}) {
      file(kIio + quantity + channel + "_input", "5000\n");
    }
    for (const char* limit : {"warn", "crit"}) {
      file(kIio + limit + "_current_limit_" + channel, "4000 ma\n");
    }
  }
  files(kIio, "rail_name_0=NC rail_name_1=(null) rail_name_2=VDD_IN");
  dir.write("sys/bus/i2c/drivers/ina3221x/uevent", "");
  const Snapshot& snapshot = read();
  for (std::size_t i = 0; i < snapshot.size(); ++i) {
    const std::string_view path = snapshot[i].path;
    if (path.substr(0, kIio.size()) != kIio) continue;
    const std::string_view leaf = path.substr(kIio.size());
    EXPECT_TRUE(leaf.find("rail_name_") == 0 || leaf.find('2') != leaf.npos) << path;
  }
  Power power;
  ASSERT_TRUE(parse_power(snapshot, power));
  ASSERT_EQ(power.rails.size(), 1U);
  const Power::Rail& rail = power.rails[0];
  EXPECT_TRUE(rail.volts == 5 && rail.amperes == 5 && rail.watts == 5);
  EXPECT_TRUE(rail.warning_amperes == 4 && rail.critical_amperes == 4);
}

}  // namespace
}  // namespace jetmem
