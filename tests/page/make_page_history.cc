// SPDX-License-Identifier: Apache-2.0
// Makes a history file of sixty days that end now, for tests of the page: a device of 8 GB whose
// contiguous memory wears out over the last day, with a restart two days ago. The further back, the
// fewer steps, as minutes and quarters of an hour are all that is kept of them.
//
// Its last values are those of the fixture orin-nano-8gb, so that a jetmemd on that tree goes on
// with them. In a night (UTC), between two and three, memory becomes short for a while; it prints
// when that hour begins, in seconds of Unix time.
// EVENTS: so many of the kernel's in that hour, and an alert about them.
//
//   make_page_history FILE [EVENTS]

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "tests/history_maker.h"

namespace {

using namespace std::chrono_literals;
using jetmem::HistoryStore;
using jetmem::Nanoseconds;

constexpr double kMiB = 1 << 20;
constexpr double kDay = 86400;
constexpr Nanoseconds kPast = 24h * 60;
constexpr Nanoseconds kRestart = 48h;  // before now
constexpr Nanoseconds kOutage = 3h;    // nothing was recorded before the restart
constexpr std::size_t kStepsOfChunk = 1440;

struct Series {
  std::string key;
  bool is_counter;
  std::function<double(double seconds_before_now)> value;
};

Nanoseconds now() {
  static const Nanoseconds begin = std::chrono::system_clock::now().time_since_epoch();
  return begin;
}

// How long ago it was last 02:30 UTC, at least 90 minutes: the page shows the two hours around it
// as the past, not live.
Nanoseconds night() {
  const Nanoseconds since_half_past_two = (now() - 150min) % 24h;
  return since_half_past_two < 90min ? since_half_past_two + 24h : since_half_past_two;
}

// 1 in the middle of that hour, and 0 beyond.
double shortage(double before) {
  const double far = (before - std::chrono::duration<double>(night()).count()) / 600;
  return std::exp(-far * far);
}

double wave(double seconds, double days) { return std::sin(seconds / kDay / days * 2 * M_PI); }

// The largest run falls from 200 to 36 MiB within the last day.
double largest_run(double before) {
  return std::clamp(before / kDay * 164 + 36, 36.0, 200.0) * kMiB;
}

// The resident memory of a group is not known for an hour, while its GPU memory is.
constexpr double kPartFrom = 3 * 3600;
constexpr double kPartTo = 2 * 3600;
double partly_known(double before) {
  return before < kPartFrom && before > kPartTo ? NAN : 300 * kMiB;
}

// Of the larger blocks there are few by day, and none at the worst time of it.
constexpr int kMostOrder = 10;
double free_blocks(int order, double before) {
  return std::floor(std::max(0.0, (8000 >> order) * (1 + order / 5.0 * wave(before, 1))));
}

const std::vector<Series>& all_series() {
  static const std::vector<Series> series = [] {
    std::vector<Series> out = {
        {"jetmem_meminfo_MemTotal_bytes", false, [](double) { return 7620 * kMiB; }},
        {"jetmem_meminfo_MemAvailable_bytes", false,
         [](double t) {
           return (1573 + 350 * wave(t, 1) + 100 * wave(t, 7) - 1000 * shortage(t)) * kMiB;
         }},
        {"jetmem_meminfo_MemFree_bytes", false,
         [](double t) { return (394 + 150 * wave(t, 1) - 200 * shortage(t)) * kMiB; }},
        {"jetmem_meminfo_AnonPages_bytes", false,
         [](double t) { return (1571 - 250 * wave(t, 1) + 1000 * shortage(t)) * kMiB; }},
        {"jetmem_meminfo_Shmem_bytes", false, [](double) { return 161 * kMiB; }},
        {"jetmem_meminfo_Cached_bytes", false,
         [](double t) {
           return (1284 + 150 * wave(t, 1) + 60 * wave(t, 7) - 750 * shortage(t)) * kMiB;
         }},
        {"jetmem_meminfo_SReclaimable_bytes", false, [](double) { return 132 * kMiB; }},
        {"jetmem_meminfo_SUnreclaim_bytes", false, [](double) { return 164 * kMiB; }},
        {"jetmem_meminfo_PageTables_bytes", false, [](double) { return 29 * kMiB; }},
        {R"(jetmem_nvmap_heap_bytes{heap="iovmm"})", false,
         [](double t) { return (3377 - 60 * wave(t, 1)) * kMiB; }},
        {"jetmem_nvmap_total_bytes", false,
         [](double t) { return (3377 - 60 * wave(t, 1)) * kMiB; }},
        {R"(jetmem_pressure_stall_ratio{kind="some",resource="memory",window="10s"})", false,
         [](double t) { return std::max(0.0, 0.2 * wave(t, 1) - 0.1) + 0.4 * shortage(t); }},
        {R"(jetmem_cma_area_bytes{area="linux,cma"})", false, [](double) { return 256 * kMiB; }},
        {R"(jetmem_cma_used_bytes{area="linux,cma"})", false,
         [](double t) { return (t < kDay ? 154 - 100 * t / kDay : 54) * kMiB; }},
        {R"(jetmem_cma_available_bytes{area="linux,cma"})", false,
         [](double t) { return (t < kDay ? 102 + 100 * t / kDay : 202) * kMiB; }},
        {R"(jetmem_cma_largest_free_run_bytes{area="linux,cma"})", false, largest_run},
        {R"(jetmem_thermal_zone_celsius{index="0",zone="cpu-thermal"})", false,
         [](double t) { return 71.2 + 9 * wave(t, 1); }},
        {R"(jetmem_thermal_zone_celsius{index="0",zone="soc1-thermal"})", false,
         [](double t) { return 71.6 + 7 * wave(t, 1); }},
        {R"(jetmem_buddy_largest_order_outside_cma{node="0",zone="Normal"})", false,
         [](double t) { return std::round(7 + 2 * wave(t, 1)); }},
        {R"(jetmem_throttling_level)", false,
         [](double t) { return wave(t, 1) > 0.9 ? 2.0 : 0.0; }},
        {R"(jetmem_rail_watts{index="0",rail="VDD_IN"})", false,
         [](double t) { return 9 + 3 * wave(t, 1); }},
        {R"(jetmem_probe_allocate_seconds{kind="host",target=""})", false,
         [](double t) { return 0.012 + 0.004 * wave(t, 2); }},
        {R"(jetmem_process_group_resident_bytes{command="llama-server",container="",unit=""})",
         false, [](double t) { return (2100 + 200 * wave(t, 3) + 1000 * shortage(t)) * kMiB; }},
        {R"(jetmem_process_group_resident_bytes{command="camera",container="",unit=""})", false,
         partly_known},
        {R"(jetmem_process_group_gpu_bytes{command="camera",container="",unit=""})", false,
         [](double) { return 100 * kMiB; }},
        {R"(jetmem_process_group_mapped_bytes{command="camera",container="",unit=""})", false,
         [](double) { return 100 * kMiB; }},
        {R"(jetmem_vmstat_oom_kill_total)", true, [](double t) { return t < kDay ? 1.0 : 0.0; }},
        {R"(jetmem_kernel_events_total{kind="cma_alloc_failure",origin="system"})", true,
         [](double t) { return t < kDay / 4 ? std::floor((kDay / 4 - t) / 600) : 0.0; }},
    };
    for (int order = 0; order <= kMostOrder; ++order) {
      out.push_back({"jetmem_buddy_free_blocks{node=\"0\",order=\"" + std::to_string(order) +
                         "\",zone=\"Normal\"}",
                     false, [order](double t) { return free_blocks(order, t); }});
    }
    return out;
  }();
  return series;
}

Nanoseconds step_at(Nanoseconds before_now) {
  if (before_now <= 6h) return 10s;
  return before_now <= 72h ? 60s : 300s;
}

// One boot, from so long before now to so long before now.
void write_boot(HistoryStore& store, const char* boot_id, Nanoseconds from, Nanoseconds to) {
  const Nanoseconds offset = now() - from;  // the boot's clock begins at 0
  const auto boot = *jetmem::or_exit(
      "begin_boot", store.begin_boot(boot_id, {0s, offset, jetmem::WallTrust::kSynced}));
  const auto& series = all_series();
  Nanoseconds before = from;
  while (before > to) {
    jetmem::RawChunk chunk;
    std::vector<std::vector<double>> values(series.size());
    const Nanoseconds step = step_at(before);
    while (before > to && chunk.steps.size() < kStepsOfChunk && step_at(before) == step) {
      chunk.steps.push_back(from - before);
      const double seconds = std::chrono::duration<double>(before).count();
      for (std::size_t i = 0; i < series.size(); ++i) values[i].push_back(series[i].value(seconds));
      before -= step;
    }
    for (std::size_t i = 0; i < series.size(); ++i) {
      chunk.columns.push_back({series[i].key, series[i].is_counter, values[i]});
    }
    jetmem::or_exit("write", store.write(boot, &chunk, {}));
    jetmem::tidy_all(store, boot, chunk.steps.back());
  }
}

void write_events(HistoryStore& store, const char* boot_id,
                  std::vector<jetmem::EventRecord> events) {
  const auto boot = jetmem::or_exit("boot_state", store.boot_state(boot_id)).value().value().number;
  for (jetmem::EventRecord& event : events) event.boot = boot;
  jetmem::or_exit("write", store.write(boot, nullptr, events));
}

// So many faults within an hour of the night, and an alert that fired meanwhile.
std::vector<jetmem::EventRecord> storm(std::size_t count) {
  const Nanoseconds middle = kRestart - night();
  std::vector<jetmem::EventRecord> events = {
      event_of(jetmem::EventWhat::kAlert, "firing", "critical", middle - 15min, "JetmemSmmuStorm",
               "vi accesses memory it must not: more than 60 faults a minute")};
  for (std::size_t i = 0; i < count; ++i) {
    const Nanoseconds at = middle - 25min + 50min * static_cast<int>(i) / static_cast<int>(count);
    events.push_back(event_of(jetmem::EventWhat::kKernel, "smmu_context_fault", "warning", at, "vi",
                              "vi accessed memory it must not (" + std::to_string(i) + ")"));
  }
  events.push_back(event_of(jetmem::EventWhat::kAlert, "resolved", "critical", middle + 10min,
                            "JetmemSmmuStorm", "vi: no more faults"));
  return events;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2 && argc != 3) return 2;
  const std::size_t events = argc == 3 ? std::strtoul(argv[2], nullptr, 10) : 0;
  const auto opened = jetmem::open_history(argv[1]);
  constexpr const char* kFirst = "11111111-1111-4111-8111-111111111111";
  constexpr const char* kSecond = "22222222-2222-4222-8222-222222222222";
  HistoryStore& store = *opened;
  const auto kernel = jetmem::EventWhat::kKernel;
  write_boot(store, kFirst, kPast - 1h, kRestart + kOutage);
  write_events(store, kFirst,
               {event_of(kernel, "oom_kill", "critical", kPast - 24h * 30, "",
                         "camera_app (pid 4711) was killed")});
  write_boot(store, kSecond, kRestart, 20s);
  write_events(store, kSecond,
               {event_of(kernel, "cma_alloc_failure", "error", kRestart - 1h, "",
                         "cma: 3038 pages were refused")});
  if (events != 0) write_events(store, kSecond, storm(events));
  const Nanoseconds two = now() - night() - 30min;
  std::printf("%lld\n",
              static_cast<long long>(std::chrono::round<std::chrono::seconds>(two).count()));
  return 0;
}
