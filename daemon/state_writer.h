// The disk of jetmemd's state, on a thread of its own: a disk may take seconds or for ever, and the
// loop does not wait for it. Writes a small file that must outlive a power cut, of which the latest
// text wins, and asks what the loop wants to know of the directory (DiskQuestion below). What waits
// is never more than one text and one question of each kind.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>

namespace jetmem {

class StateWriter {
 public:
  explicit StateWriter(std::string path);
  ~StateWriter();
  StateWriter(const StateWriter&) = delete;
  StateWriter& operator=(const StateWriter&) = delete;

  // False: there is no thread to be had, and nothing will be written or asked.
  bool runs() const { return runs_; }
  void put(std::string text);
  // Before what waits to be written. A question that throws ends the process, as any thread's does.
  void ask(std::function<void()> question);
  // Writes what waits and ends the thread. False when it did not manage within `patience`: it is
  // stuck, and is left behind.
  bool finish(std::chrono::milliseconds patience);

  struct Counts {
    std::uint64_t written = 0;
    std::uint64_t bytes = 0;
    std::uint64_t failed = 0;
    std::string trouble;  // why the last write failed; empty: it did not
  };
  Counts counts() const;
  bool waits() const;

 private:
  // Outlives the writer when its thread is stuck.
  struct Shared {
    std::string path;
    std::mutex mutex;  // guards all below
    std::condition_variable changed;
    std::optional<std::string> next;
    std::deque<std::function<void()>> questions;
    bool writing = false;
    bool stopping = false;
    bool finished = false;
    Counts counts;
  };
  static void run(const std::shared_ptr<Shared>& shared);

  std::shared_ptr<Shared> shared_;
  std::thread thread_;
  bool runs_ = false;
};

// One question at a time, and its answer once it has come.
template <class Answer>
class DiskQuestion {
 public:
  bool is_asked() const { return asked_; }

  // Not asked again before the last answer was taken.
  void ask(StateWriter& writer, std::function<Answer()> question) {
    if (std::exchange(asked_, true)) return;
    writer.ask([shared = shared_, question = std::move(question)] {
      Answer answer = question();
      const std::lock_guard lock(shared->mutex);
      shared->answer = std::move(answer);
      shared->came.notify_all();
    });
  }

  std::optional<Answer> take(std::chrono::milliseconds patience) {
    std::unique_lock lock(shared_->mutex);
    if (patience > std::chrono::milliseconds(0)) {
      shared_->came.wait_for(lock, patience, [this] { return shared_->answer.has_value(); });
    }
    if (!shared_->answer) return std::nullopt;
    asked_ = false;
    return std::exchange(shared_->answer, std::nullopt);
  }

 private:
  // Outlives the asker when the disk does not answer.
  struct Shared {
    std::mutex mutex;
    std::condition_variable came;
    std::optional<Answer> answer;
  };
  std::shared_ptr<Shared> shared_ = std::make_shared<Shared>();
  bool asked_ = false;
};

}  // namespace jetmem
