// SPDX-License-Identifier: Apache-2.0
// Files that somebody else made: nothing in them runs, and whoever asks them is another process.
#include <gmock/gmock.h>

#include <functional>

#include "tests/history/store_fixture.h"

namespace jetmem {
namespace {

using testing::HasSubstr;

class ForeignHistory : public testing::Test {
 protected:
  std::string file() const { return dir_.file("history.db"); }
  // As a recorder leaves it, with two points and an event.
  void make() {
    for (const char* end : {"", "-wal", "-shm"}) std::filesystem::remove(file() + end);
    HistoryStore::Options options;
    options.file = file();
    auto opened = HistoryStore::open(options);
    ASSERT_TRUE(opened) << opened.error().message;
    const auto boot = opened->store->begin_boot("a", checked({}, kEpoch2026));
    Steps steps;
    steps.series("jetmem_x", {1, -0.5});
    const std::vector<EventRecord> events{event_of("oom_kill", "killed", seconds(5))};
    ASSERT_TRUE(opened->store->write(*boot, steps.at(seconds(10), 2), events));
  }
  TempDir dir_;
};

TEST_F(ForeignHistory, AnswersAsTheFileDoes) {
  make();
  const std::unique_ptr<HistoryStore> direct = HistoryStore::open_to_read(file()).value();
  const auto bounded = bounded_history(file(), "shown");
  SeriesQuery query;
  query.key = "jetmem_x";
  query.to = Nanoseconds::max();
  const auto expected = direct->past(query);
  const auto past = bounded->past(query);
  ASSERT_TRUE(expected && past);
  ASSERT_EQ(past->points.size(), 2U);
  const auto fields = [](const HistoryPoint& it) {
    return std::tuple(it.wall, it.boot_time, it.average, it.wall_trusted);
  };
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(fields(past->points[i]), fields(expected->points[i]));
  }
  const auto known = bounded->series("").value();
  ASSERT_EQ(known.size(), 1U);
  EXPECT_EQ(known.front().key, "jetmem_x");
  EXPECT_EQ(known.front().last, direct->series("")->front().last);
  EXPECT_EQ(*bounded->at(known.front().last, seconds(60)),
            *direct->at(known.front().last, seconds(60)));
  const auto events = bounded->events({});
  ASSERT_TRUE(events);
  ASSERT_EQ(events->events.size(), 1U);
  EXPECT_EQ(events->events[0].summary, "killed");
  EXPECT_EQ(events->events[0].at, seconds(5));
  EXPECT_EQ(events->events[0].until, std::nullopt);
  EXPECT_EQ(events->events[0].wall, direct->events({})->events[0].wall);
  const auto facts = bounded->facts();
  ASSERT_TRUE(facts);
  EXPECT_EQ(facts->boots.size(), 1U);
  EXPECT_EQ(facts->raw_step, direct->facts()->raw_step);
  EXPECT_EQ(facts->bytes, direct->facts()->bytes);
}

TEST_F(ForeignHistory, ErrorsNameTheFileAsItIsShown) {
  const auto facts = bounded_history(file(), "b.tar.zst/history.db")->facts();
  ASSERT_FALSE(facts);
  EXPECT_EQ(facts.error().code, Errc::kAbsent);
  EXPECT_THAT(facts.error().message, HasSubstr("b.tar.zst/history.db"));
  EXPECT_THAT(facts.error().message, testing::Not(HasSubstr(dir_.path())));
}

TEST_F(ForeignHistory, AnyOtherSchemaIsRefusedBeforeItIsAsked) {
  // Each would run for minutes, in one step of SQLite's, were it ever asked.
  const std::string slow = "instr(hex(zeroblob(3900000)), hex(zeroblob(1900000)) || ''1'')";
  const std::string change_events = "UPDATE sqlite_master SET sql=replace(sql, ";
  for (const std::string& sql : {
           change_events + "'summary TEXT NOT NULL', 'summary TEXT AS (" + slow +
               ") VIRTUAL') WHERE name='events'",
           change_events + "'until INTEGER', 'until INTEGER, x AS (" + slow +
               ")') WHERE name='events'",
           change_events + "'until INTEGER', 'until INTEGER CHECK(" + slow +
               ")') WHERE name='events'",
           change_events + "'NOT NULL', 'NOT  NULL') WHERE name='looks'",
           std::string("CREATE INDEX i ON events(at) WHERE instr(summary, 'x')"),
           std::string("CREATE TABLE more(x)"),
           std::string("CREATE VIEW v AS SELECT 1"),
           std::string("CREATE TRIGGER t AFTER INSERT ON events BEGIN SELECT 1; END"),
           std::string("DROP TABLE looks"),
           std::string("UPDATE sqlite_master SET rootpage=0 WHERE name='raw'"),
       }) {
    make();
    change_file(file(), "PRAGMA writable_schema=ON;" + sql);
    const auto store = HistoryStore::open_to_read(file());
    ASSERT_FALSE(store) << sql;
    EXPECT_EQ(store.error().code, Errc::kMalformed) << sql << store.error().message;
    EXPECT_FALSE(bounded_history(file(), "x")->events({})) << sql;
  }
  make();
  EXPECT_TRUE(HistoryStore::open_to_read(file()));
}

TEST_F(ForeignHistory, OtherPagesAndEncodingsAreRefused) {
  for (const char* sql :
       {"PRAGMA page_size=65536", "PRAGMA page_size=512", "PRAGMA encoding='UTF-16'"}) {
    make();
    const std::string old = dir_.file("old.db");
    std::filesystem::rename(file(), old);
    {
      sqlite3* raw = nullptr;
      ASSERT_EQ(sqlite3_open(file().c_str(), &raw), SQLITE_OK);
      const SqliteHandle db(raw);
      ASSERT_TRUE(run_sql(raw, sql));
      sqlite3* from = nullptr;
      ASSERT_EQ(sqlite3_open(old.c_str(), &from), SQLITE_OK);
      const SqliteHandle source(from);
      Query tables(from,
                   "SELECT sql FROM sqlite_master WHERE sql NOT NULL AND name<>'sqlite_sequence'");
      while (*tables.next()) ASSERT_TRUE(run_sql(raw, std::string(tables.text(0))));
      ASSERT_TRUE(run_sql(
          raw, "PRAGMA user_version=2; PRAGMA application_id=" + std::to_string(0x4a4d454d)));
    }
    const auto store = HistoryStore::open_to_read(file());
    ASSERT_FALSE(store) << sql;
    EXPECT_EQ(store.error().code, Errc::kMalformed) << sql << store.error().message;
  }
}

}  // namespace
}  // namespace jetmem
