// SPDX-License-Identifier: Apache-2.0
#include "daemon/log/async_logger.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <future>
#include <vector>

namespace jetmem {
namespace {

using std::chrono::milliseconds;
using Written = std::vector<std::string>;

struct Recorder : LogWriter {
  explicit Recorder(std::shared_ptr<Written> to, std::shared_future<void> until = {})
      : lines(std::move(to)), go(std::move(until)) {}
  bool write(const LogEntry& entry) override {
    // Where it waits, it is a terminal that was stopped with Ctrl-S.
    if (go.valid()) go.wait();
    lines->push_back(entry.message);
    return entry.message != "refuse";
  }
  std::shared_ptr<Written> lines;
  std::shared_future<void> go;
};

TEST(AsyncLogger, WritesInOrderAndBeforeItStops) {
  const auto lines = std::make_shared<Written>();
  AsyncLogger async_logger(std::make_unique<Recorder>(lines));
  for (int i = 0; i < 100; ++i) async_logger.info(std::to_string(i));
  async_logger.debug("below the level");
  EXPECT_TRUE(async_logger.stop(milliseconds(5000)));
  ASSERT_EQ(lines->size(), 100U);
  EXPECT_EQ(lines->back(), "99");
  EXPECT_EQ(async_logger.written(), 100U);
}

TEST(AsyncLogger, ARefusedEntryIsCounted) {
  AsyncLogger async_logger(std::make_unique<Recorder>(std::make_shared<Written>()));
  async_logger.info("refuse");
  EXPECT_TRUE(async_logger.stop(milliseconds(5000)));
  EXPECT_EQ(async_logger.failed(), 1U);
}

TEST(AsyncLogger, AStuckWriterCostsNeitherTheLoopNorTheExit) {
  std::promise<void> go;
  AsyncLogger async_logger(
      std::make_unique<Recorder>(std::make_shared<Written>(), go.get_future().share()));
  for (std::size_t i = 0; i < AsyncLogger::kMaxQueue + 500; ++i) async_logger.info("x");
  EXPECT_GE(async_logger.dropped(), 499U);
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_FALSE(async_logger.stop(milliseconds(50)));
  EXPECT_LT(std::chrono::steady_clock::now() - begin, milliseconds(1000));
  go.set_value();  // the thread left behind ends by itself
}

TEST(AsyncLogger, LossIsSaidInTheLogItself) {
  const auto lines = std::make_shared<Written>();
  std::promise<void> go;
  AsyncLogger async_logger(std::make_unique<Recorder>(lines, go.get_future().share()));
  for (std::size_t i = 0; i < AsyncLogger::kMaxQueue + 500; ++i) async_logger.info("x");
  const std::uint64_t dropped = async_logger.dropped();
  go.set_value();
  EXPECT_TRUE(async_logger.stop(milliseconds(5000)));
  const std::string logged = std::to_string(dropped) +
                             " log entries were dropped: the log could not be written fast enough";
  EXPECT_NE(std::find(lines->begin(), lines->end(), logged), lines->end());
}

TEST(AsyncLogger, AlertsFindRoomInAFullQueueWhateverTheLevel) {
  const auto lines = std::make_shared<Written>();
  std::promise<void> go;
  AsyncLogger async_logger(std::make_unique<Recorder>(lines, go.get_future().share()),
                           LogLevel::kError);
  for (std::size_t i = 0; i < AsyncLogger::kMaxQueue + 10; ++i) async_logger.error("noise");
  const std::uint64_t dropped = async_logger.dropped();
  EXPECT_GT(dropped, 0U);
  async_logger.write({LogLevel::kInfo, "alert", {}, true});
  EXPECT_EQ(async_logger.dropped(), dropped);
  go.set_value();
  EXPECT_TRUE(async_logger.stop(milliseconds(5000)));
  EXPECT_EQ(std::count(lines->begin(), lines->end(), "alert"), 1);
}

}  // namespace
}  // namespace jetmem
