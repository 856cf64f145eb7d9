// SPDX-License-Identifier: Apache-2.0
// Queries the history on a thread of its own, one question at a time, in the order of asking: a
// disk may hang, and the web thread, which serves /metrics and /healthz too, does not wait for it.
//
// A client whose question is not answered yet asks the same one again and gets the answer then.
#pragma once

#include <any>
#include <chrono>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "base/event_fd.h"
#include "base/worker_thread.h"

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
  // Questions queued, running or answered and not fetched: of clients over TCP, and with those of
  // local clients.
  static constexpr std::size_t kMost = 8;
  static constexpr std::size_t kMostWithLocal = 12;

  enum class State {
    kAnswered,   // without a value: the question threw
    kRequested,  // it is queued or runs: ask again
    kFull,       // too many are queued
    kStuck,      // one has been running for longer than kStuck
    kNoThread,
  };
  struct Reply {
    State state = State::kRequested;
    std::any answer;
    Milliseconds elapsed{0};  // of the thread's time
  };
  // Questions of a later one come first.
  enum class Asker {
    kRemote,
    kLocal,
    kItself,  // asked once for all clients: there is always room for it
  };

  HistoryQueryWorker() = default;
  ~HistoryQueryWorker() { stop(Milliseconds(0)); }
  HistoryQueryWorker(const HistoryQueryWorker&) = delete;
  HistoryQueryWorker& operator=(const HistoryQueryWorker&) = delete;

  // Questions of one key are the same. Waits up to `timeout` for the answer.
  Reply ask(const std::string& key, Asker asker, Question question, Milliseconds timeout);
  // Readable when it may be worth asking again.
  const EventFd& changes() const { return shared_->changes; }
  // How long the current question has been running; nothing: there is none.
  std::optional<Milliseconds> query_age() const;
  bool is_stuck() const;

  // Ends the thread. False: it hung beyond `timeout` and is detached.
  bool stop(Milliseconds timeout);

 private:
  using Time = std::chrono::steady_clock::time_point;
  struct Job {
    std::string key;
    Asker asker = Asker::kRemote;
    Question question;        // null: begun
    Time asked;               // when last; then when it was answered
    bool is_awaited = false;  // by a call of ask()
    bool is_answered = false;
    std::any answer;
    Milliseconds elapsed{0};
  };
  struct Shared : WorkerThread::Shared {
    EventFd changes;
    std::list<Job> jobs;  // in the order of answering
    Job* running = nullptr;
    Time begun;  // of the running one

    bool is_stuck(Time now) const { return running != nullptr && now - begun > kStuck; }
    Job* find(const std::string& key);
    void forget(Time now);
    Job* next();  // null: there is none
  };
  static void run(Shared& shared);
  bool start();

  std::shared_ptr<Shared> shared_ = std::make_shared<Shared>();
  WorkerThread thread_;
};

}  // namespace jetmem
