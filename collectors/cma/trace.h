// SPDX-License-Identifier: Apache-2.0
// Allocations and releases of contiguous memory as the kernel traces them, in an instance of
// tracefs that is jetmem's own (jetmem-cma-trace sets it up): a small ring for each CPU that is
// looked at without being emptied, so that any number of readers see the same.
//
//   /sys/kernel/tracing/instances/jetmem/
//     trace                the rings as text, merged by time (kernel/trace/trace.c)
//     trace_clock          "local global [boot]": the clock of its times, in brackets
//     options/pause-on-trace   since 5.8. Without it, or with 1, reading loses events silently
//     per_cpu/cpuN/stats   counters of one ring: "entries: 5", "overrun: 0", ...
//
// A line of `trace`: the thread's name in 16 columns, its number, CPU, flags, seconds, event.
//
//             camera-412     [001] .....  1234.567890: cma_alloc: pfn=ada00 page=… count=3038
//             align=8 camera-412     [001] .....  1234.567890: cma_alloc_finish: name=linux,cma
//             pfn=0xada00
//                                             page=… count=3038 align=8 errorno=0
//             camera-412     [001] .....  1234.567990: <stack trace>
//    => cma_alloc
//    => vb2_dc_alloc
//
// cma_alloc (to 5.12) names no area; cma_alloc_finish (5.13) does, since 6.2 with errorno. Without
// that a request that failed has no page: "(null)" or zeros. cma_release is there in all of them,
// with a name since 5.13. `<...>` is a thread whose name the kernel has not kept.
//
// Which events a text has is exact: a ring's events are numbered by what it overwrote (overrun),
// gave to others (read events) and holds (entries). The counters are taken before and after the
// text: those before are the files, those after the records "jetmem:after PATH". Where a ring
// overwrote events meanwhile, a text may lack others too, without a word: it is not used.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "base/root/snapshot.h"
#include "collectors/storage.h"

namespace jetmem {

inline constexpr std::string_view kCmaTraceInstance = "/sys/kernel/tracing/instances/jetmem";
// Stands for the text, which is as long as the rings are: its counters are those of earlier
// readings that had it.
inline constexpr std::string_view kCmaUnchanged = "jetmem:trace unchanged";
inline constexpr std::string_view kCmaAfter = "jetmem:after ";
inline constexpr std::string_view kCmaTicks = "jetmem:ticks per second";  // of CmaTask::start_ticks
inline constexpr std::string_view kCmaPage = "jetmem:bytes per page";

struct CmaEvent {
  enum class Kind : std::uint8_t { kNone, kAlloc, kRelease };  // kNone: failed, or of another kind

  Kind kind = Kind::kNone;
  std::uint32_t cpu = 0;
  std::uint64_t number = 0;  // among its CPU's in the text, from 1
  std::uint64_t pfn = 0;
  std::uint64_t pages = 0;
  std::optional<Nanoseconds> at;  // boot clock; absent: the trace has another clock
  std::uint32_t thread = 0;
  // Into the snapshot. Empty: the kernel does not say.
  std::string_view area;
  std::string_view comm;
  std::string_view function;  // the first in the stack that is not of the allocator itself
};

struct CmaRing {
  struct Counters {
    std::uint64_t gone = 0;     // overwritten, or read by others
    std::uint64_t entries = 0;  // still there
    std::uint64_t lost = 0;     // never written: dropped, or their commit was overrun
    bool operator==(const Counters&) const = default;
  };
  std::uint32_t cpu = 0;
  Counters before;
  std::optional<Counters> after;
  std::vector<std::uint64_t> shown;   // its lines of the text, as hashes without the thread's name
  std::size_t last_alloc = SIZE_MAX;  // among the events: whose stack may follow

  void clear() { reset_keeping(*this, &CmaRing::shown); }
};

// Who a thread is now.
struct CmaTask {
  std::uint32_t thread = 0;
  bool has_ended = false;
  bool process_has_ended = false;
  std::uint32_t pid = 0;
  std::uint64_t start_ticks = 0;
  std::string_view name;  // of the process
  std::string_view unit;
  std::string_view container;

  void clear() { *this = CmaTask(); }
};

// Where an area lies, as far as debugfs says it.
struct CmaBounds {
  std::string_view name;  // cut to 11 characters by some kernels
  std::optional<std::uint64_t> base_pfn;
  std::optional<std::uint64_t> pages;
  std::uint64_t order = 0;  // a bit is 2^order pages
  bool has_bitmap = false;
  std::vector<std::uint32_t> bitmap;

  void clear() { reset_keeping(*this, &CmaBounds::bitmap); }
};

struct CmaTrace {
  static constexpr std::size_t kMaxAreas = 64;

  std::vector<CmaRing> rings;    // by CPU
  std::vector<CmaEvent> events;  // in the order of the text
  std::vector<CmaTask> tasks;
  std::vector<CmaBounds> bounds;
  std::optional<std::uint64_t> ticks;  // a second, of CmaTask::start_ticks
  std::optional<std::uint64_t> page_bytes;
  std::optional<Nanoseconds> now;  // boot clock, of /proc/uptime
  // The text reports lost events, has lines that are no event, or its counters do not fit it.
  bool is_unclear = false;
  // There are no events in it: none came since an earlier reading that had them.
  bool is_unchanged = false;
};

// Errors: kAbsent where there is no instance, or a kernel that stops the trace while it is read;
// else the file that could not be read or understood.
Result<void> parse_cma_trace(const Snapshot& snapshot, CmaTrace& out);

// Threads that allocated, newest first, each once, at most `most`: for gather.
std::vector<std::uint32_t> allocating_threads(std::string_view trace, std::size_t most);

// Whether the caches between driver and allocator are passed through by this function.
bool is_of_allocator(std::string_view function);

}  // namespace jetmem
