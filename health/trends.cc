// SPDX-License-Identifier: Apache-2.0
#include "health/trends.h"

#include <algorithm>

#include "collectors/jetson/nvmap/source.h"
#include "collectors/proc/meminfo.h"
#include "collectors/processes/group/shown_groups.h"

namespace jetmem {
namespace {

constexpr std::array kTrendsMetrics{
    gauge("jetmem_trend_bytes_per_second",
          "Growth per second (negative: shrinks) over the last two hours, from one value per "
          "minute; steps and short peaks do not count. Absent until jetmem has half an hour of "
          "values and a line explains them well (jetmem_trend_r_squared of 0.7 and above): then "
          "something leaks, or is still filling up.",
          {"of"}, 3),
    gauge("jetmem_trend_r_squared",
          "How well a line explains the last two hours: 1 steady growth or shrinking; 0 none, only "
          "noise, steps or fluctuation. Below 0.7 the slope is omitted.",
          {"of"}, 3),
    gauge("jetmem_trend_exhaustion_seconds",
          "Time until MemAvailable reaches 0 if it continues to shrink as in the last two hours. "
          "Absent when it does not shrink steadily, or not within 30 days. "
          "jetmem_process_group_trend_bytes_per_second and the nvmap trends show what grows.",
          {"of"}),
    gauge("jetmem_process_group_trend_bytes_per_second",
          "Growth per second of the memory of these processes (resident, GPU and DMA-BUFs "
          "together) over the last two hours; absent unless a line explains it well. What grows "
          "for hours leaks, or fills an unbounded cache.",
          {"command", "unit", "container"}, ShownGroups::kMost),
};
enum TrendMetric : std::size_t { kSlope, kFit, kExhaustion, kGroupSlope };

constexpr std::array<std::string_view, 3> kTrendsSources{"meminfo", "nvmap", "processes"};
constexpr std::array<std::string_view, 3> kOf{"MemAvailable", "NvMapMemUsed", "nvmap_orphans"};
constexpr double kFurthest = 30 * 86400.0;

constexpr std::string_view kTooFew = "too_few_values";
constexpr std::string_view kNoFit = "no_steady_trend";

// Absent where a heap's orphans are unknown: the missing part would look like growth later.
std::optional<std::uint64_t> orphan_bytes(const Nvmap& nvmap) {
  std::optional<std::uint64_t> sum;
  for (const Nvmap::Heap& heap : nvmap.heaps) {
    if (!heap.orphan_bytes) return std::nullopt;
    sum = sum.value_or(0) + *heap.orphan_bytes;
  }
  return sum;
}

}  // namespace

Trends::Trends() : scratch_(Trend::make_scratch()) {}

const DerivedInfo Trends::kInfo{"trends", kTrendsSources, kTrendsMetrics};

void Trends::add_processes(WriteContext& context) {
  const auto add = [&](Of of, const std::optional<std::uint64_t>& bytes) {
    there_[of] = bytes.has_value();
    if (bytes) stats_[of].add(context.now, static_cast<double>(*bytes), scratch_);
  };
  const auto* meminfo = context.readings.get<Meminfo>();
  add(kMemAvailable, meminfo == nullptr ? std::nullopt : meminfo->find(kOf[kMemAvailable]));
  add(kNvMapMemUsed, meminfo == nullptr ? std::nullopt : meminfo->find(kOf[kNvMapMemUsed]));
  const auto* nvmap = context.readings.get<Nvmap>();
  add(kNvmapOrphans, nvmap == nullptr ? std::nullopt : orphan_bytes(*nvmap));
  if (nvmap != nullptr && !there_[kNvmapOrphans]) context.absent.add("orphans_not_known");
}

void Trends::add_groups(WriteContext& context) {
  for (Group& group : groups_) group.shown = false;
  const auto* processes = context.readings.get<Processes>();
  if (processes == nullptr || processes->shown == nullptr) return;
  // A truncated walk saw only the older processes.
  if (processes->left_out > 0) {
    context.absent.add("walk_cut");
    return;
  }
  const ShownGroups& all = *processes->shown;
  const bool is_new = all.readings() != groups_reading_;
  if (all.kind() != groups_kind_) {
    for (Group& group : groups_) group.trend.clear();
  }
  groups_reading_ = all.readings();
  groups_kind_ = all.kind();
  for (const ShownGroups::Shown& one : all.all()) {
    if (!one.used || !one.shown) continue;
    Group& group = group_of(one.key);
    group.shown = true;
    group.seen = context.now;
    if (is_new) group.trend.add(context.now, static_cast<double>(one.bytes), scratch_);
  }
}

// Evicts the one not seen for longest: at most ShownGroups::kMost are seen in a cycle.
Trends::Group& Trends::group_of(const ProcessKey& key) {
  Group* oldest = nullptr;
  for (Group& group : groups_) {
    if (group.seen >= Nanoseconds(0) && group.key == key) return group;
    if (!group.shown && (oldest == nullptr || group.seen < oldest->seen)) oldest = &group;
  }
  static_assert(ShownGroups::kMost < kGroups);
  oldest->key = key;  // NOLINT(clang-analyzer-core.CallAndMessage): one is not shown
  oldest->trend.clear();
  return *oldest;
}

void Trends::write_process_metrics(SampleWriter& out, WriteContext& context) const {
  for (std::size_t of = 0; of < kStatistics; ++of) {
    if (!there_[of]) continue;
    const auto& line = stats_[of].line();
    if (!line) {
      context.absent.add(kTooFew);
      continue;
    }
    out.put(kTrendsMetrics[kFit], line->fit, kOf[of]);
    const TrendLine* good = stats_[of].good_line();
    if (good == nullptr) {
      context.absent.add(kNoFit);
      continue;
    }
    out.put(kTrendsMetrics[kSlope], good->slope, kOf[of]);
    if (of != kMemAvailable) continue;
    const double seconds = good->slope < 0 ? good->last / -good->slope : kFurthest + 1;
    if (seconds <= kFurthest) {
      out.put(kTrendsMetrics[kExhaustion], seconds, kOf[of]);
    } else {
      context.absent.add("no_exhaustion_within_30_days");
    }
  }
}

void Trends::write_groups(SampleWriter& out, WriteContext& context) const {
  for (const Group& group : groups_) {
    if (!group.shown) continue;
    if (const TrendLine* good = group.trend.good_line()) {
      out.put(kTrendsMetrics[kGroupSlope], good->slope, group.key.command, group.key.unit,
              group.key.container);
    } else {
      context.absent.add(group.trend.line() ? kNoFit : kTooFew);
    }
  }
}

void Trends::write(SampleWriter& out, WriteContext& context) {
  add_processes(context);
  add_groups(context);
  write_process_metrics(out, context);
  write_groups(out, context);
}

}  // namespace jetmem
