// SPDX-License-Identifier: Apache-2.0
// The files of the boot history: how often they are written, and disks that fail or hang.
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <future>

#include "tests/daemon/state/boot_history_fixture.h"

namespace jetmem {
namespace {

TEST_F(BootHistoryTest, WritesASignOfLifeAndNoMore) {
  TestDevice device("a");
  BootHistory boot_history = device.start(directory.path());
  boot_history.observe(facts_with(""));
  kill(boot_history);
  const auto before = boot_history.writes();
  for (int i = 0; i < 24 * 360; ++i) {
    device.clock.advance(seconds(10));
    boot_history.cycle();
    if (i % 30 == 0) boot_history.observe(facts_with(""));
    if (i % 90 == 89) kill(boot_history);
  }
  kill(boot_history);
  const auto after = boot_history.writes();
  EXPECT_EQ(after.written - before.written, 96U);
  EXPECT_EQ(kept().boots.back().last.uptime, 20U + 86400U);
  std::printf("measured: %llu bytes in %llu writes on a quiet day, one boot known\n",
              static_cast<unsigned long long>(after.bytes - before.bytes),
              static_cast<unsigned long long>(after.written - before.written));
}

TEST_F(BootHistoryTest, NewsIsWrittenOnceAMinuteAtMost) {
  TestDevice device("a");
  BootHistory boot_history = device.start(directory.path());
  kill(boot_history);
  const auto before = boot_history.writes();
  for (int i = 0; i < 600; ++i) {
    device.clock.advance(seconds(1));
    BootFacts facts = facts_with("");
    value_of(facts, What::kPowerMode) = std::to_string(i % 2);
    boot_history.observe(facts);
    boot_history.cycle();
    kill(boot_history);
  }
  EXPECT_LE(boot_history.writes().written - before.written, 11U);
}

TEST_F(BootHistoryTest, WhatIsNoHistoryIsSetAsideAndSaid) {
  struct Case {
    std::string text;
    const char* why;
  };
  for (const Case& c : {Case{"", "is not JSON"}, Case{"garbage", "is not JSON"},
                        Case{"{\"format\":2}\n", "format: is 2, this jetmem knows 1"},
                        Case{std::string(300'000, ' '), "too large"}}) {
    directory.write("boots.json", c.text);
    TestDevice device("a");
    BootHistory boot_history = device.start(directory.path());
    const LogEntry* entry = device.log.find("the history of boots is lost");
    ASSERT_NE(entry, nullptr) << c.why;
    EXPECT_EQ(entry->level, LogLevel::kError);
    EXPECT_NE(entry->message.find(c.why), std::string::npos) << entry->message;
    EXPECT_EQ(read_small_file(directory.file("boots.json.bad")).value(), c.text);
    EXPECT_EQ(boot_history.view().bad_files, 1U);
    EXPECT_EQ(boot_history.history().boots_seen, 1U);
    boot_history.finish(RunEnd::kShutdown);
    EXPECT_EQ(kept().boots_seen, 1U);
  }
}

TEST_F(BootHistoryTest, ADirectoryThatTakesNothingIsSaidOnceAndCounted) {
  // Root may write anywhere, but not through a folder that stands in the way.
  ASSERT_EQ(::mkdir(directory.file("boots.json.new").c_str(), 0700), 0);
  TestDevice device("a");
  BootHistory boot_history = device.start(directory.path());
  for (int i = 0; i < 400; ++i) {
    device.clock.advance(seconds(10));
    kill(boot_history);
    boot_history.cycle();
  }
  EXPECT_GE(boot_history.view().failed_writes, 4U);
  EXPECT_EQ(device.log.count("cannot be written"), 1U) << device.log.all();
  ASSERT_EQ(::rmdir(directory.file("boots.json.new").c_str()), 0);
  device.clock.advance(minutes(1));
  boot_history.cycle();
  kill(boot_history);
  boot_history.cycle();
  EXPECT_NE(device.log.find("can be written again"), nullptr);
  EXPECT_EQ(kept().boots_seen, 1U);
}

TEST_F(BootHistoryTest, NothingIsKeptWithoutAPlaceOrABoot) {
  TestDevice device("a");
  BootHistory without = device.start("");
  EXPECT_FALSE(without.keeps());
  without.observe(facts_with(""));
  without.cycle();
  without.finish(RunEnd::kShutdown);
  EXPECT_EQ(without.view().history, nullptr);
  RecordedLog log;
  BootHistory nameless({directory.path(), std::nullopt, "s", "v", {}}, device.clock, log);
  nameless.start();
  EXPECT_FALSE(nameless.keeps());
  EXPECT_EQ(log.entries.back().level, LogLevel::kWarning);
}

TEST_F(BootHistoryTest, MarksWhileItRunsAndWhileItDoesNot) {
  const auto mark = [&](std::string text) {
    boot::Mark each;
    each.at = {kWall / seconds(1), 30};
    each.boot = "a";
    each.text = std::move(text);
    ASSERT_TRUE(boot::add_mark(directory.path(), each));
  };
  TestDevice device("a");
  {
    BootHistory boot_history = device.start(directory.path());
    EXPECT_FALSE(boot_history.cycle());
    mark("one");
    EXPECT_TRUE(shows_something(boot_history));
    EXPECT_NE(device.log.find(": one"), nullptr) << device.log.all();
    EXPECT_FALSE(boot_history.cycle()) << "reported once";
    EXPECT_EQ(boot_history.view().history->marks_seen, 1U);
    boot_history.finish(RunEnd::kStopped);
  }
  mark("two");
  for (int i = 0; i < 30; ++i) mark("more");
  BootHistory boot_history = device.start(directory.path());
  EXPECT_EQ(device.log.find(": one"), nullptr);
  EXPECT_NE(device.log.find("mark (set while jetmemd was not running)"), nullptr);
  EXPECT_NE(device.log.find("11 more marks"), nullptr) << device.log.all();
  EXPECT_EQ(boot_history.history().marks_seen, 32U);
  EXPECT_EQ(boot_history.history().mark_at->uptime, 30U);

  // Somebody removed the file and began anew.
  ASSERT_EQ(::unlink(directory.file("marks.jsonl").c_str()), 0);
  mark("after");
  EXPECT_TRUE(shows_something(boot_history));
  EXPECT_NE(device.log.find(": after"), nullptr);
  EXPECT_EQ(boot_history.history().marks_seen, 33U);
  directory.write("marks.jsonl", "garbage\n");
  EXPECT_TRUE(shows_something(boot_history));
  EXPECT_EQ(boot_history.view().bad_marks, 1U);
}

TEST_F(BootHistoryTest, ACrashLoopWritesOnceAMinuteAtMost) {
  TestDevice device("a");
  std::uint64_t written = 0;
  for (int i = 0; i < 120; ++i) {
    BootHistory boot_history = device.start(directory.path());
    boot_history.observe(facts_with("MAINSWRST"));
    boot_history.cycle();
    kill(boot_history);
    written += boot_history.writes().written;
    device.clock.advance(seconds(5));
  }
  EXPECT_GE(written, 10U);
  EXPECT_LE(written, 12U) << "ten minutes, and what the first found";
}

TEST_F(BootHistoryTest, ADiskThatDoesNotAnswerIsNotWaitedFor) {
  past_boot("a", RunEnd::kShutdown);
  std::promise<void> answers;
  TestDevice device("b");
  device.before_reading = [disk = answers.get_future().share()] { disk.wait(); };
  BootHistory boot_history = device.start(directory.path(), "bbbbbb");
  boot_history.observe(facts_with("MAINSWRST"));
  for (int i = 0; i < 20; ++i) {
    device.clock.advance(seconds(10));
    EXPECT_FALSE(boot_history.cycle());
  }
  EXPECT_EQ(boot_history.view().history, nullptr);
  EXPECT_NE(device.log.find("not known yet: the disk has not answered"), nullptr);
  boot_history.set_settings("cccccc");
  EXPECT_EQ(kept().boots_seen, 1U) << "nothing is written over what was not read";
  answers.set_value();
  EXPECT_TRUE(shows_something(boot_history));
  ASSERT_NE(boot_history.view().history, nullptr);
  EXPECT_EQ(boot_history.history().boots_seen, 2U);
  EXPECT_EQ(boot_history.history().before()->end, DeviceEnd::kClean);
  EXPECT_EQ(boot_history.history().changes.back().to, "cccccc");
}

TEST_F(BootHistoryTest, ADiskThatNeverAnswersDoesNotKeepFromStopping) {
  const auto answers = std::make_shared<std::promise<void>>();
  TestDevice device("a");
  device.before_reading = [answers, disk = answers->get_future().share()] { disk.wait(); };
  device.start(directory.path()).finish(RunEnd::kStopped);
  EXPECT_NE(device.log.find("could not be read in time"), nullptr) << device.log.all();
  answers->set_value();
  // The thread left behind comes to its end.
  device.before_reading = nullptr;
  EXPECT_TRUE(comes_true([&] { return answers.use_count() == 1; }));
}

// Killed again and again within a second, each time before anything is on the disk.
TEST_F(BootHistoryTest, NoStartOfACrashLoopIsLost) {
  TempDir run;
  TestDevice device("5b0f21aa-0c1d-4e2f-8a3b-445566778899");
  device.runtime_directory = run.path();
  for (std::size_t i = 1; i <= 20; ++i) {
    BootHistory boot_history = device.start(directory.path());
    const BootHistoryView view = boot_history.view();
    ASSERT_NE(view.starts, nullptr);
    EXPECT_EQ(view.starts->recent(device.clock.boot()), std::min<std::size_t>(i, 16));
    ASSERT_NE(view.history, nullptr);
    EXPECT_EQ(view.history->starts, i);
    EXPECT_EQ(view.history->boots.back().starts, i);
    EXPECT_EQ(view.history->boots.back().unclean_runs, i - 1);
    EXPECT_FALSE(view.history->boots.back().starts_are_least);
    device.clock.advance(std::chrono::milliseconds(700));
  }
  device.clock.advance(hours(1));
  BootHistory boot_history = device.start(directory.path());
  EXPECT_EQ(boot_history.view().starts->recent(device.clock.boot()), 1U);
  // Of another boot, and of nobody.
  TestDevice next("c0ffee00-0c1d-4e2f-8a3b-445566778899");
  next.runtime_directory = run.path();
  EXPECT_EQ(next.start(directory.path()).view().starts->at.size(), 1U);
  run.write("starts", "torn");
  BootHistory after = next.start(directory.path());
  EXPECT_EQ(after.view().starts->at.size(), 1U);
  EXPECT_NE(next.log.find("earlier starts in this boot are not known"), nullptr);
  EXPECT_FALSE(after.view().starts->recent(next.clock.boot())) << "there may have been others";
  EXPECT_TRUE(after.view().history->boots.back().starts_are_least);
  next.clock.advance(std::chrono::minutes(59));
  BootHistory third = next.start(directory.path());
  EXPECT_FALSE(third.view().starts->recent(next.clock.boot())) << "nor does a restart know";
  next.clock.advance(std::chrono::minutes(1));
  EXPECT_EQ(third.view().starts->recent(next.clock.boot()), 1U);
  run.write("starts", "garbage\n12\n");
  EXPECT_FALSE(next.start(directory.path()).view().starts->recent(next.clock.boot()));
}

TEST_F(BootHistoryTest, CleanStopsAreNoCrashesWhereTheHistoryIsLost) {
  TempDir run;
  TestDevice device("5b0f21aa-0c1d-4e2f-8a3b-445566778899");
  device.runtime_directory = run.path();
  for (int i = 0; i < 5; ++i) {
    device.start(directory.path()).finish(RunEnd::kStopped);
    device.clock.advance(seconds(5));
  }
  device.start(directory.path());  // killed
  ASSERT_EQ(::unlink(directory.file("boots.json").c_str()), 0);
  BootHistory boot_history = device.start(directory.path());
  EXPECT_EQ(boot_history.history().boots.back().starts, 7U);
  EXPECT_EQ(boot_history.history().boots.back().unclean_runs, 1U);
  kill(boot_history);
  directory.write("boots.json", "damaged");
  BootHistory again = device.start(directory.path());
  EXPECT_EQ(again.history().starts, 8U);
  EXPECT_EQ(again.history().unclean_runs, 2U);
}

TEST_F(BootHistoryTest, AStopThatTheDiskDidNotTakeIsClean) {
  TempDir run;
  TestDevice device("5b0f21aa-0c1d-4e2f-8a3b-445566778899");
  device.runtime_directory = run.path();
  {
    BootHistory boot_history = device.start(directory.path());
    boot_history.observe(facts_with("MAINSWRST"));
    kill(boot_history);
    ASSERT_EQ(::mkdir(directory.file("boots.json.new").c_str(), 0700), 0);
    boot_history.finish(RunEnd::kStopped);
  }
  ASSERT_EQ(::rmdir(directory.file("boots.json.new").c_str()), 0);
  EXPECT_EQ(device.start(directory.path()).history().unclean_runs, 0U);
}

TEST_F(BootHistoryTest, StartsAreKnownWithoutADisk) {
  TempDir run;
  TestDevice device("5b0f21aa-0c1d-4e2f-8a3b-445566778899");
  device.runtime_directory = run.path();
  EXPECT_NE(device.start("").view().starts, nullptr);
  EXPECT_EQ(device.start("").view().starts->at.size(), 2U);
  device.runtime_directory.clear();
  EXPECT_EQ(device.start("").view().starts, nullptr) << "not known is not 1";
}

TEST_F(BootHistoryTest, MarksAreNotReadWhileSomebodyAddsOne) {
  directory.write("marks.jsonl", "half of a li");
  const int fd = ::open(directory.file("marks.jsonl").c_str(), O_RDWR | O_CLOEXEC);
  ASSERT_GE(fd, 0);
  ASSERT_EQ(::flock(fd, LOCK_EX | LOCK_NB), 0);
  MarksState snapshot = check_marks(directory.path(), {});
  EXPECT_FALSE(snapshot.text.has_value());
  ::close(fd);
  snapshot = check_marks(directory.path(), snapshot.seen);
  ASSERT_TRUE(snapshot.text.has_value());
  EXPECT_EQ(snapshot.text->value(), "half of a li");
  EXPECT_FALSE(check_marks(directory.path(), snapshot.seen).text.has_value()) << "as it was";
}

}  // namespace
}  // namespace jetmem
