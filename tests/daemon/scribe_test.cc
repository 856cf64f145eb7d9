#include "daemon/scribe.h"

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

TEST(Scribe, WritesInOrderAndBeforeItStops) {
  std::vector<std::string> lines;
  Scribe scribe(std::make_unique<Recorder>(lines));
  for (int i = 0; i < 100; ++i) scribe.info(std::to_string(i));
  scribe.debug("below the level");
  EXPECT_TRUE(scribe.stop(milliseconds(5000)));
  ASSERT_EQ(lines.size(), 100U);
  EXPECT_EQ(lines.back(), "99");
  EXPECT_EQ(scribe.written(), 100U);
}

TEST(Scribe, ARefusedEntryIsCounted) {
  std::vector<std::string> lines;
  Scribe scribe(std::make_unique<Recorder>(lines));
  scribe.info("refuse");
  EXPECT_TRUE(scribe.stop(milliseconds(5000)));
  EXPECT_EQ(scribe.failed(), 1U);
}

TEST(Scribe, AStuckWriterCostsNeitherTheLoopNorTheExit) {
  std::promise<void> go;
  Scribe scribe(std::make_unique<Stuck>(go.get_future().share()));
  for (std::size_t i = 0; i < Scribe::kMaxQueue + 500; ++i) scribe.info("x");
  EXPECT_GE(scribe.dropped(), 499U);
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_FALSE(scribe.stop(milliseconds(50)));
  EXPECT_LT(std::chrono::steady_clock::now() - begin, milliseconds(1000));
  go.set_value();  // the thread left behind ends by itself
}

TEST(Scribe, LossIsSaidInTheLogItself) {
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
  Scribe scribe(std::make_unique<Slow>(lines, go.get_future().share()));
  for (std::size_t i = 0; i < Scribe::kMaxQueue + 500; ++i) scribe.info("x");
  const std::uint64_t dropped = scribe.dropped();
  go.set_value();
  EXPECT_TRUE(scribe.stop(milliseconds(5000)));
  const std::string said = std::to_string(dropped) +
                           " log entries were dropped: the log could not be written fast enough";
  EXPECT_NE(std::find(lines.begin(), lines.end(), said), lines.end());
}

}  // namespace
}  // namespace jetmem
