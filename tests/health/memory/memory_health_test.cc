// SPDX-License-Identifier: Apache-2.0
#include "health/memory/memory_health.h"

#include <gtest/gtest.h>

#include <cmath>

#include "collectors/jetson/nvmap/source.h"
#include "tests/health/sample_cycle.h"

namespace jetmem {
namespace {

struct Machine {
  explicit Machine(std::string_view text) {
    EXPECT_TRUE(parse_meminfo(text, meminfo));
    cycle.set(&meminfo);
  }
  void run() {
    MemoryHealth health;
    cycle.run(health);
  }
  double available() const { return cycle.sample("jetmem_memory_available_ratio"); }
  double free() const { return cycle.sample("jetmem_memory_free_ratio"); }
  double hidden() const { return cycle.sample("jetmem_gpu_free_hidden_ratio"); }

  Meminfo meminfo;
  Nvmap nvmap;
  Nvml nvml;
  Cycle cycle;
};

constexpr std::string_view kBusy = "MemTotal: 8000 kB\nMemFree: 400 kB\nMemAvailable: 1600 kB\n";

TEST(MemoryHealth, SharesOfTheWhole) {
  Machine m(kBusy);
  m.run();
  EXPECT_DOUBLE_EQ(m.available(), 0.2);
  EXPECT_DOUBLE_EQ(m.free(), 0.05);
  EXPECT_TRUE(std::isnan(m.hidden())) << "no GPU is known to have its memory from here";
  EXPECT_EQ(m.cycle.left_out("no_shared_gpu"), 1U);
}

TEST(MemoryHealth, WhatCudaDoesNotShowWhereAGpuSharesTheMemory) {
  Machine by_nvmap(kBusy);
  by_nvmap.cycle.set(&by_nvmap.nvmap);
  by_nvmap.run();
  EXPECT_DOUBLE_EQ(by_nvmap.hidden(), 0.75);

  Machine by_meminfo(std::string(kBusy) + "NvMapMemUsed: 4 kB\n");
  by_meminfo.run();
  EXPECT_DOUBLE_EQ(by_meminfo.hidden(), 0.75);

  Machine by_nvml(kBusy);
  by_nvml.nvml.integrated = true;
  by_nvml.cycle.set(&by_nvml.nvml);
  by_nvml.run();
  EXPECT_DOUBLE_EQ(by_nvml.hidden(), 0.75);
}

TEST(MemoryHealth, TheGpuHasThePagePoolToo) {
  Machine m(std::string(kBusy) + "CmaFree: 600 kB\n");
  m.cycle.set(&m.nvmap);
  m.run();
  EXPECT_TRUE(std::isnan(m.cycle.sample("jetmem_gpu_available_bytes")));
  EXPECT_EQ(m.cycle.left_out("page_pool_unknown"), 1U);
  m.nvmap.pool_pages = 3;
  m.run();
  EXPECT_EQ(m.cycle.sample("jetmem_gpu_available_bytes"), 1000 * 1024 + 3 * 4096);
  Machine pc(kBusy);
  pc.run();
  EXPECT_TRUE(std::isnan(pc.cycle.sample("jetmem_gpu_available_bytes")));
  EXPECT_EQ(pc.cycle.left_out("page_pool_unknown"), 0U);
}

TEST(MemoryHealth, ACardWithMemoryOfItsOwnHidesNothing) {
  for (const std::optional<bool> integrated : {std::optional(false), std::optional<bool>()}) {
    Machine m(kBusy);
    m.nvml.integrated = integrated;
    m.cycle.set(&m.nvml);
    m.run();
    EXPECT_TRUE(std::isnan(m.hidden()));
  }
}

TEST(MemoryHealth, WithoutCachesNothingIsHidden) {
  EXPECT_EQ(hidden_share(1000, 1000), 0.0);
  EXPECT_EQ(hidden_share(900, 1000), 0.0) << "the kernel takes its reserves off";
  EXPECT_EQ(hidden_share(1000, 0), 1.0);
  EXPECT_EQ(hidden_share(0, 0), std::nullopt);
}

TEST(MemoryHealth, WhatIsNotPrintedIsMissing) {
  Machine old("MemTotal: 8000 kB\nMemFree: 400 kB\nNvMapMemUsed: 4 kB\n");  // before Linux 3.14
  old.run();
  EXPECT_TRUE(std::isnan(old.available()));
  EXPECT_DOUBLE_EQ(old.free(), 0.05);
  EXPECT_TRUE(std::isnan(old.hidden()));
  EXPECT_EQ(old.cycle.left_out("line_unknown"), 2U);

  Machine odd("MemTotal: 0 kB\nMemFree: 400 kB\nMemAvailable: 0 kB\n");
  odd.run();
  EXPECT_EQ(odd.cycle.series(), 0U);
  EXPECT_EQ(odd.cycle.left_out("line_unknown"), 1U) << "more is free than there is";
  EXPECT_EQ(odd.cycle.left_out("inconsistent"), 1U);

  Machine blind(kBusy);
  blind.cycle.lose(0);
  blind.run();
  EXPECT_EQ(blind.cycle.series(), 0U);
  EXPECT_EQ(blind.cycle.left_out("meminfo_unknown"), 3U);
}

}  // namespace
}  // namespace jetmem
