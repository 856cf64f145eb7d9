// SPDX-License-Identifier: Apache-2.0
// The processes among the names in /proc, for gatherers that walk over them; and what each is
// called in a label: its comm (/proc/<pid>/comm), made safe and of bounded kinds.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/root/gatherer.h"
#include "base/root/root.h"

namespace jetmem {

// What a gatherer says of its walk, beside the files: how many processes it could not examine, how
// many are beyond its bounds, and whether there are others.
inline constexpr std::string_view kNoteProcessesDenied = "jetmem:processes denied";
inline constexpr std::string_view kNoteProcessesLeftOut = "jetmem:processes omitted";
inline constexpr std::string_view kNoteProcessesHidden = "jetmem:processes hidden";

// Keeps the numbers only, the smallest first: a walk that must end early has then seen what has run
// since boot, and loses what came last. In the order of their digits "9" would always come last.
void keep_pids(std::vector<std::string>& names);

// Whether this is not the namespace that the kernel begins with: a container has a first process of
// its own and sees none but its own, as root, too. Live only.
bool in_pid_namespace(const Root& root);

// Whether these, so sorted, are not all: process 1 is always there, but hidden with hidepid; or
// in_pid_namespace().
bool hides_processes(const Root& root, const std::vector<std::string>& pids);

// How many of the machine's are not among the `seen`, kernel threads included. The kernel counts
// all in the links of /proc, beside its folders there (fs/proc/root.c, proc_root_getattr). Live
// only.
std::optional<std::uint64_t> hidden_processes(Gatherer& files, std::size_t seen);

// A process whose first thread ended (pthread_exit) lives on, but /proc/<pid> shows only what that
// thread has: no memory, no descriptors, no mappings. "/proc/<pid>/task/<tid>" of a thread that has
// memory; empty where there is none, as of kernel threads and of a process that ended. Live only.
std::string living_thread(Gatherer& files, const std::string& process);

// "/proc/2215/fdinfo/31" or "/proc/2215/task/2216/fdinfo/31".
struct ProcessFile {
  std::uint32_t pid = 0;
  std::uint32_t tid = 0;    // 0: the path names no thread
  std::string_view leaf;    // "fdinfo"
  std::string_view number;  // "31"; empty where nothing follows
};
std::optional<ProcessFile> process_file(std::string_view path);

// The text of a comm file without its last newline. A comm may hold any byte, newlines too: only
// the last one is the kernel's. None when that is missing.
std::optional<std::string_view> comm_of(std::string_view text);

// Names that differ only in a number at their end are of one kind: "job-8231" becomes "job-*", and
// one that is all number "*". Four digits or more, so that "python3", "gst-launch-1.0" and "x265"
// stay as they are. Without this a batch that names its processes by pid would bring a new name
// with each.
void assign_kind(std::string& out, std::string_view name);

}  // namespace jetmem
