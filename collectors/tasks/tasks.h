// SPDX-License-Identifier: Apache-2.0
// Tasks that are stuck in the kernel: in uninterruptible sleep for longer than 30 s, and in what.
// Long before the kernel's own detector speaks (hung_task, 120 s; not built into every kernel).
// Asked of jetmem-reader; about 10 us for each process and thread. All are looked at when the load
// has risen by 0.25 since that was done, at most once a minute and at least every third; in other
// readings only those that were in state D the last time, and none while the load shows that none
// can be stuck.
//
//   /proc/loadavg                       tasks in uninterruptible sleep count in the first figure:
//   one
//                                       of 30 s has made it 0.39. Below 0.2 no task is looked at
//   /proc/<pid>/stat                    of each process: state, number of threads
//   (group/pid_stat.h) /proc/<pid>/task/<tid>/stat         of each thread of those that have
//   several
// and then, of tasks that were D:
//   /proc/<pid>/task/<tid>/stat         "D" and the time it ran on a CPU
//   /proc/<pid>/task/<tid>/status       the lines voluntary_ctxt_switches and
//                                       nonvoluntary_ctxt_switches
//   /proc/<pid>/task/<tid>/wchan        where it waits: a function of the kernel, no newline; "0"
//   where
//                                       that may not be seen (CAP_SYS_PTRACE) or is not known
//
// A task is stuck when readings at least 30 s apart find it D and it has neither run nor been
// switched to meanwhile: one that happens to be D twice is not. Kernel threads that wait for work
// are in state I (4.14) or S. Two waits look alike and are none: a parent until its vfork() child
// runs a program, and what the freezer stopped.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "collectors/source.h"

namespace jetmem {

struct Tasks : Reading {
  static constexpr std::size_t kMaxBlocked = 64;
  static constexpr std::size_t kMaxStuck = 16;
  static constexpr std::chrono::seconds kLeast{30};

  // A task in uninterruptible sleep, as it is now.
  struct Blocked {
    std::uint32_t pid = 0;
    std::uint32_t tid = 0;
    std::uint64_t start = 0;     // tells tasks of one tid apart
    std::uint64_t ran = 0;       // ticks on a CPU
    std::uint64_t switches = 0;  // to it
    std::string name;
    std::string wait_channel;  // empty: not known
    // Since when it is so, as far as was seen; mono clock. Given by TasksSource.
    Nanoseconds since{0};

    bool operator==(const Blocked&) const = default;
  };
  // Tasks of one name and wait channel that are stuck.
  struct Stuck {
    std::string name;
    std::string wait_channel;
    std::uint64_t tasks = 0;
    std::uint32_t pid = 0;  // of the one that is stuck for the longest time
    Nanoseconds longest{0};

    bool operator==(const Stuck&) const = default;
  };
  std::vector<Blocked> blocked;
  std::vector<Stuck> stuck;  // by name and wait channel
  std::uint64_t stuck_tasks = 0;
  // No task was looked at, as none can be stuck.
  bool idle = false;
  std::uint64_t left_out = 0;  // processes and threads beyond the bounds
  std::uint64_t denied = 0;    // processes
};

// Fills `blocked` of one reading. Errors: /proc could not be listed, or no process be read, and
// why.
Result<void> parse_tasks(const Snapshot& snapshot, Tasks& out);

inline constexpr std::chrono::nanoseconds kTasksMostTime = std::chrono::milliseconds(500);
inline constexpr ReadLimits kTasksLimits{
    .file_bytes = 4096, .total_bytes = 128U << 10, .files = 512, .names = 65536};
inline constexpr std::string_view kNoteTasksIdle = "jetmem:load too low";
inline constexpr std::string_view kNoteTasksLookedAt = "jetmem:tasks";
inline constexpr std::string_view kNoteTasksLeftOut = "jetmem:tasks omitted";
inline constexpr std::string_view kNoteTasksDenied = "jetmem:processes denied";
void gather_tasks(Gatherer& files);

class TasksSource final : public SourceOf<TasksSource, Tasks> {
 public:
  static const SourceInfo kInfo;

  TasksSource();
  explicit TasksSource(const Clock& clock) : clock_(clock) {}

  Result<void> parse(const Snapshot& snapshot, Nanoseconds read_time) override;
  void write(SampleWriter& out, WriteContext& context) const override;

 private:
  void find_stuck();

  const Clock& clock_;
  // Of the reading before. Bounded as that is.
  std::vector<Tasks::Blocked> before_;
  bool has_before_ = false;
  bool has_two_ = false;  // this reading and one before it
};

}  // namespace jetmem
