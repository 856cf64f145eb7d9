// SPDX-License-Identifier: Apache-2.0
#include "daemon/http/query_worker.h"

#include <gmock/gmock.h>

#include <future>
#include <vector>

namespace jetmem {
namespace {

using State = QueryWorker::State;
using std::chrono::milliseconds;

class QueryWorkerTest : public testing::Test {
 protected:
  State ask(const std::string& key, const ClientKey* client,
            milliseconds timeout = milliseconds(0)) {
    const auto query = [this, key](Nanoseconds&) {
      if (key == "disk") ready_.wait();
      answered_.push_back(key);
      return std::any(key);
    };
    return worker_.ask(key, client, query, timeout).state;
  }

  std::promise<void> disk_;
  std::shared_future<void> ready_ = disk_.get_future().share();
  std::vector<std::string> answered_;  // the worker's until it has stopped
  const ClientKey remote_{ClientKey::Family::kIpv4, {}};
  const ClientKey local_{};
  QueryWorker worker_{{.thread = "test-query"}};
};

TEST_F(QueryWorkerTest, InTheOrderOfAskingButLocalClientsFirst) {
  EXPECT_EQ(ask("disk", &remote_), State::kRequested);
  while (!worker_.query_age()) std::this_thread::yield();
  for (const char* key : {"1", "2", "3", "4", "5", "6", "7"}) {
    EXPECT_EQ(ask(key, &remote_), State::kRequested) << key;
  }
  EXPECT_EQ(ask("8", &remote_), State::kFull);
  EXPECT_EQ(ask("7", &remote_), State::kRequested) << "the same again is no other";
  // Local commands have four places more, and what is asked for all needs none.
  for (const char* key : {"local 1", "local 2", "local 3", "local 4"}) {
    EXPECT_EQ(ask(key, &local_), State::kRequested) << key;
  }
  EXPECT_EQ(ask("local 5", &local_), State::kFull);
  EXPECT_EQ(ask("for all", nullptr), State::kRequested);
  disk_.set_value();
  EXPECT_EQ(ask("7", &remote_, milliseconds(5000)), State::kAnswered);
  worker_.stop(milliseconds(1000));
  EXPECT_THAT(answered_, testing::ElementsAre("disk", "for all", "local 1", "local 2", "local 3",
                                              "local 4", "1", "2", "3", "4", "5", "6", "7"));
}

}  // namespace
}  // namespace jetmem
