// SPDX-License-Identifier: Apache-2.0
// Who holds the memory: the typed answer of `jetmem top` and its JSON.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "report/answers/answer_head.h"
#include "report/answers/memory_budget.h"
#include "report/device/device_now.h"

namespace jetmem {

enum class TopSort : std::uint8_t { kTotal, kResident, kGpu, kDmabuf, kGrowth };
// "total", "resident", "gpu", "dmabuf", "growth".
std::string_view top_sort_name(TopSort sort);
std::optional<TopSort> top_sort_named(std::string_view name);

struct TopAnswer {
  static constexpr std::string_view kSchema = "jetmem-top/1";

  // Processes of one name, unit and container.
  struct Group {
    std::string command;
    std::string unit;
    std::string container;
    std::optional<double> processes;
    std::optional<double> pid;  // of the one that holds most of it
    std::optional<double> resident;
    std::optional<double> shared;  // part of resident that other processes may have too
    std::optional<double> gpu;
    std::optional<double> dmabuf;  // open or mapped and not in gpu
    std::optional<double> mapped;  // part of resident that is in gpu or dmabuf too
    // Resident, GPU and DMA-BUF together less what is mapped. A lower bound where nvmap is read and
    // what is mapped is not known. What several processes share is in each of them: totals are not
    // to be added up.
    double total = 0;
    std::optional<double> growth;  // bytes a second over the last readings
    std::optional<double> trend;   // over hours, where a line explains it
  };
  struct Client {
    std::string process;
    double bytes = 0;
  };
  struct Heap {
    std::string name;
    std::optional<double> bytes;
    std::optional<double> orphans;  // bytes that no client of nvmap has
    std::optional<double> orphan_handles;
    std::optional<double> unattributed;
    std::optional<double> carveout;     // its own memory, outside of MemTotal
    std::optional<double> free;         // of the carve-out
    std::optional<double> with_memory;  // clients that have memory in it
    std::vector<Client> clients;        // largest first
  };
  // Of all heaps: what no client of nvmap has.
  struct Clientless {
    std::optional<double> bytes;
    std::optional<double> held;  // by descriptors and mappings of processes
    // The rest: no process has it. Drivers keep it, at most together with a process.
    std::optional<double> orphaned;
    std::vector<Client> holders;  // largest first; a shared buffer counts in each
  };
  // A client that ended while a process that inherited its /dev/nvmap goes on.
  struct Ended {
    std::string process;
    std::string holder;       // empty: one of several
    bool is_certain = false;  // else it may be the holder
    double bytes = 0;
  };
  // Of a GPU whose driver reports it by client (DRM fdinfo).
  struct Region {
    std::string driver;
    std::string region;  // "memory", "vram"
    std::optional<double> total;
    std::optional<double> resident;
    std::optional<double> shared;
    std::vector<Client> clients;  // by name; largest first
  };
  struct Buffers {  // DMA-BUFs
    std::string name;
    double bytes = 0;
    std::optional<double> buffers;
  };
  struct Dmabuf {
    std::optional<double> bytes;         // sizes of all of the machine
    std::optional<double> held;          // open or mapped in a process, each once
    std::optional<double> shared;        // in more than one
    std::optional<double> held_by_none;  // the rest: nvmap's clients, drivers, unknown mappings
    // Sizes of nvmap's, and what it has allocated: handles without memory, read-only duplicates and
    // parts of other buffers are DMA-BUFs too. Absent unless nvmap made any.
    std::optional<double> of_nvmap;
    std::optional<double> allocated_by_nvmap;
    std::optional<double> denied;  // processes that could not be looked at
    std::vector<Buffers> holders;
    std::vector<Buffers> exporters;
  };
  // A service, container or other control group. GPU memory and most DMA-BUFs are not in it.
  struct Cgroup {
    std::string unit;
    std::string container;
    std::optional<double> bytes;
    std::optional<double> swap;
    std::optional<double> peak;
    std::optional<double> limit;
    std::optional<double> high;
    std::optional<double> used_ratio;   // of the lower of both
    std::optional<double> stall_ratio;  // some task waited for memory, in the last minute
    std::optional<double> oom_kills;
  };
  struct Zram {
    std::optional<double> used;
    std::optional<double> original;
  };

  AnswerFrom from;
  TopSort sort = TopSort::kTotal;
  std::vector<Group> groups;  // sorted, "other" last
  std::uint64_t groups_omitted = 0;
  // Of all: what they would be sorted by is not known, so they come last, by their total.
  std::uint64_t groups_unsorted = 0;
  std::optional<double> processes;
  std::optional<double> processes_omitted;  // hidden ones included, where their number is known
  // Why there may be larger ones than those here: "80 processes are hidden ...".
  std::string incomplete;
  std::vector<Heap> heaps;
  std::optional<double> nvmap_total;        // of all heaps, as the driver counts it
  std::optional<double> nvmap_allocatable;  // as the driver reports it
  Clientless clientless;
  std::vector<Ended> ended;     // largest first
  std::vector<Cgroup> cgroups;  // the closest to its limit first, then the largest
  std::vector<Region> drm;
  std::optional<double> drm_unreported;  // clients of whose memory the driver reports nothing
  Dmabuf dmabuf;
  Zram zram;
  MemoryBudget memory;  // linux_budget()
  Absences absent;
};

struct TopQuery {
  TopSort sort = TopSort::kTotal;
  std::size_t limit = 20;  // groups, clients of a heap, holders
  bool gpu_only = false;   // only groups with GPU memory or DMA-BUFs, sorted by GPU memory
};

// Holders beyond `limit` are omitted.
TopAnswer::Clientless clientless_of(const SampleSet& samples, std::size_t limit);
TopAnswer top_answer(const DeviceNow& now, const TopQuery& needed);
void describe(json::Fields& v, TopAnswer& answer);
std::string top_json(const TopAnswer& answer);

}  // namespace jetmem
