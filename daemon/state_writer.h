// Writes a small file that must outlive a power cut, on a thread of its own: a disk may take
// seconds or for ever, and the loop does not wait for it. The latest text wins; what waits is never
// more than one.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

namespace jetmem {

class StateWriter {
 public:
  explicit StateWriter(std::string path);
  ~StateWriter();
  StateWriter(const StateWriter&) = delete;
  StateWriter& operator=(const StateWriter&) = delete;

  void put(std::string text);
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
    bool writing = false;
    bool stopping = false;
    bool finished = false;
    Counts counts;
  };
  static void run(const std::shared_ptr<Shared>& shared);

  std::shared_ptr<Shared> shared_;
  std::thread thread_;
};

}  // namespace jetmem
