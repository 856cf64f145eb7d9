// SPDX-License-Identifier: Apache-2.0
// The thread that owns the recorder's file: a disk may hang, and nobody waits for it. It runs one
// job at a time; between two jobs it rolls samples up into minutes and quarter hours.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "base/worker_thread.h"
#include "history/recorder/waiting.h"
#include "history/recorder/waiting_events.h"
#include "history/store/store.h"

namespace jetmem {

// What the recorder's threads share without locks.
struct RecorderNow {
  std::atomic<std::int64_t> wall_offset{0};  // nanoseconds
  std::atomic<bool> wall_trusted{false};
  std::atomic<std::int64_t> boot{0};            // its number; 0: not known yet
  std::atomic<std::int64_t> events_before{-1};  // ids of what waits follow this; -1: not known yet
  std::atomic<std::int64_t> busy_since{0};  // mono clock of the kernel; 0: the disk is not awaited
  std::chrono::milliseconds disk_timeout{5000};  // set before the thread begins

  // The disk has not answered for so long that another caller would hang, too.
  bool disk_hangs() const;
};

class RecorderThread {
 public:
  enum class Reason : std::uint8_t {
    kDiskFull,
    kReadOnly,
    kIo,
    kDamaged,
    kNoThread,
    kHangs,
    kBusy
  };
  static constexpr std::array<std::string_view, 7> kReasons{
      "disk_full", "read_only", "io", "damaged", "no_thread", "hangs", "busy"};
  // Whether `file` could be written now, by what its file system says.
  static Result<void> check_disk(const std::string& file);
  using DiskCheck = std::function<Result<void>(const std::string&)>;
  static Reason reason_of(const Error& error);

  struct Job {
    std::string_view why;        // empty: only to open, or for the clock
    std::string_view urgent;     // what is written with it; it stays so if that fails
    bool only_snapshot = false;  // at the disk
    Waiting::Block block;        // may be none
    bool more_waits = false;     // of what comes after this block: nothing is rolled up yet
    std::vector<WaitingEvents::Each> events;
    WallSeen wall;
    Nanoseconds now{0};
  };
  struct Outcome {
    Job job;
    std::optional<Error> error;
    Reason reason = Reason::kIo;
    // The next write would fail, whether or not this one did.
    std::optional<Error> ahead;
    std::vector<std::string> messages;
    std::uint64_t quarantine = 0;          // damaged files
    std::optional<std::uint64_t> written;  // bytes; absent where the kernel does not count
    double seconds = 0;
  };
  // After a job and what was tidied since.
  struct File {
    std::uint64_t version = 0;
    std::uint64_t bytes = 0;
    std::uint64_t tidied = 0;  // bytes written for it
    std::optional<Nanoseconds> oldest;
    std::uint64_t windows_cut = 0;
    // Of tidying since the last call: what failed, and whether it succeeded in the end.
    std::optional<Error> problem;
    bool tidied_well = false;
    std::vector<std::string> messages;
    std::uint64_t quarantine = 0;
  };

  RecorderThread(HistoryStore::Options options, std::string boot_id,
                 std::shared_ptr<RecorderNow> now, DiskCheck snapshot = check_disk);
  ~RecorderThread();
  RecorderThread(const RecorderThread&) = delete;
  RecorderThread& operator=(const RecorderThread&) = delete;

  // False: no thread could be created.
  bool runs() const { return thread_.is_running(); }
  bool is_idle() const;
  // To be called only while idle, and after the last outcome was taken.
  void begin(Job job);
  std::optional<Outcome> take_outcome(std::chrono::milliseconds timeout = {});
  // Nothing where it is of this version.
  std::optional<File> file(std::uint64_t version) const;
  // False: it hung beyond `timeout` and is detached.
  bool finish(std::chrono::milliseconds timeout);

 private:
  struct Shared;
  static void run(Shared& shared);

  std::shared_ptr<Shared> shared_;
  WorkerThread thread_;
};

}  // namespace jetmem
