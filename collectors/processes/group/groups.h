// SPDX-License-Identifier: Apache-2.0
// All processes of the machine, put together by what they are.
//
//   /proc/<pid>/statm   "size resident shared text lib data dirty", in pages (fs/proc/array.c).
//                       size 0 is a kernel thread or a process that has ended: gather leaves it
//                       out. Or its first thread ended: then a living one's, below task/<tid>/.
//                       resident 0 may also be one that is swapped out. shared is the part of
//                       resident that files and shared memory back.
//   /proc/<pid>/comm    the name and a newline; any bytes
//   /proc/<pid>/cgroup  the control group: collectors/processes/group/cgroup.h
//
// World readable unless /proc is mounted with hidepid.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/root/gatherer.h"
#include "base/root/snapshot.h"
#include "collectors/source.h"
#include "collectors/storage.h"

namespace jetmem {

class ShownGroups;

struct ProcessKey {
  std::string command;
  std::string unit;
  std::string container;

  // NOLINTNEXTLINE(modernize-use-nullptr): to clang-tidy 14 its 0 is a pointer
  auto operator<=>(const ProcessKey&) const = default;
  void clear() {
    command.clear();
    unit.clear();
    container.clear();
  }
};

struct Processes : Reading {
  struct Group {
    ProcessKey key;
    std::uint64_t processes = 0;
    std::uint64_t resident_pages = 0;
    std::uint64_t shared_pages = 0;
    std::uint64_t shared_unknown = 0;  // processes that are not in shared_pages

    void clear() { reset_keeping(*this, &Group::key); }
  };
  struct Process {
    std::uint32_t pid = 0;
    std::uint32_t group = 0;  // its index
    std::uint64_t resident_pages = 0;
    std::optional<std::uint64_t> shared_pages;
  };
  std::vector<Group> groups;       // by key
  std::vector<Process> processes;  // by pid
  std::uint64_t resident_pages = 0;

  std::uint64_t denied = 0;     // may not be looked at
  std::uint64_t left_out = 0;   // beyond the bounds
  std::uint64_t malformed = 0;  // could not be understood
  bool hidden = false;          // not even process 1 is to be seen: hidepid, or a PID namespace
  bool in_namespace = false;    // then: it is the namespace
  std::optional<std::uint64_t> unseen;  // then: how many, kernel threads included

  // A group that is among the largest and has no series yet. Bytes; those that are unknown of all
  // groups are absent.
  struct Newcomer {
    ProcessKey key;
    std::optional<std::uint64_t> pid;  // of the process that holds most of it
    std::optional<std::uint64_t> processes;
    std::optional<std::uint64_t> resident;
    std::optional<std::uint64_t> shared;
    std::optional<std::uint64_t> gpu;
    std::optional<std::uint64_t> dmabuf;
    std::optional<std::uint64_t> mapped;

    void clear() { reset_keeping(*this, &Newcomer::key); }
    bool operator==(const Newcomer&) const = default;
  };
  // The largest first; as `shown`.
  const std::vector<Newcomer>* newcomers = nullptr;

  // Which of them have series, with all that they hold: a view of the source's own, as of when it
  // last wrote them; null: there is none.
  const ShownGroups* shown = nullptr;

  // Whether the sums are of all processes.
  bool whole() const { return denied == 0 && left_out == 0 && malformed == 0 && !hidden; }
};

struct Statm {
  std::optional<std::uint64_t> size;
  std::optional<std::uint64_t> resident;
  std::optional<std::uint64_t> shared;
};
// No process has more resident than addresses, nor more shared than resident. False for text that
// was cut or has no numbers.
bool parse_statm(std::string_view text, Statm& out, AbsentValues& absent);

// Errors: no process could be seen, and why.
Result<void> parse_processes(const Snapshot& snapshot, Processes& out);

// The walk's own bound on time; the oldest processes are looked at first. A deadline of the reader
// (reader.deadline) that is not well above it makes the source fail instead of being cut.
inline constexpr std::chrono::nanoseconds kProcessesMostTime = std::chrono::seconds(1);

// 10 000 processes take about 2 MiB.
inline constexpr ReadLimits kProcessesLimits{
    .file_bytes = 16384, .total_bytes = 4U << 20, .files = 49160, .names = 65536};
void gather_processes(Gatherer& files);
void gather_processes_within(Gatherer& files, std::chrono::nanoseconds most_time);

}  // namespace jetmem
