// SPDX-License-Identifier: Apache-2.0
// Deaths at any moment: of the process (kill -9), and of the power.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <random>
#include <thread>

#include "base/unique_fd.h"
#include "tests/history/store_fixture.h"

namespace jetmem {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kSteps = 30;
constexpr int kSeries = 8;

double value_of(std::int64_t n, int series, std::size_t step) {
  return static_cast<double>((n * 7919 + series * 104'729 + static_cast<std::int64_t>(step) * 31) %
                             1'000'003) /
         (series % 2 == 0 ? 1 : 7);
}

// Chunk and event number `n`: whoever finds them knows what they have to be.
Result<void> write_number(HistoryStore& store, std::int64_t boot, std::int64_t n) {
  Steps steps;
  for (int series = 0; series < kSeries; ++series) {
    std::vector<double> values;
    for (std::size_t i = 0; i < kSteps; ++i) values.push_back(value_of(n, series, i));
    steps.series("s" + std::to_string(series), values);
  }
  const std::vector<EventRecord> events{
      event_of("tick", std::to_string(n), seconds(10 * kSteps) * n)};
  return store.write(boot, steps.at(seconds(10 * kSteps) * n, kSteps), events);
}

HistoryStore::Options never_forgets(std::string file) {
  HistoryStore::Options options;
  options.file = std::move(file);
  options.keep_raw = hours(24 * 365 * 10);
  options.keep_minutes = options.keep_raw;
  return options;
}

// All of 0..last is there, exactly; what came later is there whole or not at all. How many are.
std::int64_t expect_all(HistoryStore& store, std::int64_t last) {
  EXPECT_EQ(store.check(), "ok");
  EventsQuery requested;
  requested.most = 10'000;
  const auto events = store.events(requested);
  EXPECT_TRUE(events) << events.error().message;
  if (!events) return -1;
  const auto count = static_cast<std::int64_t>(events->events.size());
  EXPECT_GE(count, last + 1);
  for (std::int64_t n = 0; n < count; ++n) {
    EXPECT_EQ(events->events[static_cast<std::size_t>(count - 1 - n)].summary, std::to_string(n));
  }
  for (int series = 0; series < kSeries; ++series) {
    const auto past = store.past(all_of("s" + std::to_string(series), Resolution::kRaw));
    EXPECT_TRUE(past) << past.error().message;
    if (!past) return -1;
    EXPECT_EQ(past->points.size(), static_cast<std::size_t>(count) * kSteps);
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < past->points.size(); ++i) {
      const auto n = static_cast<std::int64_t>(i / kSteps);
      if (past->points[i].average != value_of(n, series, i % kSteps)) ++wrong;
    }
    EXPECT_EQ(wrong, 0U);
  }
  return count;
}

// The writer, in a process of its own: tells each number once it is committed.
[[noreturn]] void write_until_killed(const std::string& file, std::int64_t next, int notify) {
  auto opened = HistoryStore::open(never_forgets(file));
  if (!opened || opened->quarantine) ::_exit(1);
  const auto boot = opened->store->begin_boot("a", checked({}, kEpoch2026));
  if (!boot) ::_exit(2);
  for (;; ++next) {
    if (!write_number(*opened->store, *boot, next)) ::_exit(3);
    if (::write(notify, &next, sizeof next) != sizeof next) ::_exit(4);
    if (!opened->store->tidy(*boot, seconds(10 * kSteps) * next)) ::_exit(5);
  }
}

TEST(StoreDeath, KilledAtAnyMomentNothingCommittedIsLost) {
  // A process that dies leaves the same on any file system; in memory it is hundreds in seconds.
  const bool in_memory = ::access("/dev/shm", W_OK) == 0;
  const TempDir dir;
  const fs::path location = in_memory
                                ? fs::path("/dev/shm/jetmem-test-" + std::to_string(::getpid()))
                                : fs::path(dir.path());
  fs::create_directories(location);
  std::mt19937 random(17);
  std::int64_t written = 0;
  int cycles = 0;
  int with_writes = 0;
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(25);
  for (std::int64_t next = 0; cycles < 300 && std::chrono::steady_clock::now() < end; ++cycles) {
    const std::string file = location / "history.db";
    if (cycles % 20 == 0) {
      for (const char* suffix : {"", "-wal", "-shm"}) fs::remove(file + suffix);
      next = 0;
    }
    int ends[2];
    ASSERT_EQ(::pipe(ends), 0);
    const UniqueFd from(ends[0]);
    UniqueFd to(ends[1]);
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) write_until_killed(file, next, to.get());
    to.reset();
    // Longer where a busy machine hardly lets it begin.
    const unsigned longest = with_writes * 3 < cycles ? 160'000 : 40'000;
    std::this_thread::sleep_for(std::chrono::microseconds(random() % longest));
    ::kill(child, SIGKILL);
    int status = 0;
    ::waitpid(child, &status, 0);
    ASSERT_TRUE(WIFSIGNALED(status)) << "the writer gave up: " << WEXITSTATUS(status);
    std::int64_t last = next - 1;
    for (std::int64_t messages = 0;
         ::read(from.get(), &messages, sizeof messages) == sizeof messages;)
      last = messages;
    if (last >= next) ++with_writes;
    const auto opened = HistoryStore::open(never_forgets(file)).value();
    ASSERT_FALSE(opened.quarantine) << opened.messages[0];
    const std::int64_t count = expect_all(*opened.store, last);
    ASSERT_FALSE(testing::Test::HasFailure()) << "round " << cycles;
    written += count - next;
    next = count;
  }
  if (in_memory) fs::remove_all(location);
  EXPECT_GE(cycles, 50);
  EXPECT_GT(with_writes, cycles / 4);
  std::printf("%d kills, %lld commits\n", cycles, static_cast<long long>(written));
}

std::string bytes_of(const std::string& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

// Sectors of what was on the disk and of what was on its way to it, in any mixture.
std::string mixed(const std::string& before, const std::string& after, std::mt19937& random) {
  std::string out = before;
  if (random() % 2 == 0) out.resize(std::max(before.size(), after.size()));
  for (std::size_t at = 0; at < after.size(); at += 512) {
    if (random() % 2 == 0) continue;
    const std::size_t size = std::min<std::size_t>(512, after.size() - at);
    if (out.size() < at + size) out.resize(at + size);
    out.replace(at, size, after, at, size);
  }
  return out;
}

// What write() returned for was synced; what it was doing next may have reached the disk in part.
TEST(StoreDeath, PowerLostDuringAWriteLosesNothingCommitted) {
  const TempDir dir;
  const std::string file = dir.file("history.db");
  const auto opened = HistoryStore::open(never_forgets(file)).value();
  const auto boot = opened.store->begin_boot("a", checked({}, kEpoch2026)).value();
  std::mt19937 random(23);
  int checkpoints = 0;
  for (std::int64_t n = 0; n < 150; ++n) {
    const std::string db = bytes_of(file);
    const std::string wal = bytes_of(file + "-wal");
    ASSERT_TRUE(write_number(*opened.store, boot, n));
    const std::string db_after = bytes_of(file);
    const std::string wal_after = bytes_of(file + "-wal");
    // A checkpoint begins once the WAL is on the disk.
    const bool checkpointed = db != db_after;
    checkpoints += checkpointed ? 1 : 0;
    if (!checkpointed && n % 5 != 0) continue;
    const TempDir after;
    const std::string lost = after.file("history.db");
    after.write("history.db", checkpointed ? mixed(db, db_after, random) : db);
    after.write("history.db-wal", checkpointed ? wal_after : mixed(wal, wal_after, random));
    const auto found = HistoryStore::open(never_forgets(lost)).value();
    ASSERT_FALSE(found.quarantine) << found.messages[0];
    expect_all(*found.store, checkpointed ? n : n - 1);
    ASSERT_FALSE(testing::Test::HasFailure()) << n;
  }
  EXPECT_GT(checkpoints, 0);
}

}  // namespace
}  // namespace jetmem
