// Where questions to the history are asked: on a thread of its own, one at a time. A disk may take
// seconds or for ever to answer, and the web thread, which serves /metrics and /healthz too, does
// not wait for it.
//
// The desk has one answer in store. Whoever was told to come again asks the same question again and
// gets it then.
#pragma once

#include <any>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "base/unique_fd.h"

namespace jetmem {

class HistoryDesk {
 public:
  using Milliseconds = std::chrono::milliseconds;
  // Runs on the desk's thread, and may do so after everybody who asked has gone: it is to own all
  // that it uses, but for the history itself, which is not to end before stop() said true.
  using Question = std::function<std::any()>;

  // A question that takes longer is stuck: no other is taken in until it ends.
  static constexpr Milliseconds kStuck{5'000};
  // For so long an answer waits for its asker before another question may take its place...
  static constexpr Milliseconds kReserved{1'000};
  // ...and for so long it is given at all.
  static constexpr Milliseconds kKept{5'000};

  enum class State {
    kAnswered,  // any.has_value(): else the question threw
    kAsked,     // it runs: come again
    kBusy,      // another one runs, or its answer was not taken yet: come again
    kStuck,     // another one runs, and nobody knows for how long
    kNoThread,
  };
  struct Reply {
    State state = State::kAsked;
    std::any answer;
    Milliseconds took{0};  // of the thread's time
  };

  HistoryDesk();
  ~HistoryDesk() { stop(Milliseconds(0)); }
  HistoryDesk(const HistoryDesk&) = delete;
  HistoryDesk& operator=(const HistoryDesk&) = delete;

  // Two questions of the same key are the same. Waits for its answer for up to `patience`.
  Reply ask(const std::string& key, Question question, Milliseconds patience);
  // Readable when it may be worth to come again; invalid where there is none to be had.
  int news_fd() const { return shared_->news.get(); }
  void news_seen();
  // For how long the question that is asked now has been; nothing: there is none.
  std::optional<Milliseconds> asked_for() const;
  bool is_stuck() const;

  // Ends the thread. False when it did not end within `patience`: it is stuck, and is left behind.
  bool stop(Milliseconds patience);

 private:
  using Time = std::chrono::steady_clock::time_point;
  struct Answer {
    std::string key;
    std::any answer;
    Milliseconds took{0};
    Time came;
  };
  // Outlives the desk when its thread is stuck.
  struct Shared {
    UniqueFd news;
    mutable std::mutex mutex;  // guards all below
    std::condition_variable changed;
    std::string key;    // of the question that is asked now
    Question question;  // not begun yet
    bool is_asked = false;
    Time since;
    std::optional<Answer> answer;
    bool stopping = false;
    bool finished = false;

    void tell() const;
    bool is_stuck(Time now) const { return is_asked && now - since > kStuck; }
  };
  static void run(const std::shared_ptr<Shared>& shared);
  bool start();

  std::shared_ptr<Shared> shared_;
  std::thread thread_;
};

}  // namespace jetmem
