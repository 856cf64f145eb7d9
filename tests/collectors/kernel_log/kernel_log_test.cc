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
  KernelLogTest() {
    clock_.advance(seconds(1000));
    log_ = make();
  }

  std::unique_ptr<KernelLog> make() {
    return std::make_unique<KernelLog>(
        clock_, KernelLog::Options{}, [this](const Event& event, const Occurrence& occurrence) {
          events_.push_back(event);
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
  std::vector<Event> events_;
  std::vector<bool> before_start_;
  std::vector<Nanoseconds> times_;
  std::unique_ptr<KernelLog> log_;
};

TEST_F(KernelLogTest, WhatWasThereBeforeUsIsMarkedAndWhatIsMissingCounted) {
  log_->record(kill(40));
  log_->caught_up();
  log_->record(kill(41, 900'000'000));
  EXPECT_EQ(before_start_, (std::vector<bool>{true, false}));
  EXPECT_EQ(times_, (std::vector<Nanoseconds>{seconds(5), seconds(1000)})) << "news is of now";
  EXPECT_EQ(log_->counters().lost_before_start, 40U);
  EXPECT_EQ(log_->counters().lost, 0U);
  log_->record(kill(50, 910'000'000));
  EXPECT_EQ(log_->counters().lost, 8U);
  EXPECT_EQ(log_->tally().before_start(EventKind::kOomKill), 1U);
}

TEST_F(KernelLogTest, TimesAreOnTheBootClock) {
  clock_.suspend(hours(1));  // mono stands still, boot runs on
  log_->record(kill(0, 990'000'000));
  // Those of a capture are since boot.
  log_ = make();
  log_->set_captured();
  log_->record(kill(0, 7'000'000'000));
  EXPECT_EQ(times_, (std::vector<Nanoseconds>{hours(1) + seconds(990), seconds(7000)}));
}

TEST_F(KernelLogTest, WhatTheJournalGivesLateHappenedWhenItWasPrinted) {
  log_->caught_up();
  journal(*log_, 400'000'000, killed(1), true);
  EXPECT_EQ(times_, (std::vector<Nanoseconds>{seconds(400)}));
  EXPECT_EQ(before_start_, (std::vector<bool>{false}));
}

TEST_F(KernelLogTest, RecordsSeenBeforeARestartAreNotSeenAgain) {
  log_->resume_after(41, microseconds(0), false);
  log_->record(kill(40));
  log_->record(kill(41));
  EXPECT_TRUE(events_.empty());
  log_->record(kill(43));
  EXPECT_EQ(events_.size(), 1U);
  EXPECT_EQ(log_->counters().lost, 1U);
  EXPECT_EQ(log_->counters().lost_before_start, 0U);
}

TEST_F(KernelLogTest, AProcessIsNotTheKernel) {
  log_->record(kill(0, 1, 8 + 3));
  EXPECT_TRUE(events_.empty());
  EXPECT_EQ(log_->counters().foreign, 1U);
  log_->set_accept_user_records(true);
  log_->record(kill(1, 1, 8 + 3));
  EXPECT_EQ(events_.size(), 1U);
}

TEST_F(KernelLogTest, AFragmentIsReadWithWhatItContinues) {
  const std::string whole = killed(7);
  log_->record(record(0, whole.substr(0, 40)));
  log_->record(record(1, whole.substr(40), 5'000'000, "c"));
  log_->flush();
  ASSERT_EQ(events_.size(), 1U);
  EXPECT_EQ(events_[0].kind(), EventKind::kOomKill);
  // One behind a whole event does not count it again.
  log_->record(kill(2));
  log_->record(record(3, " and more", 5'000'000, "c"));
  log_->record(record(4, " and more", 5'000'000, "c"));
  log_->flush();
  EXPECT_EQ(events_.size(), 2U);
  for (std::uint64_t i = 5; i < 1000; ++i) {
    log_->record(record(i, std::string(800, 'x'), 1, "c"));
  }
  log_->record(kill(1000));
  EXPECT_EQ(events_.size(), 3U) << "many are bounded";
}

TEST_F(KernelLogTest, SuppressedMessagesCountForTheirKind) {
  log_->record(record(0, "arm_smmu_context_fault: 83 callbacks suppressed"));
  EXPECT_EQ(log_->tally().events(EventKind::kSmmuContextFault, Origin::kSystem), 83U);
  log_->record(record(1, "some_other_function: 5 callbacks suppressed"));
  EXPECT_EQ(log_->tally().events(EventKind::kRatelimitSuppressed, Origin::kSystem), 1U);
}

TEST_F(KernelLogTest, TheSameLinesFromTheJournalAreNotCountedTwice) {
  log_->record(kill(0, 5'000'000));
  log_->input_changed();
  journal(*log_, 5'000'000, killed(7));
  EXPECT_EQ(events_.size(), 1U);
  journal(*log_, 5'000'001, killed(7));
  EXPECT_EQ(events_.size(), 2U);
  log_->input_changed();
  log_->record(kill(1, 5'000'001));
  EXPECT_EQ(events_.size(), 2U);
  log_->record(kill(2, 5'000'002));
  EXPECT_EQ(events_.size(), 3U);
}

TEST_F(KernelLogTest, AProcessLineNamesWhoPrintedIt) {
  LogLine line;
  line.voice = Voice::kProcess;
  line.text = "NvMapMemAllocInternalTagged: 1076000000 error 12";
  line.unit = "detector.service";
  line.pid = 812;
  log_->line(line);
  EXPECT_EQ(events_.at(0).text("unit"), "detector.service");
  EXPECT_EQ(events_[0].number("pid"), 812);
  EXPECT_EQ(log_->tally().events(EventKind::kNvmap, Origin::kSystem), 1U);
  // The kernel's lines are not believed from there.
  line.text = "Out of memory and no killable processes...";
  log_->line(line);
  EXPECT_EQ(events_.size(), 1U);
}

TEST_F(KernelLogTest, GarbageIsCounted) {
  log_->record("");
  log_->record("x");
  log_->record("3,4");
  EXPECT_EQ(log_->counters().malformed, 3U);
  log_->record(std::string(1 << 20, '\0'));
  EXPECT_EQ(log_->counters().malformed, 4U);
}

TEST_F(KernelLogTest, WhatTheJournalGaveTheDeviceDoesNotGiveAgain) {
  device(*log_, 0, 10);
  journal(*log_, 20);
  const auto later = restarted(*log_);
  journal(*log_, 30);
  device(*log_, 0, 10);
  device(*log_, 1, 20);
  device(*log_, 2, 30);
  EXPECT_EQ(kills(*log_), 3U);
  device(*log_, 3, 40);
  device(*log_, 4, 40);
  EXPECT_EQ(kills(*log_), 5U);
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
  journal(*log_, 20);
  device(*log_, 500, 10);
  device(*log_, 501, 30);
  device(*log_, 503, 40);
  EXPECT_EQ(log_->counters().lost_before_start, 0U);
  EXPECT_EQ(log_->counters().lost, 1U);
  EXPECT_EQ(kills(*log_), 3U);
}

TEST_F(KernelLogTest, AFurtherLineOfARecordIsNoEventOfItsOwn) {
  log_->record(record(0, "usb 1-1: Product: x\\x0a" + killed(1)));
  journal(*log_, 9'000'000, "usb 1-1: Product: x\n" + killed(1));
  EXPECT_TRUE(events_.empty());
  EXPECT_EQ(log_->counters().records, 2U);
}

// The lines that tie a disk to its port are from before the restart.
TEST_F(KernelLogTest, ADriveIsKnownAfterARestart) {
  log_->resume_after(2, microseconds(5'000'000), false);
  log_->record(record(0, "scsi host0: usb-storage 1-1.2:1.0"));
  log_->record(record(1, "sd 0:0:0:0: [sda] Attached SCSI removable disk"));
  log_->record(record(2, "usb 1-1.2: USB disconnect, device number 5"));
  log_->record(record(3, "I/O error, dev sda, sector 8"));
  log_->flush();
  EXPECT_EQ(events_.at(0).boolean("removed"), true);
}

}  // namespace
}  // namespace jetmem::kernel_log
