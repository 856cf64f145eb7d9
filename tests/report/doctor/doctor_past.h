// SPDX-License-Identifier: Apache-2.0
// A device and a past made up for the doctor's tests.
#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "history/history.h"
#include "report/device/device_now.h"

namespace jetmem {

inline Nanoseconds ns(double seconds) { return Nanoseconds(std::llround(seconds * 1e9)); }

// All in memory; counts what it is asked.
class MadeUpPast : public History {
 public:
  // A value every `step` seconds of [from, to).
  void series(const std::string& key, double from, double to, double step,
              const std::function<double(double)>& value) {
    auto& points = series_[key];
    for (double t = from; t < to; t += step) {
      const double v = value(t);
      if (std::isnan(v)) continue;
      HistoryPoint point;
      point.wall = ns(t);
      point.wall_trusted = true;
      point.min = point.average = point.max = v;
      points.push_back(point);
    }
  }
  void event(EventRecord record) {
    record.id = static_cast<std::int64_t>(events_.size()) + 1;
    events_.push_back(std::move(record));
  }

  Result<std::vector<SeriesKnown>> series(std::string_view family) override {
    ++requested;
    if (broken) return fail(Errc::kIo, "the disk is gone");
    std::vector<SeriesKnown> out;
    for (const auto& [key, points] : series_) {
      if (!family.empty() && key.substr(0, key.find('{')) != family) continue;
      out.push_back({key, false, points.front().wall, points.back().wall});
    }
    return out;
  }
  Result<SeriesPast> past(const SeriesQuery& needed) override {
    ++requested;
    if (broken) return fail(Errc::kIo, "the disk is gone");
    SeriesPast out;
    out.key = needed.key;
    out.problem = lacking;
    const auto found = series_.find(needed.key);
    if (found == series_.end()) return out;
    for (const HistoryPoint& point : found->second) {
      if (point.wall >= needed.from && point.wall <= needed.to) out.points.push_back(point);
    }
    // Coarser where there are too many, as the recorder does.
    if (out.points.size() > needed.most) {
      const std::size_t every = out.points.size() / needed.most + 1;
      std::vector<HistoryPoint> few;
      for (std::size_t i = 0; i < out.points.size(); i += every) few.push_back(out.points[i]);
      out.points = std::move(few);
    }
    return out;
  }
  Result<std::vector<std::pair<std::string, double>>> at(Nanoseconds wall,
                                                         Nanoseconds timeout) override {
    ++requested;
    if (broken) return fail(Errc::kIo, "the disk is gone");
    std::vector<std::pair<std::string, double>> out;
    for (const auto& [key, points] : series_) {
      const HistoryPoint* last = nullptr;
      for (const HistoryPoint& point : points) {
        if (point.wall <= wall && point.wall >= wall - timeout) last = &point;
      }
      if (last != nullptr) out.emplace_back(key, last->average);
    }
    return out;
  }
  Result<EventsPast> events(const EventsQuery& needed) override {
    ++requested;
    if (broken) return fail(Errc::kIo, "the disk is gone");
    EventsPast out;
    for (auto it = events_.rbegin(); it != events_.rend(); ++it) {
      if (it->wall && needed.from && *it->wall < *needed.from) continue;
      if (it->wall && needed.to && *it->wall > *needed.to) continue;
      if (!needed.kinds.empty() &&
          std::find(needed.kinds.begin(), needed.kinds.end(), it->kind) == needed.kinds.end()) {
        continue;
      }
      if (out.events.size() < needed.most) out.events.push_back(*it);
    }
    return out;
  }
  Result<HistoryFacts> facts() override {
    ++requested;
    if (broken) return fail(Errc::kIo, "the disk is gone");
    return known;
  }

  int requested = 0;
  bool broken = false;
  std::string lacking;  // why part of each series is missing
  HistoryFacts known;

 private:
  std::map<std::string, std::vector<HistoryPoint>> series_;
  std::vector<EventRecord> events_;
};

// 2026-11-20 08:00:00 UTC: the engineer has come.
constexpr double kMorning = 1795161600;
constexpr double kHour = 3600;
constexpr double kMiB = 1 << 20;
constexpr double kGiB = 1 << 30;

inline EventRecord kernel_event(const std::string& kind, const std::string& subject, double wall,
                                std::uint64_t count = 1) {
  EventRecord out;
  out.what = EventWhat::kKernel;
  out.kind = kind;
  out.severity = "error";
  out.origin = "system";
  out.subject = subject;
  out.summary = kind + " of " + subject;
  out.wall = ns(wall);
  out.wall_trusted = true;
  out.count = count;
  return out;
}

// A healthy Jetson with every source readable; tests change what they are about.
inline DeviceNow healthy_device(const std::map<std::string, double>& changes = {}) {
  DeviceNow now;
  now.by = SnapshotOrigin::kDaemon;
  now.from = "unix:/run/jetmem/api.socket";
  now.version = "0";
  now.boot_id = "b2";
  now.since_boot = 3 * 86400;
  now.wall = kMorning;
  for (const char* name : {"meminfo", "zoneinfo", "buddyinfo", "vmstat", "pressure", "zram", "cma",
                           "thermal", "throttle", "power", "device", "boot", "kernel_log", "nvmap",
                           "dmabuf", "processes", "probe", "pagetypeinfo"}) {
    SourceNow source;
    source.name = name;
    source.state = "ok";
    now.sources.push_back(source);
  }
  SourceNow nvml;
  nvml.name = "nvml";
  nvml.state = "absent";
  nvml.reason = "no driver";
  now.sources.push_back(nvml);
  std::map<std::string, double> all{
      {"jetmem_meminfo_MemTotal_bytes", 8 * kGiB},
      {"jetmem_meminfo_MemAvailable_bytes", 4 * kGiB},
      {"jetmem_meminfo_MemFree_bytes", 3 * kGiB},
      {"jetmem_meminfo_SwapTotal_bytes", 4 * kGiB},
      {"jetmem_meminfo_SwapFree_bytes", 4 * kGiB},
      {"jetmem_meminfo_CmaTotal_bytes", 256 * kMiB},
      {"jetmem_buddy_best_order_outside_cma", 10},
      {"jetmem_cma_used_ratio{area=\"linux,cma\"}", 0.2},
      {"jetmem_cma_area_bytes{area=\"linux,cma\"}", 256 * kMiB},
      {"jetmem_cma_largest_free_run_bytes{area=\"linux,cma\"}", 120 * kMiB},
      {"jetmem_cma_frame_fit_ratio{area=\"linux,cma\"}", 10},
      {"jetmem_iommu_groups", 18},
      {"jetmem_thermal_zone_celsius{index=\"0\",zone=\"tj-thermal\"}", 51},
      {"jetmem_thermal_margin_celsius{index=\"0\",kind=\"critical\",zone=\"tj-thermal\"}", 53},
      {"jetmem_nvmap_total_bytes", kGiB},
      {"jetmem_probe_state{kind=\"host\",state=\"ok\",target=\"\"}", 1},
      {"jetmem_device_info{kernel=\"5.15.148-tegra\",l4t=\"36.4.4\",model=\"Orin\",soc="
       "\"tegra234\"}",
       1},
      {"jetmem_boot_last_shutdown{clean=\"yes\"}", 1},
      {"jetmem_boot_last_shutdown{clean=\"no\"}", 0},
      {"jetmem_boot_last_shutdown{clean=\"unknown\"}", 0},
      {"jetmem_reader{kind=\"socket\"}", 1},
  };
  // The daemon has judged its rules, and none of them fires.
  now.alerts.emplace();
  AlertsAnswer::Rule rule;
  rule.name = "JetmemMemoryLow";
  rule.severity = "warning";
  rule.state = "inactive";
  now.alerts->rules.push_back(rule);
  for (const auto& [key, value] : changes) {
    if (std::isnan(value)) {
      all.erase(key);
    } else {
      all[key] = value;
    }
  }
  const std::vector<std::pair<std::string, double>> list(all.begin(), all.end());
  now.samples = SampleSet::of(list);
  return now;
}

inline void set_source(DeviceNow& now, const std::string& name, const std::string& state,
                       const std::string& reason, const std::string& grant = "") {
  for (SourceNow& each : now.sources) {
    if (each.name != name) continue;
    each.state = state;
    each.reason = reason;
    each.grant = grant;
  }
}

}  // namespace jetmem
