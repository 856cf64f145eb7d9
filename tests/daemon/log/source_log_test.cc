// SPDX-License-Identifier: Apache-2.0
#include "daemon/log/source_log.h"

#include <gtest/gtest.h>

#include "tests/recorded_log.h"

namespace jetmem {
namespace {

constexpr std::size_t kMost = RateLimitedLog::Limits{}.per_key;

class SourceLogTest : public testing::Test {
 protected:
  SourceLogTest() {
    clock_.advance(std::chrono::hours(1));
    status_.interval = std::chrono::seconds(1);
  }
  void change(SourceState state, std::string reason = {}) {
    status_.state = state;
    status_.reason = std::move(reason);
    log_.changed(info_, status_);
  }
  const LogEntry& last() const { return recorder_.entries.back(); }

  SourceInfo info_{.name = "thermal", .grant = "ask root"};
  SourceStatus status_;
  ManualClock clock_;
  RecordedLog recorder_;
  SourceLog log_{recorder_, clock_};
};

TEST_F(SourceLogTest, SaysStateReasonAndWhatWouldHelp) {
  change(SourceState::kOk);
  EXPECT_EQ(last().level, LogLevel::kDebug) << "that it works at start is no news";
  change(SourceState::kDenied, "read /x: Permission denied");
  EXPECT_EQ(last().message,
            "source thermal: denied: read /x: Permission denied; to have it: ask root");
  EXPECT_EQ(last().level, LogLevel::kWarning);
  change(SourceState::kOk);
  EXPECT_EQ(last().level, LogLevel::kInfo) << "that it works again is";
  status_.stale = true;
  change(SourceState::kFailed, "line 3: nonsense");
  EXPECT_EQ(last().message,
            "source thermal: stale: no good reading for three intervals of 1s; its series are "
            "dropped (line 3: nonsense)");
  status_.stale = false;
  change(SourceState::kFailed, "found '\x1b[2J\n'");
  EXPECT_EQ(last().message, "source thermal: failed: found '?[2J?'") << "it steers no terminal";
}

TEST_F(SourceLogTest, WhoChangesTooOftenIsBoundedAndItsEndIsReported) {
  for (int i = 0; i < 50; ++i) {
    change(SourceState::kFailed, "bad");
    change(SourceState::kOk);
  }
  change(SourceState::kFailed, "for good");
  EXPECT_EQ(recorder_.entries.size(), kMost);
  EXPECT_EQ(log_.suppressed(), 95U);
  log_.flush_due();
  EXPECT_EQ(recorder_.entries.size(), kMost) << "not yet";
  clock_.advance(std::chrono::minutes(10));
  log_.flush_due();
  EXPECT_EQ(last().message, "source thermal: failed: for good (the last of 95 suppressed entries)");
  log_.flush_due();
  EXPECT_EQ(recorder_.entries.size(), kMost + 1) << "once";
}

}  // namespace
}  // namespace jetmem
