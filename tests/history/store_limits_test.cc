// SPDX-License-Identifier: Apache-2.0
// Own bounds are no damage of the file.
#include <gtest/gtest.h>
#include <sqlite3.h>

#include "history/store/boot_times.h"
#include "tests/history/store_fixture.h"

namespace jetmem {
namespace {

struct StoreLimitsTest : StoreTest {};

TEST_F(StoreLimitsTest, MoreSeriesInAWindowThanFitAreNoDamage) {
  const auto boot = open_boot();
  // Twelve hours in blocks of half an hour, each with 200 series that no other has.
  for (int block = 0; block < 26; ++block) {
    Steps steps;
    steps.series("x", std::vector<double>(2, 1));
    for (int i = 0; i < 200; ++i) {
      steps.series("s" + std::to_string(block * 200 + i), std::vector<double>(2, 1));
    }
    ASSERT_TRUE(store_->write(boot, steps.at(minutes(30) * block, 2), {}));
  }
  tidy_all(boot, hours(20));
  EXPECT_EQ(store_->windows_cut(), 1U);
  EXPECT_EQ(store_->take_messages().size(), 1U);
  ASSERT_TRUE(write_x(*store_, boot, hours(20), 3));
  EXPECT_EQ(store_->quarantine(), 0U);
  EXPECT_GT(points(all_of("x", Resolution::kQuarter)).size(), 20U);
}

TEST_F(StoreLimitsTest, MoreBootsThanAreKnownAreNoDamage) {
  open();
  const auto first = begin("first", checked(seconds(0), kEpoch2026));
  ASSERT_TRUE(write_x(*store_, first, seconds(0), 3));
  store_.reset();
  sqlite3* db = nullptr;
  ASSERT_EQ(sqlite3_open(file().c_str(), &db), SQLITE_OK);
  ASSERT_EQ(sqlite3_exec(db,
                         "WITH RECURSIVE n(i) AS (SELECT 10 UNION ALL SELECT i+1 FROM n LIMIT "
                         "10500) INSERT INTO boots(number, boot_id, first, last) SELECT i, 'b' || "
                         "i, 0, 60000000000 FROM n",
                         nullptr, nullptr, nullptr),
            SQLITE_OK);
  sqlite3_close(db);
  open();
  EXPECT_FALSE(set_aside_);
  const auto boot = begin("now", checked(hours(1), kEpoch2026 + hours(99'999)));
  ASSERT_TRUE(write_x(*store_, boot, hours(1), 3));
  tidy_all(boot, hours(1) + minutes(1));
  EXPECT_EQ(store_->quarantine(), 0U);
  const auto facts = store_->facts().value();
  EXPECT_LE(facts.boots.size(), 10'000U);
  EXPECT_EQ(points(all_of("x")).back().boot, boot);
}

TEST_F(StoreLimitsTest, BytesAreAllThatItTakes) {
  const auto boot = open_boot();
  ASSERT_TRUE(write_x(*store_, boot, seconds(0), 3));
  const auto before = store_->bytes();
  dir_.write("history.db.damaged-1", std::string(50'000, 'x'));
  EXPECT_EQ(store_->bytes(), before + 50'000);
  EXPECT_GE(before, 32'768U + 4096U);  // the journal's index
}

}  // namespace
}  // namespace jetmem
