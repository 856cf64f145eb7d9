// SPDX-License-Identifier: Apache-2.0
#include "report/answers/top_answer.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "report/answers/map_answer.h"
#include "tests/report/answers/series.h"

namespace jetmem {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

DeviceNow device(const Series& series) {
  DeviceNow out;
  out.samples = SampleSet::of(series);
  return out;
}

// MemTotal 1000: free 100, anonymous 200, files 250, shared 50, buffers 10, slab 40, tables 5.
Series meminfo() {
  return {{"jetmem_meminfo_MemTotal_bytes", 1000}, {"jetmem_meminfo_MemFree_bytes", 100},
          {"jetmem_meminfo_AnonPages_bytes", 200}, {"jetmem_meminfo_Cached_bytes", 300},
          {"jetmem_meminfo_Shmem_bytes", 50},      {"jetmem_meminfo_Buffers_bytes", 10},
          {"jetmem_meminfo_SUnreclaim_bytes", 35}, {"jetmem_meminfo_SReclaimable_bytes", 5},
          {"jetmem_meminfo_PageTables_bytes", 5}};
}

MemoryBudget budget_with(const Series& more) {
  Series series = meminfo();
  series.insert(series.end(), more.begin(), more.end());
  return linux_budget(device(series));
}

std::optional<double> bytes_of(const MemoryBudget& budget, const char* name) {
  const auto* part = budget.part(name);
  return part != nullptr ? part->bytes : std::nullopt;
}

TEST(LinuxBudget, ReportsUnaccountedMemory) {
  const MemoryBudget budget = linux_budget(device(meminfo()));
  EXPECT_EQ(budget.unaccounted_bytes, 1000 - 100 - 200 - 300 - 10 - 40 - 5);
  EXPECT_EQ(bytes_of(budget, "applications"), 250);
  EXPECT_EQ(bytes_of(budget, "cache"), 265);
  EXPECT_EQ(bytes_of(budget, "kernel"), 40);
  EXPECT_EQ(budget.part("firmware"), nullptr);
  EXPECT_TRUE(budget.has_basics());
}

TEST(LinuxBudget, EachByteCountsOnce) {
  EXPECT_EQ(budget_with(
                {{"jetmem_meminfo_KernelStack_bytes", 9}, {"jetmem_meminfo_VmallocUsed_bytes", 30}})
                .unaccounted_bytes,
            345 - 30)
      << "stacks are of vmalloc";
  Series huge{{"jetmem_meminfo_HugePages_Total", 3}, {"jetmem_meminfo_Hugepagesize_bytes", 10}};
  EXPECT_EQ(budget_with(huge).unaccounted_bytes, 345 - 30) << "without their sum";
  huge.emplace_back("jetmem_meminfo_Hugetlb_bytes", 40);
  EXPECT_EQ(budget_with(huge).unaccounted_bytes, 345 - 40);
  EXPECT_EQ(budget_with({{"jetmem_nvml_process_memory_bytes{gpu=\"0\"}", 300},
                         {"jetmem_nvml_gpu_integrated{gpu=\"0\"}", 0}})
                .unaccounted_bytes,
            345)
      << "a card has its own";
}

TEST(LinuxBudget, ANumberThatTheKernelDoesNotCountIsNoPart) {
  const MemoryBudget budget = budget_with({{"jetmem_meminfo_VmallocUsed_bytes", 0}});
  for (const auto& piece : budget.part("kernel")->components) EXPECT_NE(piece.name, "vmalloc");
  EXPECT_EQ(budget.part("kernel")->why,
            "vmalloc (reported as 0: kernels 4.4 to 5.2 do not count it)");
  EXPECT_TRUE(budget.unaccounted_includes_unknown);
}

TEST(LinuxBudget, NvmapBuffersCountOnce) {
  Series series = meminfo();
  series.insert(series.end(), {{"jetmem_nvmap_heap_bytes{heap=\"iovmm\"}", 60},
                               {"jetmem_nvmap_heap_bytes{heap=\"vpr\"}", 500},
                               {"jetmem_meminfo_NvMapMemUsed_bytes", 61},
                               {"jetmem_dmabuf_exporter_bytes{exporter=\"nvmap\"}", 50},
                               {"jetmem_dmabuf_exporter_bytes{exporter=\"system\"}", 7},
                               {"jetmem_meminfo_Hugetlb_bytes", 3},
                               {"jetmem_meminfo_Zswap_bytes", 2}});
  DeviceNow now = device(series);
  now.sources = {source("zram", "absent")};
  const MemoryBudget budget = linux_budget(now);
  EXPECT_EQ(budget.unaccounted_bytes, 345 - 60 - 7 - 3 - 2);
  EXPECT_EQ(bytes_of(budget, "dmabuf"), 7);
  EXPECT_EQ(bytes_of(budget, "swap"), 2);
}

TEST(LinuxBudget, UnknownPartsAreUnaccounted) {
  Series series = meminfo();
  series.erase(series.begin() + 2);
  const MemoryBudget budget = linux_budget(device(series));
  EXPECT_FALSE(budget.has_basics());
  EXPECT_TRUE(budget.unaccounted_includes_unknown);
  EXPECT_FALSE(bytes_of(budget, "applications"));
}

// Some areas are no figure of all, and areas that nothing tells of are not none.
TEST(LinuxBudget, CmaIsUnknownIfAreasAreUnknown) {
  Series series = meminfo();
  series.emplace_back("jetmem_meminfo_CmaTotal_bytes", 64);
  DeviceNow now = device(series);
  now.sources = {source("cma", "absent")};
  EXPECT_FALSE(bytes_of(linux_budget(now), "cma"));
  EXPECT_FALSE(linux_budget(now).part("cma")->none);
  series.emplace_back("jetmem_cma_areas", 2);
  series.emplace_back("jetmem_cma_used_bytes{area=\"a\"}", 4);
  EXPECT_FALSE(bytes_of(linux_budget(device(series)), "cma"));
  series[series.size() - 2].second = 1;
  EXPECT_EQ(bytes_of(linux_budget(device(series)), "cma"), 4);
}

TEST(LinuxBudget, FilesOfTwoMachinesHaveNoDifference) {
  EXPECT_EQ(budget_with({}).contradiction, "");
  Series of_meminfo = meminfo();
  of_meminfo[1].second = 950;  // free: the parts exceed the total
  for (const MemoryBudget& budget :
       {budget_with({{"jetmem_zone_managed_bytes{node=\"0\",zone=\"DMA\"}", 8000}}),
        linux_budget(device(of_meminfo))}) {
    EXPECT_NE(budget.contradiction, "");
    EXPECT_EQ(budget.unaccounted_bytes, std::nullopt);
    EXPECT_EQ(budget.overlap_bytes, 0);
  }
}

// Never less than nothing: what is counted twice is said.
TEST(LinuxBudget, PartsThatExceedTheWholeOverlap) {
  Series series = meminfo();
  series.emplace_back("jetmem_nvmap_heap_bytes{heap=\"iovmm\"}", 400);
  const MemoryBudget budget = linux_budget(device(series));
  EXPECT_EQ(budget.unaccounted_bytes, 0);
  EXPECT_EQ(budget.overlap_bytes, 400 - 345);
  const auto json = nlohmann::json::parse(top_json(top_answer(device(series), {})));
  EXPECT_EQ(json["memory"]["overlap_bytes"], 400 - 345);
  series.back().second = 345;
  EXPECT_EQ(linux_budget(device(series)).overlap_bytes, 0);
}

// A total is never more than there is.
TEST(TopAnswer, WhereMappingsAreNotKnownTheTotalIsTheLeast) {
  Series series{{group("resident", "a"), 50},
                {group("shared", "a"), 30},
                {group("gpu", "a"), 40},
                {group("resident", "b"), 50}};
  const auto total = [&](std::size_t i) { return top_answer(device(series), {}).groups[i].total; };
  EXPECT_EQ(total(0), 90) << "a GPU with memory of its own";
  series.emplace_back("jetmem_nvmap_process_bytes{heap=\"iovmm\",process=\"a\"}", 40);
  EXPECT_EQ(total(0), 60);
  EXPECT_EQ(total(1), 50);
  // Mapped ones count once.
  series = {{group("resident", "a"), 50},
            {group("gpu", "a"), 40},
            {group("dmabuf", "a"), 3},
            {group("mapped", "a"), 40}};
  EXPECT_EQ(total(0), 53);
}

TEST(TopAnswer, WhatHasNoClientHasHoldersOrIsOrphaned) {
  Series series{{"jetmem_nvmap_heap_bytes{heap=\"iovmm\"}", 100},
                {"jetmem_nvmap_heap_bytes{heap=\"vpr\"}", 10},
                {"jetmem_nvmap_orphan_bytes{heap=\"iovmm\"}", 20},
                {"jetmem_nvmap_orphan_bytes{heap=\"vpr\"}", 5}};
  EXPECT_EQ(top_answer(device(series), {}).clientless.bytes, 25);
  EXPECT_EQ(top_answer(device(series), {}).clientless.orphaned, std::nullopt);
  EXPECT_FALSE(
      absence_reason(top_answer(device(series), {}).absent, "nvmap_clientless.held_bytes").empty());
  series.emplace_back("jetmem_dmabuf_clientless_bytes", 13);
  series.emplace_back("jetmem_dmabuf_holder_clientless_bytes{command=\"fdholder\"}", 6);
  series.emplace_back("jetmem_dmabuf_holder_clientless_bytes{command=\"mapper\"}", 7);
  series.emplace_back("jetmem_dmabuf_holder_clientless_bytes{command=\"none\"}", 0);
  const auto& all = top_answer(device(series), {}).clientless;
  EXPECT_EQ(all.held, 13);
  EXPECT_EQ(all.orphaned, 12);
  ASSERT_EQ(all.holders.size(), 2U);
  EXPECT_EQ(all.holders[0].process, "mapper");
  // Read a moment later, more is held than there was.
  series[4].second = 30;
  EXPECT_EQ(top_answer(device(series), {}).clientless.orphaned, 0);
  // Those of another heap are not known.
  series.emplace_back("jetmem_nvmap_heap_bytes{heap=\"fsi\"}", 1);
  EXPECT_EQ(top_answer(device(series), {}).clientless.bytes, std::nullopt);
}

TEST(TopAnswer, SortsAndKeepsOtherLast) {
  const DeviceNow now = device({{group("resident", "a"), 10},
                                {group("gpu", "a"), 1},
                                {group("resident", "b"), 5},
                                {group("gpu", "b"), 100},
                                {group("resident", "other"), 999}});
  const TopAnswer by_total = top_answer(now, {});
  ASSERT_EQ(by_total.groups.size(), 3U);
  EXPECT_EQ(by_total.groups[0].command, "b");
  EXPECT_EQ(by_total.groups[0].total, 105);
  EXPECT_EQ(by_total.groups[2].command, "other");
  const TopAnswer by_resident = top_answer(now, {TopSort::kResident, 1});
  ASSERT_EQ(by_resident.groups.size(), 1U);
  EXPECT_EQ(by_resident.groups[0].command, "a");
  EXPECT_EQ(by_resident.groups_omitted, 2U);
}

TEST(TopAnswer, UnknownValuesHaveAReason) {
  const auto json = nlohmann::json::parse(top_json(top_answer(device({}), {})));
  EXPECT_EQ(json["schema"], "jetmem-top/1");
  for (const char* name : {"groups", "nvmap", "processes"}) {
    EXPECT_TRUE(json["absent"].contains(name)) << name;
  }
  EXPECT_FALSE(json["memory"].contains("unaccounted_bytes"));
  EXPECT_TRUE(json["memory"]["absent"].contains("bytes"));
  EXPECT_FALSE(json["dmabuf"].contains("bytes"));
}

TEST(TopAnswer, UnownedOnlyIfAllProcessesAreReadable) {
  for (const double denied : {1, 0}) {
    EXPECT_EQ(top_answer(device({{"jetmem_dmabuf_bytes{origin=\"bufinfo\"}", 100},
                                 {"jetmem_dmabuf_bytes{origin=\"sysfs\"}", 90},
                                 {"jetmem_dmabuf_held_bytes", 80},
                                 {"jetmem_dmabuf_processes_denied", denied}}),
                         {})
                  .dmabuf.held_by_none,
              denied > 0 ? std::nullopt : std::optional(20.0));
  }
}

TEST(MapAnswer, PartsAddUpToTheModule) {
  Series series{{"jetmem_memory_module_bytes", 1000},
                {"jetmem_memory_physical_bytes{source=\"iomem\"}", 900},
                {"jetmem_memory_budget_bytes{kind=\"linux\",part=\"kernel_reserved\"}", 50},
                {"jetmem_memory_budget_bytes{kind=\"linux\",part=\"mem_total\"}", 850}};
  const MapAnswer some = map_answer(device(series));
  EXPECT_EQ(some.parts.at(0).name, "mem_total");
  EXPECT_EQ(some.sum, 900);
  EXPECT_EQ(some.missing, 100);
  series.emplace_back("jetmem_memory_budget_bytes{kind=\"carveout\",part=\"vpr\"}", 100);
  EXPECT_EQ(map_answer(device(series)).missing, 0);
  const auto json = nlohmann::json::parse(map_json(map_answer(device(series))));
  EXPECT_EQ(json["missing_bytes"], 0);
  EXPECT_EQ(json["physical_source"], "iomem");
}

TEST(MapAnswer, OpteesPartAndAllocationsOfTheKernelsCode) {
  const std::string budget = "jetmem_memory_budget_bytes{kind=\"";
  const std::string allocated = "jetmem_kernel_allocated_bytes{module=\"";
  Series series{{"jetmem_optee_present", 1},
                {budget + "carveout\",part=\"steering\"}", 9},
                {budget + "firmware\",part=\"unattributed\"}", 7},
                {"jetmem_kernel_allocated_total_bytes", 900},
                {allocated + "no\",part=\"mm/slub.c\"}", 100},
                {allocated + "yes\",part=\"panfrost\"}", 300}};
  const auto json = nlohmann::json::parse(map_json(map_answer(device(series))));
  EXPECT_EQ(json["optee"], true);
  EXPECT_TRUE(json["absent"].contains("optee_bytes"));
  EXPECT_EQ(json["kernel_allocated_bytes"], 900);
  EXPECT_EQ(json["kernel_allocations"][0]["part"], "panfrost");
  EXPECT_EQ(json["kernel_allocations"][0]["module"], true);
  EXPECT_EQ(json["kernel_allocations"][1]["bytes"], 100);
  series.emplace_back(budget + "carveout\",part=\"optee_core@84000000\"}", 40);
  series.emplace_back(budget + "carveout\",part=\"tee@1000\"}", 2);
  EXPECT_EQ(map_answer(device(series)).optee_bytes, 42);
}

TEST(MapAnswer, APcHasNoModule) {
  const MapAnswer answer =
      map_answer(device({{"jetmem_memory_physical_bytes{source=\"iomem\"}", 900},
                         {"jetmem_memory_budget_bytes{kind=\"linux\",part=\"mem_total\"}", 880}}));
  EXPECT_FALSE(answer.module);
  EXPECT_EQ(answer.missing, 20);
  for (const char* name : {"module_bytes", "nvmap_carveouts", "huge_pages", "cma"}) {
    EXPECT_NE(absence_reason(answer.absent, name), "") << name;
  }
}

TEST(TopAnswer, HiddenProcessesAreCountedAndSaid) {
  Series series{{"jetmem_process_group_resident_bytes{command=\"a\"}", 10},
                {"jetmem_processes_omitted{reason=\"hidden\"}", 0},
                {"jetmem_processes_omitted{reason=\"denied\"}", 0}};
  EXPECT_EQ(top_answer(device(series), {}).incomplete, "");
  series[1].second = 80;
  DeviceNow now = device(series);
  now.sources = {source("processes", "ok")};
  now.sources[0].absent_values = {{"processes_hidden", 1}};
  const TopAnswer answer = top_answer(now, {});
  EXPECT_THAT(answer.incomplete,
              AllOf(StartsWith("80 processes"), HasSubstr("sudo"), Not(HasSubstr("--pid=host"))));
  const auto json = nlohmann::json::parse(top_json(answer));
  EXPECT_EQ(json["processes_omitted"], 80);
  EXPECT_EQ(json["incomplete"], answer.incomplete);
  now.sources[0].absent_values.emplace_back("other_pid_namespace", 1);
  EXPECT_THAT(top_answer(now, {}).incomplete,
              AllOf(Not(HasSubstr("sudo")), HasSubstr("--pid=host")));
  now.samples = device({series[0]}).samples;
  EXPECT_NE(top_answer(now, {}).incomplete, "") << "how many is not known";
}

TEST(Top, WhatIsUnknownIsSortedLast) {
  const Series series{{group("resident", "known"), 100},   {group("gpu", "known"), 0},
                      {group("resident", "unknown"), 500}, {group("resident", "larger"), 900},
                      {group("resident", "other"), 2000},  {group("resident", "shrinks"), 50}};
  Series grows = series;
  grows.emplace_back(
      "jetmem_process_group_growth_bytes_per_second{command=\"shrinks\",container="
      "\"\",unit=\"\"}",
      -7);
  const auto names = [](const TopAnswer& answer) {
    std::string out;
    for (const auto& each : answer.groups) out += each.command + " ";
    return out;
  };
  TopAnswer answer = top_answer(device(grows), {TopSort::kGpu});
  EXPECT_EQ(names(answer), "known larger unknown shrinks other ");
  EXPECT_EQ(answer.groups_unsorted, 3U);
  answer = top_answer(device(grows), {TopSort::kGrowth, 2});
  EXPECT_EQ(names(answer), "shrinks larger ");
  EXPECT_EQ(answer.groups_unsorted, 3U) << "of all";
  EXPECT_EQ(nlohmann::json::parse(top_json(answer))["groups_unsorted"], 3);
  EXPECT_EQ(top_answer(device(series), {TopSort::kDmabuf}).groups_unsorted, 4U);
  EXPECT_EQ(top_answer(device(series), {TopSort::kTotal}).groups_unsorted, 0U);
}

}  // namespace
}  // namespace jetmem
