// SPDX-License-Identifier: Apache-2.0
// A store in a directory of the test, and steps to put into it.
#pragma once

#include <gtest/gtest.h>
#include <sqlite3.h>

#include <cmath>
#include <string>
#include <vector>

#include "history/store/sqlite.h"
#include "history/store/store.h"
#include "tests/temp_dir.h"

namespace jetmem {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;

inline constexpr Nanoseconds kEpoch2026 = seconds(1'767'225'600);

// Chunks own their values here.
struct Steps {
  std::vector<std::string> keys;
  std::vector<std::vector<double>> values;
  std::vector<bool> counters;
  RawChunk chunk;

  Steps& series(std::string key, std::vector<double> of, bool counter = false) {
    keys.push_back(std::move(key));
    values.push_back(std::move(of));
    counters.push_back(counter);
    return *this;
  }
  const RawChunk* at(Nanoseconds first, std::size_t count, Nanoseconds step = seconds(10)) {
    chunk.steps.clear();
    chunk.columns.clear();
    for (std::size_t i = 0; i < count; ++i) {
      chunk.steps.push_back(first + step * static_cast<std::int64_t>(i));
    }
    for (std::size_t i = 0; i < keys.size(); ++i) {
      chunk.columns.push_back({keys[i], counters[i], values[i]});
    }
    return &chunk;
  }
};

// As somebody with the sqlite3 command may do while nobody has the file open.
inline void change_file(const std::string& file, const std::string& sql) {
  sqlite3* raw = nullptr;
  ASSERT_EQ(sqlite3_open(file.c_str(), &raw), SQLITE_OK);
  const SqliteHandle db(raw);
  ASSERT_TRUE(run_sql(raw, sql)) << sql << sqlite3_errmsg(raw);
}

inline WallSeen checked(Nanoseconds at, Nanoseconds offset, WallTrust trust = WallTrust::kSynced) {
  return {at, offset, trust};
}

inline EventRecord event_of(std::string kind, std::string summary, Nanoseconds at) {
  EventRecord event;
  event.what = EventWhat::kKernel;
  event.kind = std::move(kind);
  event.severity = "error";
  event.summary = std::move(summary);
  event.at = at;
  return event;
}

// `count` steps of one series "x", from `first` on, counting up from `value`.
inline Result<void> write_x(HistoryStore& store, std::int64_t boot, Nanoseconds first,
                            std::size_t count, double value = 0) {
  std::vector<double> values;
  for (std::size_t i = 0; i < count; ++i) values.push_back(value + static_cast<double>(i));
  return store.write(boot, Steps().series("x", values).at(first, count), {});
}

inline SeriesQuery all_of(std::string key, std::optional<Resolution> resolution = std::nullopt) {
  SeriesQuery requested;
  requested.key = std::move(key);
  requested.from = Nanoseconds(0);
  requested.to = Nanoseconds::max();
  requested.resolution = resolution;
  requested.most = 200'000;
  return requested;
}

class StoreTest : public testing::Test {
 protected:
  HistoryStore::Options options(const char* name = "history.db") const {
    HistoryStore::Options options;
    options.file = dir_.file(name);
    return options;
  }
  std::string file() const { return dir_.file("history.db"); }
  void open() { open(options()); }
  void open(const HistoryStore::Options& with) {
    store_.reset();
    auto opened = HistoryStore::open(with);
    ASSERT_TRUE(opened) << opened.error().message;
    store_ = std::move(opened->store);
    logged_ = opened->messages;
    set_aside_ = opened->quarantine;
  }
  std::int64_t begin(std::string_view id, const WallSeen& seen) {
    const auto boot = store_->begin_boot(id, seen);
    EXPECT_TRUE(boot) << boot.error().message;
    return boot.value_or(-1);
  }
  // With one boot, whose clock is right from its start.
  std::int64_t open_boot() {
    open();
    return begin("a", checked({}, kEpoch2026));
  }
  void tidy_all(std::int64_t boot, Nanoseconds now) {
    for (int i = 0; i < 10'000; ++i) {
      const auto more = store_->tidy(boot, now);
      ASSERT_TRUE(more) << more.error().message;
      if (!*more) return;
    }
    FAIL() << "tidy() does not end";
  }
  std::vector<HistoryPoint> points(const SeriesQuery& requested) {
    const auto past = store_->past(requested);
    EXPECT_TRUE(past) << past.error().message;
    return past ? past->points : std::vector<HistoryPoint>();
  }

  TempDir dir_;
  std::unique_ptr<HistoryStore> store_;
  std::vector<std::string> logged_;
  bool set_aside_ = false;
};

}  // namespace jetmem
