// SPDX-License-Identifier: Apache-2.0
#include "daemon/log/async_logger.h"

#include <gtest/gtest.h>

#include <future>
#include <vector>

namespace jetmem {
namespace {

using std::chrono::milliseconds;

struct Recorder : LogWriter {
  explicit Recorder(std::vector<std::string>& to) : lines(to) {}
  bool write(const LogEntry& entry) override {
    lines.push_back(entry.message);
    return entry.message != "refuse";
  }
  std::vector<std::string>& lines;
};

// A terminal that was stopped with Ctrl-S.
struct Stuck : LogWriter {
  explicit Stuck(std::shared_future<void> until) : go(std::move(until)) {}
  bool write(const LogEntry&) override {
    go.wait();
    return true;
  }
  std::shared_future<void> go;
};

TEST(AsyncLogger, WritesInOrderAndBeforeItStops) {
  std::vector<std::string> lines;
  AsyncLogger async_logger(std::make_unique<Recorder>(lines));
  for (int i = 0; i < 100; ++i) async_logger.info(std::to_string(i));
  async_logger.debug("below the level");
  EXPECT_TRUE(async_logger.stop(milliseconds(5000)));
  ASSERT_EQ(lines.size(), 100U);
  EXPECT_EQ(lines.back(), "99");
  EXPECT_EQ(async_logger.written(), 100U);
}

TEST(AsyncLogger, ARefusedEntryIsCounted) {
  std::vector<std::string> lines;
  AsyncLogger async_logger(std::make_unique<Recorder>(lines));
  async_logger.info("refuse");
  EXPECT_TRUE(async_logger.stop(milliseconds(5000)));
  EXPECT_EQ(async_logger.failed(), 1U);
}

TEST(AsyncLogger, AStuckWriterCostsNeitherTheLoopNorTheExit) {
  std::promise<void> go;
  AsyncLogger async_logger(std::make_unique<Stuck>(go.get_future().share()));
  for (std::size_t i = 0; i < AsyncLogger::kMaxQueue + 500; ++i) async_logger.info("x");
  EXPECT_GE(async_logger.dropped(), 499U);
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_FALSE(async_logger.stop(milliseconds(50)));
  EXPECT_LT(std::chrono::steady_clock::now() - begin, milliseconds(1000));
  go.set_value();  // the thread left behind ends by itself
}

TEST(AsyncLogger, LossIsSaidInTheLogItself) {
  struct Slow : LogWriter {
    Slow(std::vector<std::string>& to, std::shared_future<void> until)
        : lines(to), go(std::move(until)) {}
    bool write(const LogEntry& entry) override {
      go.wait();
      lines.push_back(entry.message);
      return true;
    }
    std::vector<std::string>& lines;
    std::shared_future<void> go;
  };
  std::vector<std::string> lines;
  std::promise<void> go;
  AsyncLogger async_logger(std::make_unique<Slow>(lines, go.get_future().share()));
  for (std::size_t i = 0; i < AsyncLogger::kMaxQueue + 500; ++i) async_logger.info("x");
  const std::uint64_t dropped = async_logger.dropped();
  go.set_value();
  EXPECT_TRUE(async_logger.stop(milliseconds(5000)));
  const std::string logged = std::to_string(dropped) +
                             " log entries were dropped: the log could not be written fast enough";
  EXPECT_NE(std::find(lines.begin(), lines.end(), logged), lines.end());
}

}  // namespace
}  // namespace jetmem
