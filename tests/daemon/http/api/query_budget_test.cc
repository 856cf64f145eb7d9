// SPDX-License-Identifier: Apache-2.0
// How the history worker's time is shared, and in which order it answers.
#include "daemon/http/api/query_budget.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <future>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "daemon/http/api/history_query_worker.h"

namespace jetmem {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

ClientKey address(std::uint16_t number) {
  ClientKey out;
  out.family = ClientKey::Family::kIpv4;
  out.address[2] = static_cast<std::uint8_t>(number >> 8U);
  out.address[3] = static_cast<std::uint8_t>(number);
  return out;
}

TEST(QueryBudgetTest, AClientHasAShareAndLeavesTheRest) {
  QueryBudget budget;
  const Nanoseconds now = seconds(1000);
  EXPECT_TRUE(budget.may_spend(address(1), QueryCost::kHeavy, now));
  budget.spent(address(1), QueryCost::kHeavy, seconds(2));
  EXPECT_FALSE(budget.may_spend(address(1), QueryCost::kHeavy, now));
  EXPECT_FALSE(budget.may_spend(address(1), QueryCost::kLight, now));
  EXPECT_TRUE(budget.may_spend(address(2), QueryCost::kHeavy, now));
  // An eighth of the time.
  EXPECT_TRUE(budget.may_spend(address(1), QueryCost::kHeavy, now + seconds(1)));
  EXPECT_EQ(budget.used(address(1)), seconds(2) - milliseconds(125));
}

TEST(QueryBudgetTest, ManyClientsTogetherHaveABoundThatLightOnesOutlast) {
  QueryBudget budget;
  const Nanoseconds now = seconds(1000);
  int heavy = 0;
  for (std::uint16_t i = 0; i < 100; ++i) {
    if (!budget.may_spend(address(i), QueryCost::kHeavy, now)) continue;
    budget.spent(address(i), QueryCost::kHeavy, seconds(1));
    ++heavy;
  }
  EXPECT_EQ(heavy, 4);
  EXPECT_TRUE(budget.may_spend(address(200), QueryCost::kLight, now));
  ClientKey root;
  root.user = 0;
  EXPECT_TRUE(budget.may_spend(root, QueryCost::kHeavy, now));
  EXPECT_TRUE(budget.may_spend(own_client(), QueryCost::kOwn, now));
  for (std::uint16_t i = 0; i < 100; ++i) {
    if (!budget.may_spend(address(i + 200), QueryCost::kLight, now)) break;
    budget.spent(address(i + 200), QueryCost::kLight, seconds(1));
    ++heavy;
  }
  EXPECT_EQ(heavy, 8);
  EXPECT_FALSE(budget.may_spend(address(500), QueryCost::kLight, now));
  // A quarter of the time.
  EXPECT_TRUE(budget.may_spend(address(501), QueryCost::kHeavy, now + seconds(17)));
}

TEST(QueryBudgetTest, RemembersABoundedNumberOfClients) {
  QueryBudget budget;
  EXPECT_TRUE(budget.may_spend(address(0), QueryCost::kHeavy, seconds(1)));
  budget.spent(address(0), QueryCost::kHeavy, seconds(2));
  for (std::uint16_t i = 1; i < 1000; ++i) {
    budget.may_spend(address(i), QueryCost::kLight, seconds(1));
  }
  EXPECT_FALSE(budget.may_spend(address(0), QueryCost::kLight, seconds(1)));
}

class QueryOrderTest : public testing::Test {
 protected:
  using Worker = HistoryQueryWorker;

  // Asks without waiting. What runs takes as long as `time`.
  Worker::State ask(const std::string& key, const ClientKey& client, QueryCost cost,
                    milliseconds time = milliseconds(0)) {
    return worker_
        .ask(
            key, {client, cost},
            [this, key, time] {
              {
                const std::lock_guard lock(mutex_);
                order_.push_back(key);
              }
              std::this_thread::sleep_for(time);
              return std::any(key);
            },
            milliseconds(0))
        .state;
  }
  // Runs until `end` is set, and then for much longer than a light one takes; it has begun.
  void ask_until(std::promise<void>& end, const std::string& key, const ClientKey& client) {
    worker_.ask(
        key, {client, QueryCost::kHeavy},
        [this, key, ended = end.get_future().share()] {
          {
            const std::lock_guard lock(mutex_);
            order_.push_back(key);
          }
          ended.wait_for(seconds(30));
          std::this_thread::sleep_for(milliseconds(200));
          return std::any(key);
        },
        milliseconds(0));
    await_begun(1);
  }
  // Fetches all of these.
  void finish(std::vector<std::string> keys, const ClientKey& client) {
    const auto end = std::chrono::steady_clock::now() + seconds(30);
    while (!keys.empty() && std::chrono::steady_clock::now() < end) {
      for (std::size_t i = 0; i < keys.size(); ++i) {
        if (ask(keys[i], client, QueryCost::kHeavy) != Worker::State::kAnswered) continue;
        keys.erase(keys.begin() + static_cast<std::ptrdiff_t>(i));
        break;
      }
      std::this_thread::sleep_for(milliseconds(1));
    }
    EXPECT_TRUE(keys.empty());
  }
  // Waits until so many questions have begun.
  void await_begun(std::size_t count) {
    const auto end = std::chrono::steady_clock::now() + seconds(30);
    while (std::chrono::steady_clock::now() < end) {
      {
        const std::lock_guard lock(mutex_);
        if (order_.size() >= count) return;
      }
      std::this_thread::sleep_for(milliseconds(1));
    }
    ADD_FAILURE() << "not begun";
  }
  std::size_t place_of(const std::string& key) {
    const std::lock_guard lock(mutex_);
    return static_cast<std::size_t>(std::find(order_.begin(), order_.end(), key) - order_.begin());
  }

  std::mutex mutex_;
  std::vector<std::string> order_;
  Worker worker_;
};

TEST_F(QueryOrderTest, ANewcomerWaitsForOneHeavyQuestionOnly) {
  std::promise<void> all_queued;
  std::vector<std::string> heavy{"heavy 0"};
  ask_until(all_queued, heavy.front(), address(1));
  for (int i = 1; i < 6; ++i) {
    heavy.push_back("heavy " + std::to_string(i));
    EXPECT_EQ(ask(heavy.back(), address(1), QueryCost::kHeavy, milliseconds(100)),
              Worker::State::kRequested);
  }
  EXPECT_EQ(ask("light", address(2), QueryCost::kLight), Worker::State::kRequested);
  EXPECT_EQ(ask("its heavy", address(2), QueryCost::kHeavy), Worker::State::kRequested);
  all_queued.set_value();
  std::vector<std::string> all = heavy;
  all.insert(all.end(), {"light", "its heavy"});
  finish(all, address(1));
  EXPECT_LE(place_of("light"), 1U);
  EXPECT_LE(place_of("its heavy"), 2U);
}

TEST_F(QueryOrderTest, OneClientHasFewPlacesAndAnotherFindsOne) {
  std::vector<std::string> keys;
  for (std::size_t i = 0; i < Worker::kMostOfClient + 3; ++i) {
    const std::string key = "mine " + std::to_string(i);
    const auto state = ask(key, address(1), QueryCost::kHeavy, milliseconds(30));
    EXPECT_EQ(state, i < Worker::kMostOfClient ? Worker::State::kRequested : Worker::State::kBusy);
    if (state == Worker::State::kRequested) keys.push_back(key);
  }
  EXPECT_EQ(ask("other", address(2), QueryCost::kHeavy), Worker::State::kRequested);
  keys.emplace_back("other");
  finish(keys, address(1));
}

TEST_F(QueryOrderTest, AClientThatLeavesItsAnswersDelaysNobodyElse) {
  for (std::size_t i = 0; i < Worker::kMostAnswers; ++i) {
    ask("left " + std::to_string(i), address(1), QueryCost::kHeavy, milliseconds(20));
  }
  await_begun(Worker::kMostAnswers);
  const auto answer = [](std::string key) { return [key] { return std::any(key); }; };
  for (int i = 0; i < 10; ++i) {
    const std::string key = std::to_string(i);
    ask("left again " + key, address(1), QueryCost::kHeavy);
    EXPECT_EQ(worker_
                  .ask("other " + key, {address(2), QueryCost::kHeavy}, answer(key),
                       Worker::kForgotten / 2)
                  .state,
              Worker::State::kAnswered);
  }
}

TEST_F(QueryOrderTest, AQuestionOfAClientThatLeavesItsAnswersIsAnsweredToAnother) {
  for (std::size_t i = 0; i < Worker::kMostAnswers; ++i) {
    ask("left " + std::to_string(i), address(1), QueryCost::kHeavy, milliseconds(20));
  }
  await_begun(Worker::kMostAnswers);
  EXPECT_EQ(ask("shared", address(1), QueryCost::kHeavy), Worker::State::kRequested);
  // As the web thread does: again and again.
  auto state = Worker::State::kRequested;
  for (int i = 0; i < 50 && state != Worker::State::kAnswered; ++i) {
    state = ask("shared", address(2), QueryCost::kHeavy);
    std::this_thread::sleep_for(milliseconds(10));
  }
  EXPECT_EQ(state, Worker::State::kAnswered);
}

TEST_F(QueryOrderTest, ManyClientsThatLeaveTheirAnswersDelayAnotherLittle) {
  for (std::uint16_t i = 0; i < Worker::kMostAnswersInAll; ++i) {
    ask("left " + std::to_string(i), address(static_cast<std::uint16_t>(10 + i)), QueryCost::kHeavy,
        milliseconds(20));
  }
  await_begun(Worker::kMostAnswersInAll);
  EXPECT_EQ(worker_
                .ask(
                    "other", {address(2), QueryCost::kHeavy}, [] { return std::any(1); },
                    Worker::kForgotten * 3 / 4)
                .state,
            Worker::State::kAnswered);
}

TEST_F(QueryOrderTest, WhatIsAskedForAllDoesNotWaitForAnswersThatOthersLeave) {
  for (std::uint16_t i = 0; i < Worker::kMostAnswersInAll; ++i) {
    ask("left " + std::to_string(i), address(static_cast<std::uint16_t>(10 + i)), QueryCost::kHeavy,
        milliseconds(20));
  }
  await_begun(Worker::kMostAnswersInAll);
  ask("waits", address(2), QueryCost::kHeavy);
  EXPECT_EQ(worker_
                .ask(
                    "now", {ClientKey{}, QueryCost::kOwn}, [] { return std::any(1); },
                    Worker::kAbandoned / 2)
                .state,
            Worker::State::kAnswered);
}

TEST_F(QueryOrderTest, WhoLeavesTakesNoTurn) {
  std::promise<void> has_left;
  ask_until(has_left, "runs", address(1));
  ask("left", address(2), QueryCost::kHeavy);
  worker_.client_left(address(2));
  has_left.set_value();
  finish({"runs"}, address(1));
  finish({"last"}, address(4));
  EXPECT_EQ(place_of("left"), order_.size());
}

TEST_F(QueryOrderTest, WhatNobodyAsksAnyMoreIsNotBegun) {
  EXPECT_EQ(ask("runs", address(1), QueryCost::kHeavy, milliseconds(1500)),
            Worker::State::kRequested);
  EXPECT_EQ(ask("left", address(1), QueryCost::kHeavy), Worker::State::kRequested);
  std::this_thread::sleep_for(milliseconds(1300));
  finish({"last"}, address(2));
  EXPECT_EQ(place_of("left"), order_.size());
}

}  // namespace
}  // namespace jetmem
