// SPDX-License-Identifier: Apache-2.0
// Answers queries that take long, because a disk hangs or a hash is expensive, on a thread of its
// own, one at a time: the web thread, which serves /metrics and /healthz too, does not wait.
//
// A client whose query is not answered yet asks the same one again and gets the answer then.
#pragma once

#include <any>
#include <chrono>
#include <cstddef>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <string>

#include "base/clock.h"
#include "base/event_fd.h"
#include "base/worker_thread.h"
#include "daemon/http/client_key.h"

namespace jetmem {

class QueryWorker {
 public:
  using Milliseconds = std::chrono::milliseconds;
  // Runs on the worker's thread, perhaps after all who asked have gone: it must own all that it
  // uses but the history, which must outlive the thread (until stop() returns true). After it the
  // thread rests for as long as it returns in `rest`.
  using Query = std::function<std::any(Nanoseconds& rest)>;

  // A query that takes longer is stuck: no other is accepted until it ends.
  static constexpr Milliseconds kStuck{5'000};
  // How long a query is remembered that nobody asks any more: it is not begun then, or its answer
  // is dropped.
  static constexpr Milliseconds kForgotten{1'000};

  struct Options {
    const char* thread = nullptr;  // its name
    int nice = 0;
    // Queries waiting, running or answered and not fetched: of clients over TCP, of one of them,
    // and with those of local clients.
    std::size_t most = 8;
    std::size_t most_of_client = 8;
    std::size_t most_with_local = 12;
  };
  enum class State {
    kAnswered,   // without a value: the query threw
    kRequested,  // it waits or runs: ask again
    kFull,       // too many wait
    kStuck,      // one has been running for longer than kStuck
    kNoThread,
  };
  struct Reply {
    State state = State::kRequested;
    std::any answer;
    Milliseconds elapsed{0};  // of the thread's time
  };

  explicit QueryWorker(const Options& options) : options_(options) {}
  ~QueryWorker() { stop(Milliseconds(0)); }
  QueryWorker(const QueryWorker&) = delete;
  QueryWorker& operator=(const QueryWorker&) = delete;

  // Queries of one key are the same. Null as `client`: it is asked once for all, comes first, and
  // there is always room for it; local clients come next. Waits up to `timeout` for the answer.
  Reply ask(const std::string& key, const ClientKey* client, Query query, Milliseconds timeout);
  // Readable when it may be worth asking again.
  const EventFd& changes() const { return shared_->changes; }
  // How long the current query has been running; nothing: there is none.
  std::optional<Milliseconds> query_age() const;
  bool is_stuck() const { return query_age() > kStuck; }

  // Ends the thread. False: it hung beyond `timeout` and is detached.
  bool stop(Milliseconds timeout);

 private:
  using Time = std::chrono::steady_clock::time_point;
  struct Job {
    std::string key;
    std::optional<ClientKey> client;  // absent: all
    Query query;                      // null: begun
    Time asked;                       // when last; then when it was answered
    bool is_awaited = false;          // by a call of ask()
    bool is_answered = false;
    std::any answer;
    Milliseconds elapsed{0};
  };
  struct Shared : WorkerThread::Shared {
    int nice = 0;
    EventFd changes;
    std::list<Job> jobs;  // in the order of answering
    Job* running = nullptr;
    Time begun;  // of the running one

    void forget(Time now);
  };
  static int rank_of(const ClientKey* client);
  static void run(Shared& shared);
  // Queues it. Nothing: there is no room, or no thread, as `state` has it.
  Job* add(const std::string& key, const ClientKey* client, Query query, State& state);

  const Options options_;
  std::shared_ptr<Shared> shared_ = std::make_shared<Shared>();
  WorkerThread thread_;
};

}  // namespace jetmem
