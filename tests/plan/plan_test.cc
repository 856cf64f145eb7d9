// SPDX-License-Identifier: Apache-2.0
#include "plan/plan.h"

#include <gmock/gmock.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "plan/budget.h"
#include "plan/plan_answer.h"

namespace jetmem::plan {
namespace {

using device::device_named;
using device::device_of_model;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

constexpr double kMB = 1e6;

std::string errors_of(std::string_view text) {
  const ReadPlan read = parse_plan("p.yaml", text);
  return describe(read.errors);
}

Plan plan_of(std::string_view text) {
  ReadPlan read = parse_plan("p.yaml", text);
  EXPECT_TRUE(read.errors.empty()) << describe(read.errors);
  return std::move(read.plan);
}

DeviceMemory orin_nano() {
  DeviceMemory device;
  device.known = device_named("orin-nano-8gb");
  device.title = std::string(device.known->title);
  device.linux_bytes = static_cast<double>(device.known->seen_total_bytes);
  device.peak_bytes_per_second = device.known->peak_bytes_per_second;
  return device;
}

TEST(PixelFormat, ImagesAreAsLargeAsTheyAre) {
  EXPECT_EQ(image_bytes(*pixel_format_named("nv12"), 1920, 1080), 3'110'400U);
  EXPECT_EQ(image_bytes(*pixel_format_named("raw10"), 1920, 1080), 4'147'200U);
  EXPECT_EQ(image_bytes(*pixel_format_named("rgba"), 3840, 2160), 33'177'600U);
  EXPECT_EQ(image_bytes(*pixel_format_named("grey"), 3, 1), 3U);
  EXPECT_EQ(pixel_format_named("nv21x"), nullptr);
}

// The two figures that people remember: four buffers at each of three stages.
TEST(Budget, FourCamerasTakeAsMuchAsOneOf4K) {
  const Budget four = make_budget(
      plan_of("cameras: [{name: a, count: 4, width: 1920, height: 1080, rate: 30}]"), orin_nano());
  const Budget one = make_budget(
      plan_of("cameras: [{name: a, width: 3840, height: 2160, rate: 30}]"), orin_nano());
  EXPECT_NEAR(four.bytes, 168 * kMB, 3 * kMB);
  EXPECT_EQ(four.bytes, one.bytes);
  // Written and read once at each stage: 2 x (4.15 + 3.11 + 3.11) MB x 30 x 4.
  EXPECT_NEAR(four.bytes_per_second, 2.488e9, 1e7);
}

TEST(Budget, TheCacheGrowsWithTheContext) {
  const auto cache = [](const std::string& context) {
    return plan_of(
               "language_models: [{name: m, weights: 1500MB, layers: 26, kv_heads: 8, "
               "head_size: 128, kv_bits: 8, context: " +
               context + "}]")
        .language_models.front()
        .kv_cache();
  };
  EXPECT_NEAR(cache("2048"), 109 * kMB, kMB);
  EXPECT_NEAR(cache("8192"), 436 * kMB, kMB);
}

// All weights and the whole cache for each token: 1.5 GB at 102 GB/s x 70 %. Each model is promised
// what the others leave, other language models among them.
TEST(Budget, BandwidthBoundsTokens) {
  const std::string model =
      "parameters: 3e9, bits: 4, layers: 1, kv_heads: 1, head_size: 1, context: 1";
  const auto budget_of = [](const std::string& models) {
    return make_budget(plan_of("language_models: [" + models + "]"), orin_nano());
  };
  const double all = 102e9 * 0.7 / 1.5e9;
  const Budget one = budget_of("{name: m, " + model + ", rate: 60}");
  ASSERT_EQ(one.token_limits.size(), 1U);
  EXPECT_NEAR(one.token_limits[0].second, all, 0.1);
  EXPECT_EQ(one.bandwidth, Fit::kDoesNotFit) << "60 tokens a second are 90 GB/s";
  const Budget three = budget_of("{name: a, " + model + ", rate: 20}, {name: b, " + model +
                                 ", rate: 10}, {name: silent, " + model + "}");
  ASSERT_EQ(three.token_limits.size(), 3U);
  EXPECT_NEAR(three.token_limits[0].second, all - 10, 0.1);
  EXPECT_NEAR(three.token_limits[1].second, all - 20, 0.1);
  EXPECT_NEAR(three.token_limits[2].second, all - 30, 0.1);
  EXPECT_THAT(three.notes, Contains(StartsWith("No bandwidth is counted for silent:")));
  EXPECT_THAT(three.notes, Not(Contains(StartsWith("No bandwidth is counted for a:"))));
}

TEST(Budget, NoCmaIsSetThatNoDeviceCanHave) {
  for (const double bytes : {0.0, -1.0, 1e30, static_cast<double>(INFINITY)}) {
    EXPECT_TRUE(cma_setting_advice(bytes, orin_nano()).empty()) << bytes;
  }
}

TEST(Budget, MemoryFitsTightlyOrNot) {
  const auto memory = [&](std::string_view size) {
    return make_budget(plan_of("services: [{name: s, memory: " + std::string(size) + "}]"),
                       orin_nano());
  };
  EXPECT_EQ(memory("4GiB").memory, Fit::kFits);
  EXPECT_EQ(memory("6900MiB").memory, Fit::kTight);
  EXPECT_EQ(memory("8GiB").memory, Fit::kDoesNotFit);
  EXPECT_LT(*memory("8GiB").left, 0);
  DeviceMemory unknown;
  EXPECT_EQ(make_budget(plan_of("services: [{name: s, memory: 1MiB}]"), unknown).fit,
            Fit::kUnknown);
}

TEST(Budget, OnTopOfWhatRuns) {
  DeviceMemory device = orin_nano();
  const std::string_view text = "on_top: true\nservices: [{name: s, memory: 4GiB}]";
  EXPECT_EQ(make_budget(plan_of(text), device).memory, Fit::kUnknown) << "not looked at";
  device.used_now = 5.0 * (1ULL << 30);
  EXPECT_EQ(make_budget(plan_of(text), device).memory, Fit::kDoesNotFit);
}

std::string with_buffers(const std::string& capture) {
  return "cameras: [{name: a, width: 1920, height: 1080, stages: {capture: " + capture + "}}]";
}

TEST(Budget, CmaIsCountedWhereCamerasNeedOnePiece) {
  const Plan plan = plan_of(with_buffers("{format: nv12, buffers: 10}"));
  DeviceMemory device = orin_nano();
  EXPECT_EQ(make_budget(plan, device).contiguous_bytes, 0);
  EXPECT_EQ(make_budget(plan, device).cma, Fit::kFits);
  device.cameras_behind_smmu = false;
  device.cma_bytes = 40.0 * (1 << 20);
  const Budget budget = make_budget(plan, device);
  EXPECT_EQ(budget.contiguous_bytes, 31'104'000);
  // 31.1 MB and four more frames, in whole 4 MiB.
  EXPECT_EQ(budget.cma_request, 44.0 * (1 << 20));
  EXPECT_EQ(budget.cma, Fit::kTight);
  device.cma_bytes = 16.0 * (1 << 20);
  EXPECT_EQ(make_budget(plan, device).cma, Fit::kDoesNotFit);
  EXPECT_THAT(cma_setting_advice(budget.cma_request, device)[0], HasSubstr("cma=44M"));
}

TEST(Budget, AKernelWithoutCmaHasNone) {
  const Plan plan = plan_of(with_buffers("{format: nv12, buffers: 10, contiguous: true}"));
  DeviceMemory device = orin_nano();
  device.cma_bytes = 0;
  EXPECT_TRUE(make_budget(plan, device).problems.empty()) << "cma= gives it some";
  device.no_cma = "this kernel has no CMA";
  const Budget budget = make_budget(plan, device);
  EXPECT_EQ(budget.fit, Fit::kDoesNotFit);
  EXPECT_THAT(budget.problems, testing::ElementsAre(HasSubstr(device.no_cma)));
}

TEST(Budget, ADlaMustBeThere) {
  const Plan plan = plan_of("models: [{name: m, engine: dla, weights: 5MB}]");
  EXPECT_EQ(make_budget(plan, orin_nano()).fit, Fit::kDoesNotFit);
  DeviceMemory agx = orin_nano();
  agx.known = device_named("agx-orin-64gb");
  EXPECT_NE(make_budget(plan, agx).fit, Fit::kDoesNotFit);
}

// Where models run on a GPU with CUDA, a process of it is counted, unless the plan says how many.
TEST(Budget, AGpuModelNeedsACudaContext) {
  DeviceMemory device = orin_nano();
  const auto bytes = [&](std::string_view text) {
    return make_budget(plan_of(text), device).bytes;
  };
  const std::string model = "models: [{name: m, weights: 1MB}]";
  EXPECT_EQ(bytes(model), kMB);
  device.has_cuda = true;
  EXPECT_EQ(bytes(model), 301 * kMB);
  EXPECT_EQ(bytes(model + "\ncuda_processes: 0"), kMB);
  EXPECT_EQ(bytes(model + "\ncuda_processes: 2\ncuda_context: 7MB"), 15 * kMB);
  EXPECT_EQ(bytes("models: [{name: m, weights: 1MB, engine: dla}]"), kMB);
  EXPECT_EQ(bytes("services: [{name: s, memory: 1MB}]"), kMB);
}

TEST(KnownDevices, ModelsLeadToThem) {
  const double gib = 1ULL << 30;
  for (const auto& [model, size, name] :
       {std::tuple("NVIDIA Jetson Orin Nano Engineering Reference Developer Kit", 8.0,
                   "orin-nano-8gb"),
        {"NVIDIA Jetson Nano Developer Kit", 4.0, "nano-4gb"},
        {"NVIDIA Jetson AGX Orin Developer Kit", 64.0, "agx-orin-64gb"},
        {"Jetson AGX Orin Industrial", 64.0, "agx-orin-industrial-64gb"},
        {"NVIDIA IGX Orin Development Kit", 64.0, "igx-orin-64gb"},
        {"NVIDIA Jetson AGX Thor Developer Kit", 64.0, "t4000-64gb"},
        {"NVIDIA Jetson AGX Thor Developer Kit", 128.0, "agx-thor-128gb"},
        {"NVIDIA_DGX_Spark", 128.0, "dgx-spark"},
        {"Raspberry Pi Zero 2 W Rev 1.0", 0.5, "raspberry-pi-zero-2w"},
        {"Raspberry Pi 5 Model B Rev 1.1", 16.0, "raspberry-pi-5-16gb"},
        {"Radxa ROCK 5B", 16.0, "rock-5b-16gb"},
        {"NXP i.MX8MPlus EVK board", 6.0, "imx8mp-evk"},
        {"Qualcomm Technologies, Inc. Robotics RB3gen2", 6.0, "rb3gen2-6gb"}}) {
    const auto* found = device_of_model(model, size * gib);
    ASSERT_NE(found, nullptr) << model;
    EXPECT_EQ(found->name, name);
  }
  EXPECT_EQ(device_of_model("Some PC", 8 * gib), nullptr);
  EXPECT_EQ(device::module_of_dmi("NVIDIA_DGX_Spark"), 128ULL << 30);
  EXPECT_FALSE(device::module_of_dmi("FUJITSU PRIMERGY TX2540"));
  EXPECT_EQ(device_of_model("NVIDIA Jetson Orin Nano", std::nullopt), nullptr);
  for (const device::KnownDevice& device : device::known_devices()) {
    EXPECT_EQ(device_named(device.name), &device);
    EXPECT_LE(device.seen_total_bytes, device.module_bytes) << device.name;
  }
}

TEST(PlanFile, MistakesNameTheirPlace) {
  for (const auto& [text, words] : std::initializer_list<std::pair<const char*, const char*>>{
           {"", "p.yaml: the plan is empty; docs/plan.md has an example"},
           {"camera: []", "p.yaml:1:1: unknown key 'camera'; did you mean 'cameras'?"},
           {"services: [{name: a, memory: 3}]", "memory needs a unit"},
           {"services: [{name: a, memory: -3MiB}]", "memory must be a number"},
           {"cameras: [{name: a, width: 99999999, height: 3}]", "65536 pixels"},
           {"cameras: [{name: a, width: 3.5, height: 3}]", "whole number"},
           {"bandwidth_share: 0", "above 0%"},
           {"on_top: maybe", "true or false"},
           {"models: [{name: m, weights: 1MB, engine: npu}]", "gpu or dla"},
           {"cameras: [{name: a, width: 8, height: 8, stages: {x: {format: nv13}}}]",
            "did you mean 'nv12'?"},
           {"language_models: [{name: m, weights: 1MB, layers: 1e9, kv_heads: 1e9, head_size: 1e9, "
            "context: 1e9}]",
            "beyond 10 TB"}}) {
    EXPECT_THAT(errors_of(text), HasSubstr(words)) << text;
  }
}

DeviceNow device_now(const std::vector<std::pair<std::string, double>>& series) {
  DeviceNow now;
  now.samples = SampleSet::of(series);
  return now;
}

DeviceNow running_orin_nano() {
  return device_now(
      {{R"(jetmem_device_info{l4t="36.4",model="NVIDIA Jetson Orin Nano",soc="tegra234"})", 1},
       {"jetmem_memory_module_bytes", 8.0 * (1ULL << 30)},
       {"jetmem_meminfo_MemTotal_bytes", 7.5e9},
       {"jetmem_meminfo_MemAvailable_bytes", 2.5e9},
       {R"(jetmem_cma_area_bytes{area="a"})", 64 << 20},
       {R"(jetmem_cma_area_bytes{area="b"})", 256 << 20},
       {R"(jetmem_cma_used_bytes{area="b"})", 32 << 20},
       {R"(jetmem_clock_hardware_max_hertz{clock="emc",domain="memory"})", 3.199e9},
       {"jetmem_emc_cap_hertz", 2.133e9}});
}

TEST(PlanAnswer, LooksAtTheDevice) {
  const DeviceMemory device = memory_of(running_orin_nano());
  ASSERT_NE(device.known, nullptr);
  EXPECT_EQ(device.used_now, 5e9);
  EXPECT_EQ(device.cma_bytes, 256 << 20) << "the largest area";
  EXPECT_EQ(device.cma_used, 32 << 20);
  EXPECT_EQ(device.cma_largest_run, std::nullopt);
  EXPECT_NEAR(*device.peak_bytes_per_second, 68.256e9, 1e6) << "as the power mode allows";
}

TEST(PlanAnswer, AnEmptyDeviceIsUnknown) {
  DeviceNow now;
  const auto read = parse_plan("p.yaml", "services: [{name: a, memory: 1MiB}]");
  const PlanAnswer answer = plan_answer("p.yaml", read.plan, memory_of(now));
  EXPECT_EQ(answer.budget.fit, Fit::kUnknown);
  const auto json = nlohmann::json::parse(plan_json(answer));
  EXPECT_EQ(json["schema"], "jetmem-plan/1");
  EXPECT_EQ(json["fit"], "unknown");
  EXPECT_FALSE(json["memory"].contains("left_bytes"));
}

PlanAnswer with_cameras(const std::string& count, const DeviceNow& now) {
  const auto read = parse_plan("p.yaml", "cameras: [{name: a, count: " + count +
                                             ", width: 1920, height: 1080, stages: " +
                                             "{capture: {format: nv12, contiguous: true}}}]");
  EXPECT_TRUE(read.errors.empty());
  return plan_answer("p.yaml", read.plan, memory_of(now));
}

TEST(PlanAnswer, AdvisesCma) {
  const PlanAnswer answer = with_cameras("21", running_orin_nano());
  EXPECT_EQ(answer.budget.cma, Fit::kTight);
  ASSERT_FALSE(answer.cma_setting_advice.empty());
  EXPECT_THAT(answer.cma_setting_advice[0], HasSubstr("extlinux.conf"));
}

TEST(PlanAnswer, AdvisesNoCmaToAKernelWithoutIt) {
  DeviceNow now = device_now({{"jetmem_meminfo_MemTotal_bytes", 7.5e9}});
  SourceNow& cma = now.sources.emplace_back();
  cma.name = "cma";
  cma.state = "absent";
  cma.reason = "this kernel has no CMA";
  const PlanAnswer answer = with_cameras("1", now);
  EXPECT_EQ(answer.budget.fit, Fit::kDoesNotFit);
  EXPECT_TRUE(answer.cma_setting_advice.empty());
}

TEST(PlanAnswer, AdvisesNoCmaIfThePlanDoesNotFit) {
  for (const char* count : {"4000", "900000000"}) {
    const PlanAnswer answer = with_cameras(count, running_orin_nano());
    EXPECT_EQ(answer.budget.memory, Fit::kDoesNotFit);
    EXPECT_TRUE(answer.cma_setting_advice.empty()) << count;
  }
}

}  // namespace
}  // namespace jetmem::plan
