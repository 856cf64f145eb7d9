// SPDX-License-Identifier: Apache-2.0
// Writes one small file that must survive a power cut (the latest text wins), on a thread of its
// own: a disk may hang, and the loop does not wait for it. At most one text waits.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "base/worker_thread.h"

namespace jetmem {

class StateWriter {
 public:
  explicit StateWriter(std::string path);
  ~StateWriter();
  StateWriter(const StateWriter&) = delete;
  StateWriter& operator=(const StateWriter&) = delete;

  // False: no thread could be created, and nothing is written.
  bool runs() const { return thread_.is_running(); }
  void put(std::string text);
  // Writes what waits and ends the thread. False: it hung beyond `timeout` and is detached.
  bool finish(std::chrono::milliseconds timeout);

  struct Counts {
    std::uint64_t written = 0;
    std::uint64_t bytes = 0;
    std::uint64_t failed = 0;
    std::string problem;  // why the last write failed; empty: it did not
  };
  Counts counts() const;
  bool waits() const;

 private:
  struct Shared : WorkerThread::Shared {
    std::string path;
    std::optional<std::string> next;
    bool writing = false;
    Counts counts;
  };
  static void run(Shared& shared);

  std::shared_ptr<Shared> shared_;
  WorkerThread thread_;
};

}  // namespace jetmem
