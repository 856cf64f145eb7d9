// SPDX-License-Identifier: Apache-2.0
#include "plan/plan_answer.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace jetmem {
namespace {

void add(DeviceNow& now, std::string_view key, double value) {
  now.samples.add(*parse_series_key(key), value);
}

DeviceNow orin_nano() {
  DeviceNow now;
  add(now,
      R"(jetmem_device_info{kernel="k",l4t="36.4",model="NVIDIA Jetson Orin Nano",soc="tegra234"})",
      1);
  add(now, "jetmem_memory_module_bytes", 8.0 * (1ULL << 30));
  add(now, "jetmem_meminfo_MemTotal_bytes", 7.5e9);
  add(now, "jetmem_meminfo_MemAvailable_bytes", 2.5e9);
  add(now, R"(jetmem_cma_area_bytes{area="a"})", 64 << 20);
  add(now, R"(jetmem_cma_area_bytes{area="b"})", 256 << 20);
  add(now, R"(jetmem_cma_used_bytes{area="b"})", 32 << 20);
  add(now, R"(jetmem_clock_hardware_max_hertz{clock="emc",domain="memory"})", 3.199e9);
  add(now, "jetmem_emc_cap_hertz", 2.133e9);
  now.samples.sort();
  return now;
}

TEST(PlanAnswer, LooksAtTheDevice) {
  const plan::DeviceMemory device = memory_of(orin_nano());
  ASSERT_NE(device.known, nullptr);
  EXPECT_EQ(device.used_now, 5e9);
  EXPECT_EQ(device.cma_bytes, 256 << 20) << "the largest area";
  EXPECT_EQ(device.cma_used, 32 << 20);
  EXPECT_EQ(device.cma_largest_run, std::nullopt);
  EXPECT_NEAR(*device.peak_bytes_per_second, 68.256e9, 1e6) << "as the power mode allows";
}

TEST(PlanAnswer, AnEmptyDeviceIsUnknown) {
  DeviceNow now;
  const auto read = plan::parse_plan("p.yaml", "services: [{name: a, memory: 1MiB}]");
  const PlanAnswer answer = plan_answer("p.yaml", read.plan, memory_of(now));
  EXPECT_EQ(answer.budget.fit, plan::Fit::kUnknown);
  const auto json = nlohmann::json::parse(plan_json(answer));
  EXPECT_EQ(json["schema"], "jetmem-plan/1");
  EXPECT_EQ(json["fit"], "unknown");
  EXPECT_FALSE(json["memory"].contains("left_bytes"));
}

PlanAnswer with_cameras(const std::string& count, const DeviceNow& now) {
  const auto read = plan::parse_plan("p.yaml", "cameras: [{name: a, count: " + count +
                                                   ", width: 1920, height: 1080, stages: " +
                                                   "{capture: {format: nv12, contiguous: true}}}]");
  EXPECT_TRUE(read.errors.empty());
  return plan_answer("p.yaml", read.plan, memory_of(now));
}

TEST(PlanAnswer, AdvisesCma) {
  const PlanAnswer answer = with_cameras("21", orin_nano());
  EXPECT_EQ(answer.budget.cma, plan::Fit::kTight);
  ASSERT_FALSE(answer.cma_setting_advice.empty());
  EXPECT_NE(answer.cma_setting_advice[0].find("extlinux.conf"), std::string::npos);
}

TEST(PlanAnswer, AdvisesNoCmaToAKernelWithoutIt) {
  DeviceNow now;
  add(now, "jetmem_meminfo_MemTotal_bytes", 7.5e9);
  now.samples.sort();
  SourceNow& cma = now.sources.emplace_back();
  cma.name = "cma";
  cma.state = "absent";
  cma.reason = "this kernel has no CMA";
  const PlanAnswer answer = with_cameras("1", now);
  EXPECT_EQ(answer.budget.fit, plan::Fit::kDoesNotFit);
  EXPECT_TRUE(answer.cma_setting_advice.empty());
}

TEST(PlanAnswer, AdvisesNoCmaIfThePlanDoesNotFit) {
  for (const char* count : {"4000", "900000000"}) {
    const PlanAnswer answer = with_cameras(count, orin_nano());
    EXPECT_EQ(answer.budget.memory, plan::Fit::kDoesNotFit);
    EXPECT_TRUE(answer.cma_setting_advice.empty()) << count;
  }
}

}  // namespace
}  // namespace jetmem
