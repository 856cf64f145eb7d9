// SPDX-License-Identifier: Apache-2.0
// A day of the flight recorder in a minute: what it gives to the file system, on defaults.
//
//   history_day DIRECTORY [SERIES] [HOURS] [urgent writes asked for in an hour] [why: alert, oom]
//
// Values are made up: a third stands still, a third counts, a third wanders by pages as memory
// does.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <random>
#include <string>
#include <thread>

#include "history/recorder/recorder.h"

namespace jetmem {
namespace {

constexpr Descriptor kStill{.name = "jetmem_cma_area_bytes", .labels = {"area"}, .max_series = 600};
constexpr Descriptor kCounts{.name = "jetmem_kernel_events_total",
                             .type = MetricType::kCounter,
                             .labels = {"kind"},
                             .max_series = 600};
constexpr Descriptor kWanders{
    .name = "jetmem_process_group_resident_bytes", .labels = {"command"}, .max_series = 600};

struct CountingLog final : Log {
  void write(LogEntry entry) override { std::fprintf(stderr, "%s\n", entry.message.c_str()); }
};

// Bytes of this process: handed to the file system, and of them sent to the device.
double io(const std::string& name) {
  std::ifstream in("/proc/self/io");
  std::string key;
  double value = 0;
  while (in >> key >> value) {
    if (key == name + ":") return value;
  }
  return NAN;
}

int run(const std::string& directory, int series, int hours, int urgent, const std::string& why) {
  ManualClock clock;
  clock.advance(std::chrono::minutes(5));
  clock.set_wall(std::chrono::seconds(1'780'000'000));
  CountingLog log;
  RecorderOptions options;
  options.directory = directory;
  options.boot_id = "day";
  options.wall_trust = [] { return WallTrust::kSynced; };
  Recorder recorder(options, clock, log);
  recorder.start();
  SampleTable table;
  const std::size_t section = table.add_section("day");
  const std::size_t own = table.add_section("history");
  std::mt19937_64 random(7);
  const int third = series / 3;
  std::vector<double> pages(static_cast<std::size_t>(series), 100'000);
  std::vector<double> counts(static_cast<std::size_t>(series), 0);
  const auto cycle = [&] {
    {
      SampleWriter out(table, section, clock.boot());
      for (int i = 0; i < third; ++i) out.put(kStill, 4096.0 * i, i);
      for (int i = 0; i < third; ++i) out.put(kCounts, counts[static_cast<std::size_t>(i)], i);
      for (int i = 0; i < series - 2 * third; ++i) {
        out.put(kWanders, 4096 * std::floor(pages[static_cast<std::size_t>(i)]), i);
      }
    }
    recorder.cycle(table);
    SampleWriter out(table, own, clock.boot());
    recorder.write(out);
  };
  const auto steps = hours * 360;
  const double before = io("wchar");
  const double before_device = io("write_bytes");
  for (int step = 0; step < steps; ++step) {
    clock.advance(std::chrono::seconds(10));
    for (double& each : pages) each += static_cast<double>(random() % 201) - 100;
    for (double& each : counts) each += random() % 10 == 0 ? static_cast<double>(random() % 50) : 0;
    if (urgent > 0 && step % std::max(1, 360 / urgent) == 0) recorder.urgent(why);
    cycle();
    // The thread writes and tidies in its own time, which does not stand still as this clock does.
    const double waiting = table.value_of("jetmem_history_pending_snapshots");
    if (waiting >= 180 || urgent > 0) std::this_thread::sleep_for(std::chrono::milliseconds(2));
    for (int i = 0; i < 3000 && table.value_of("jetmem_history_pending_snapshots") > 181; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
      cycle();
    }
  }
  const double file = table.value_of("jetmem_history_bytes");
  const double reported = table.value_of("jetmem_history_written_bytes_total");
  const double lost = table.value_of("jetmem_history_lost_snapshots_total{reason=\"not_written\"}");
  const double writes = table.value_of("jetmem_history_writes_total{reason=\"full\"}");
  const double early = table.value_of("jetmem_history_writes_total{reason=\"" + why + "\"}");
  if (!recorder.finish(std::chrono::seconds(20))) return 1;
  const double a_day = 24.0 / hours;
  std::printf("%d series, %d hours, %.0f writes, %.0f early ones, %.0f steps lost\n", series, hours,
              writes, early, lost);
  std::printf("given to the file system: %.2f MB a day (by the metric: %.2f)\n",
              (io("wchar") - before) / 1e6 * a_day, reported / 1e6 * a_day);
  std::printf("sent to the device:       %.2f MB a day (0 on a file system in memory)\n",
              (io("write_bytes") - before_device) / 1e6 * a_day);
  std::printf("file and WAL at the end:  %.2f MB\n", file / 1e6);
  return lost > 0 ? 1 : 0;
}

}  // namespace
}  // namespace jetmem

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "history_day DIRECTORY [SERIES] [HOURS] [URGENT] [WHY]\n");
    return 2;
  }
  const auto number = [&](int i, int otherwise) {
    return argc > i ? std::atoi(argv[i]) : otherwise;
  };
  return jetmem::run(argv[1], number(2, 400), number(3, 24), number(4, 0),
                     argc > 5 ? argv[5] : "alert");
}
