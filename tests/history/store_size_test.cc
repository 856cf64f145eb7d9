// SPDX-License-Identifier: Apache-2.0
// Bytes: on the disk at any time, and written to it in a day.
#include <sqlite3.h>

#include <fstream>
#include <random>

#include "history/store/sqlite.h"
#include "tests/history/store_fixture.h"

namespace jetmem {
namespace {

constexpr std::uint64_t kMost = 8 << 20;

class Size : public StoreTest {
 protected:
  // Half an hour that nothing compresses.
  Result<void> write_noise(std::int64_t boot, Nanoseconds at, int series) {
    Steps steps;
    for (int i = 0; i < series; ++i) {
      std::vector<double> values(180);
      for (double& value : values) value = static_cast<double>(random_()) / 3;
      steps.series("noise{of=\"" + std::to_string(i) + "\"}", values);
    }
    std::vector<EventRecord> events;
    for (int i = 0; i < 50; ++i) {
      events.push_back(event_of("storm", std::string(400, 'e'), at + seconds(i)));
    }
    return store_->write(boot, steps.at(at, 180), events);
  }
  std::mt19937_64 random_{3};
};

// The page caches of a writer and a reader: 137 KiB each, and what statements and schema take.
TEST_F(Size, MemoryDoesNotGrowWithTheFile) {
  const auto boot = open_boot();
  for (int i = 0; i < 12; ++i) ASSERT_TRUE(write_noise(boot, minutes(30 * i), 200));
  ASSERT_GT(store_->bytes(), 3U << 20);
  const auto reader = HistoryStore::open_to_read(file()).value();
  for (int i = 0; i < 200; ++i) {
    const std::string key = "noise{of=\"" + std::to_string(i) + "\"}";
    ASSERT_FALSE(reader->past(all_of(key))->points.empty()) << key;
  }
  EXPECT_LT(sqlite3_memory_used(), 600 << 10);
}

TEST_F(Size, BytesAreBoundedHard) {
  auto with = options();
  with.max_bytes = kMost;
  open(with);
  const auto boot = begin("a", checked({}, kEpoch2026));
  std::uint64_t most = 0;
  for (int i = 0; i < 120; ++i) {
    const auto written = write_noise(boot, minutes(30 * i), 200);
    ASSERT_TRUE(written) << i << ": " << written.error().message;
    most = std::max(most, store_->bytes());
    ASSERT_LE(most, kMost) << i;
    tidy_all(boot, minutes(30 * (i + 1)));
    most = std::max(most, store_->bytes());
    ASSERT_LE(most, kMost) << i;
  }
  EXPECT_GT(most, kMost / 2);
  EXPECT_EQ(store_->check(), "ok");
  // The last hour is whole, and the events are not driven out by the rest.
  SeriesQuery last = all_of("noise{of=\"7\"}", Resolution::kRaw);
  last.from = kEpoch2026 + minutes(30 * 118);
  EXPECT_EQ(points(last).size(), 360U);
  EXPECT_FALSE(store_->events({})->events.empty());
  std::printf("at most %.1f of 8 MiB\n", static_cast<double>(most) / (1 << 20));

  // A smaller bound than before: the file shrinks.
  with.max_bytes = kMost / 2;
  open(with);
  tidy_all(boot, hours(60));
  EXPECT_LE(store_->bytes(), kMost / 2);
  EXPECT_EQ(store_->check(), "ok");
}

TEST_F(Size, BytesAreBoundedUnderALongReaderToo) {
  auto with = options();
  with.max_bytes = kMost;
  open(with);
  const auto boot = begin("a", checked({}, kEpoch2026));
  ASSERT_TRUE(write_noise(boot, minutes(0), 200));
  sqlite3* db = nullptr;
  ASSERT_EQ(sqlite3_open(file().c_str(), &db), SQLITE_OK);
  SqliteHandle reader(db);
  ASSERT_TRUE(run_sql(db, "BEGIN; SELECT count(*) FROM chunks"));
  Result<void> written;
  int i = 1;
  for (; i < 40 && written; ++i) {
    written = write_noise(boot, minutes(30 * i), 200);
    ASSERT_LE(store_->bytes(), kMost);
  }
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().code, Errc::kUnavailable) << written.error().message;
  reader.reset();
  EXPECT_TRUE(write_noise(boot, minutes(30 * i), 200));
}

std::uint64_t io(const std::string& key) {
  std::ifstream in("/proc/self/io");
  std::string name;
  for (std::uint64_t value = 0; in >> name >> value;) {
    if (name == key) return value;
  }
  return 0;
}

// 400 series of which a third changes: free memory in pages, counters, ratios.
class Day {
 public:
  double value(int series, Nanoseconds /*at*/) {
    if (series % 3 != 0) return static_cast<double>(series) * 4096;
    double& state = state_[static_cast<std::size_t>(series)];
    switch (series / 3 % 4) {
      case 0:
        state += static_cast<double>(random_() % 512) - 256;
        return (state + 1'000'000) * 4096;
      case 1:
        state += static_cast<double>(random_() % 50);
        return state;
      case 2:
        state += static_cast<double>(random_() % 512) - 256;
        return (state + 1'000'000) / 2'003'467;
      default:
        return static_cast<double>(random_() % 100 < 80 ? 0 : random_() % 500) / 100;
    }
  }

 private:
  std::mt19937_64 random_{5};
  std::vector<double> state_ = std::vector<double>(400);
};

TEST_F(Size, ADayIsAtMost20Megabytes) {
  const auto boot = open_boot();
  Day day;
  const std::uint64_t handed = io("wchar:");
  const std::uint64_t disk = io("write_bytes:");
  std::uint64_t handed_first = 0;
  for (int half = 0; half < 2 * 48; ++half) {
    if (half == 48) handed_first = io("wchar:");
    Steps steps;
    for (int i = 0; i < 400; ++i) {
      std::vector<double> values;
      for (int step = 0; step < 180; ++step) values.push_back(day.value(i, seconds(10 * step)));
      steps.series("jetmem_a_series_of_some_length_bytes{zone=\"" + std::to_string(i) + "\"}",
                   std::move(values), i % 3 == 0 && i / 3 % 4 == 1);
    }
    const std::vector<EventRecord> events{
        event_of("oom_kill", std::string(150, 'k'), minutes(30 * half))};
    ASSERT_TRUE(store_->write(boot, steps.at(minutes(30 * half), 180), events));
    tidy_all(boot, minutes(30 * (half + 1)));
  }
  const auto mb = [](std::uint64_t bytes) { return static_cast<double>(bytes) / 1e6; };
  const std::uint64_t second_day = io("wchar:") - handed_first;
  std::printf(
      "handed to the file system: first day %.1f MB, second %.1f MB; to the disk, both: "
      "%.1f MB; file and WAL: %.1f MB\n",
      mb(handed_first - handed), mb(second_day), mb(io("write_bytes:") - disk),
      mb(store_->bytes()));
  EXPECT_LE(second_day, 20'000'000U);
}

}  // namespace
}  // namespace jetmem
