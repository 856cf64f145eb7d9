// SPDX-License-Identifier: Apache-2.0
#include "base/rate_limited_log.h"

#include <gtest/gtest.h>

namespace jetmem {
namespace {

using std::chrono::minutes;

class RateLimitedLogTest : public testing::Test {
 protected:
  RateLimitedLog make(RateLimitedLog::Options options) {
    return {[this](LogEntry entry) { entries_.push_back(std::move(entry)); }, options};
  }
  static LogEntry entry(const char* message) { return {LogLevel::kInfo, message, {}}; }
  std::string count(std::size_t i) const {
    return entries_.at(i).fields.empty() ? "" : entries_[i].fields[0].second;
  }
  std::vector<LogEntry> entries_;
};

TEST_F(RateLimitedLogTest, TheNextEntryHasTheNumberOfTheSuppressed) {
  RateLimitedLog log = make({});
  for (int i = 0; i < 10; ++i) log.write(minutes(1), entry("a"), {.per_key = 2});
  ASSERT_EQ(entries_.size(), 2U);
  EXPECT_EQ(entries_[0].message, "a");
  EXPECT_EQ(entries_[1].message, "a; further entries are suppressed for 10 min");
  log.write(minutes(10), entry("a"), {.per_key = 2});
  EXPECT_EQ(entries_.size(), 2U) << "the window begins with its first entry";
  log.flush_due(minutes(11));
  log.write(minutes(11), entry("b"), {.per_key = 2});
  ASSERT_EQ(entries_.size(), 3U);
  EXPECT_EQ(entries_[2].message, "b (9 entries before it suppressed)");
  EXPECT_EQ(count(2), "9");
  EXPECT_EQ(log.suppressed(), 9U);
}

TEST_F(RateLimitedLogTest, TheLastSuppressedEntryIsWrittenOnce) {
  RateLimitedLog log = make({.writes_last = true, .announces = false});
  for (const char* message : {"a", "b", "c"}) log.write(minutes(1), entry(message), {.per_key = 1});
  log.flush_due(minutes(10));
  EXPECT_EQ(entries_.size(), 1U);
  log.flush_due(minutes(11));
  log.flush_due(minutes(30));
  log.flush_all();
  ASSERT_EQ(entries_.size(), 2U);
  EXPECT_EQ(entries_[1].message, "c (the last of 2 suppressed entries)");
}

TEST_F(RateLimitedLogTest, KeysAreBoundedAndNoneIsLostUncounted) {
  RateLimitedLog log = make({.writes_last = true, .announces = false, .max_keys = 4});
  for (int i = 0; i < 20; ++i) {
    log.write(minutes(1), entry("a"), {.per_key = 1, .in_all = 3}, std::to_string(i));
  }
  EXPECT_EQ(entries_.size(), 3U);
  EXPECT_EQ(log.suppressed(), 17U);
  log.flush_all();
  std::uint64_t counted = 0;
  for (std::size_t i = 3; i < entries_.size(); ++i) counted += std::stoull(count(i));
  EXPECT_EQ(counted, 17U);
  EXPECT_TRUE(entries_.back().message.ends_with("too many different ones"));
  EXPECT_TRUE(entries_.back().always);
  const std::size_t written = entries_.size();
  log.flush_due(minutes(60));
  EXPECT_EQ(entries_.size(), written) << "each once";
}

}  // namespace
}  // namespace jetmem
