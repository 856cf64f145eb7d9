// SPDX-License-Identifier: Apache-2.0
// Queries the history on a thread of its own, one question at a time: a disk may hang, and the web
// thread, which serves /metrics and /healthz too, does not wait for it.
//
// It stores one answer. A client whose question is still running asks the same one again and gets
// the answer then.
#pragma once

#include <any>
#include <chrono>
#include <functional>
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
  // How long an answer waits for its client before another question may take its place...
  static constexpr Milliseconds kAnswerReserved{1'000};
  // ...and how long it may be delivered at all.
  static constexpr Milliseconds kKept{5'000};

  enum class State {
    kAnswered,   // without a value: the question threw
    kRequested,  // it runs: ask again
    kBusy,       // another one runs, or its answer was not fetched yet: ask again
    kStuck,      // another one has been running for longer than kStuck
    kNoThread,
  };
  struct Reply {
    State state = State::kRequested;
    std::any answer;
    Milliseconds elapsed{0};  // of the thread's time
  };

  HistoryQueryWorker() = default;
  ~HistoryQueryWorker() { stop(Milliseconds(0)); }
  HistoryQueryWorker(const HistoryQueryWorker&) = delete;
  HistoryQueryWorker& operator=(const HistoryQueryWorker&) = delete;

  // Questions of one key are the same. Waits up to `timeout` for the answer.
  Reply ask(const std::string& key, Question question, Milliseconds timeout);
  // Readable when it may be worth asking again.
  const EventFd& changes() const { return shared_->changes; }
  // How long the current question has been running; nothing: there is none.
  std::optional<Milliseconds> query_age() const;
  bool is_stuck() const;

  // Ends the thread. False: it hung beyond `timeout` and is detached.
  bool stop(Milliseconds timeout);

 private:
  using Time = std::chrono::steady_clock::time_point;
  struct Answer {
    std::string key;
    std::any answer;
    Milliseconds elapsed{0};
    Time came;
  };
  struct Shared : WorkerThread::Shared {
    EventFd changes;
    std::string key;    // of the question that is asked now
    Question question;  // not begun yet
    bool is_requested = false;
    Time since;
    std::optional<Answer> answer;

    bool is_stuck(Time now) const { return is_requested && now - since > kStuck; }
  };
  static void run(Shared& shared);
  bool start();

  std::shared_ptr<Shared> shared_ = std::make_shared<Shared>();
  WorkerThread thread_;
};

}  // namespace jetmem
