// SPDX-License-Identifier: Apache-2.0
// The flight recorder: takes a step of the SampleTable every ten seconds, keeps it in memory, and
// has it written in large pieces by a thread of its own, because flash wears out and disks block.
// What waits is written at once when trouble shows: the last minute before a death is what one
// needs.
//
// The loop calls cycle(), event(), urgent(); none of them blocks or, in steady state, allocates.
// Whoever shows the past asks history(), from one other thread, and gets what still waits in memory
// too.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/log.h"
#include "history/history.h"
#include "history/store/store.h"
#include "metrics/sample.h"

namespace jetmem {

struct RecorderOptions {
  // Empty: nothing is written; the last half hour is kept in memory, and the log has the reason.
  std::string directory;
  std::string no_directory;  // why it is empty
  std::uint64_t max_bytes = 64U << 20;
  std::chrono::milliseconds interval{10'000};
  std::vector<std::string> metrics;  // as Selection's `more`
  std::string boot_id;
  // How good the wall clock is now; asked on the recorder's thread. Without it nobody says that the
  // clock is synchronised.
  std::function<WallTrust()> wall_trust;
  // Whether the disk is writable now: called on the recorder's thread before each use of it and
  // each minute; a seam for tests. And how long a call may take before the disk counts as hanging.
  std::function<Result<void>(const std::string& file)> disk;
  std::chrono::milliseconds disk_timeout{5000};
};

// As the clock itself says, and who knows whether it is synchronised.
WallTrust wall_trust(bool is_synchronized);

class Recorder {
 public:
  static constexpr std::string_view kFile = "history.db";
  static constexpr std::size_t kMaxSeries = 512;
  static constexpr std::size_t kMaxEventsWaiting = 512;

  Recorder(RecorderOptions options, const Clock& clock, Log& log);
  ~Recorder();
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;

  // Opens the file, on the recorder's thread.
  void start();
  // Whether cycle() would take a step now: the table is to have everything then.
  bool is_step_due();
  // After each cycle: takes a step when one is due, writes when enough wait, and logs failures.
  // It takes no step from an incomplete table; is_step_due() is then true in the next cycle.
  void cycle(const SampleTable& table, bool is_whole = true);
  // Gives its number: again() counts one more onto it; 0 where it was not kept. `may_be_recorded`:
  // it was in the kernel's log before we came, and may have been recorded then.
  std::uint64_t event(EventRecord record, bool may_be_recorded = false);
  // One of jetmem itself, now.
  void daemon_event(std::string kind, std::string severity, std::string summary);
  // False: that record no longer waits, or is too old for it.
  bool again(std::uint64_t number, std::optional<Nanoseconds> at, bool may_be_recorded = false);
  // What waits is written with the next cycle, and why, one word for the metric's label: "alert",
  // "pressure", "oom". Often in a row, and the later ones wait: flash is spared (UrgentBudget).
  void urgent(std::string_view why);
  // Writes what is pending and ends the thread. False after `timeout`; the log has what is lost.
  bool finish(std::chrono::milliseconds timeout);

  // For one other thread at a time. Valid as long as the Recorder.
  History& history();

  void write(SampleWriter& out) const;
  static std::span<const Descriptor> metrics();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace jetmem
