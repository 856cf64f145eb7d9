// SPDX-License-Identifier: Apache-2.0
#include "cli/bundle/history_copy.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "history/store/sqlite.h"
#include "tests/cli/texts.h"
#include "tests/history_maker.h"
#include "tests/temp_dir.h"

namespace jetmem {
namespace {

using namespace std::chrono_literals;

class HistoryCopyTest : public testing::Test {
 protected:
  HistoryCopyTest() {
    const auto store = open_history(file().c_str());
    const auto boot = store->begin_boot("this-boot", {100s, 1795183200s, WallTrust::kSynced});
    for (int n = 0; n < 10; ++n) {
      RawChunk chunk;
      std::vector<double> values;
      for (int i = 0; i < 60; ++i) {
        chunk.steps.push_back(100s + (n * 60 + i) * 10s);
        values.push_back(n * 1000.0 + i);
      }
      chunk.columns = {{"jetmem_meminfo_MemFree_bytes", false, values}};
      EventRecord event = event_of(EventWhat::kKernel, "oom_kill", "error", 100s + n * 600s, "app",
                                   "from 192.168.7.8 in /home/alice/x");
      event.fields =
          R"({"text":"serial: A \"B\" C","boot_id":"5f3c9d5e-1111-2222-3333-444455556666"})";
      event.boot = *boot;
      EXPECT_TRUE(store->write(*boot, &chunk, {&event, 1}));
    }
  }
  std::string file() const { return tree.file("history.db"); }
  Result<HistoryCopy> copy(std::chrono::seconds keep, std::uint64_t most = 8U << 20) {
    return copy_history({file(), tree.path() + "/copy.db", true, keep, most});
  }
  // Of the copy, under a name again.
  SqliteHandle open(const HistoryCopy& made) {
    const std::string name = tree.path() + "/seen.db";
    std::filesystem::copy_file("/proc/self/fd/" + std::to_string(made.fd.get()), name,
                               std::filesystem::copy_options::overwrite_existing);
    sqlite3* db = nullptr;
    sqlite3_open(name.c_str(), &db);
    return SqliteHandle(db);
  }
  TempDir tree;
};

TEST_F(HistoryCopyTest, IsCutWithItsEvents) {
  const auto whole = must(copy(24h));
  EXPECT_EQ(*query_number(open(whole).get(), "SELECT count(*) FROM events"), 10);
  const auto made = must(copy(1h));
  const auto db = open(made);
  const auto events = *query_number(db.get(), "SELECT count(*) FROM events");
  EXPECT_GE(events, 5);
  EXPECT_LE(events, 7);
  EXPECT_EQ(made.events_cut, 10U - static_cast<std::uint64_t>(events));
  EXPECT_EQ(*query_number(db.get(), "SELECT count(*) FROM chunks WHERE last < 100000000000"), 0);
  EXPECT_EQ(*query_number(db.get(),
                          "SELECT count(*) FROM raw WHERE (id >> 24) NOT IN (SELECT "
                          "number FROM chunks)"),
            0);
  EXPECT_GT(*query_number(db.get(), "SELECT count(*) FROM raw"), 0);
  EXPECT_LT(made.size, whole.size + 1);
  EXPECT_TRUE(HistoryStore::open_to_read(tree.path() + "/seen.db"));
}

TEST_F(HistoryCopyTest, EventsAreRedacted) {
  const auto made = must(copy(1h));
  const auto db = open(made);
  Query query(db.get(), "SELECT summary, fields FROM events LIMIT 1");
  ASSERT_TRUE(*query.next());
  EXPECT_EQ(query.text(0), "from <address> in /home/<name>/x");
  EXPECT_EQ(query.text(1),
            R"({"text":"serial: <id>","boot_id":"5f3c9d5e-1111-2222-3333-444455556666"})");
  EXPECT_GT(made.redacted.addresses, 0U);
}

TEST_F(HistoryCopyTest, LeavesNoFileAndIsBounded) {
  EXPECT_EQ(copy(24h, 1).error().code, Errc::kTooLarge);
  ASSERT_TRUE(copy(24h));
  for (const auto& entry : std::filesystem::directory_iterator(tree.path())) {
    EXPECT_TRUE(entry.path().filename().string().starts_with("history.db")) << entry.path();
  }
}

TEST_F(HistoryCopyTest, ForeignTablesAreRefused) {
  const std::string name = tree.path() + "/evil.db";
  sqlite3* raw = nullptr;
  sqlite3_open(name.c_str(), &raw);
  const SqliteHandle db(raw);
  ASSERT_TRUE(run_sql(raw,
                      "CREATE VIEW events AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT "
                      "i + 1 FROM n) SELECT i FROM n"));
  EXPECT_FALSE(copy_history({name, tree.path() + "/c.db", false, 24h, 8U << 20}));
}

}  // namespace
}  // namespace jetmem
