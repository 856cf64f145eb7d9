// SPDX-License-Identifier: Apache-2.0
// A recorder in a directory of the test, under a clock and on a disk that the test moves.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "history/recorder/recorder.h"
#include "tests/recorded_log.h"
#include "tests/temp_dir.h"

namespace jetmem {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

inline constexpr Descriptor kUsed{
    .name = "jetmem_cma_used_bytes", .labels = {"area"}, .max_series = 600};
inline constexpr const char* kKey = "jetmem_cma_used_bytes{area=\"0\"}";
inline constexpr Nanoseconds kYear2026 = seconds(1'780'000'000);

// The disk as the recorder's thread finds it.
struct Disk {
  Result<void> snapshot(const std::string& /*file*/) {
    while (hangs.load()) std::this_thread::sleep_for(milliseconds(2));
    if (full.load()) return fail(Errc::kTooLarge, "disk full");
    return {};
  }
  std::atomic<bool> hangs{false};
  std::atomic<bool> full{false};
};

struct RecorderTest : testing::Test {
  void begin(std::string to) {
    RecorderOptions options;
    options.directory = std::move(to);
    options.no_directory = "no directory in this test";
    options.boot_id = boot_id;
    options.interval = interval;
    options.disk = [disk = disk](const std::string& file) { return disk->snapshot(file); };
    options.disk_timeout = seconds(1);
    options.wall_trust = [this] { return trust; };
    recorder = std::make_unique<Recorder>(std::move(options), clock, log);
    recorder->start();
  }
  void begin() { begin(directory.path()); }
  void step(double value, int series = 3) {
    clock.advance(interval);
    cycle(value, series);
  }
  void cycle(double value, int series = 3) {
    {
      SampleWriter out(table, section, clock.boot());
      for (int i = 0; i < series; ++i) out.put(kUsed, value + i, i);
    }
    recorder->cycle(table);
    {
      SampleWriter out(table, own, clock.boot());
      recorder->write(out);
    }
  }
  // Rounds in which the clock stands, until the thread has done what is looked for.
  template <class Condition>
  bool until(Condition condition) {
    for (int i = 0; i < 2000; ++i) {
      cycle(last);
      if (condition()) return true;
      std::this_thread::sleep_for(milliseconds(2));
    }
    return false;
  }
  double metric(const std::string& key) const { return table.value_of(key); }
  bool until_up() {
    return until([&] { return metric("jetmem_history_up") == 1; });
  }
  void begin_up() {
    begin();
    ASSERT_TRUE(until_up());
  }
  double writes(const char* why) const {
    return metric(std::string("jetmem_history_writes_total{reason=\"") + why + "\"}");
  }
  Result<SeriesPast> recorded(std::optional<Resolution> resolution = {},
                              std::size_t most = 10'000) {
    return recorder->history().past({kKey, seconds(0), kYear2026 + hours(9999), resolution, most});
  }
  std::vector<HistoryPoint> points() {
    const auto found = recorded();
    EXPECT_TRUE(found) << found.error().message;
    return found ? found->points : std::vector<HistoryPoint>{};
  }
  std::vector<EventRecord> events(const EventsQuery& requested = {}) {
    const auto past = recorder->history().events(requested);
    EXPECT_TRUE(past) << past.error().message;
    return past ? past->events : std::vector<EventRecord>{};
  }
  std::vector<EventRecord> events_of(EventWhat what) {
    EventsQuery requested;
    requested.what = what;
    return events(requested);
  }
  // What waits is written; the next recorder finds it.
  void end() {
    EXPECT_TRUE(recorder->finish(seconds(5)));
    recorder.reset();
  }
  void note(const std::string& summary, bool has_time = true, EventWhat what = EventWhat::kMark) {
    EventRecord record;
    record.what = what;
    record.kind = "mark";
    record.summary = summary;
    if (has_time) record.at = clock.boot();
    recorder->event(record);
  }
  EventRecord kernel(std::string subject, Nanoseconds at) {
    EventRecord record;
    record.kind = "smmu_context_fault";
    record.severity = "error";
    record.origin = "system";
    record.subject = std::move(subject);
    record.summary = "a fault";
    record.at = at;
    return record;
  }

  RecorderTest() {
    clock.advance(minutes(5));
    clock.set_wall(kYear2026);
  }

  std::shared_ptr<Disk> disk = std::make_shared<Disk>();
  std::string boot_id = "boot-a";
  milliseconds interval{10'000};
  TempDir directory;
  ManualClock clock;
  RecordedLog log;
  WallTrust trust = WallTrust::kSynced;
  SampleTable table;
  std::size_t section = table.add_section("test");
  std::size_t own = table.add_section("history");
  double last = 0;
  std::unique_ptr<Recorder> recorder;
};

}  // namespace jetmem
