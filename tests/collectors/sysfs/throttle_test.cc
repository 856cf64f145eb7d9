// SPDX-License-Identifier: Apache-2.0
#include "collectors/sysfs/throttle.h"

#include <gtest/gtest.h>

#include <cerrno>

#include "tests/collectors/source_fixture.h"

namespace jetmem {
namespace {

class ThrottleTest : public SourceTest<ThrottleSource> {
 protected:
  void cooling(int number, const std::string& type, std::string_view state) {
    fixture.file(cooling_path(number, "type"), type + "\n");
    fixture.file(cooling_path(number, "cur_state"), state);
  }
  static std::string cooling_path(int number, const std::string& leaf) {
    return "/sys/class/thermal/cooling_device" + std::to_string(number) + "/" + leaf;
  }
  void oc(const std::string& files) { fixture.files("/sys/class/hwmon/hwmon0/", files); }
  void oc(const std::string& leaf, std::string_view text) {
    fixture.file("/sys/class/hwmon/hwmon0/" + leaf, text);
  }
};

TEST_F(ThrottleTest, AnAlertThatIsUpThrottles) {
  cooling(0, "cpu-throttle-alert", "0\n");
  cooling(1, "gpu-throttle-alert", "1\n");
  cooling(8, "hot-surface-alert", "0\n");
  expect("jetmem_throttle_active{cause=*-alert}", "cpu-throttle=0 gpu-throttle=1 hot-surface=none");
  expect("jetmem_*", "throttling=1 thermal_alert_active{alert=hot-surface-alert}=0");
  // A hot surface is a warning.
  fixture.clear();
  cooling(0, "cpu-throttle-alert", "0\n");
  cooling(1, "hot-surface-alert", "1\n");
  expect("jetmem_*", "throttling=0 thermal_alert_active{alert=hot-surface-alert}=1");
  expect("jetmem_throttle_active{cause=*-alert}", "hot-surface=none");
  // A clock that is cut.
  cooling(2, "devfreq-17000000.gpu", "3\n");
  expect("jetmem_throttl*", "ing=1 e_active{cause=devfreq-17000000.gpu}=1");
}

TEST_F(ThrottleTest, ABriefThrottlingIsSeenForAMinute) {
  cooling(0, "cpu-throttle-alert", "2\n");
  ASSERT_TRUE(fixture.run());
  fixture.clear();
  fixture.now += std::chrono::seconds(5);
  cooling(0, "cpu-throttle-alert", "0\n");
  expect("jetmem_throttl*", "ing=0 ing_max_1m=1 e_active_max_1m{cause=cpu-throttle-alert}=1");
}

TEST(ThrottleKinds, OfEveryGeneration) {
  for (const std::string_view type :
       {"cpu-throttle-alert", "soc012-throttle-alert", "soc345-throttle-alert",
        "bcpu-throttle-alert", "tj-throttle-alert", "cpu-balanced", "gpu-balanced", "tegra-heavy",
        "heavy", "thermal-cpufreq-0", "thermal-devfreq-0", "cpufreq-cpu8",
        "devfreq-17000000.gpu"}) {
    EXPECT_EQ(kind_of_cooling(type), Throttle::Kind::kThrottle) << type;
  }
  EXPECT_EQ(kind_of_cooling("hot-surface-alert"), Throttle::Kind::kWarning);
  // A fan that runs is no throttling.
  for (const std::string_view type :
       {"pwm-fan", "Processor", "intel_powerclamp", "", "throttle-alerts", "iwlwifi"}) {
    EXPECT_EQ(kind_of_cooling(type), Throttle::Kind::kNone) << type;
  }
}

TEST_F(ThrottleTest, OfSeveralOfOneTypeOneIsEnough) {
  cooling(0, "cpufreq-cpu0", "0\n");
  cooling(1, "cpufreq-cpu0", "1\n");
  cooling(2, "cpufreq-cpu0", "0\n");
  ASSERT_EQ(reading().causes.size(), 1U);
  EXPECT_EQ(reading().causes[0].active, true);
}

// "Nothing slows the chip" takes knowing all of it.
TEST_F(ThrottleTest, WhatCannotBeReadIsNotNothing) {
  cooling(0, "cpu-throttle-alert", "0\n");
  fixture.file(cooling_path(1, "type"), "gpu-throttle-alert\n");
  fixture.error(cooling_path(1, "cur_state"), EAGAIN);
  EXPECT_EQ(reading().throttling, std::nullopt);
  EXPECT_FALSE(has("jetmem_throttling"));
  EXPECT_EQ(all_absent(), "powered_off 1");

  fixture.clear();
  cooling(0, "cpu-throttle-alert", "0\n");
  fixture.error(cooling_path(1, "type"), EIO);
  fixture.error(cooling_path(1, "cur_state"), EIO);
  EXPECT_EQ(reading().throttling, std::nullopt);
  EXPECT_EQ(all_absent(), "unreadable 1");

  // But what is known to slow it does.
  cooling(2, "soc0-throttle-alert", "1\n");
  EXPECT_EQ(reading().throttling, true);

  // Of one type, one that is at rest and one that is unknown.
  fixture.clear();
  cooling(0, "cpufreq-cpu0", "0\n");
  cooling(1, "cpufreq-cpu0", "x\n");
  EXPECT_EQ(reading().causes[0].active, std::nullopt);
  EXPECT_EQ(reading().throttling, std::nullopt);
}

TEST_F(ThrottleTest, OrinCountsOverCurrentEventsAndXavierUnderAnotherName) {
  oc("oc1_event_cnt=0 oc1_throt_en=1 oc3_event_cnt=27390 oc3_throt_en=0 oc6_irq_cnt=12");
  expect("jetmem_overcurrent_events_total{event=*}", "oc1=0 oc2=none oc3=27390 oc6=12");
  expect("jetmem_overcurrent_throttle_enabled{event=*}", "oc1=1 oc3=0");
  EXPECT_FALSE(has("jetmem_throttling")) << "events alone are no verdict";
}

TEST_F(ThrottleTest, FirmwareWithoutAnAnswerCostsItsEventOnly) {
  fixture.error("/sys/class/hwmon/hwmon0/oc1_event_cnt", EINVAL);
  fixture.error("/sys/class/hwmon/hwmon0/oc2_event_cnt", ETIMEDOUT);
  oc("oc3_event_cnt=3 oc4_event_cnt=4294967295 oc5_event_cnt=4294967294");
  EXPECT_EQ(reading().events[0].count, std::nullopt);
  EXPECT_EQ(reading().events[2].count, 3U);
  EXPECT_EQ(reading().events[3].count, std::nullopt) << "a counter of all bits was not read";
  EXPECT_EQ(reading().events[4].count, 4294967294U);
  EXPECT_EQ(all_absent(), "impossible 1, unreadable 2");
}

TEST_F(ThrottleTest, NothingThereIsAbsentAndDeniedIsDenied) {
  EXPECT_EQ(fixture.run().error().code, Errc::kAbsent);
  EXPECT_EQ(fixture.error_message(),
            "no cooling device that cuts clocks and no over-current counter on this machine");
  EXPECT_EQ(fixture.code_with("/sys/class/thermal", EACCES), Errc::kDenied);
  fixture.clear();
  cooling(0, "cpu-throttle-alert", "many\n");
  EXPECT_EQ(fixture.error_message(), "/sys/class/thermal/cooling_device0/cur_state: found 'many?'");
  fixture.error("/sys/class/hwmon/hwmon0/oc1_event_cnt", EACCES);
  EXPECT_EQ(fixture.run().error().code, Errc::kDenied) << "a missing permission is reported first";
  oc("oc2_event_cnt", "1\n");
  EXPECT_TRUE(fixture.run());
  EXPECT_EQ(absent("denied"), 1U);
}

// The ugly ladder.
TEST_F(ThrottleTest, ABadFileCostsItsValueOnly) {
  for (const std::string_view bad : no_numbers({"-1\n"})) {
    fixture.clear();
    cooling(0, "cpu-throttle-alert", "0\n");
    cooling(1, "gpu-throttle-alert", bad);
    oc("oc1_event_cnt", bad);
    oc("oc1_throt_en", bad);
    oc("oc2_event_cnt", "2\n");
    EXPECT_EQ(reading().causes[0].active, false);
    EXPECT_EQ(reading().causes[1].active, std::nullopt);
    EXPECT_EQ(reading().events[0], Throttle::Event{});
    EXPECT_EQ(reading().events[1].count, 2U);
    EXPECT_EQ(absent("malformed"), 3U);
  }
}

TEST_F(ThrottleTest, HostileNames) {
  cooling(0, "cpu-throttle-alert", "0\n");
  fixture.file(cooling_path(1, "type"), "x\x1b[2J-throttle-alert\n");
  fixture.file(cooling_path(2, "type"), std::string(100, 'a') + "-throttle-alert\n");
  fixture.file(cooling_path(3, "type"), "gpu-throttle-alert");  // cut
  fixture.file("/sys/class/thermal/cooling_device/type", "cpufreq-cpu0\n");
  fixture.file("/sys/class/thermal/cooling_device99999999999/type", "cpufreq-cpu0\n");
  oc("oc_event_cnt=1 oc0_event_cnt=1 oc1_event_cnt_=1 ocean_event_cnt=1");
  ASSERT_EQ(reading().causes.size(), 1U);
  EXPECT_EQ(reading().causes[0].type, "cpu-throttle-alert");
  EXPECT_EQ(reading().throttling, std::nullopt);
  EXPECT_EQ(absent("malformed"), 3U);
  for (const auto& event : reading().events) EXPECT_EQ(event, Throttle::Event{});
}

TEST_F(ThrottleTest, BeyondTheBoundsIsCountedNotStored) {
  for (int i = 0; i < 300; ++i) cooling(i, "cpufreq-cpu0", "0\n");
  fixture.file("jetmem:cooling devices omitted", "5\n");
  EXPECT_EQ(reading().causes.size(), 1U);
  EXPECT_EQ(reading().throttling, std::nullopt);
  EXPECT_EQ(absent("beyond_bound"), 44U + 5U);

  fixture.clear();
  for (int i = 0; i < 60; ++i) cooling(i, "cpufreq-cpu" + std::to_string(i), "0\n");
  cooling(60, "devfreq-z", "1\n");
  EXPECT_EQ(reading().causes.size(), 48U);
  EXPECT_EQ(reading().throttling, true) << "by one that has no series of its own";
  EXPECT_EQ(absent("beyond_bound"), 13U);
}

TEST_F(ThrottleTest, AnEventThatIsThereTwiceKeepsToTheFirst) {
  oc("oc8_event_cnt=1 oc9_event_cnt=1");
  fixture.file("/sys/class/hwmon/hwmon1/oc8_event_cnt", "2\n");
  EXPECT_EQ(reading().events[7].count, 1U) << "a counter does not jump to another's";
  EXPECT_EQ(all_absent(), "beyond_bound 1, duplicate 1");
}

// What is read at all.
using ThrottleGather = TreeTest<ThrottleSource>;

TEST_F(ThrottleGather, OpensNoStateOfAFanAndNoAlarmOfARail) {
  files("/sys/class/thermal/",
        "cooling_device0/type=pwm-fan cooling_device0/cur_state=3 thermal_zone0/type=cpu-thermal "
        "cooling_device1/type=cpu-throttle-alert cooling_device1/cur_state=0");
  files("/sys/class/hwmon/",
        "hwmon0/name=soctherm_oc hwmon0/oc1_event_cnt=0 hwmon0/oc1_priority=0 "
        "hwmon1/name=ina3221 hwmon1/curr1_crit_alarm=0 hwmon1/oc1_event_cnt=0");
  EXPECT_EQ(paths_of(read()),
            (std::vector<std::string>{"/sys/class/thermal/cooling_device1/type",
                                      "/sys/class/thermal/cooling_device1/cur_state",
                                      "/sys/class/hwmon/hwmon0/oc1_event_cnt"}));
}

TEST_F(ThrottleGather, FindsTheEventsWhereTheClassDoesNotShowThem) {
  file("/sys/class/hwmon/hwmon1/name", "ina3221\n");
  const std::string at = "/sys/devices/platform/soctherm-oc-event/hwmon/hwmon3/";
  files(at, "name=soctherm_oc oc2_event_cnt=5 oc2_throt_en=1");
  EXPECT_EQ(paths_of(read()),
            (std::vector<std::string>{at + "oc2_event_cnt", at + "oc2_throt_en"}));
}

TEST_F(ThrottleGather, SaysWhatItLeftOut) {
  for (int i = 0; i < 260; ++i) {
    file("/sys/class/thermal/cooling_device" + std::to_string(i) + "/type", "Processor\n");
  }
  EXPECT_EQ(paths_of(read()), (std::vector<std::string>{"jetmem:cooling devices omitted"}));
}

}  // namespace
}  // namespace jetmem
