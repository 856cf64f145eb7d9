// SPDX-License-Identifier: Apache-2.0
#include "probes/program/conditions.h"

#include <gmock/gmock.h>

#include "tests/temp_dir.h"

namespace jetmem::probe {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;
using testing::UnorderedElementsAre;

Conditions of(const std::string& board) {
  return read_conditions(std::string(JETMEM_FIXTURES) + "/" + board);
}

TEST(ProbeConditions, OfBoards) {
  struct Board {
    const char* name;
    std::uint64_t cpu_min, cpu_max, gpu, emc;
    double celsius;
    const char* zone;
    std::uint64_t power_mode;
  };
  for (const Board& board : {
           // The power unit's constant 100 degrees are not a temperature.
           Board{"nano-4gb", 1326000000, 1326000000, 614400000, 1600000000, 52.5, "AO-therm", 0},
           Board{"orin", 729600000, 1497600000, 816000000, 3199000000, 47.906, "cpu-thermal", 3},
       }) {
    const Conditions found = of(board.name);
    EXPECT_EQ(found.cpu_min_hertz, board.cpu_min);
    EXPECT_EQ(found.cpu_max_hertz, board.cpu_max);
    EXPECT_EQ(found.gpu_hertz, board.gpu);
    EXPECT_EQ(found.emc_hertz, board.emc);
    EXPECT_EQ(found.temperature_celsius, board.celsius);
    EXPECT_EQ(found.hottest_zone, board.zone);
    EXPECT_EQ(found.power_mode, board.power_mode);
    EXPECT_THAT(found.absent, IsEmpty());
  }
  // The faster of Thor's two GPU devices.
  EXPECT_EQ(of("thor").gpu_hertz, 1098000000U);
  EXPECT_EQ(of("thor").emc_hertz, 3200000000U);
}

TEST(ProbeConditions, APcHasNoneOfJetsonsOwn) {
  const Conditions found = of("x86-pc");
  EXPECT_EQ(found.cpu_min_hertz, 800000000U);
  EXPECT_EQ(found.temperature_celsius, 46.0);
  EXPECT_THAT(found.absent,
              UnorderedElementsAre(Pair("emc_hertz", "no file here has the memory's clock"),
                                   Pair("gpu_hertz", "no devfreq device is a GPU"),
                                   Pair("power_mode", "no /var/lib/nvpmodel/status")));
}

TEST(ProbeConditions, ValuesThatAreNoneAreAbsentAndSaid) {
  const TempDir root;
  root.write("sys/devices/system/cpu/cpufreq/policy0/scaling_cur_freq", "0\n");
  root.write("sys/class/devfreq/17000000.gpu/cur_freq", "18446744073709551615\n");
  root.write("sys/kernel/debug/bpmp/debug/clk/emc/rate", "");
  root.write("sys/class/thermal/thermal_zone0/temp", "-256000\n");
  root.write("sys/class/thermal/thermal_zone1/temp", "hot\n");
  root.write("sys/class/thermal/thermal_zone2/temp", "1000001\n");
  root.write("var/lib/nvpmodel/status", "pmode:00\n");
  const Conditions found = read_conditions(root.path());
  ASSERT_EQ(found.absent.size(), 6U);
  EXPECT_THAT(found.absent.at("cpu_min_hertz"), HasSubstr("found 0, which is no clock"));
  EXPECT_THAT(found.absent.at("gpu_hertz"),
              HasSubstr("/sys/class/devfreq/17000000.gpu/cur_freq: "));
  EXPECT_THAT(found.absent.at("gpu_hertz"), testing::Not(HasSubstr(root.path())));
  EXPECT_THAT(found.absent.at("emc_hertz"), HasSubstr("expected a number, found \"\""));
  EXPECT_THAT(found.absent.at("temperature_celsius"), HasSubstr("no temperature: 1000001"));
  EXPECT_THAT(found.absent.at("power_mode"), HasSubstr("found \"pmode:00\""));
}

TEST(ProbeConditions, WhatIsBeyondTheBoundIsSaid) {
  const TempDir root;
  for (int i = 0; i < 70; ++i) {
    root.write("sys/class/thermal/thermal_zone" + std::to_string(i) + "/temp", "40000\n");
  }
  const Conditions found = read_conditions(root.path());
  EXPECT_EQ(found.temperature_celsius, 40.0);
  EXPECT_EQ(found.absent.at("thermal_zones"), "only 64 of 70 were read");
}

TEST(ProbeConditions, ColdIsATemperature) {
  const TempDir root;
  root.write("sys/class/thermal/thermal_zone0/temp", "-12500\n");
  root.write("sys/class/thermal/thermal_zone1/temp", "-20000\n");
  root.write("sys/class/thermal/thermal_zone1/type", "cpu-thermal\n");
  // The clock of an old GPU is below its device.
  root.write("sys/devices/17000000.gp10b/devfreq/17000000.gp10b/cur_freq", "114750000\n");
  const Conditions found = read_conditions(root.path());
  EXPECT_EQ(found.temperature_celsius, -12.5);
  EXPECT_EQ(found.hottest_zone, "thermal_zone0");
  EXPECT_EQ(found.gpu_hertz, 114750000U);
}

}  // namespace
}  // namespace jetmem::probe
