// SPDX-License-Identifier: Apache-2.0
// Makes a history file as long as a device keeps one, for whoever looks at pictures of the past: a
// Jetson that leaks and whose memory breaks into pieces, with restarts, a day without power, hours
// without samples, sources that come and go, counters that begin anew and a clock set back.
//
//   make_long_history FILE DAYS [END]      END: seconds since 1970, now where it is not given
//
// A value a minute, and each ten seconds in the last six hours, as a device's file has them.

#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "tests/history_maker.h"

namespace {

using namespace std::chrono_literals;
using jetmem::HistoryStore;
using jetmem::Nanoseconds;

constexpr double kMiB = 1 << 20;
constexpr double kGiB = 1 << 30;
constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
constexpr double kDay = 86400;
constexpr double kFine = 6 * 3600;  // the last ones are ten seconds apart
constexpr int kOrders = 13;
constexpr std::size_t kChunk = 180;

// When it is, in seconds: since 1970, since the story began, since this boot.
struct Moment {
  double wall;
  double scenario;
  double boot;
};

struct Series {
  std::string key;
  bool is_counter;
  std::function<double(const Moment&)> value;
};

double daily(const Moment& m) { return std::sin(m.wall * 2 * M_PI / kDay); }
double noise(const Moment& m, double pace) {
  return std::sin(m.wall / pace) * std::cos(m.wall / (pace * 0.37));
}

// How far this boot's memory has broken into pieces: 0 to 1 within three days.
double broken(const Moment& m) { return std::min(1.0, m.boot / (3 * kDay)); }

void add(std::vector<Series>& out, std::string key, std::function<double(const Moment&)> value,
         bool is_counter = false) {
  out.push_back({std::move(key), is_counter, std::move(value)});
}

std::vector<Series> scenario() {
  std::vector<Series> out;
  const auto leak = [](const Moment& m) { return 120 * kMiB * m.boot / kDay; };
  add(out, "jetmem_meminfo_MemTotal_bytes", [](const Moment&) { return 7.4 * kGiB; });
  add(out, "jetmem_meminfo_MemAvailable_bytes", [=](const Moment& m) {
    return 4 * kGiB - leak(m) + 300 * kMiB * daily(m) + 60 * kMiB * noise(m, 40);
  });
  add(out, "jetmem_meminfo_MemFree_bytes",
      [](const Moment& m) { return 700 * kMiB + 250 * kMiB * noise(m, 300); });
  add(out, "jetmem_meminfo_AnonPages_bytes",
      [=](const Moment& m) { return 1.6 * kGiB + leak(m) + 50 * kMiB * daily(m); });
  add(out, "jetmem_meminfo_Cached_bytes",
      [](const Moment& m) { return 2.2 * kGiB + 200 * kMiB * noise(m, 900); });
  add(out, "jetmem_meminfo_SUnreclaim_bytes", [](const Moment&) { return 180 * kMiB; });
  add(out, "jetmem_nvmap_total_bytes",
      [](const Moment& m) { return 900 * kMiB + 300 * kMiB * (daily(m) > 0.3 ? 1 : 0); });
  add(out, "jetmem_meminfo_SwapTotal_bytes", [](const Moment&) { return 3.7 * kGiB; });
  add(out, "jetmem_meminfo_SwapFree_bytes",
      [=](const Moment& m) { return 3.7 * kGiB - leak(m) / 3; });
  add(out, "jetmem_memory_pressure_level", [](const Moment& m) {
    return noise(m, 7000) > 0.9 ? 2 : noise(m, 7000) > 0.7 ? 1 : 0;
  });
  for (const char* const kind : {"some", "full"}) {
    add(out,
        std::string("jetmem_pressure_stall_ratio{kind=\"") + kind +
            "\",resource=\"memory\",window=\"10s\"}",
        [kind](const Moment& m) {
          return std::max(0.0, noise(m, 7000) - 0.6) * (kind[0] == 's' ? 1 : 0.4);
        });
  }
  add(out, R"(jetmem_cma_area_bytes{area="linux,cma"})", [](const Moment&) { return 256 * kMiB; });
  const auto used = [](const Moment& m) { return (60 + 80 * broken(m)) * kMiB; };
  add(out, R"(jetmem_cma_used_bytes{area="linux,cma"})", used);
  add(out, R"(jetmem_cma_available_bytes{area="linux,cma"})",
      [=](const Moment& m) { return 256 * kMiB - used(m); });
  add(out, R"(jetmem_cma_largest_free_run_bytes{area="linux,cma"})",
      [](const Moment& m) { return (180 - 170 * broken(m)) * kMiB; });
  add(out, "jetmem_meminfo_CmaFree_bytes",
      [](const Moment& m) { return 90 * kMiB + 20 * kMiB * noise(m, 200); });
  for (const char* const zone : {"DMA", "Normal"}) {
    for (int order = 0; order < kOrders; ++order) {
      add(out,
          std::string("jetmem_buddy_free_blocks{node=\"0\",order=\"") + std::to_string(order) +
              "\",zone=\"" + zone + "\"}",
          [order](const Moment& m) {
            const double whole = 400 * std::exp(-broken(m) * order) * (1 + 0.3 * noise(m, 500));
            return std::floor(order < 4 ? 3000 / (order + 1) * (1 + broken(m)) : whole / (order));
          });
    }
    add(out,
        std::string("jetmem_buddy_largest_order_outside_cma{node=\"0\",zone=\"") + zone + "\"}",
        [](const Moment& m) { return std::floor(10 - 6 * broken(m)); });
  }
  const std::vector<std::string> programs{"camera_app", "python3", "deepstream", "ros2",
                                          "chrome",     "dockerd", "journald",   "Xorg",
                                          "gst-launch", "sshd"};
  for (std::size_t i = 0; i < programs.size(); ++i) {
    const double location = static_cast<double>(i + 1);
    const std::string labels = "{command=\"" + programs[i] + "\",container=\"\",unit=\"\"}";
    add(out, "jetmem_process_group_resident_bytes" + labels, [=](const Moment& m) {
      if (i == 4 && daily(m) < 0) return kNone;  // runs by day only
      return (600.0 / location) * kMiB + (i == 0 ? leak(m) : 0) +
             8 * kMiB * noise(m, 60 * location);
    });
    if (i > 3) continue;
    add(out, "jetmem_process_group_gpu_bytes" + labels,
        [=](const Moment& m) { return (500.0 / location) * kMiB * (daily(m) > 0.3 ? 1.5 : 1); });
  }
  int index = 0;
  for (const char* const zone : {"cpu-thermal", "gpu-thermal", "soc0-thermal", "tj-thermal"}) {
    add(out,
        "jetmem_thermal_zone_celsius{index=\"" + std::to_string(index) + "\",zone=\"" + zone +
            "\"}",
        [index](const Moment& m) {
          // The GPU is switched off at night and tells no temperature.
          if (index == 1 && daily(m) < -0.5) return kNone;
          return 48 + 3 * index + 9 * daily(m) + 2 * noise(m, 30);
        });
    ++index;
  }
  add(out, "jetmem_throttling_level", [](const Moment& m) { return daily(m) > 0.95 ? 1 : 0; });
  add(out, R"(jetmem_clock_hertz{clock="cpu0",domain="cpu"})",
      [](const Moment& m) { return daily(m) > 0.95 ? 1.1e9 : 1.5e9; });
  add(out, R"(jetmem_clock_hertz{clock="gpu",domain="gpu"})",
      [](const Moment& m) { return daily(m) > 0.3 ? 6.2e8 : 3.06e8; });
  add(out, R"(jetmem_clock_hertz{clock="emc",domain="memory"})",
      [](const Moment& m) { return daily(m) > 0 ? 2.133e9 : 6.65e8; });
  add(out, "jetmem_emc_utilization_ratio",
      [](const Moment& m) { return 0.3 + 0.25 * daily(m) + 0.05 * noise(m, 20); });
  add(out, R"(jetmem_rail_watts{index="1",rail="VDD_IN"})",
      [](const Moment& m) { return 7 + 2 * daily(m) + 0.5 * noise(m, 25); });
  add(out, R"(jetmem_rail_watts{index="2",rail="VDD_CPU_GPU_CV"})",
      [](const Moment& m) { return 2.5 + daily(m) + 0.3 * noise(m, 25); });
  for (const char* const kind : {"cma", "pinned"}) {
    const std::string labels = std::string("{kind=\"") + kind + "\",target=\"\"}";
    add(out, "jetmem_probe_success" + labels,
        [kind](const Moment& m) { return kind[0] == 'c' && broken(m) > 0.9 ? 0 : 1; });
    add(out, "jetmem_probe_slowness_ratio" + labels, [kind](const Moment& m) {
      if (kind[0] == 'c' && broken(m) > 0.9) return kNone;
      return 1 + 2 * broken(m) + 0.2 * noise(m, 600);
    });
  }
  for (const char* const kind : {"cma_alloc_failure", "smmu_context_fault", "oom_kill"}) {
    add(
        out, std::string("jetmem_kernel_events_total{kind=\"") + kind + "\",origin=\"system\"}",
        [kind](const Moment& m) {
          const double pace = kind[0] == 'c' ? 3000 : kind[0] == 's' ? 20000 : 90000;
          return std::floor(std::max(0.0, m.boot - (kind[0] == 'c' ? 2.4 * kDay : kDay)) / pace);
        },
        true);
  }
  return out;
}

Nanoseconds nanoseconds(double seconds) {
  return std::chrono::duration_cast<Nanoseconds>(std::chrono::duration<double>(seconds));
}

// Events within a chunk, in order of time.
std::vector<jetmem::EventRecord> events_of(double boot_from, double boot_to) {
  using jetmem::EventWhat;
  std::vector<jetmem::EventRecord> out;
  const auto at = [&](double when, EventWhat what, const char* kind, const char* severity,
                      const char* subject, const char* summary) {
    if (when < boot_from || when >= boot_to) return;
    out.push_back(jetmem::event_of(what, kind, severity, nanoseconds(when), subject, summary));
  };
  at(130, EventWhat::kDaemon, "start", "info", "jetmemd", "jetmemd 0.1.0 started");
  for (int i = 0; i < 300; ++i) {
    at(2.4 * kDay + i * 3000.0, EventWhat::kKernel, "cma_alloc_failure", "warning", "linux,cma",
       "4050 pages of linux,cma could not be had: it is fragmented");
    at(2.6 * kDay + i * 40000.0, EventWhat::kAlert, i % 2 == 0 ? "firing" : "resolved",
       i % 2 == 0 ? "critical" : "info", "JetmemCmaFragmented",
       i % 2 == 0 ? "JetmemCmaFragmented fires: the largest piece is 5% of what is wanted"
                  : "JetmemCmaFragmented is over");
  }
  for (int i = 0; i < 60; ++i) {
    at(1.5 * kDay + i * 90000.0, EventWhat::kKernel, "oom_kill", "error", "python3",
       "python3 (pid 4711) was killed");
  }
  at(kDay, EventWhat::kMark, "mark", "info", "root", "a lorry came <script>alert(1)</script>");
  return out;
}

// One boot from `wall` on for `seconds`.
void write_boot(HistoryStore& store, int number, double wall, double seconds, double begin,
                double end) {
  char boot_id[40];
  std::snprintf(boot_id, sizeof boot_id, "%08d-1111-4111-8111-111111111111", number);
  constexpr double kFirst = 100;
  const jetmem::WallSeen seen{nanoseconds(kFirst), nanoseconds(wall - kFirst),
                              jetmem::WallTrust::kSynced};
  const auto boot = *jetmem::or_exit("begin_boot", store.begin_boot(boot_id, seen));
  const std::vector<Series> series = scenario();
  double at = kFirst;
  const auto wall_of = [&](double boot_time) { return wall + boot_time - kFirst; };
  while (at < kFirst + seconds) {
    jetmem::RawChunk chunk;
    std::vector<std::vector<double>> values(series.size());
    const double chunk_from = at;
    while (chunk.steps.size() < kChunk && at < kFirst + seconds) {
      const Moment moment{wall_of(at), wall_of(at) - begin, at};
      // Twice a week nothing is sampled for two hours.
      const bool paused = std::fmod(moment.scenario, 3.5 * kDay) > 3.4 * kDay;
      if (!paused) {
        chunk.steps.push_back(nanoseconds(at));
        for (std::size_t i = 0; i < series.size(); ++i) {
          values[i].push_back(series[i].value(moment));
        }
      }
      at += wall_of(at) > end - kFine ? 10 : 60;
    }
    for (std::size_t i = 0; i < series.size(); ++i) {
      chunk.columns.push_back({series[i].key, series[i].is_counter, values[i]});
    }
    auto events = events_of(chunk_from, at);
    for (auto& each : events) each.boot = boot;
    const bool has_steps = !chunk.steps.empty();
    if (!has_steps && events.empty()) continue;
    jetmem::or_exit("write", store.write(boot, has_steps ? &chunk : nullptr, events));
    jetmem::tidy_all(store, boot, nanoseconds(at));
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) {
    std::fprintf(stderr, "Usage: make_long_history FILE DAYS [END]\n");
    return 2;
  }
  const auto store = jetmem::open_history(argv[1]);
  const double length = std::atof(argv[2]) * kDay;
  const double now =
      std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
  const double end = argc > 3 ? std::atof(argv[3]) : now;
  const double begin = end - length;
  // A boot of six days, a day off, and so on; the last one begins 100 minutes before the end, and
  // the one before it has a clock that is half an hour ahead.
  constexpr double kLast = 6000;
  int number = 0;
  double at = begin;
  while (at < end - kLast) {
    const double left = end - kLast - at;
    const bool is_last = left < 6.5 * kDay;
    const double seconds = is_last ? left - 300 : 6 * kDay;
    write_boot(*store, ++number, at + (is_last ? 1800 : 0), seconds, begin, end);
    at += is_last ? left : (number % 3 == 0 ? 7 * kDay : seconds + 600);
  }
  write_boot(*store, ++number, end - kLast, kLast, begin, end);
}
