// SPDX-License-Identifier: Apache-2.0
#include "health/memory/memory_pressure.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "tests/health/sample_cycle.h"

namespace jetmem {
namespace {

using Level = PressureLevel;

Pressure psi(double some, std::optional<double> full) {
  Pressure out;
  out.memory.emplace();
  out.memory->some.emplace().average[0] = some;
  if (full) out.memory->full.emplace().average[0] = *full;
  return out;
}

struct ZoneText {
  std::string name;
  std::uint64_t free = 0;
  std::uint64_t free_cma = 0;
  std::uint64_t protection = 0;
  std::uint64_t min = 100;
  std::uint64_t low = 200;
  std::uint64_t managed = 10000;
};

Zoneinfo zones(const std::vector<ZoneText>& all) {
  Zoneinfo out;
  for (const ZoneText& text : all) {
    Zoneinfo::Zone& zone = out.zones.emplace_back();
    zone.id.name = text.name;
    zone.free = text.free;
    zone.free_cma = text.free_cma;
    zone.protection = text.protection;
    zone.min = text.min;
    zone.low = text.low;
    zone.managed = text.managed;
  }
  return out;
}

std::optional<Level> level_of(const std::vector<ZoneText>& all) {
  return pressure_level(zones(all));
}

TEST(MemoryPressure, ByWhatProgramsLost) {
  struct Case {
    double some;
    std::optional<double> full;
    Level level;
  };
  for (const Case& c : {Case{0, 0, Level::kNone}, Case{0.0099, 0.0099, Level::kNone},
                        Case{0.01, 0, Level::kReclaim}, Case{0.0999, 0.0499, Level::kReclaim},
                        Case{0.10, 0, Level::kStalls}, Case{0.06, 0.05, Level::kStalls},
                        Case{1, 0.399, Level::kStalls}, Case{0.5, 0.40, Level::kSevere},
                        Case{1, std::nullopt, Level::kStalls}}) {
    EXPECT_EQ(pressure_level(psi(c.some, c.full)), c.level)
        << c.some << ", " << c.full.value_or(-1);
  }
  EXPECT_EQ(pressure_level(Pressure()), std::nullopt);
}

TEST(MemoryPressure, AnUnreadFullAverageIsNotZero) {
  const auto level = [](double some) {
    Pressure out = psi(some, 0);
    out.memory->full->average[0].reset();
    return pressure_level(out);
  };
  EXPECT_EQ(level(0.0099), Level::kNone) << "full is never more than some";
  EXPECT_EQ(level(0.01), std::nullopt);
  EXPECT_EQ(level(0.5), std::nullopt);
}

TEST(MemoryPressure, OnlyWhenNoZoneIsLeftAboveItsWatermark) {
  const auto level = [](std::uint64_t dma, std::uint64_t normal) {
    return pressure_level(
        zones({{.name = "DMA", .free = dma}, {.name = "Normal", .free = normal}}));
  };
  EXPECT_EQ(level(5000, 5000), Level::kNone);
  EXPECT_EQ(level(5000, 0), Level::kNone) << "the allocator goes on to the next zone";
  EXPECT_EQ(level(0, 5000), Level::kNone);
  EXPECT_EQ(level(201, 0), Level::kNone);
  EXPECT_EQ(level(200, 0), Level::kReclaim);
  EXPECT_EQ(level(101, 0), Level::kReclaim);
  EXPECT_EQ(level(100, 100), Level::kStalls);
}

TEST(MemoryPressure, FreeCmaPagesAreNoDrivers) {
  EXPECT_EQ(level_of({{.name = "Normal", .free = 5000, .free_cma = 4850}}), Level::kReclaim);
  EXPECT_EQ(level_of({{.name = "Normal", .free = 5000, .free_cma = 6000}}), Level::kStalls)
      << "counters of two moments";
}

// 15 MiB of a PC's DMA, kept from everybody else: always free, and never of use.
TEST(MemoryPressure, ATinyZoneNeitherRaisesNorHidesTheLevel) {
  const ZoneText dma{
      .name = "DMA", .free = 3840, .protection = 15860, .min = 15, .low = 18, .managed = 3840};
  EXPECT_EQ(level_of({dma, {.name = "Normal", .free = 5000}}), Level::kNone);
  EXPECT_EQ(level_of({dma, {.name = "Normal", .free = 150}}), Level::kReclaim);
  EXPECT_EQ(level_of({dma, {.name = "Normal", .free = 50}}), Level::kStalls);
}

TEST(MemoryPressure, WithAZoneMovableItIsOfMovableRequests) {
  const ZoneText normal{.name = "Normal", .free = 900, .free_cma = 300, .protection = 500};
  EXPECT_EQ(level_of({normal, {.name = "Movable", .free = 50}}), Level::kNone)
      << "400 pages, CMA's included";
  EXPECT_EQ(level_of({normal, {.name = "Movable", .free = 50, .managed = 0}}), Level::kStalls)
      << "an empty one is none";
}

TEST(MemoryPressure, ZonesThatDoNotSayWhatTheyKeepAreNotJudged) {
  Zoneinfo one = zones({{.name = "Normal", .free = 50}});
  one.zones[0].protection.reset();
  EXPECT_EQ(pressure_level(one), std::nullopt);
  EXPECT_EQ(level_of({{.name = "Normal", .managed = 0}}), std::nullopt);
  EXPECT_EQ(pressure_level(Zoneinfo()), std::nullopt);
}

TEST(MemoryPressure, TheHigherOfTheTwoOrTheOneThatIsKnown) {
  const Pressure calm = psi(0, 0);
  const Pressure bad = psi(0.9, 0.5);
  const Zoneinfo roomy = zones({{.name = "Normal", .free = 5000}});
  const Zoneinfo low = zones({{.name = "Normal", .free = 50}});
  EXPECT_EQ(pressure_level(&calm, &roomy), Level::kNone);
  EXPECT_EQ(pressure_level(&calm, &low), Level::kStalls);
  EXPECT_EQ(pressure_level(&bad, &roomy), Level::kSevere);
  EXPECT_EQ(pressure_level(&bad, &low), Level::kSevere);
  EXPECT_EQ(pressure_level(&bad, nullptr), Level::kSevere);
  EXPECT_EQ(pressure_level(nullptr, &low), Level::kStalls);
  EXPECT_EQ(pressure_level(nullptr, &roomy), Level::kNone);
  EXPECT_EQ(pressure_level(nullptr, nullptr), std::nullopt);
  const Pressure unread;
  EXPECT_EQ(pressure_level(&unread, &low), Level::kStalls);
}

// Less free memory, or more time lost, never lowers the level.
TEST(MemoryPressure, WorseIsNeverLower) {
  std::mt19937 random(5);
  for (int cycle = 0; cycle < 20000; ++cycle) {
    const auto number = [&](unsigned below) {
      return static_cast<std::uint32_t>(random() % below);
    };
    std::vector<ZoneText> all{{.name = "DMA", .free = number(500), .free_cma = number(200)},
                              {.name = "Normal", .free = number(500), .protection = number(200)}};
    double some = number(100) / 100.0;
    const double full = some * number(100) / 100.0;
    const Pressure before = psi(some, full);
    const Zoneinfo obtained = zones(all);
    const auto level = pressure_level(&before, &obtained);
    if (number(2) == 0) {
      std::uint64_t& free = all[number(2)].free;
      free -= number(static_cast<unsigned>(free) + 1);
    } else {
      some += (1 - some) * number(100) / 100.0;
    }
    const Pressure after = psi(some, full);
    const Zoneinfo has = zones(all);
    EXPECT_GE(pressure_level(&after, &has), level);
  }
}

TEST(MemoryPressure, AsASample) {
  const Pressure pressure = psi(0.2, 0);
  Cycle cycle;
  cycle.set(&pressure);
  MemoryPressure derived_metric;
  cycle.run(derived_metric);
  EXPECT_EQ(cycle.sample("jetmem_memory_pressure_level"), 2);
  cycle.lose(0);
  cycle.run(derived_metric);
  EXPECT_EQ(cycle.series(), 0U);
  EXPECT_EQ(cycle.left_out("inputs_unknown"), 1U);
}

}  // namespace
}  // namespace jetmem
