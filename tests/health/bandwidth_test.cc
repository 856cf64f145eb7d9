// SPDX-License-Identifier: Apache-2.0
#include "health/bandwidth.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/health/sample_cycle.h"

namespace jetmem {
namespace {

constexpr std::uint64_t kMHz = 1'000'000;

Clocks::Clock memory(std::optional<std::uint64_t> now, std::optional<std::uint64_t> max,
                     std::optional<std::uint64_t> hardware_max) {
  Clocks::Clock out;
  out.domain = Clocks::Domain::kMemory;
  out.name = "emc";
  out.now = now;
  out.max = max;
  out.hardware_max = hardware_max;
  return out;
}

struct Board {
  // Clocks in MHz: now, and the highest of the hardware.
  Board(std::uint64_t now, std::optional<std::uint64_t> hardware_max) {
    if (hardware_max) *hardware_max *= kMHz;
    clocks.clocks = {memory(now * kMHz, std::nullopt, hardware_max)};
    cycle.set(&clocks);
    cycle.set(&tegrastats);
  }
  double saturation() {
    Bandwidth derived_metric;
    cycle.run(derived_metric);
    return cycle.sample("jetmem_emc_saturation_ratio");
  }

  Clocks clocks;
  Tegrastats tegrastats;
  Cycle cycle;
};

// 1386 MHz busy of the 2133 that it runs at and of 3199 that it could.
TEST(Bandwidth, OfTheHighestClockNotOfTheOneNow) {
  Board board(2133, 3199);
  board.clocks.emc.activity = 1386 * kMHz;
  EXPECT_DOUBLE_EQ(board.saturation(), 1386.0 / 3199);
  board.clocks.emc.activity = 0;
  EXPECT_EQ(board.saturation(), 0);
}

TEST(Bandwidth, ThePowerModesCapIsAllThatThereIs) {
  Board board(665, 3199);
  board.clocks.emc.activity = 1386 * kMHz;
  board.clocks.emc.cap = 2133 * kMHz;
  EXPECT_DOUBLE_EQ(board.saturation(), 1386.0 / 2133);
  board.clocks.clocks[0].now = 3199 * kMHz;
  EXPECT_DOUBLE_EQ(board.saturation(), 1386.0 / 3199) << "a cap that does not hold is none";
}

TEST(Bandwidth, TheHighestClockFromWhateverIsKnown) {
  Clocks clocks;
  EXPECT_EQ(highest_memory_clock(clocks), std::nullopt);
  clocks.clocks = {memory(5, std::nullopt, std::nullopt)};
  EXPECT_EQ(highest_memory_clock(clocks), std::nullopt) << "the clock now is no limit";
  clocks.clocks = {memory(5, 7, std::nullopt)};
  EXPECT_EQ(highest_memory_clock(clocks), 7U);
  clocks.clocks = {memory(5, 7, 9)};
  EXPECT_EQ(highest_memory_clock(clocks), 7U);
  clocks.clocks = {memory(8, 7, 9)};
  EXPECT_EQ(highest_memory_clock(clocks), 8U);
  clocks.clocks[0].domain = Clocks::Domain::kGpu;
  EXPECT_EQ(highest_memory_clock(clocks), std::nullopt);
}

TEST(Bandwidth, TegrastatsWhereTheKernelDoesNotTell) {
  Board board(3200, 4266);
  parse_tegrastats_line("RAM 1/2MB EMC_FREQ 19%@3200", board.tegrastats.line);
  EXPECT_DOUBLE_EQ(board.saturation(), 0.19 * 3200 / 4266);
  board.clocks.emc.activity = 4266 * kMHz;
  EXPECT_EQ(board.saturation(), 1) << "the kernel's own figure first";
}

TEST(Bandwidth, APercentageOfNobodyKnowsWhatIsNoActivity) {
  TegrastatsLine line;
  for (const char* const text :
       {"RAM 1/2MB", "EMC_FREQ 0%", "EMC_FREQ 64%", "EMC_FREQ @1600", "EMC_FREQ 101%@1600"}) {
    parse_tegrastats_line(text, line);
    EXPECT_EQ(memory_activity(line), std::nullopt) << text;
  }
  parse_tegrastats_line("EMC_FREQ 0%@204", line);
  EXPECT_EQ(memory_activity(line), 0.0);
}

TEST(Bandwidth, WhatIsNotKnownIsMissing) {
  Board board(2133, std::nullopt);
  board.clocks.emc.activity = 1386 * kMHz;
  EXPECT_TRUE(std::isnan(board.saturation()));
  EXPECT_EQ(board.cycle.left_out("highest_clock_unknown"), 1U);

  board.cycle.lose(0);
  EXPECT_TRUE(std::isnan(board.saturation()));
  EXPECT_EQ(board.cycle.left_out("activity_unknown"), 1U);
}

TEST(Bandwidth, ALittleTooMuchIsTheMeasurements) {
  EXPECT_EQ(memory_saturation(1020, 1000), 1.0);
  EXPECT_EQ(memory_saturation(1051, 1000), std::nullopt);
  Board board(500, 1000);
  board.clocks.emc.activity = 2000 * kMHz;
  EXPECT_TRUE(std::isnan(board.saturation()));
  EXPECT_EQ(board.cycle.left_out("inconsistent"), 1U);
}

}  // namespace
}  // namespace jetmem
