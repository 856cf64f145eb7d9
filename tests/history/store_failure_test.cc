// SPDX-License-Identifier: Apache-2.0
// What disks, people and other versions do to the file.
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <random>

#include "history/store/schema.h"
#include "tests/history/store_fixture.h"

namespace jetmem {
namespace {

namespace fs = std::filesystem;

class RecorderFailure : public StoreTest {
 protected:
  void fill() {
    boot_ = open_boot();
    for (int i = 0; i < 20; ++i) ASSERT_TRUE(write_noise(boot_, i));
  }
  // Half an hour that hardly compresses.
  Result<void> write_noise(std::int64_t boot, int half_hour) {
    std::vector<double> values(180);
    for (double& value : values) value = static_cast<double>(random_()) / 3;
    Steps steps;
    steps.series("x", values).series("y", values);
    return store_->write(boot, steps.at(minutes(30 * half_hour), 180), {});
  }
  void garbage(std::size_t at, std::size_t size) {
    std::fstream out(file(), std::ios::in | std::ios::out | std::ios::binary);
    out.seekp(static_cast<std::streamoff>(at));
    out << std::string(size, '\x5a');
  }
  void change(const std::string& sql) {
    store_.reset();
    change_file(file(), sql);
  }
  // A new boot can be written and read.
  void expect_usable() {
    const auto boot = begin("new", checked({}, kEpoch2026));
    EXPECT_TRUE(write_x(*store_, boot, seconds(1), 5));
    EXPECT_EQ(points(all_of("x")).size(), 5U);
    EXPECT_EQ(store_->check(), "ok");
  }
  void expect_begun_anew() {
    open();
    EXPECT_TRUE(set_aside_);
    ASSERT_FALSE(logged_.empty());
    EXPECT_TRUE(fs::exists(file() + ".damaged-1"));
    expect_usable();
  }
  std::int64_t boot_ = 0;
  std::mt19937_64 random_{3};
};

TEST_F(RecorderFailure, DamagedFilesAreSetAside) {
  const std::function<void()> damages[] = {
      [this] { garbage(0, 100); },
      [this] { garbage(4096, fs::file_size(file()) - 8192); },
      [this] { fs::resize_file(file(), fs::file_size(file()) / 2); },
      [this] { dir_.write("history.db", "this is a text\n"); },
  };
  for (const auto& damage : damages) {
    for (const char* end : {"", "-wal", "-shm", ".damaged-1"}) fs::remove(file() + end);
    fill();
    store_.reset();
    damage();
    expect_begun_anew();
    store_.reset();
  }
}

TEST_F(RecorderFailure, WhatAnAdministratorAddedIsTakenAwayAndNothingIsLost) {
  fill();
  change(
      "ANALYZE; CREATE INDEX \"my \"\"index\" ON events(kind); CREATE VIEW v AS SELECT 1;"
      "CREATE TRIGGER t AFTER INSERT ON events BEGIN SELECT 1; END; CREATE TABLE mine(x);"
      "INSERT INTO mine VALUES(1)");
  logged_.clear();
  open();
  EXPECT_FALSE(set_aside_);
  EXPECT_FALSE(fs::exists(file() + ".damaged-1"));
  EXPECT_GE(logged_.size(), 4U);
  EXPECT_EQ(points(all_of("x")).size(), 20U * 180U);
  EXPECT_EQ(store_->check(), "ok");
  store_.reset();
  // And once more with nothing to do.
  logged_.clear();
  open();
  EXPECT_FALSE(set_aside_);
  EXPECT_TRUE(logged_.empty());
}

TEST_F(RecorderFailure, AReaderSetsNothingAside) {
  fill();
  store_.reset();
  garbage(0, 100);
  EXPECT_FALSE(HistoryStore::open_to_read(file()));
  EXPECT_FALSE(fs::exists(file() + ".damaged-1"));
}

TEST_F(RecorderFailure, AtMostTwoAreKept) {
  for (int i = 0; i < 4; ++i) {
    dir_.write("history.db", "text " + std::to_string(i) + std::string(1000, '.'));
    ::unlink((file() + "-wal").c_str());
    open();
    EXPECT_TRUE(set_aside_);
    store_.reset();
  }
  EXPECT_TRUE(fs::exists(file() + ".damaged-1"));
  EXPECT_TRUE(fs::exists(file() + ".damaged-2"));
  EXPECT_FALSE(fs::exists(file() + ".damaged-3"));
  std::string newest;
  std::getline(std::ifstream(file() + ".damaged-2"), newest, '.');
  EXPECT_EQ(newest, "text 3");
}

TEST_F(RecorderFailure, DamageFoundInUseIsSetAsideAtTheNextWrite) {
  fill();
  const auto size = fs::file_size(file());
  store_.reset();
  open();
  begin("a", checked({}, kEpoch2026));
  garbage(4096, size - 4096);
  bool failed = false;
  for (int i = 0; i < 6; ++i) {
    if (!write_x(*store_, boot_, hours(11 + i), 180)) failed = true;
    if (!store_->tidy(boot_, hours(12 + i))) failed = true;
  }
  EXPECT_TRUE(failed);
  EXPECT_EQ(store_->quarantine(), 1U);
  EXPECT_FALSE(store_->take_messages().empty());
  EXPECT_TRUE(write_x(*store_, boot_, hours(20), 5));
  EXPECT_EQ(store_->check(), "ok");
}

TEST_F(RecorderFailure, NewerSchemaIsSetAsideUntouched) {
  fill();
  change("PRAGMA user_version=99");
  const auto size = fs::file_size(file());
  EXPECT_FALSE(HistoryStore::open_to_read(file()));
  open();
  EXPECT_TRUE(set_aside_);
  EXPECT_EQ(fs::file_size(file() + ".newer-1"), size);
  EXPECT_FALSE(fs::exists(file() + ".damaged-1"));
}

TEST_F(RecorderFailure, OlderSchemaIsSetAside) {
  fill();
  change("PRAGMA user_version=1");
  EXPECT_FALSE(HistoryStore::open_to_read(file()));
  logged_.clear();
  expect_begun_anew();
}

TEST_F(RecorderFailure, TablesWithoutSchemaNumberAreQuarantined) {
  change("PRAGMA application_id=" + std::to_string(kApplicationId) +
         ";CREATE TABLE events(id INTEGER PRIMARY KEY);");
  open();
  EXPECT_TRUE(set_aside_);
}

TEST_F(RecorderFailure, DeletedUnderTheOpenFile) {
  fill();
  for (const char* end : {"", "-wal", "-shm"}) ::unlink((file() + end).c_str());
  ASSERT_TRUE(write_x(*store_, boot_, hours(11), 5));
  const auto messages = store_->take_messages();
  ASSERT_EQ(messages.size(), 1U);
  EXPECT_NE(messages[0].find("deleted"), std::string::npos);
  store_.reset();
  const auto reader = HistoryStore::open_to_read(file()).value();
  EXPECT_EQ(reader->past(all_of("x"))->points.size(), 5U);
  EXPECT_EQ(reader->facts()->boots[0].boot_id, "a");
  EXPECT_TRUE(reader->past(all_of("x"))->points[0].wall_trusted);
}

// Somebody cuts the file that SQLite maps: SIGBUS, were it not for cut_mapping.h. A question or a
// transaction may fail over it, once; nothing is lost, and nothing is answered wrongly.
TEST_F(RecorderFailure, TheIndexOfTheWalIsCutShort) {
  fill();
  const auto reader = HistoryStore::open_to_read(file()).value();
  const auto count = [&] {
    auto past = reader->past(all_of("x"));
    if (!past) past = reader->past(all_of("x"));
    EXPECT_TRUE(past) << past.error().message;
    return past ? past->points.size() : 0;
  };
  std::size_t expected = count();
  int hour = 20;
  for (const std::size_t left : {0U, 96U, 4096U, 8192U, 0U}) {
    for (const bool reads_first : {true, false}) {
      ASSERT_TRUE(write_x(*store_, boot_, hours(++hour), 5));
      expected += 5;
      ASSERT_EQ(count(), expected);
      fs::resize_file(file() + "-shm", left);
      if (reads_first) {
        EXPECT_EQ(count(), expected) << left;
      }
      if (!write_x(*store_, boot_, hours(++hour), 5)) {
        ASSERT_TRUE(write_x(*store_, boot_, hours(hour), 5)) << left;
      }
      expected += 5;
      EXPECT_EQ(count(), expected) << left;
    }
  }
  EXPECT_EQ(store_->quarantine(), 0U);
  EXPECT_EQ(store_->check(), "ok");
}

TEST_F(RecorderFailure, ReplacedUnderTheOpenFile) {
  fill();
  const std::string kept = dir_.file("kept.db");
  fs::rename(file(), kept);
  dir_.write("history.db", "somebody's text");
  ASSERT_TRUE(write_x(*store_, boot_, hours(11), 5));
  EXPECT_EQ(store_->quarantine(), 1U);
  EXPECT_EQ(points(all_of("x")).size(), 5U);
  EXPECT_EQ(store_->check(), "ok");
}

TEST_F(RecorderFailure, WalWithoutItsDatabase) {
  dir_.write("history.db-wal", std::string(5000, 'w'));
  dir_.write("history.db-shm", std::string(5000, 's'));
  open();
  EXPECT_EQ(logged_.size(), 1U);
  expect_usable();
}

// SQLite would take it for the new database's.
TEST_F(RecorderFailure, WalWithoutItsDatabaseThatCannotBeRemoved) {
  for (const char* end : {"-wal", "-shm"}) {
    fs::create_directory(file() + end);
    const auto opened = HistoryStore::open(options());
    ASSERT_FALSE(opened) << end;
    EXPECT_NE(opened.error().message.find("remove " + file() + end), std::string::npos)
        << opened.error().message;
    fs::remove(file() + end);
  }
  open();
  expect_usable();
}

TEST_F(RecorderFailure, WhatIsNoFileIsLeftAlone) {
  fs::create_directory(dir_.file("directory"));
  ASSERT_EQ(::mkfifo(dir_.file("fifo").c_str(), 0600), 0);
  dir_.write("target", "precious");
  fs::create_symlink(dir_.file("target"), dir_.file("link"));
  for (const char* name : {"directory", "fifo", "link"}) {
    const auto with = options(name);
    const auto opened = HistoryStore::open(with);
    ASSERT_FALSE(opened) << name;
    EXPECT_EQ(opened.error().code, Errc::kNotRegular) << name;
    EXPECT_FALSE(HistoryStore::open_to_read(with.file)) << name;
    EXPECT_TRUE(fs::exists(fs::symlink_status(with.file))) << name;
  }
  EXPECT_EQ(fs::file_size(dir_.file("target")), 8U);
}

class Mounted : public RecorderFailure {
 protected:
  void SetUp() override {
    location_ = dir_.file("disk");
    fs::create_directory(location_);
    if (::mount("none", location_.c_str(), "tmpfs", 0, "size=1536k") != 0) {
      GTEST_SKIP() << "needs the right to mount a file system";
    }
    mounted_ = true;
  }
  void TearDown() override {
    store_.reset();
    if (mounted_) ::umount2(location_.c_str(), MNT_DETACH);
  }
  HistoryStore::Options on_it() const { return options("disk/history.db"); }
  std::int64_t open_on_it() {
    open(on_it());
    return begin("a", checked({}, kEpoch2026));
  }
  std::string location_;
  bool mounted_ = false;
};

TEST_F(Mounted, FullDiskIsSaidAndGotOver) {
  const auto boot = open_on_it();
  ASSERT_TRUE(write_x(*store_, boot, seconds(0), 180));
  const std::string ballast = location_ + "/ballast";
  std::ofstream(ballast) << std::string(4 << 20, 'b');
  Result<void> written;
  std::size_t good = 1;
  for (; good < 500; ++good) {
    written = write_noise(boot, static_cast<int>(good));
    if (!written) break;
  }
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().code, Errc::kTooLarge);
  EXPECT_EQ(points(all_of("x")).size(), 180 * good);
  EXPECT_EQ(store_->quarantine(), 0U);
  ::unlink(ballast.c_str());
  ASSERT_TRUE(write_x(*store_, boot, minutes(30 * static_cast<int>(good)), 180));
  EXPECT_EQ(points(all_of("x")).size(), 180 * (good + 1));
  EXPECT_EQ(store_->check(), "ok");
}

TEST_F(Mounted, ReadOnlyDiskIsSaidAndCanBeAsked) {
  ASSERT_TRUE(write_x(*store_, open_on_it(), seconds(0), 180));
  store_.reset();
  ASSERT_EQ(::mount("none", location_.c_str(), nullptr, MS_REMOUNT | MS_RDONLY, nullptr), 0);
  const auto opened = HistoryStore::open(on_it());
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code, Errc::kDenied) << opened.error().message;
  const auto reader = HistoryStore::open_to_read(on_it().file).value();
  const auto past = reader->past(all_of("x")).value();
  EXPECT_EQ(past.points.size(), 180U);
  const auto none = HistoryStore::open_to_read(location_ + "/other.db");
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, Errc::kAbsent);
}

TEST_F(RecorderFailure, ReaderMakesNothing) {
  fill();
  store_.reset();
  const std::string copy = dir_.file("copy/history.db");
  fs::create_directory(dir_.file("copy"));
  fs::copy(file(), copy);
  EXPECT_TRUE(HistoryStore::open_to_read(copy).value()->facts());
  EXPECT_EQ(std::distance(fs::directory_iterator(dir_.file("copy")), fs::directory_iterator()), 1);
}

// A file that somebody sent may be anything.
TEST_F(RecorderFailure, DamagedFilesGiveErrorsToWhoAsks) {
  fill();
  tidy_all(boot_, hours(10));
  store_.reset();
  std::ifstream in(file(), std::ios::binary);
  const std::string good{std::istreambuf_iterator<char>(in), {}};
  ASSERT_EQ(fs::file_size(file() + "-wal"), 0U);
  std::mt19937_64 random(5);
  int refused = 0;
  for (int cycle = 0; cycle < 300; ++cycle) {
    std::string bytes = good;
    for (std::size_t hits = random() % 200 + 1; hits > 0; --hits) {
      bytes[random() % bytes.size()] = static_cast<char>(random());
    }
    if (cycle % 4 == 0) bytes.resize(random() % bytes.size());
    const std::string bad = dir_.write("bad.db", bytes);
    const auto opened = HistoryStore::open_to_read(bad);
    HistoryStore* const store = opened ? opened->get() : nullptr;
    const bool all = store != nullptr && store->facts() && store->series("") && store->events({}) &&
                     store->past(all_of("x")) && store->at(kEpoch2026 + hours(5), hours(1));
    if (!all) ++refused;
  }
  EXPECT_GT(refused, 100);
}

// A bundle may come from anybody, and what is reported of it goes to terminals.
TEST_F(RecorderFailure, TextsThatJetmemNeverWroteAreHarmless) {
  fill();
  const std::array events{event_of("oom_kill", "killed", hours(1))};
  ASSERT_TRUE(store_->write(boot_, nullptr, events));
  change("UPDATE events SET summary=char(27)||'[2J'||char(10)||'x', kind='k'||char(7)");
  const auto reader = HistoryStore::open_to_read(file()).value();
  const auto messages = reader->events({}).value();
  EXPECT_EQ(messages.events.at(0).summary, "?[2J?x");
  EXPECT_EQ(messages.events.at(0).kind, "k?");
  change("UPDATE series SET key='a'||char(27) WHERE key='x'");
  const auto series = reader->series("");
  ASSERT_FALSE(series);
  EXPECT_EQ(series.error().code, Errc::kMalformed);
  EXPECT_FALSE(reader->at(kEpoch2026 + hours(5), hours(1)));
}

}  // namespace
}  // namespace jetmem
