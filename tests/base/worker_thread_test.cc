// SPDX-License-Identifier: Apache-2.0
#include "base/worker_thread.h"

#include <gtest/gtest.h>
#include <pthread.h>

#include <csignal>
#include <future>

namespace jetmem {
namespace {

using std::chrono::milliseconds;
constexpr milliseconds kLong{60'000};

struct State : WorkerThread::Shared {
  std::shared_future<void> go;
  std::promise<void> ended;
  sigset_t blocked{};
  std::string name;
};

void wait_for_stop(State& state) {
  pthread_sigmask(SIG_BLOCK, nullptr, &state.blocked);
  char name[16] = {};
  pthread_getname_np(pthread_self(), name, sizeof name);
  state.name = name;
  std::unique_lock lock(state.mutex);
  state.changed.wait(lock, [&] { return state.stopping; });
}

TEST(WorkerThread, BlocksAllSignalsButThoseOfACrash) {
  auto state = std::make_shared<State>();
  WorkerThread thread;
  ASSERT_TRUE(thread.start("worker", state, wait_for_stop)) << thread.problem();
  EXPECT_TRUE(thread.stop(kLong));
  EXPECT_EQ(state->name, "worker");
  for (const int crash : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGSYS, SIGTRAP})
    EXPECT_EQ(sigismember(&state->blocked, crash), 0) << crash;
  for (const int other : {SIGTERM, SIGINT, SIGHUP, SIGCHLD, SIGPIPE, SIGUSR1})
    EXPECT_EQ(sigismember(&state->blocked, other), 1) << other;
  sigset_t own;
  pthread_sigmask(SIG_BLOCK, nullptr, &own);
  EXPECT_EQ(sigismember(&own, SIGTERM), 0);
}

TEST(WorkerThread, AThreadThatHangsIsDetached) {
  auto state = std::make_shared<State>();
  std::promise<void> go;
  state->go = go.get_future().share();
  std::future<void> ended = state->ended.get_future();
  {
    WorkerThread thread;
    ASSERT_TRUE(thread.start("worker", state, [](State& shared) {
      shared.go.wait();
      shared.ended.set_value();
    }));
    EXPECT_FALSE(thread.stop(milliseconds(20)));
    EXPECT_FALSE(thread.is_running());
    EXPECT_TRUE(thread.stop(kLong));
  }
  const std::weak_ptr<State> left = std::exchange(state, nullptr);
  EXPECT_FALSE(left.expired());
  go.set_value();
  ended.wait();
}

TEST(WorkerThread, CanBeStartedAgain) {
  WorkerThread thread;
  for (int i = 0; i < 3; ++i) {
    auto state = std::make_shared<State>();
    ASSERT_TRUE(thread.start("worker", state, wait_for_stop));
    EXPECT_TRUE(thread.stop(kLong));
  }
  thread.join();
}

}  // namespace
}  // namespace jetmem
