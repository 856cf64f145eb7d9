// SPDX-License-Identifier: Apache-2.0
#include "daemon/log/async_logger.h"

#include <gmock/gmock.h>

#include <future>
#include <vector>

namespace jetmem {
namespace {

using std::chrono::milliseconds;
using Written = std::vector<std::string>;

struct Recorder : LogWriter {
  Recorder(std::shared_ptr<Written> to, std::shared_future<void> until)
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

struct AsyncLoggerTest : testing::Test {
  void start(std::shared_future<void> until = {}, LogLevel level = LogLevel::kInfo) {
    logger = std::make_unique<AsyncLogger>(std::make_unique<Recorder>(lines, until), level);
  }
  // Its queue is full, and nothing is written before `go`.
  void start_stuck(LogLevel level = LogLevel::kInfo) {
    start(go.get_future().share(), level);
    for (std::size_t i = 0; i < AsyncLogger::kMaxQueue + 500; ++i) logger->error("noise");
  }
  std::shared_ptr<Written> lines = std::make_shared<Written>();
  std::promise<void> go;
  std::unique_ptr<AsyncLogger> logger;
};

TEST_F(AsyncLoggerTest, WritesInOrderAndBeforeItStopsAndCountsWhatIsRefused) {
  start();
  for (int i = 0; i < 100; ++i) logger->info(std::to_string(i));
  logger->debug("below the level");
  logger->info("refuse");
  EXPECT_TRUE(logger->stop(milliseconds(5000)));
  ASSERT_EQ(lines->size(), 101U);
  EXPECT_EQ((*lines)[99], "99");
  EXPECT_EQ(logger->written(), 100U);
  EXPECT_EQ(logger->failed(), 1U);
}

TEST_F(AsyncLoggerTest, AStuckWriterCostsNeitherTheLoopNorTheExit) {
  start_stuck();
  EXPECT_GE(logger->dropped(), 499U);
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_FALSE(logger->stop(milliseconds(50)));
  EXPECT_LT(std::chrono::steady_clock::now() - begin, milliseconds(1000));
  go.set_value();  // the thread left behind ends by itself
}

TEST_F(AsyncLoggerTest, AlertsFindRoomInAFullQueueWhateverTheLevelAndLossIsSaid) {
  start_stuck(LogLevel::kError);
  const std::uint64_t dropped = logger->dropped();
  logger->write({LogLevel::kInfo, "alert", {}, true});
  EXPECT_EQ(logger->dropped(), dropped);
  go.set_value();
  EXPECT_TRUE(logger->stop(milliseconds(5000)));
  EXPECT_THAT(*lines, testing::Contains("alert"));
  EXPECT_THAT(*lines, testing::Contains(
                          std::to_string(dropped) +
                          " log entries were dropped: the log could not be written fast enough"));
}

}  // namespace
}  // namespace jetmem
