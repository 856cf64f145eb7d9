// SPDX-License-Identifier: Apache-2.0
// A device and a past made up for the doctor's tests.
#pragma once

#include <cmath>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "tests/fake_history.h"
#include "tests/report/answers/series.h"

namespace jetmem {

inline Nanoseconds ns(double seconds) { return Nanoseconds(std::llround(seconds * 1e9)); }

// 2026-11-20 08:00:00 UTC: the engineer has come.
constexpr double kMorning = 1795161600;
constexpr double kHour = 3600;

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

inline EventRecord alert_event(const std::string& kind, const std::string& alert, double wall,
                               const std::string& severity = "critical") {
  EventRecord out;
  out.what = EventWhat::kAlert;
  out.kind = kind;
  out.severity = severity;
  out.subject = alert;
  out.summary = alert + " is so";
  out.wall = ns(wall);
  return out;
}

// A history that ends now, in the second boot.
template <class Past>
void set_facts(Past& past) {
  past.known.location = "/var/lib/jetmem/history.db";
  past.known.newest = ns(kMorning);
  BootKnown boot;
  boot.boot_id = "b2";
  boot.wall_trusted = true;
  past.known.boots = {boot};
}

inline void raise_alert(DeviceNow& now, const std::string& name, const std::string& state,
                        const std::string& severity = "critical",
                        const std::string& expression = "jetmem_x", Labels labels = {}) {
  AlertsAnswer::Rule rule;
  rule.name = name;
  rule.severity = severity;
  rule.state = state;
  rule.conditions.emplace_back().expression = expression;
  AlertsAnswer::Alert alert;
  alert.state = state;
  alert.labels = std::move(labels);
  alert.summary = name + " is so";
  alert.active_seconds = 60;
  rule.alerts.push_back(alert);
  now.alerts->evaluated_wall = kMorning;
  now.alerts->rules.push_back(rule);
}

// A healthy Jetson with every source readable; tests change what they are about (NaN: is not
// there).
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
    now.sources.push_back(source(name, "ok"));
  }
  now.sources.push_back(source("nvml", "absent", "no driver"));
  std::map<std::string, double> all = changes;
  all.insert({
      {"jetmem_meminfo_MemTotal_bytes", 8 * kGiB},
      {"jetmem_meminfo_MemAvailable_bytes", 4 * kGiB},
      {"jetmem_meminfo_MemFree_bytes", 3 * kGiB},
      {"jetmem_meminfo_SwapTotal_bytes", 4 * kGiB},
      {"jetmem_meminfo_SwapFree_bytes", 4 * kGiB},
      {"jetmem_meminfo_CmaTotal_bytes", 256 * kMiB},
      {"jetmem_buddy_best_outside_cma_bytes", 4 * kMiB},
      {"jetmem_cma_used_ratio{area=\"linux,cma\"}", 0.2},
      {"jetmem_cma_area_bytes{area=\"linux,cma\"}", 256 * kMiB},
      {"jetmem_cma_largest_free_run_bytes{area=\"linux,cma\"}", 120 * kMiB},
      {"jetmem_cma_frame_fit_ratio{area=\"linux,cma\"}", 10},
      {"jetmem_iommu_groups", 18},
      {"jetmem_thermal_zone_celsius{index=\"0\",zone=\"tj-thermal\"}", 51},
      {"jetmem_thermal_margin_celsius{index=\"0\",kind=\"critical\",zone=\"tj-thermal\"}", 53},
      {"jetmem_throttling", 0},
      {"jetmem_nvmap_total_bytes", kGiB},
      {"jetmem_probe_state{kind=\"host\",state=\"ok\",target=\"\"}", 1},
      {"jetmem_device_info{kernel=\"5.15.148-tegra\",l4t=\"36.4.4\",model=\"Orin\",soc="
       "\"tegra234\"}",
       1},
      {"jetmem_boot_last_shutdown{clean=\"yes\"}", 1},
      {"jetmem_boot_last_shutdown{clean=\"no\"}", 0},
      {"jetmem_boot_last_shutdown{clean=\"unknown\"}", 0},
      {"jetmem_reader{kind=\"socket\"}", 1},
  });
  std::erase_if(all, [](const auto& each) { return std::isnan(each.second); });
  now.samples = SampleSet::of(Series(all.begin(), all.end()));
  // The daemon has judged its rules, and none of them fires.
  now.alerts.emplace();
  AlertsAnswer::Rule rule;
  rule.name = "JetmemBusError";
  rule.severity = "warning";
  rule.state = "inactive";
  now.alerts->rules.push_back(rule);
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
