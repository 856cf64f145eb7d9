// SPDX-License-Identifier: Apache-2.0
// What the derivations make of whole boards (tests/fixtures): sources, derivations and Sampler as
// in the daemon, but for the kernel log, which is followed elsewhere.
#include <gtest/gtest.h>

#include <cmath>

#include "base/clock.h"
#include "base/root/root.h"
#include "collectors/sampler/registry.h"
#include "collectors/sampler/sampler.h"
#include "health/registry.h"

namespace jetmem {
namespace {

struct Board {
  explicit Board(const std::string& name)
      : root(Root::at(std::string(JETMEM_FIXTURES) + "/" + name).value()) {
    Sampler sampler(root, clock, table, make_all_sources(), make_derived_metrics(), {});
    for (std::size_t i = 0; i < sampler.size(); ++i) sampler.collect(i);
    sampler.finish_cycle();
  }
  // -1: there is none.
  double operator[](const std::string& key) const {
    const double value = table.value_of("jetmem_" + key);
    return std::isnan(value) ? -1 : value;
  }

  Root root;
  ManualClock clock;
  SampleTable table;
};

TEST(Boards, LevelsOfABusyDevice) {
  const Board board("orin-nano-8gb");
  EXPECT_EQ(board["memory_pressure_level"], 1) << "it swaps: 6.55 % in some";
  EXPECT_EQ(board["throttling_level"], 0) << "a hot surface slows nothing";
  EXPECT_NEAR(board["emc_saturation_ratio"], 0.65, 1e-9) << "1386 of the 2133 MHz of its mode";
  EXPECT_NEAR(board["memory_available_ratio"], 0.206, 0.001);
  EXPECT_NEAR(board["gpu_free_hidden_ratio"], 0.749, 0.001);
  EXPECT_NEAR(board["cma_used_ratio{area=\"linux,cma\"}"], 0.602, 0.001);
  EXPECT_NEAR(board["cma_contiguity_ratio{area=\"linux,cma\"}"], 0.353, 0.001);
  EXPECT_EQ(board["cma_frame_fit_ratio{area=\"linux,cma\"}"], 3);
}

// Watermarks alone: no PSI in 4.9, and switched off on the Pi, which has 8 nodes. The Nano's DMA is
// below low without its CMA, which means nothing while Normal has room.
TEST(Boards, HealthyBoardsAreUnderNoPressure) {
  for (const char* const name :
       {"agx-orin", "nano-4gb", "orin", "raspberry-pi-5", "thor", "x86-pc", "xavier-nx"}) {
    EXPECT_EQ(Board(name)["memory_pressure_level"], 0) << name;
  }
}

TEST(Boards, ThrottlingWhereAnythingCouldSlowTheChip) {
  for (const char* const name : {"agx-orin", "nano-4gb", "orin", "thor", "xavier-nx"}) {
    EXPECT_EQ(Board(name)["throttling_level"], 0) << name;
  }
  EXPECT_EQ(Board("raspberry-pi-5")["throttling_level"], -1) << "a fan only";
  EXPECT_EQ(Board("x86-pc")["throttling_level"], -1);
}

TEST(Boards, BandwidthFromWhateverTellsIt) {
  EXPECT_NEAR(Board("orin")["emc_saturation_ratio"], 0.64, 1e-9);
  EXPECT_NEAR(Board("nano-4gb")["emc_saturation_ratio"], 0.08, 1e-9) << "tegrastats";
  EXPECT_NEAR(Board("xavier-nx")["emc_saturation_ratio"], 0.31, 1e-9) << "tegrastats";
  EXPECT_NEAR(Board("thor")["emc_saturation_ratio"], 0.19 * 3200 / 4266, 1e-9);
  EXPECT_EQ(Board("agx-orin")["emc_saturation_ratio"], -1) << "read without root";
  EXPECT_EQ(Board("raspberry-pi-5")["emc_saturation_ratio"], -1);
}

TEST(Boards, AGpuOfItsOwnOrNoneHidesNothing) {
  EXPECT_NEAR(Board("thor")["gpu_free_hidden_ratio"], 0.454, 0.001) << "NVML";
  EXPECT_EQ(Board("x86-pc")["gpu_free_hidden_ratio"], -1);
  EXPECT_EQ(Board("raspberry-pi-5")["gpu_free_hidden_ratio"], -1);
}

}  // namespace
}  // namespace jetmem
