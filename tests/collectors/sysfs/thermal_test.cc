// SPDX-License-Identifier: Apache-2.0
#include "collectors/sysfs/thermal.h"

#include <gtest/gtest.h>

#include "collectors/sysfs/sysfs_text.h"
#include "collectors/sysfs/type_indexes.h"
#include "tests/collectors/source_fixture.h"

namespace jetmem {
namespace {

using std::string_view_literals::operator""sv;

class ThermalTest : public SourceTest<ThermalSource> {
 protected:
  static std::string zone_path(int number, std::string_view leaf) {
    return "/sys/class/thermal/thermal_zone" + std::to_string(number) + "/" + std::string(leaf);
  }
  void zone(int number, std::string_view type, std::string_view temp,
            std::string_view mode = "enabled\n") {
    fixture.file(zone_path(number, "type"), std::string(type) + "\n");
    fixture.file(zone_path(number, "temp"), temp);
    fixture.file(zone_path(number, "mode"), mode);
  }
  void trip(int number, int trip, std::string_view kind, std::string_view temp) {
    const std::string at = "trip_point_" + std::to_string(trip);
    fixture.file(zone_path(number, at + "_temp"), temp);
    fixture.file(zone_path(number, at + "_type"), std::string(kind) + "\n");
  }
  // A cooling device of this type is bound to a trip of the zone.
  void bind(int number, int binding, std::string_view type, std::string_view trip) {
    const std::string at = "cdev" + std::to_string(binding);
    fixture.file(zone_path(number, at + "/type"), std::string(type) + "\n");
    fixture.file(zone_path(number, at + "_trip_point"), trip);
    // As the pattern finds it.
    fixture.error(zone_path(number, at + "_weight/type"), ENOTDIR);
  }
  // "passive 99000 critical 104500": its first, its second.
  void trips(int number, const std::string& list) {
    std::istringstream words(list);
    std::string temp;
    int at = 0;
    for (std::string kind; words >> kind >> temp;) trip(number, at++, kind, temp + "\n");
  }
  // "cpufreq-cpu0 0 pwm-fan 2": likewise, each with its trip.
  void binds(int number, const std::string& list) {
    std::istringstream words(list);
    std::string trip;
    int binding = 0;
    for (std::string type; words >> type >> trip;) bind(number, binding++, type, trip + "\n");
  }
  void cooling(int number, std::string_view type, std::string_view state, std::string_view max) {
    const std::string at = "/sys/class/thermal/cooling_device" + std::to_string(number);
    fixture.file(at + "/type", std::string(type) + "\n");
    fixture.file(at + "/cur_state", state);
    fixture.file(at + "/max_state", max);
  }
};

TEST_F(ThermalTest, TemperatureLimitsAndDistances) {
  zone(0, "cpu-thermal", "71218\n");
  trips(0, "passive 99000 critical 104500 passive 70000");
  binds(0, "cpufreq-cpu0 0 cpufreq-cpu4 2");
  expect("jetmem_thermal_zone_*{index=0,zone=cpu-thermal}", "celsius=71.218 enabled=1");
  expect("jetmem_thermal_trip_celsius{index=0,kind=*,zone=cpu-thermal}", "critical,trip=1=104.5");
  // The passive limit at 70 is exceeded: the next one counts.
  expect("jetmem_thermal_margin_celsius{index=0,kind=*,zone=cpu-thermal}",
         "passive=27.782 critical=33.282 hot=none");
}

TEST_F(ThermalTest, TheMarginIsThatToTheNextLimitOfItsKind) {
  struct Case {
    std::string_view temp;
    double active;
    double passive;
  };
  for (const Case& c : {Case{"30000\n", 20, 40}, Case{"49999\n", 0.001, 20.001},
                        Case{"50000\n", 10, 20},  // reached: the fan runs, and the next is at 60
                        Case{"60000\n", 0, 10},   // the last one is reached
                        Case{"71218\n", -11.218, -1.218}}) {
    SCOPED_TRACE(c.temp);
    fixture.clear();
    zone(0, "cpu", c.temp);
    trips(0, "active 60000 passive 70000 active 50000");
    binds(0, "pwm-fan 0 pwm-fan 2 cpufreq-cpu0 1");
    EXPECT_EQ(reading().zones[0].margin(Thermal::Kind::kActive), c.active);
    EXPECT_EQ(reading().zones[0].margin(Thermal::Kind::kPassive), c.passive);
    EXPECT_EQ(reading().zones[0].margin(Thermal::Kind::kHot), std::nullopt);
    EXPECT_EQ(value("jetmem_thermal_margin_celsius{index=0,kind=active,zone=cpu}"), c.active);
  }
  EXPECT_EQ(fixture.table.sections()[0].shape_changes, 1U);
}

// An Orin: the limit at 70 C warns of a hot surface, that at 99 C cuts clocks.
TEST_F(ThermalTest, ALimitThatNothingIsBoundToCountsNoDistance) {
  const auto passive = [&] { return reading().zones[0].margin(Thermal::Kind::kPassive); };
  const auto bound = [&](int number) {
    return value("jetmem_thermal_trip_bound{index=0,kind=passive,trip=" + std::to_string(number) +
                 ",zone=cpu-thermal}");
  };
  const auto orin = [&] {
    fixture.clear();
    zone(0, "cpu-thermal", "60000\n");
    trips(0, "passive 99000 critical 104500 passive 70000");
  };
  orin();
  EXPECT_EQ(passive(), std::nullopt);
  EXPECT_EQ(bound(0), 0);
  binds(0, "cpufreq-cpu0 0 cpu-throttle-alert 0 hot-surface-alert 2");
  EXPECT_EQ(passive(), 39);
  EXPECT_EQ(bound(0), 1);
  EXPECT_EQ(bound(2), 0);
  EXPECT_EQ(reading().zones[0].margin(Thermal::Kind::kCritical), 44.5);
  EXPECT_EQ(all_absent(), "");

  // A fan slows nothing, -1 is no trip, and without any binding there is no distance.
  for (const std::string_view type : {"pwm-fan", "Fan", "hot-surface-alert"}) {
    orin();
    bind(0, 0, type, "0\n");
    EXPECT_EQ(passive(), std::nullopt) << type;
    EXPECT_EQ(bound(0), 0) << type;
  }
  orin();
  bind(0, 0, "cpufreq-cpu0", "-1\n");
  EXPECT_EQ(passive(), std::nullopt);
  bind(0, 12, "Processor", "2\n");
  EXPECT_EQ(passive(), 10);
}

TEST_F(ThermalTest, ABindingThatCannotBeReadIsNotGuessed) {
  const auto begin = [&] {
    fixture.clear();
    zone(0, "cpu", "60000\n");
    trips(0, "passive 99000 passive 70000");
    bind(0, 0, "cpufreq-cpu0", "0\n");
  };
  const auto passive = [&] { return reading().zones[0].margin(Thermal::Kind::kPassive); };
  for (const std::string_view bad : {"", "\n", "1", "x\n", "1 \n2"}) {
    begin();
    bind(0, 1, "cpufreq-cpu4", bad);
    EXPECT_EQ(passive(), std::nullopt) << bad;
    EXPECT_EQ(reading().zones[0].trips[0].bound, true);
    EXPECT_EQ(reading().zones[0].trips[1].bound, std::nullopt);
    EXPECT_EQ(all_absent(), "binding_unknown 1");
  }
  // Wherever a fan is bound, it slows nothing.
  begin();
  bind(0, 1, "pwm-fan", "");
  EXPECT_EQ(passive(), 39);
  begin();
  fixture.error(zone_path(0, "cdev1/type"), EACCES);
  fixture.file(zone_path(0, "cdev1_trip_point"), "1\n");
  EXPECT_EQ(passive(), std::nullopt);
  begin();
  for (int i = 1; i < 80; ++i) bind(0, i, "Processor", "-1\n");
  EXPECT_EQ(passive(), std::nullopt) << "more than are kept";
  // One that went away meanwhile.
  begin();
  fixture.error(zone_path(0, "cdev1/type"), ENOENT);
  fixture.error(zone_path(0, "cdev1_trip_point"), ENOENT);
  EXPECT_EQ(passive(), 39);
}

TEST_F(ThermalTest, APoweredOffZoneIsCountedAndTheRestIsRead) {
  zone(0, "cpu-thermal", "47218\n");
  trip(1, 0, "critical", "104500\n");
  int number = 1;
  // Of firmware an error, not 0.
  for (const int error : {EAGAIN, EINVAL, EIO, ENODATA, ETIME, EREMOTEIO, ETIMEDOUT}) {
    fixture.file(zone_path(number, "type"), "gpu-thermal\n");
    fixture.error(zone_path(number++, "temp"), error);
  }
  ASSERT_EQ(reading().zones.size(), 8U);
  EXPECT_EQ(reading().zones[0].celsius, 47.218);
  expect("jetmem_thermal_zone_celsius{index=*,zone=gpu-thermal}",
         "1=none 2=none 3=none 4=none 5=none 6=none 7=none");
  for (std::size_t i = 1; i < 8; ++i) EXPECT_EQ(reading().zones[i].celsius, std::nullopt);
  EXPECT_EQ(reading().zones[1].trips.size(), 1U);
  EXPECT_EQ(reading().zones[1].margin(Thermal::Kind::kCritical), std::nullopt);
  EXPECT_EQ(all_absent(), "powered_off 1, unreadable 6");
}

TEST_F(ThermalTest, ZonesOfOneTypeAreDistinguishedInTheOrderOfTheirNumbers) {
  // The order of the snapshot is that of names: 10 comes before 2.
  zone(10, "acpitz", "30000\n");
  zone(2, "acpitz", "20000\n");
  zone(3, "x86_pkg_temp", "46000\n");
  expect("jetmem_thermal_zone_celsius{index=*}",
         "0,zone=acpitz=20 1,zone=acpitz=30 0,zone=x86_pkg_temp=46");
}

// A series never goes on with the values of another zone.
TEST_F(ThermalTest, AZoneKeepsItsIndexWhenOthersComeAndGo) {
  constexpr const char* kCelsius = "jetmem_thermal_zone_celsius{index=*,zone=cpu}";
  constexpr const char* kWorst = "jetmem_thermal_zone_max_1m_celsius{index=*,zone=cpu}";
  const auto zones = [&](const std::vector<std::pair<int, const char*>>& temperatures) {
    fixture.clear();
    for (const auto& [number, temperature] : temperatures) zone(number, "cpu", temperature);
  };
  zones({{0, "40000\n"}, {1, "91000\n"}, {2, "42000\n"}});
  expect(kCelsius, "1=91");
  zones({{0, "40000\n"}, {2, "42000\n"}});
  expect(kCelsius, "1=none 2=42");
  expect(kWorst, "2=42");

  // A new number is a new zone, wherever it stands among the others.
  zones({{0, "40000\n"}, {2, "42000\n"}, {7, "47000\n"}});
  expect(kCelsius, "1=none 3=47");

  // One that returns is the same again; under another type it is another.
  zones({{1, "41000\n"}, {2, "42000\n"}, {7, "47000\n"}});
  zone(0, "gpu", "60000\n");
  expect(kCelsius, "0=none 1=41 2=42 3=47");
  expect(kWorst, "1=41");
  EXPECT_EQ(value("jetmem_thermal_zone_celsius{index=0,zone=gpu}"), 60);
}

TEST_F(ThermalTest, ATypeThatCannotBeReadShiftsNoOther) {
  constexpr const char* kState = "jetmem_cooling_device_state{index=*,type=Processor}";
  const auto cycle = [&](bool readable) {
    fixture.clear();
    for (int i = 0; i < 3; ++i) {
      const std::string at = "/sys/class/thermal/cooling_device" + std::to_string(i) + "/";
      if (i != 0 || readable) fixture.file(at + "type", "Processor\n");
      fixture.files(at, "max_state=20 cur_state=" + std::to_string(10 + i));
    }
    if (!readable) fixture.error("/sys/class/thermal/cooling_device0/type", EIO);
  };
  cycle(true);
  ASSERT_TRUE(fixture.run());
  cycle(false);
  expect(kState, "0=none 1=11 2=12");
  EXPECT_EQ(all_absent(), "unreadable 1");
  cycle(true);
  expect(kState, "0=10 2=12");
}

TEST_F(ThermalTest, PlaceholdersAreNoTemperatures) {
  zone(0, "off", "-256000\n");
  zone(1, "broken", "2147483647\n");
  zone(2, "PMIC-Die", "100000\n");
  zone(3, "PMIC-Die", "50000\n");
  zone(4, "cold", "-40000\n");
  EXPECT_EQ(all_absent(), "placeholder 4");
  EXPECT_EQ(reading().zones[4].celsius, -40);
  // The PMIC's alarms are shown.
  fixture.clear();
  zone(0, "PMIC-Die", "120000\n");
  EXPECT_EQ(reading().zones[0].celsius, 120);
}

TEST_F(ThermalTest, WholeDegreesAreNoThousandths) {
  zone(0, "cpu", "100\n");
  EXPECT_EQ(all_absent(), "placeholder 1");
  zone(1, "gpu", "97\n");
  zone(2, "board", "-5\n");
  EXPECT_EQ(all_absent(), "placeholder 2");
  EXPECT_EQ(reading().zones[0].celsius, std::nullopt);
  // A cold board is cold.
  zone(3, "soc", "-1500\n");
  EXPECT_EQ(all_absent(), "");
  EXPECT_EQ(reading().zones[1].celsius, 0.097);
}

TEST_F(ThermalTest, LimitsThatAreNotSetAreLeftOut) {
  zone(0, "x86_pkg_temp", "46000\n");
  trips(0,
        "passive -2147483648 passive -274000 passive 0 critical 0 hot 2147483647 active 0 active "
        "-1000");
  EXPECT_EQ(all_absent(), "trip_unset 5");
  ASSERT_EQ(reading().zones[0].trips.size(), 2U);
  EXPECT_EQ(reading().zones[0].trips[0].number, 5U);
}

TEST_F(ThermalTest, ADisabledZoneKeepsItsTemperatureButHasNoDistances) {
  zone(0, "cpu", "46000\n", "disabled\n");
  trip(0, 0, "critical", "100000\n");
  expect("jetmem_thermal_zone_*{index=0,zone=cpu}", "celsius=46 enabled=0");
  EXPECT_EQ(reading().zones[0].margin(Thermal::Kind::kCritical), std::nullopt);
  EXPECT_EQ(all_absent(), "disabled 1");
  // One without a mode is neither enabled nor disabled.
  fixture.clear();
  fixture.files(zone_path(0, ""), "type=CPU-therm temp=48000");
  fixture.error(zone_path(0, "mode"), ENOENT);
  trip(0, 0, "critical", "100000\n");
  EXPECT_EQ(reading().zones[0].enabled, std::nullopt);
  EXPECT_EQ(reading().zones[0].margin(Thermal::Kind::kCritical), 52);
}

TEST_F(ThermalTest, CoolingDevicesOfOneTypeAreDistinguished) {
  cooling(0, "Processor", "0\n", "10\n");
  cooling(1, "Processor", "3\n", "10\n");
  cooling(2, "cpufreq-cpu0", "1\n", "21\n");
  cooling(3, "intel_powerclamp", "-1\n", "50\n");
  EXPECT_EQ(value("jetmem_cooling_device_state{index=1,type=Processor}"), 3);
  EXPECT_EQ(value("jetmem_cooling_device_max_state{index=0,type=cpufreq-cpu0}"), 21);
  EXPECT_EQ(reading().cooling[3].state, std::nullopt);
  EXPECT_EQ(all_absent(), "placeholder 1");
}

TEST_F(ThermalTest, NothingThereIsAbsentAndDeniedIsDenied) {
  EXPECT_EQ(fixture.run().error().code, Errc::kAbsent);
  EXPECT_EQ(fixture.error_message(), "no thermal zone and no cooling device on this machine");
  EXPECT_EQ(fixture.code_with("/sys/class/thermal", ENOENT), Errc::kAbsent);
  EXPECT_EQ(fixture.code_with("/sys/class/thermal", EACCES), Errc::kDenied);
  EXPECT_EQ(fixture.code_with(zone_path(0, "type"), EACCES), Errc::kDenied);
}

// The ugly ladder: one bad file leaves out one value.
TEST_F(ThermalTest, ABadFileCostsItsValueOnly) {
  for (const std::string_view bad : no_numbers()) {
    fixture.clear();
    zone(0, "bad", bad);
    zone(1, "good", "46000\n");
    trip(1, 0, "critical", bad);
    trip(1, 1, "critical", "100000\n");
    cooling(0, "fan", bad, "3\n");
    EXPECT_EQ(reading().zones[0].celsius, std::nullopt);
    EXPECT_EQ(reading().zones[1].celsius, 46);
    EXPECT_EQ(reading().zones[1].trips.size(), 1U);
    EXPECT_EQ(reading().cooling[0].state, std::nullopt);
    EXPECT_EQ(reading().cooling[0].max_state, 3U);
    EXPECT_EQ(all_absent(), "malformed 3");
  }
}

TEST_F(ThermalTest, ATypeThatIsNoNameCostsItsZone) {
  for (const std::string_view bad :
       {""sv, "\n"sv, " \n"sv, "cpu\r\n"sv, "cpu"sv, "c\npu\n"sv, "\x1b[2J\n"sv, "cpu\0\n"sv,
        "a-name-of-more-than-sixty-four-bytes-which-no-kernel-has-room-for\n"sv}) {
    fixture.clear();
    zone(0, "good", "46000\n");
    cooling(0, "fan", "1\n", "3\n");
    fixture.file(zone_path(1, "type"), bad);
    fixture.file(zone_path(1, "temp"), "47000\n");
    fixture.file("/sys/class/thermal/cooling_device1/type", bad);
    fixture.file("/sys/class/thermal/cooling_device1/cur_state", "2\n");
    ASSERT_EQ(reading().zones.size(), 1U);
    EXPECT_EQ(reading().zones[0].type, "good");
    ASSERT_EQ(reading().cooling.size(), 1U);
    EXPECT_EQ(all_absent(), "malformed 2");
  }
  // Where it was the only one, the error says what is wrong with it.
  const auto error_of = [&](std::string_view text) {
    fixture.only(zone_path(0, "type"), text);
    return fixture.error_message();
  };
  const std::string at = "/sys/class/thermal/thermal_zone0/type: ";
  EXPECT_EQ(error_of("\n"), at + "empty");
  EXPECT_EQ(error_of("cpu"), at + "cut off: no newline at its end");
  EXPECT_EQ(error_of("cpu\r\n"), at + "control characters in it");
}

TEST_F(ThermalTest, OddKindsModesAndTypes) {
  zone(0, "a", "46000\n", "perhaps\n");
  trips(0, "active[2] 50000 tepid 50000");
  fixture.file(zone_path(0, "trip_point_2_temp"), "1\n");  // without its type
  fixture.file(zone_path(0, "trip_point_x_temp"), "1\n");
  fixture.file("/sys/class/thermal/thermal_zone/type", "nameless\n");
  fixture.file("/sys/class/thermal/thermal_zone99999999999/type", "far\n");
  fixture.file(zone_path(1, "type"), "\n");
  ASSERT_EQ(reading().zones.size(), 1U);
  ASSERT_EQ(reading().zones[0].trips.size(), 1U);
  EXPECT_EQ(reading().zones[0].trips[0].kind, Thermal::Kind::kActive);
  EXPECT_EQ(all_absent(), "malformed 3, unreadable 1");
}

TEST_F(ThermalTest, BeyondTheBoundsIsCountedNotStored) {
  for (int i = 0; i < 70; ++i) zone(i, "z", "1000\n");
  for (int i = 0; i < 20; ++i) trip(0, i, "active", "50000\n");
  for (int i = 0; i < 300; ++i) cooling(i, "Processor", "0\n", "3\n");
  EXPECT_EQ(reading().zones.size(), 64U);
  EXPECT_EQ(reading().zones[0].trips.size(), 16U);
  EXPECT_EQ(reading().cooling.size(), 256U);
  EXPECT_EQ(all_absent(), "beyond_bound 54") << "6 zones, 4 limits, 44 cooling devices";
}

TEST(Capture, TakesWhatStandsForEachStar) {
  std::array<std::uint32_t, 2> numbers{};
  std::array<std::string_view, 2> names;
  EXPECT_TRUE(capture("/z*/trip_*_temp", "/z3/trip_10_temp", numbers));
  EXPECT_EQ(numbers, (std::array<std::uint32_t, 2>{3, 10}));
  EXPECT_TRUE(capture("/z*/cdev*/type", "/z3/cdev0_weight/type", names));
  EXPECT_EQ(names[1], "0_weight");
  EXPECT_FALSE(capture("/z*/cdev*/type", "/z3/cdev0_weight/type", numbers));
  for (const char* path : {"/z3", "/z3/trip_10_type", "/z3/trip__temp", "/z/trip_1_temp",
                           "/z3/a/trip_1_temp", "/z3/trip_1_temp/b", "/z3/b_trip_1_temp"}) {
    EXPECT_FALSE(capture("/z*/trip_*_temp", path, names)) << path;
  }
}

TEST(TypeIndexesTest, WhatIsRememberedIsBounded) {
  TypeIndexes indexes(4);
  indexes.next_reading();
  EXPECT_EQ(indexes.of("fan", 0), 0U);
  EXPECT_EQ(indexes.of("fan", 1), 1U);
  EXPECT_EQ(indexes.of("cpu", 2), 0U);
  for (std::uint32_t number = 10; number < 100; ++number) {
    indexes.next_reading();
    EXPECT_EQ(indexes.of("fan", 1), 1U) << "seen each time, so never forgotten";
    const std::uint32_t index = indexes.of("fan", number);
    EXPECT_GE(index, 2U);
    EXPECT_EQ(indexes.of("fan", number), index);
  }
  indexes.next_reading();
  EXPECT_NE(indexes.of("fan", 0), 1U) << "forgotten, but no twin of one that is there";
}

}  // namespace
}  // namespace jetmem
