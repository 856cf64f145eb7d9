// SPDX-License-Identifier: Apache-2.0
// The answers from samples put together by hand: what is not there stays absent with a reason.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "collectors/dmabuf/source.h"
#include "report/status/status_answer.h"
#include "tests/report/answers/series.h"

namespace jetmem {
namespace {

using testing::HasSubstr;
using testing::Not;

// What a healthy daemon sees of a small board.
DeviceNow board(const Series& more = {}) {
  Series series{{"jetmem_meminfo_MemTotal_bytes", 7 * kGiB},
                {"jetmem_meminfo_MemAvailable_bytes", 3.5 * kGiB},
                {"jetmem_meminfo_MemFree_bytes", 1 * kGiB},
                {"jetmem_meminfo_AnonPages_bytes", 1 * kGiB},
                {"jetmem_meminfo_Shmem_bytes", 100 * kMiB},
                {"jetmem_meminfo_Cached_bytes", 1124 * kMiB},
                {"jetmem_meminfo_Buffers_bytes", 0},
                {"jetmem_meminfo_SReclaimable_bytes", 0},
                {"jetmem_meminfo_SUnreclaim_bytes", 200 * kMiB},
                {"jetmem_memory_module_bytes", 8 * kGiB},
                {"jetmem_memory_budget_bytes{kind=\"linux\",part=\"mem_total\"}", 7 * kGiB},
                {"jetmem_memory_budget_bytes{kind=\"linux\",part=\"kernel_reserved\"}", 56 * kMiB},
                {"jetmem_memory_budget_bytes{kind=\"firmware\",part=\"unattributed\"}", 968 * kMiB},
                {"jetmem_nvmap_heap_bytes{heap=\"iovmm\"}", 2 * kGiB},
                {"jetmem_nvmap_heap_bytes{heap=\"vpr\"}", 64 * kMiB}};
  series.insert(series.end(), more.begin(), more.end());
  DeviceNow now;
  now.by = SnapshotOrigin::kDaemon;
  now.since_boot = 1000;
  now.wall = 1.8e9;
  now.samples = SampleSet::of(series);
  return now;
}

MemoryBudget::Part part(const MemoryBudget& budget, std::string_view name) {
  const MemoryBudget::Part* found = budget.part(name);
  return found == nullptr ? MemoryBudget::Part() : *found;
}

TEST(Budget, ComparesPartsWithTheModuleSize) {
  const MemoryBudget budget = memory_budget(board());
  EXPECT_EQ(budget.of, "module");
  EXPECT_EQ(part(budget, "firmware").bytes, 968 * kMiB);
  EXPECT_EQ(part(budget, "kernel").bytes, 256 * kMiB);
  EXPECT_EQ(part(budget, "applications").bytes, 1124 * kMiB);
  EXPECT_EQ(part(budget, "cache").bytes, 1 * kGiB) << "shared memory is the applications'";
  EXPECT_EQ(part(budget, "gpu").bytes, 2 * kGiB) << "vpr is one of the carve-outs";
  double sum = *budget.unaccounted_bytes;
  for (const auto& each : budget.parts) sum += each.bytes.value_or(0);
  EXPECT_EQ(sum, 8 * kGiB);
}

TEST(Budget, ReportsUnknownPartsInsteadOfZero) {
  DeviceNow now = board();
  now.samples = SampleSet::of(Series{{"jetmem_meminfo_MemTotal_bytes", 7 * kGiB},
                                     {"jetmem_meminfo_MemFree_bytes", 1 * kGiB}});
  now.sources = {source("nvmap", "denied", "open /sys/kernel/debug: Permission denied"),
                 source("meminfo", "ok")};
  const MemoryBudget budget = memory_budget(now);
  EXPECT_EQ(budget.of, "linux");
  EXPECT_FALSE(part(budget, "gpu").bytes);
  EXPECT_FALSE(part(budget, "gpu").none);
  EXPECT_THAT(part(budget, "gpu").why, HasSubstr("Permission denied"));
  EXPECT_TRUE(budget.unaccounted_includes_unknown);
  EXPECT_EQ(*budget.unaccounted_bytes, 6 * kGiB);
}

// Whether it would fit into the rest depends on how much is free, and says nothing.
TEST(Budget, ExcludesNvmlMemoryThatOverlaps) {
  for (const double free : {5.0, 7.0, 1.0}) {
    DeviceNow now;
    now.samples = SampleSet::of(Series{{"jetmem_memory_module_bytes", 8 * kGiB},
                                       {"jetmem_meminfo_MemFree_bytes", free * kGiB},
                                       {"jetmem_nvml_gpu_integrated{gpu=\"0\"}", 1},
                                       {"jetmem_nvml_process_memory_bytes{gpu=\"0\"}", 2 * kGiB}});
    const MemoryBudget budget = memory_budget(now);
    EXPECT_FALSE(part(budget, "gpu").bytes) << free;
    EXPECT_EQ(part(budget, "gpu").reported_bytes, 2 * kGiB);
    EXPECT_TRUE(budget.unaccounted_includes_unknown);
    EXPECT_EQ(*budget.unaccounted_bytes, (8 - free) * kGiB);
    EXPECT_EQ(status_answer(now).gpu_bytes, 2 * kGiB);
  }
}

TEST(Budget, UnknownFirmwareIsNotNone) {
  DeviceNow now;
  now.samples = SampleSet::of(Series{{"jetmem_meminfo_MemTotal_bytes", 7 * kGiB}});
  now.sources = {source("device", "failed", "no device tree")};
  const MemoryBudget::Part firmware = part(memory_budget(now), "firmware");
  EXPECT_FALSE(firmware.bytes);
  EXPECT_FALSE(firmware.none);
  EXPECT_TRUE(firmware.outside);
  EXPECT_THAT(firmware.why, HasSubstr("no device tree"));
}

// So long that rules, events and samples do not all fit: rules are omitted from their end.
TEST(DeviceNowJson, AFiringAlertStaysBesideManyRules) {
  DeviceNow now = board();
  now.boot = 7;
  AlertsAnswer::Rule& firing = now.alerts.emplace().rules.emplace_back();
  firing.name = "Loud";
  firing.severity = "critical";
  firing.state = firing.alerts.emplace_back().state = "firing";
  add_long_rules(*now.alerts, 600);
  Series series;
  for (int i = 0; i < 3000; ++i) {
    series.emplace_back(
        "jetmem_x" + std::to_string(i) + "{label=\"" + std::string(150, 'z') + "\"}", i);
  }
  now.samples = SampleSet::of(series);
  const auto parsed = parse_device_now(device_now_json(now));
  ASSERT_TRUE(parsed);
  EXPECT_EQ(parsed->boot, 7);
  ASSERT_TRUE(parsed->alerts);
  EXPECT_EQ(parsed->alerts->count("firing"), 1U);
  EXPECT_GT(parsed->alerts->rules_omitted, 0U);
  EXPECT_TRUE(parsed->samples.value("jetmem_x2999"));
}

TEST(Cma, NoneOnlyIfKnown) {
  DeviceNow now = board();
  now.sources = {source("cma", "failed", "broken")};
  EXPECT_FALSE(cma_answer(now).has_cma) << "a source that fails is no answer";
  EXPECT_THAT(absence_reason(cma_answer(now).absent, "has_cma"), HasSubstr("broken"));
  now.sources = {source("cma", "absent", "no CmaTotal")};
  EXPECT_EQ(cma_answer(now).has_cma, false);
  now.samples = SampleSet::of(Series{});
  EXPECT_FALSE(cma_answer(now).has_cma) << "meminfo could not be read";
  EXPECT_EQ(cma_answer(board({{"jetmem_meminfo_CmaTotal_bytes", 0}})).has_cma, false);
  EXPECT_EQ(cma_answer(board({{"jetmem_meminfo_CmaTotal_bytes", 5}})).has_cma, true);
}

TEST(Cma, ReportsWhyAFrameNoLongerFits) {
  const DeviceNow now = board({{"jetmem_cma_areas", 1},
                               {"jetmem_cma_area_bytes{area=\"linux,cma\"}", 256 * kMiB},
                               {"jetmem_cma_available_bytes{area=\"linux,cma\"}", 100 * kMiB},
                               {"jetmem_cma_largest_free_run_bytes{area=\"linux,cma\"}", 36 * kMiB},
                               {"jetmem_cma_frame_fit_ratio{area=\"linux,cma\"}", 0.75}});
  const CmaAnswer answer = cma_answer(now);
  ASSERT_EQ(answer.areas.size(), 1U);
  EXPECT_EQ(answer.areas[0].required_bytes, 48 * kMiB);
  EXPECT_FALSE(answer.areas[0].used_bytes);
  EXPECT_FALSE(absence_reason(answer.areas[0].absent, "used_bytes").empty());
  ASSERT_EQ(answer.advice.size(), 1U);
  EXPECT_THAT(answer.advice[0], HasSubstr("fragmented"));
}

// 4096 pages at 0x1000: gst has a block amid what is free, argus the rest but for a free end.
DeviceNow with_map() {
  DeviceNow now = board({{"jetmem_cma_areas", 1},
                         {"jetmem_cma_area_bytes{area=\"linux,cma\"}", 16 * kMiB},
                         {"jetmem_cma_largest_free_run_bytes{area=\"linux,cma\"}", 4 * kMiB},
                         {"jetmem_cma_available_bytes{area=\"linux,cma\"}", 7 * kMiB},
                         {"jetmem_cma_frame_fit_ratio{area=\"linux,cma\"}", 0.5}});
  using State = CmaPiece::State;
  CmaMap map;
  map.page_bytes = 4096;
  map.now = std::chrono::hours(40);
  map.owners = {{412, "camera", "gst-launch-1.0", 400, "camera.service", "", "vb2_dc_alloc", false},
                {413, "camera", "gst-launch-1.0", 400, "camera.service", "", "other_alloc", false},
                {500, "argus", "argus", 500, "", "", "", true}};
  CmaMap::Area& area = map.areas.emplace_back();
  area.name = "linux,cma";
  area.base_pfn = 0x1000;
  area.pages = 4096;
  area.pieces = {{0x1000, 1024, State::kFree, 0, {}},
                 {0x1400, 256, State::kTaken, 0, std::chrono::hours(3)},
                 {0x1500, 512, State::kFree, 0, {}},
                 {0x1700, 2000, State::kTaken, 2, std::chrono::hours(39)},
                 {0x1ed0, 48, State::kTaken, 1, std::chrono::hours(4)},
                 {0x1f00, 256, State::kFree, 0, {}}};
  now.cma_map = map;
  return now;
}

TEST(Cma, ReportsWhoTookItAndWhatARestartWouldGive) {
  const CmaAnswer answer = cma_answer(with_map());
  ASSERT_EQ(answer.areas.size(), 1U);
  const CmaAnswer::Area& area = answer.areas[0];
  ASSERT_EQ(area.owners.size(), 2U);
  EXPECT_EQ(area.owners[0].owner, "argus");
  EXPECT_TRUE(area.owners[0].has_ended);
  EXPECT_EQ(area.owners[0].bytes, 2000 * 4096);
  EXPECT_EQ(area.owners[1].pid, 400U);
  EXPECT_EQ(area.owners[1].bytes, 304 * 4096);
  EXPECT_EQ(area.owners[1].blocks, 2U);
  EXPECT_EQ(area.owners[1].oldest_seconds, 37 * 3600.0);
  EXPECT_EQ(area.owners[1].function, "vb2_dc_alloc, other_alloc");
  EXPECT_EQ(area.owners[1].largest_run_without_bytes, 1792 * 4096);
  EXPECT_EQ(area.map_largest_run_bytes, 1024 * 4096);
  ASSERT_TRUE(area.splitter);
  EXPECT_EQ(area.splitter->owner, 0U) << "512 + 2000 pages become one";
  EXPECT_EQ(area.blocks.size(), 3U);
  EXPECT_EQ(area.blocks[0].offset_bytes, 1024 * 4096);
  // Who has ended cannot be restarted.
  ASSERT_FALSE(answer.advice.empty());
  EXPECT_EQ(answer.advice[0],
            "Restart gst-launch-1.0 (PID 400, 1.2 MiB for 37 h): the largest free block grows "
            "from 4 MiB to 7 MiB, which is not enough alone.");
}

// A guess, by size; of who goes on running none is made.
TEST(Cma, NamesWhoMayHoldWhatAnEndedProgramAllocated) {
  DeviceNow now = with_map();
  const CmaMap map = *now.cma_map;
  Dmabuf dmabuf;
  dmabuf.held.sizes = {{2000 * 4096 - 100, 3, 512, "viewer"},
                       {2000 * 4096 - 100, 1, 77, "encoder"},
                       {1000 * 4096, 9, 78, "unrelated"},
                       {256 * 4096, 1, 79, "preview"},
                       {256 * 4096, 1, 400, "gst-launch-1.0"}};
  Readings readings;
  readings.add(Readings::tag<CmaMap>(), &map);
  readings.add(Readings::tag<Dmabuf>(), &dmabuf);
  readings.set_valid(0, true);
  readings.set_valid(1, true);
  now.cma_map = cma_map_of(readings);
  const auto read = parse_device_now(device_now_json(now));
  ASSERT_TRUE(read) << read.error().message;
  const CmaAnswer answer = cma_answer(*read);
  EXPECT_EQ(holder_names(answer.areas.at(0).owners.at(0)), "viewer (PID 512), encoder (PID 77)");
  EXPECT_EQ(holder_names(answer.areas[0].owners.at(1)), "");
  readings.set_valid(1, false);
  EXPECT_EQ(cma_map_of(readings), map);
}

TEST(Cma, AdvisesNothingWhereAPartIsUnknown) {
  DeviceNow now = with_map();
  now.cma_map->areas[0].pieces.pop_back();
  const CmaAnswer answer = cma_answer(now);
  const CmaAnswer::Area& area = answer.areas[0];
  EXPECT_EQ(area.unknown_bytes, 256 * 4096);
  EXPECT_FALSE(area.map_largest_run_bytes);
  EXPECT_FALSE(area.splitter);
  EXPECT_FALSE(area.owners[0].largest_run_without_bytes);
  EXPECT_EQ(area.blocks.back().state, CmaAnswer::Area::BlockState::kUnknown);
  EXPECT_THAT(answer.advice, Not(testing::Contains(HasSubstr("Restart gst"))));
}

TEST(Cma, TheMapGoesOverTheWire) {
  const DeviceNow now = with_map();
  const auto read = parse_device_now(device_now_json(now));
  ASSERT_TRUE(read);
  ASSERT_TRUE(read->cma_map);
  EXPECT_EQ(*read->cma_map, *now.cma_map);
  // What is no map is none.
  DeviceNow bad = with_map();
  bad.cma_map->areas[0].pieces[1].owner = 7;
  const auto refused = parse_device_now(device_now_json(bad));
  ASSERT_TRUE(refused);
  EXPECT_TRUE(refused->cma_map->areas[0].pieces.empty());
}

TEST(Fragmentation, SortsOrdersAndUsesThePageSize) {
  const std::string labels = "{node=\"0\",zone=\"Normal\"";
  Series series{{"jetmem_buddy_largest_order_outside_cma" + labels + "}", 2}};
  for (const auto& [order, blocks] : {std::pair(0, 2), {2, 0}, {10, 2}}) {
    const std::string of = labels + ",order=\"" + std::to_string(order) + "\"}";
    series.emplace_back("jetmem_buddy_free_blocks" + of, blocks);
    series.emplace_back("jetmem_buddy_free_bytes" + of, blocks * 16384.0 * (1 << order));
  }
  const FragmentationAnswer answer = fragmentation_answer(board(series));
  EXPECT_EQ(answer.page_bytes, 16384);
  ASSERT_EQ(answer.zones.size(), 1U);
  ASSERT_EQ(answer.zones[0].orders.size(), 3U);
  EXPECT_EQ(answer.zones[0].orders[1].order, 2);
  EXPECT_EQ(answer.zones[0].orders[1].share, 0);
  EXPECT_EQ(answer.zones[0].orders[2].order, 10);
  EXPECT_EQ(answer.zones[0].largest_bytes_outside_cma, 65536);
  // Without free blocks the size of a page is unknown.
  const FragmentationAnswer full =
      fragmentation_answer(board({{"jetmem_buddy_free_blocks" + labels + ",order=\"0\"}", 0},
                                  {"jetmem_buddy_free_bytes" + labels + ",order=\"0\"}", 0}}));
  EXPECT_FALSE(full.page_bytes);
  EXPECT_FALSE(full.zones[0].orders[0].share);
}

TEST(Thermal, ReasonOfAMissingTemperature) {
  for (const auto& [absent, reason] :
       {std::pair("powered_off", "usually powered off"), std::pair("unreadable", "2 unreadable")}) {
    const ThermalAnswer answer = thermal_answer(board(
        {{"jetmem_thermal_zone_enabled{index=\"0\",zone=\"cpu\"}", 1},
         {"jetmem_source_absent_values{reason=\"" + std::string(absent) + "\",source=\"thermal\"}",
          2}}));
    EXPECT_THAT(absence_reason(answer.zones.at(0).absent, "celsius"), HasSubstr(reason));
  }
}

TEST(Thermal, SortsZonesByTemperature) {
  const ThermalAnswer answer =
      thermal_answer(board({{"jetmem_thermal_zone_enabled{index=\"0\",zone=\"cv0\"}", 1},
                            {"jetmem_thermal_zone_enabled{index=\"0\",zone=\"cpu\"}", 1},
                            {"jetmem_thermal_zone_enabled{index=\"0\",zone=\"soc\"}", 1},
                            {"jetmem_thermal_zone_celsius{index=\"0\",zone=\"cpu\"}", 50},
                            {"jetmem_thermal_zone_celsius{index=\"0\",zone=\"soc\"}", 70},
                            {"jetmem_throttle_active{cause=\"cpu-throttle-alert\"}", 1}}));
  ASSERT_EQ(answer.zones.size(), 3U);
  EXPECT_EQ(answer.zones[0].zone, "soc");
  EXPECT_EQ(answer.zones[2].zone, "cv0");
  EXPECT_FALSE(answer.zones[2].celsius);
  EXPECT_FALSE(absence_reason(answer.zones[2].absent, "celsius").empty());
  ASSERT_FALSE(answer.slows.empty());
  EXPECT_THAT(answer.slows[0], HasSubstr("cpu-throttle-alert"));
  EXPECT_FALSE(answer.throttling) << "one cause is not all of them";
}

// The kernel's word is preferred; tegrastats fills in what the kernel lacks.
TEST(Thermal, EnginesByTheKernelBeforeTegrastats) {
  const ThermalAnswer answer =
      thermal_answer(board({{"jetmem_clock_hertz{clock=\"17000000.gpu\",domain=\"gpu\"}", 612e6},
                            {"jetmem_gpu_load_ratio{clock=\"17000000.gpu\"}", 0.5},
                            {"jetmem_tegrastats_gpu_utilization_ratio", 0.9},
                            {"jetmem_engine_on{engine=\"NVDLA0\"}", 1},
                            {"jetmem_engine_on{engine=\"NVENC\"}", 1},
                            {"jetmem_engine_on{engine=\"VIC\"}", 0},
                            {"jetmem_engine_on{engine=\"NVDEC\"}", 1},
                            {"jetmem_engine_load_ratio{engine=\"NVENC\"}", 0.25},
                            {"jetmem_engine_clock_hertz{engine=\"NVENC\"}", 998e6},
                            {"jetmem_tegrastats_engine_on{engine=\"NVENC0\"}", 0},
                            {"jetmem_tegrastats_engine_on{engine=\"NVDEC0\"}", 1},
                            {"jetmem_tegrastats_engine_on{engine=\"APE\"}", 1},
                            {"jetmem_tegrastats_engine_utilization_ratio{engine=\"NVDEC0\"}", 0.1},
                            {"jetmem_tegrastats_engine_clock_hertz{engine=\"APE\"}", 174e6}}));
  ASSERT_EQ(answer.engines.size(), 6U);
  const auto engine = [&](std::string_view name) {
    return *std::find_if(answer.engines.begin(), answer.engines.end(),
                         [&](const auto& each) { return each.engine == name; });
  };
  EXPECT_EQ(engine("GPU").load, 0.5);
  EXPECT_EQ(engine("GPU").hertz, 612e6);
  EXPECT_EQ(engine("NVENC").on, 1);
  EXPECT_EQ(engine("NVENC").load, 0.25);
  EXPECT_EQ(engine("NVENC").hertz, 998e6);
  EXPECT_EQ(engine("NVENC").source, "kernel");
  EXPECT_EQ(engine("NVDEC").load, 0.1);
  EXPECT_EQ(engine("NVDEC").load_source, "tegrastats");
  EXPECT_EQ(engine("NVDLA0").load, std::nullopt);
  EXPECT_FALSE(absence_reason(engine("NVDLA0").absent, "load_ratio").empty());
  EXPECT_EQ(engine("VIC").load, std::nullopt);
  EXPECT_EQ(engine("APE").source, "tegrastats");
  EXPECT_EQ(engine("APE").hertz, 174e6);
}

}  // namespace
}  // namespace jetmem
