// SPDX-License-Identifier: Apache-2.0
#include "collectors/tasks/tasks.h"

#include <gtest/gtest.h>

#include <cerrno>

#include "tests/collectors/source_fixture.h"

namespace jetmem {
namespace {

// "1234 (name) S 1 ..." with the time on a CPU in fields 14 and 15, threads in 20, start in 22.
std::string stat_text(std::uint32_t tid, const std::string& name, char state, int ran = 5,
                      int threads = 1, int start = 900) {
  return std::to_string(tid) + " (" + name + ") " + state + " 1 1 1 0 -1 4194560 0 0 0 0 " +
         std::to_string(ran) + " 0 0 0 20 0 " + std::to_string(threads) + " 0 " +
         std::to_string(start) + " 1000 10 0\n";
}

class TasksTest : public testing::Test {
 protected:
  struct Look {
    int ran = 5;
    int switches = 40;
    char state = 'D';
    const char* wchan = "nvmap_handle_pin";
    int start = 900;
  };
  void task(std::uint32_t pid, std::uint32_t tid, const std::string& name, const Look& look) {
    const std::string folder =
        "/proc/" + std::to_string(pid) + "/task/" + std::to_string(tid) + "/";
    add(folder + "stat", stat_text(tid, name, look.state, look.ran, 1, look.start));
    add(folder + "status", "voluntary_ctxt_switches:\t" + std::to_string(look.switches) +
                               "\nnonvoluntary_ctxt_switches:\t3\n");
    add(folder + "wchan", look.wchan);
  }
  void add(const std::string& path, std::string_view text) { fixture_.file(path, text); }
  // Ends one reading; the next is `later`.
  const Tasks& read(std::chrono::seconds later = std::chrono::seconds(30)) {
    add(std::string(kNoteTasksLookedAt), "20\n");
    const auto ok = fixture_.run();
    EXPECT_TRUE(ok) << ok.error().message;
    fixture_.clear();
    clock_.advance(later);
    return fixture_.source.reading();
  }
  double value(const std::string& key) { return fixture_.table.value_of(key); }
  Errc code() { return fixture_.run().error().code; }
  // Of threads that wait so in nvmap.
  double camera(const std::string& metric) {
    return value("jetmem_stuck_task_" + metric +
                 "{command=\"camera\",wait_channel=\"nvmap_handle_pin\"}");
  }

  ManualClock clock_;
  SourceFixture<TasksSource> fixture_{clock_};
};

TEST_F(TasksTest, StuckIsWhoDidNotRunFor30Seconds) {
  task(77, 78, "camera", {});
  EXPECT_EQ(read().stuck_tasks, 0U);
  EXPECT_TRUE(std::isnan(value("jetmem_stuck_tasks"))) << "one reading does not tell";
  task(77, 78, "camera", {});
  EXPECT_EQ(read().stuck_tasks, 1U);
  EXPECT_EQ(camera("seconds"), 30);
  EXPECT_EQ(camera("pid"), 77);
  EXPECT_EQ(value("jetmem_stuck_tasks"), 1);
  task(77, 78, "camera", {});
  read();
  EXPECT_EQ(camera("seconds"), 60);
  EXPECT_EQ(read().stuck_tasks, 0U) << "it goes on";
}

// A stuck one may be among those that were not looked at.
TEST_F(TasksTest, OfAPartOfTheTasksThereIsNoNumber) {
  for (int i = 0; i < 2; ++i) {
    task(77, 78, "camera", {});
    add(std::string(kNoteTasksLeftOut), "3\n");
    read();
  }
  EXPECT_TRUE(std::isnan(value("jetmem_stuck_tasks")));
  EXPECT_EQ(camera("pid"), 77);
}

TEST_F(TasksTest, WhoRanMeanwhileIsNot) {
  for (const Look& second : {Look{.ran = 6}, Look{.switches = 41}, Look{.start = 901}}) {
    task(77, 78, "dd", {});
    read();
    task(77, 78, "dd", second);
    EXPECT_EQ(read().stuck_tasks, 0U);
    read();
  }
}

TEST_F(TasksTest, ReadingsCloseTogetherAddUpAndSuspendIsNoWait) {
  for (int i = 0; i < 6; ++i) {
    task(77, 78, "dd", {});
    EXPECT_EQ(read(std::chrono::seconds(5)).stuck_tasks, 0U) << i;
    clock_.suspend(std::chrono::hours(8));
  }
  task(77, 78, "dd", {});
  EXPECT_EQ(read().stuck_tasks, 1U);
}

TEST_F(TasksTest, OtherStatesAndHarmlessWaitsAreNone) {
  for (int i = 0; i < 2; ++i) {
    task(2, 40, "kworker/0:1", {.state = 'I'});
    task(77, 77, "make", {.wchan = "kernel_clone"});
    task(80, 80, "paused", {.wchan = "__refrigerator.isra.0"});
    EXPECT_EQ(read().blocked.size(), 0U);
  }
}

TEST_F(TasksTest, OfOneNameAndChannelTheLongestIsShown) {
  task(77, 78, "camera", {});
  read();
  for (int i = 0; i < 2; ++i) {
    task(77, 78, "camera", {});
    task(77, 79, "camera", {});
    task(90, 90, "job-12345", {.wchan = "0"});
    read();
  }
  EXPECT_EQ(value("jetmem_stuck_tasks"), 3);
  EXPECT_EQ(camera("seconds"), 60);
  EXPECT_EQ(value("jetmem_stuck_task_seconds{command=\"job-*\",wait_channel=\"\"}"), 30);
}

TEST_F(TasksTest, AnOddTaskCostsThatTask) {
  add("/proc/5/task/5/stat", "5 (x) D 1 2\n");
  task(6, 6, "y", {});
  add("/proc/7/task/7/stat", stat_text(7, "z", 'D'));
  add("/proc/7/task/7/status", "voluntary_ctxt_switches:\t18446744073709551615\n");
  add("/proc/8/task/8/stat", stat_text(8, "gone", 'D'));
  fixture_.error("/proc/8/task/8/status", ESRCH);
  EXPECT_EQ(read().blocked.size(), 1U);
}

TEST_F(TasksTest, AnIdleMachineHasNoneAndNothingToBeSeenIsAnError) {
  add(std::string(kNoteTasksIdle), "1\n");
  EXPECT_TRUE(read().idle);
  EXPECT_EQ(value("jetmem_stuck_tasks"), 0);
  EXPECT_EQ(code(), Errc::kAbsent);
  add(std::string(kNoteTasksDenied), "9\n");
  EXPECT_EQ(code(), Errc::kDenied);
  fixture_.clear();
  fixture_.error("/proc", EACCES);
  EXPECT_EQ(code(), Errc::kDenied);
}

class TasksTree : public TreeTest<TasksSource> {};

// Threads are looked at, and of those in state D only the rest is read.
TEST_F(TasksTree, ThreadsAreLookedAt) {
  file("/proc/1/stat", stat_text(1, "systemd", 'S'));
  file("/proc/77/stat", stat_text(77, "a (b) c", 'S', 5, 3));
  for (const auto& [tid, state] : {std::pair{77, 'S'}, std::pair{78, 'D'}, std::pair{79, 'S'}}) {
    const std::string folder = "/proc/77/task/" + std::to_string(tid);
    file(folder + "/stat", stat_text(static_cast<std::uint32_t>(tid), "a (b) c", state));
    file(folder + "/status",
         "Name:\tx\nvoluntary_ctxt_switches:\t4\nnonvoluntary_ctxt_switches:\t3\n");
    file(folder + "/wchan", "folio_wait_bit_common");
  }
  Tasks out;
  const Snapshot& snapshot = read();
  ASSERT_TRUE(parse_tasks(snapshot, out));
  ASSERT_EQ(out.blocked.size(), 1U);
  EXPECT_EQ(out.blocked[0].tid, 78U);
  EXPECT_EQ(out.blocked[0].pid, 77U);
  EXPECT_EQ(out.blocked[0].name, "a (b) c");
  EXPECT_EQ(out.blocked[0].switches, 7U);
  EXPECT_EQ(out.blocked[0].wait_channel, "folio_wait_bit_common");
}

}  // namespace
}  // namespace jetmem
