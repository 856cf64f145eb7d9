// SPDX-License-Identifier: Apache-2.0
// Queries the history on a thread of its own, one question at a time: a disk may hang, and the web
// thread, which serves /metrics and /healthz too, does not wait for it.
//
// Questions queue: the next one is that of the client which has used least of the thread's time,
// light ones before heavy ones, so that one client's heavy questions delay another one by at most
// the one that is running. A client whose question is not answered yet asks the same one again and
// gets the answer then.
#pragma once

#include <any>
#include <array>
#include <chrono>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "base/event_fd.h"
#include "base/worker_thread.h"
#include "daemon/http/access/client_key.h"
#include "daemon/http/api/query_budget.h"

namespace jetmem {

class HistoryQueryWorker {
 public:
  using Milliseconds = std::chrono::milliseconds;
  // Runs on the worker's thread, perhaps after all who asked have gone: it must own all that it
  // uses but the history, which must outlive the thread (until stop() returns true).
  using Question = std::function<std::any()>;

  // A question that takes longer is stuck: no other is accepted until it ends.
  static constexpr Milliseconds kStuck{5'000};
  // How long a question is remembered that nobody asks any more: it is not begun then, or its
  // answer is dropped.
  static constexpr Milliseconds kForgotten{1'000};
  // Answers may be megabytes long: with so many not fetched yet, no question of their client is
  // begun.
  static constexpr std::size_t kMostAnswers = 2;
  // Of all clients: then one that nobody has fetched for so long is dropped for the next question.
  static constexpr std::size_t kMostAnswersInAll = 4;
  static constexpr Milliseconds kAbandoned{250};
  // Questions of one client, and of all but for the first one of each client.
  static constexpr std::size_t kMostOfClient = 8;
  static constexpr std::size_t kMostQuestions = 32;
  static constexpr std::size_t kMostInAll = 256;

  enum class State {
    kAnswered,   // without a value: the question threw
    kRequested,  // it is queued or runs: ask again
    kBusy,       // too many are queued: ask again
    kStuck,      // one has been running for longer than kStuck
    kNoThread,
  };
  struct Reply {
    State state = State::kRequested;
    std::any answer;
    Milliseconds elapsed{0};  // of the thread's time
  };
  struct Asker {
    ClientKey client;
    QueryCost cost = QueryCost::kOwn;
  };

  HistoryQueryWorker() = default;
  ~HistoryQueryWorker() { stop(Milliseconds(0)); }
  HistoryQueryWorker(const HistoryQueryWorker&) = delete;
  HistoryQueryWorker& operator=(const HistoryQueryWorker&) = delete;

  // Whether it has a share left to ask. `now`: on any clock, always the same one.
  bool may_ask(const Asker& asker, Nanoseconds now);
  // Questions of one key are the same. Waits up to `timeout` for the answer.
  Reply ask(const std::string& key, const Asker& asker, Question question, Milliseconds timeout);
  // Whether ask() would return the answer at once.
  bool has_answer(const std::string& key);
  // It ended its connections without waiting for the answers. Who asked the same asks again.
  void client_left(const ClientKey& client);
  // Readable when it may be worth asking again.
  const EventFd& changes() const { return shared_->changes; }
  // How long the current question has been running; nothing: there is none.
  std::optional<Milliseconds> query_age() const;
  bool is_stuck() const;
  // Nothing runs and nothing is queued.
  bool is_idle() const;

  // Ends the thread. False: it hung beyond `timeout` and is detached.
  bool stop(Milliseconds timeout);

 private:
  using Time = std::chrono::steady_clock::time_point;
  struct Job {
    std::string key;
    Asker asker;
    Question question;        // null: begun
    Time asked;               // when last; then when it was answered
    bool is_awaited = false;  // by a call of ask()
    bool is_answered = false;
    std::any answer;
    Milliseconds elapsed{0};
  };
  struct Shared : WorkerThread::Shared {
    EventFd changes;
    // In the order of asking.
    std::list<Job> jobs;
    Job* running = nullptr;
    Time begun;  // of the running one
    QueryBudget budget;
    // What a light and a heavy question took on average, lately.
    std::array<Nanoseconds, 3> expected{std::chrono::milliseconds(10),
                                        std::chrono::milliseconds(10),
                                        std::chrono::milliseconds(200)};

    bool is_stuck(Time now) const { return running != nullptr && now - begun > kStuck; }
    Job* find(const std::string& key);
    void forget(Time now);
    bool has_room(const ClientKey& client) const;
    // Whether too many answers for it were not fetched.
    bool must_fetch(const Asker& asker) const;
    // Makes room for one more answer. False: all are too young to be dropped.
    bool make_room(Time now);
    // Null: there is none, or too many answers were not fetched.
    Job* next(Time now);
    void finish(Job& job, std::any answer, Time now);
  };
  static void run(Shared& shared);
  bool start();

  std::shared_ptr<Shared> shared_ = std::make_shared<Shared>();
  WorkerThread thread_;
};

}  // namespace jetmem
