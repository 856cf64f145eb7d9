// SPDX-License-Identifier: Apache-2.0
#include "collectors/kernel_log/kernel_log.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace jetmem::kernel_log {
namespace {

using std::chrono::hours;
using std::chrono::microseconds;
using std::chrono::seconds;

class KernelLogTest : public testing::Test {
 protected:
  KernelLogTest() { clock_.advance(seconds(1000)); }

  std::unique_ptr<KernelLog> make(KernelLog::Options options = {}) {
    return std::make_unique<KernelLog>(
        clock_, options, [this](const Event& event, const Occurrence& occurrence) {
          kinds_.emplace_back(info_of(event.kind()).name);
          before_start_.push_back(occurrence.before_start);
          times_.push_back(occurrence.time.value_or(Nanoseconds(-1)));
        });
  }
  static std::string record(std::uint64_t seq, std::string_view text,
                            std::uint64_t usec = 5'000'000, std::string_view flags = "-",
                            int prio = 3) {
    return std::to_string(prio) + "," + std::to_string(seq) + "," + std::to_string(usec) + "," +
           std::string(flags) + ";" + std::string(text) + "\n";
  }
  static std::string kill(std::uint64_t seq, std::uint64_t usec = 5'000'000, int prio = 3) {
    return record(seq, killed(7), usec, "-", prio);
  }
  static std::string killed(int pid) {
    return "Out of memory: Killed process " + std::to_string(pid) +
           " (planner) total-vm:812kB, anon-rss:300kB, file-rss:8kB, shmem-rss:0kB, UID:0 "
           "pgtables:24kB oom_score_adj:0";
  }
  static void device(KernelLog& log, std::uint64_t seq, std::uint64_t stamp_us) {
    log.record(record(seq, killed(static_cast<int>(seq)), stamp_us));
    log.flush();
  }
  // A line of the kernel's, as the journal gives it.
  static void journal(KernelLog& log, int stamp_us, const std::string& text = killed(1),
                      bool late = false) {
    LogLine line;
    line.voice = Voice::kKernel;
    line.stamp = microseconds(stamp_us);
    line.text = text;
    line.late = late;
    log.line(line);
    log.flush();
  }
  // Another that goes on where this one was.
  std::unique_ptr<KernelLog> restarted(const KernelLog& before) {
    auto log = make();
    log->resume_after(before.last_seq(), before.last_stamp(), before.last_was_line());
    return log;
  }
  static std::uint64_t kills(const KernelLog& log) {
    return log.tally().events(EventKind::kOomKill, Origin::kSystem);
  }

  ManualClock clock_;
  std::vector<std::string> kinds_;
  std::vector<bool> before_start_;
  std::vector<Nanoseconds> times_;
};

TEST_F(KernelLogTest, WhatWasThereBeforeUsIsMarkedAndWhatIsMissingCounted) {
  auto log = make();
  log->record(kill(40));
  log->caught_up();
  log->record(kill(41, 900'000'000));
  EXPECT_EQ(before_start_, (std::vector<bool>{true, false}));
  EXPECT_EQ(times_, (std::vector<Nanoseconds>{seconds(5), seconds(1000)})) << "news is of now";
  EXPECT_EQ(log->counters().lost_before_start, 40U);
  EXPECT_EQ(log->counters().lost, 0U);
  log->record(kill(50, 910'000'000));
  EXPECT_EQ(log->counters().lost, 8U);
  EXPECT_EQ(log->tally().before_start(EventKind::kOomKill), 1U);
}

TEST_F(KernelLogTest, TimesAreOnTheBootClock) {
  auto log = make();
  clock_.suspend(hours(1));  // mono stands still, boot runs on
  log->record(kill(0, 990'000'000));
  // Those of a capture are since boot.
  log = make();
  log->set_captured();
  log->record(kill(0, 7'000'000'000));
  EXPECT_EQ(times_, (std::vector<Nanoseconds>{hours(1) + seconds(990), seconds(7000)}));
}

TEST_F(KernelLogTest, WhatTheJournalGivesLateHappenedWhenItWasPrinted) {
  auto log = make();
  log->caught_up();
  journal(*log, 400'000'000, killed(1), true);
  EXPECT_EQ(times_, (std::vector<Nanoseconds>{seconds(400)}));
  EXPECT_EQ(before_start_, (std::vector<bool>{false}));
}

TEST_F(KernelLogTest, RecordsSeenBeforeARestartAreNotSeenAgain) {
  auto log = make();
  log->resume_after(41, microseconds(0), false);
  log->record(kill(40));
  log->record(kill(41));
  EXPECT_TRUE(kinds_.empty());
  log->record(kill(43));
  EXPECT_EQ(kinds_.size(), 1U);
  EXPECT_EQ(log->counters().lost, 1U);
  EXPECT_EQ(log->counters().lost_before_start, 0U);
}

TEST_F(KernelLogTest, AProcessIsNotTheKernel) {
  auto log = make();
  log->record(kill(0, 1, 8 + 3));
  EXPECT_TRUE(kinds_.empty());
  EXPECT_EQ(log->counters().foreign, 1U);
  log->set_accept_user_records(true);
  log->record(kill(1, 1, 8 + 3));
  EXPECT_EQ(kinds_.size(), 1U);
}

TEST_F(KernelLogTest, AFragmentIsReadWithWhatItContinues) {
  auto log = make();
  const std::string whole = killed(7);
  log->record(record(0, whole.substr(0, 40)));
  log->record(record(1, whole.substr(40), 5'000'000, "c"));
  log->flush();
  EXPECT_EQ(kinds_, (std::vector<std::string>{"oom_kill"}));
  // One behind a whole event does not count it again.
  log->record(kill(2));
  log->record(record(3, " and more", 5'000'000, "c"));
  log->record(record(4, " and more", 5'000'000, "c"));
  log->flush();
  EXPECT_EQ(kinds_.size(), 2U);
  for (std::uint64_t i = 5; i < 1000; ++i) {
    log->record(record(i, std::string(800, 'x'), 1, "c"));
  }
  log->record(kill(1000));
  EXPECT_EQ(kinds_.size(), 3U) << "many are bounded";
}

TEST_F(KernelLogTest, SuppressedMessagesCountForTheirKind) {
  auto log = make();
  log->record(record(0, "arm_smmu_context_fault: 83 callbacks suppressed"));
  EXPECT_EQ(log->tally().events(EventKind::kSmmuContextFault, Origin::kSystem), 83U);
  log->record(record(1, "some_other_function: 5 callbacks suppressed"));
  EXPECT_EQ(log->tally().events(EventKind::kRatelimitSuppressed, Origin::kSystem), 1U);
}

TEST_F(KernelLogTest, TheSameLinesFromTheJournalAreNotCountedTwice) {
  auto log = make();
  log->record(kill(0, 5'000'000));
  log->input_changed();
  journal(*log, 5'000'000, killed(7));
  EXPECT_EQ(kinds_.size(), 1U);
  journal(*log, 5'000'001, killed(7));
  EXPECT_EQ(kinds_.size(), 2U);
  log->input_changed();
  log->record(kill(1, 5'000'001));
  EXPECT_EQ(kinds_.size(), 2U);
  log->record(kill(2, 5'000'002));
  EXPECT_EQ(kinds_.size(), 3U);
}

TEST_F(KernelLogTest, AProcessLineNamesWhoPrintedIt) {
  std::string unit;
  std::int64_t pid = 0;
  KernelLog log(clock_, {}, [&](const Event& event, const Occurrence&) {
    unit = event.text("unit");
    pid = event.number("pid").value_or(0);
  });
  LogLine line;
  line.voice = Voice::kProcess;
  line.text = "NvMapMemAllocInternalTagged: 1076000000 error 12";
  line.unit = "detector.service";
  line.pid = 812;
  log.line(line);
  EXPECT_EQ(unit, "detector.service");
  EXPECT_EQ(pid, 812);
  EXPECT_EQ(log.tally().events(EventKind::kNvmap, Origin::kSystem), 1U);
  // The kernel's lines are not believed from there.
  line.text = "Out of memory and no killable processes...";
  log.line(line);
  EXPECT_EQ(log.tally().events(EventKind::kOomNoVictim, Origin::kSystem), 0U);
}

TEST_F(KernelLogTest, GarbageIsCounted) {
  auto log = make();
  log->record("");
  log->record("x");
  log->record("3,4");
  EXPECT_EQ(log->counters().malformed, 3U);
  log->record(std::string(1 << 20, '\0'));
  EXPECT_EQ(log->counters().malformed, 4U);
}

TEST_F(KernelLogTest, WhatTheJournalGaveTheDeviceDoesNotGiveAgain) {
  auto log = make();
  device(*log, 0, 10);
  journal(*log, 20);
  const auto later = restarted(*log);
  journal(*log, 30);
  device(*log, 0, 10);
  device(*log, 1, 20);
  device(*log, 2, 30);
  EXPECT_EQ(kills(*log), 3U);
  device(*log, 3, 40);
  device(*log, 4, 40);
  EXPECT_EQ(kills(*log), 5U);
  // Not after a restart either.
  device(*later, 0, 10);
  device(*later, 1, 20);
  device(*later, 2, 30);
  EXPECT_EQ(kills(*later), 1U);
}

// Lines of one moment share a stamp: only the number tells them apart.
TEST_F(KernelLogTest, AfterTheDeviceItsNumbersDecide) {
  auto before = make();
  device(*before, 0, 10);
  auto log = restarted(*before);
  device(*log, 0, 10);
  device(*log, 1, 10);
  EXPECT_EQ(kills(*log), 1U);
}

TEST_F(KernelLogTest, WhatTheJournalGaveIsNotLost) {
  auto log = make();
  journal(*log, 20);
  device(*log, 500, 10);
  device(*log, 501, 30);
  device(*log, 503, 40);
  EXPECT_EQ(log->counters().lost_before_start, 0U);
  EXPECT_EQ(log->counters().lost, 1U);
  EXPECT_EQ(kills(*log), 3U);
}

TEST_F(KernelLogTest, AFurtherLineOfARecordIsNoEventOfItsOwn) {
  auto log = make();
  log->record(record(0, "usb 1-1: Product: x\\x0a" + killed(1)));
  journal(*log, 9'000'000, "usb 1-1: Product: x\n" + killed(1));
  EXPECT_TRUE(kinds_.empty());
  EXPECT_EQ(log->counters().records, 2U);
}

// The lines that tie a disk to its port are from before the restart.
TEST_F(KernelLogTest, ADriveIsKnownAfterARestart) {
  bool removed = false;
  KernelLog log(clock_, {}, [&](const Event& event, const Occurrence&) {
    removed = event.boolean("removed").value_or(false);
  });
  log.resume_after(2, microseconds(5'000'000), false);
  log.record(record(0, "scsi host0: usb-storage 1-1.2:1.0"));
  log.record(record(1, "sd 0:0:0:0: [sda] Attached SCSI removable disk"));
  log.record(record(2, "usb 1-1.2: USB disconnect, device number 5"));
  log.record(record(3, "I/O error, dev sda, sector 8"));
  log.flush();
  EXPECT_TRUE(removed);
}

}  // namespace
}  // namespace jetmem::kernel_log
