// SPDX-License-Identifier: Apache-2.0
#include "health/throttling.h"

#include <gtest/gtest.h>

#include "tests/health/sample_cycle.h"

namespace jetmem {
namespace {

using Level = ThrottlingLevel;

Thermal::CoolingDevice device(std::string type, std::optional<std::uint64_t> state,
                              std::optional<std::uint64_t> max_state) {
  Thermal::CoolingDevice out;
  out.type = std::move(type);
  out.state = state;
  out.max_state = max_state;
  return out;
}

Throttle verdict(std::optional<bool> throttling) {
  Throttle out;
  out.throttling = throttling;
  return out;
}

TEST(Throttling, OfOneCoolingDevice) {
  struct Case {
    const char* type;
    std::optional<std::uint64_t> state;
    std::optional<std::uint64_t> max_state;
    std::optional<Level> level;
  };
  for (const Case& c : {
           Case{"cpu-throttle-alert", 0, 2, Level::kNone},
           Case{"cpu-throttle-alert", 1, 2, Level::kSlowed},
           Case{"cpu-throttle-alert", 2, 2, Level::kHard},
           Case{"cpu-throttle-alert", 1, 1, Level::kSlowed},  // it has no deeper state to tell
           Case{"cpu-throttle-alert", 2, std::nullopt, Level::kSlowed},
           Case{"cpufreq-cpu0", 1, 28, Level::kSlowed},
           Case{"cpufreq-cpu0", 14, 28, Level::kSlowed},
           Case{"cpufreq-cpu0", 15, 28, Level::kHard},
           Case{"devfreq-17000000.gpu", 10, 10, Level::kHard},
           Case{"thermal-devfreq-0", 3, 3, Level::kHard},
           Case{"cpu-balanced", 17, 32, Level::kHard},
           Case{"light", 1, 1, Level::kSlowed},
           Case{"tegra-heavy", 0, 1, Level::kNone},
           Case{"tegra-heavy", 1, 1, Level::kHard},
           Case{"heavy", 1, std::nullopt, Level::kHard},
           Case{"cpufreq-cpu0", std::nullopt, 28, std::nullopt},
           // What cools, warns or idles without cutting a clock.
           Case{"pwm-fan", 3, 3, std::nullopt},
           Case{"hot-surface-alert", 2, 2, std::nullopt},
           Case{"Processor", 10, 10, std::nullopt},
       }) {
    EXPECT_EQ(throttling_level(device(c.type, c.state, c.max_state)), c.level)
        << c.type << " " << c.state.value_or(99);
  }
}

TEST(Throttling, TheVerdictAndHowDeep) {
  const Throttle no = verdict(false);
  const Throttle yes = verdict(true);
  const Throttle unknown = verdict(std::nullopt);
  Thermal rest;
  rest.cooling = {device("cpufreq-cpu0", 0, 28), device("pwm-fan", 3, 3)};
  Thermal slowed;
  slowed.cooling = {device("cpufreq-cpu0", 3, 28), device("cpu-throttle-alert", 0, 2)};
  Thermal hard;
  hard.cooling = {device("cpufreq-cpu0", 3, 28), device("cpufreq-cpu4", 28, 28)};
  EXPECT_EQ(throttling_level(&no, &rest), Level::kNone);
  EXPECT_EQ(throttling_level(&yes, &rest), Level::kSlowed);
  EXPECT_EQ(throttling_level(&yes, &slowed), Level::kSlowed);
  EXPECT_EQ(throttling_level(&yes, &hard), Level::kHard);
  EXPECT_EQ(throttling_level(&no, &hard), Level::kHard) << "read a moment later";
  EXPECT_EQ(throttling_level(&yes, nullptr), Level::kSlowed);
  EXPECT_EQ(throttling_level(&no, nullptr), Level::kNone);
  // What is seen is reported; that nothing is seen is not, while not everything is known.
  EXPECT_EQ(throttling_level(&unknown, &slowed), Level::kSlowed);
  EXPECT_EQ(throttling_level(nullptr, &hard), Level::kHard);
  EXPECT_EQ(throttling_level(&unknown, &rest), std::nullopt);
  EXPECT_EQ(throttling_level(nullptr, &rest), std::nullopt);
  EXPECT_EQ(throttling_level(nullptr, nullptr), std::nullopt);
}

TEST(Throttling, AsASample) {
  const Throttle yes = verdict(true);
  Cycle cycle;
  cycle.set(&yes);
  Throttling derived_metric;
  cycle.run(derived_metric);
  EXPECT_EQ(cycle.sample("jetmem_throttling_level"), 1);
  cycle.lose(0);
  cycle.run(derived_metric);
  EXPECT_EQ(cycle.series(), 0U);
  EXPECT_EQ(cycle.left_out("inputs_unknown"), 1U);
}

}  // namespace
}  // namespace jetmem
