// SPDX-License-Identifier: Apache-2.0
#include "daemon/http/api/history_query_worker.h"

#include <gmock/gmock.h>

#include <future>
#include <vector>

namespace jetmem {
namespace {

using Asker = HistoryQueryWorker::Asker;
using State = HistoryQueryWorker::State;
using std::chrono::milliseconds;

class HistoryQueryWorkerTest : public testing::Test {
 protected:
  State ask(const std::string& key, Asker asker, milliseconds timeout = milliseconds(0)) {
    const auto question = [this, key] {
      if (key == "disk") ready_.wait();
      answered_.push_back(key);
      return std::any(key);
    };
    return worker_.ask(key, asker, question, timeout).state;
  }

  std::promise<void> disk_;
  std::shared_future<void> ready_ = disk_.get_future().share();
  std::vector<std::string> answered_;  // the worker's until it has stopped
  HistoryQueryWorker worker_;
};

TEST_F(HistoryQueryWorkerTest, InTheOrderOfAskingButLocalClientsFirst) {
  EXPECT_EQ(ask("disk", Asker::kRemote), State::kRequested);
  while (!worker_.query_age()) std::this_thread::yield();
  for (const char* key : {"1", "2", "3", "4", "5", "6", "7"}) {
    EXPECT_EQ(ask(key, Asker::kRemote), State::kRequested) << key;
  }
  EXPECT_EQ(ask("8", Asker::kRemote), State::kFull);
  EXPECT_EQ(ask("local 1", Asker::kLocal), State::kRequested);
  EXPECT_EQ(ask("local 2", Asker::kLocal), State::kRequested);
  EXPECT_EQ(ask("for all", Asker::kItself), State::kRequested);
  disk_.set_value();
  EXPECT_EQ(ask("7", Asker::kRemote, milliseconds(5000)), State::kAnswered);
  worker_.stop(milliseconds(1000));
  EXPECT_THAT(answered_, testing::ElementsAre("disk", "for all", "local 1", "local 2", "1", "2",
                                              "3", "4", "5", "6", "7"));
}

}  // namespace
}  // namespace jetmem
