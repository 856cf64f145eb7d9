// SPDX-License-Identifier: Apache-2.0
#include "collectors/jetson/nvmap/source.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <ctime>

#include "base/text/text.h"

namespace jetmem {
namespace {

constexpr std::array<std::string_view, 4> kNvmapPaths{
    "/sys/kernel/debug/nvmap/*/size",
    "/sys/kernel/debug/nvmap/*/free_size",
    "/sys/kernel/debug/nvmap/pagepool/page_pool_available_pages",
    "/sys/kernel/debug/nvmap/pagepool/page_pool_pages_to_zero",
};

constexpr std::size_t kClientsHead = 64U << 10;
constexpr std::size_t kOrphansHead = 512U << 10;
constexpr std::size_t kTableEnd = 4U << 10;

constexpr std::array kNvmapMetrics{
    gauge("jetmem_nvmap_heap_bytes",
          "Memory allocated from the heap for GPU, cameras, codecs and display. iovmm uses the "
          "same DRAM as everything else, cannot be swapped, and no cgroup limit contains it.",
          {"heap"}, nvmap::kMaxHeaps, Worst::kMax),
    gauge("jetmem_nvmap_heap_clients",
          "Clients that hold memory of the heap; a process may be several. Where this is "
          "constant and the bytes grow, one of them leaks.",
          {"heap"}, nvmap::kMaxHeaps),
    gauge("jetmem_nvmap_heap_unattributed_bytes",
          "What is allocated from the heap less what its clients are charged with: buffers without "
          "an nvmap client. Growth is a leak, see jetmem_nvmap_orphan_bytes. Slightly off while "
          "buffers come and go; far below zero on kernels that charge a shared buffer to each "
          "client in full.",
          {"heap"}, nvmap::kMaxHeaps),
    gauge(
        "jetmem_nvmap_orphan_bytes",
        "Memory of buffers without an nvmap client (orphan_handles; where that table is too large "
        "to be read, heap memory not charged to any client). A process holds them by a "
        "descriptor or mapping (jetmem_dmabuf_holder_clientless_bytes names it), or a driver "
        "does. A shared part of a buffer counts too. A steady amount is normal with cameras. "
        "Growth is a leak: restart the holder, else the programs that use camera or codec; if "
        "that frees nothing, reboot.",
        {"heap"}, nvmap::kMaxHeaps, Worst::kMax),
    gauge("jetmem_nvmap_orphan_handles",
          "Buffers without an nvmap client. Growth is a leak. Absent where there are more than "
          "jetmem reads one by one (about 8000).",
          {"heap"}, nvmap::kMaxHeaps),
    gauge("jetmem_nvmap_carveout_bytes",
          "Size of a heap with memory of its own, set aside at boot.", {"heap"}, nvmap::kMaxHeaps),
    gauge("jetmem_nvmap_carveout_free_bytes",
          "What is free in a heap with memory of its own, contiguous or not.", {"heap"},
          nvmap::kMaxHeaps, Worst::kMin),
    gauge("jetmem_nvmap_carveout_free_ratio",
          "Free share of a carve-out heap. Near 0, allocations from it fail, and the kernel prints "
          "nothing. Before L4T 36 the kernel does not report free memory: the value is then the "
          "size minus allocated memory.",
          {"heap"}, nvmap::kMaxHeaps),
    gauge(
        "jetmem_nvmap_process_bytes",
        "Memory that processes of this name hold in the heap, all of them together; a buffer "
        "shared by several is charged in parts. Of each heap the 32 largest names; all others "
        "are the process \"other\". Steady growth is a leak of CUDA or camera buffers. `jetmem top "
        "--gpu` shows their PIDs.",
        {"heap", "process"}, nvmap::kMaxHeaps*(nvmap::kMaxNames + 1)),
    gauge("jetmem_nvmap_total_bytes",
          "All memory that nvmap has allocated: the sum of its heaps, including carve-outs, which "
          "are not part of MemTotal. Absent unless the total of each heap is known.",
          {}, 1, Worst::kMax),
    gauge("jetmem_nvmap_allocatable_bytes",
          "What nvmap reports as the most allocatable from iovmm: MemAvailable without free CMA. "
          "L4T 36.4.7, 35.6.3 and 38.2.2 may refuse a request near it (error 12). Other releases "
          "from 36.2 to 36.4.x grant any request up to all RAM, and the OOM killer ends processes "
          "if memory runs out. jetmem_gpu_available_bytes adds the page pool.",
          {}, 1, Worst::kMin),
    gauge(
        "jetmem_nvmap_page_pool_bytes",
        "Pages that nvmap keeps in stock for its next allocations: up to an eighth of all memory, "
        "not in MemAvailable, and free to others only when memory runs short."),
};
constexpr MetricTable nvmap_metric{kNvmapMetrics};

std::optional<double> free_ratio(const Nvmap::Heap& heap) {
  if (heap.size.value_or(0) == 0) return std::nullopt;
  std::optional<std::uint64_t> free = heap.free;
  if (!free && heap.bytes && *heap.bytes <= *heap.size) free = *heap.size - *heap.bytes;
  if (!free || *free > *heap.size) return std::nullopt;
  return static_cast<double>(*free) / static_cast<double>(*heap.size);
}

// The time on a processor, which a busy machine does not lengthen.
std::chrono::nanoseconds thread_time() {
  timespec time{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
}

// Absent when the folder cannot be listed.
std::optional<bool> has_name(Gatherer& gatherer, const std::string& folder, std::string_view name) {
  std::vector<std::string> names;
  if (gatherer.list(folder, names) != 0) return std::nullopt;
  return std::find(names.begin(), names.end(), name) != names.end();
}

// A folder is a heap when it has a table.
bool gather_table(Gatherer& gatherer, const std::string& path, std::size_t head) {
  if (!gatherer.has_room()) return false;
  const FileText file = gatherer.read_ends(path, head, kTableEnd);
  if (file.error != ENOENT && file.error != ENOTDIR) return true;
  gatherer.forget();
  return false;
}

void gather_nvmap(Gatherer& gatherer) {
  std::vector<std::string> names;
  const std::string root(nvmap::kRoot);
  const int error = gatherer.list(root, names);
  if (error != 0) {
    // Whether the driver is there all the same, only hidden.
    const auto is_there = has_name(gatherer, "/sys/class/misc", "nvmap");
    if (is_there) gatherer.note(nvmap::kDeviceRemark, *is_there ? 1 : 0);
    return;
  }
  std::size_t heaps = 0;
  std::size_t left_out = 0;
  for (const std::string& name : names) {
    if (heaps == nvmap::kMaxHeaps || !gatherer.has_room()) {
      ++left_out;
      continue;
    }
    const std::string folder = root + "/" + name;
    const auto began = thread_time();
    if (!gather_table(gatherer, folder + "/clients", kClientsHead)) continue;
    ++heaps;
    if (!gatherer.has_room()) ++left_out;
    const std::string orphans = folder + "/orphan_handles";
    if (thread_time() - began < nvmap::kMostWalkTime) {
      gather_table(gatherer, orphans, kOrphansHead);
    } else if (has_name(gatherer, folder, "orphan_handles").value_or(false) &&
               gatherer.has_room()) {
      gatherer.add(orphans, {}, FileText::kTooLarge);
    }
  }
  if (left_out > 0) gatherer.note(nvmap::kLeftOutNote, left_out);
}

}  // namespace

const SourceInfo NvmapSource::kInfo{
    .name = "nvmap",
    .what = "GPU and camera memory by process, and buffers without a client (nvmap)",
    .paths = kNvmapPaths,
    .access = Access::kReader,
    .interval = std::chrono::seconds(60),
    .shortest_interval = std::chrono::seconds(30),
    .grant = "CAP_DAC_READ_SEARCH for jetmem-reader, or run as root (sudo): debugfs is root's",
    .throttled = true,
    .metrics = kNvmapMetrics,
    .limits = {.file_bytes = 4U << 10, .total_bytes = 2U << 20, .files = 128, .names = 256},
    .gather = gather_nvmap,
};

void NvmapSource::write(SampleWriter& out, WriteContext& context) const {
  for (const Nvmap::Heap& heap : reading_.heaps) {
    out.put(nvmap_metric("jetmem_nvmap_heap_bytes"), heap.bytes, heap.name);
    out.put(nvmap_metric("jetmem_nvmap_heap_clients"), heap.clients, heap.name);
    if (heap.bytes && heap.charged_bytes) {
      const auto charged = static_cast<double>(*heap.charged_bytes);
      out.put(nvmap_metric("jetmem_nvmap_heap_unattributed_bytes"),
              static_cast<double>(*heap.bytes) - charged, heap.name);
    }
    out.put(nvmap_metric("jetmem_nvmap_orphan_bytes"), heap.orphan_bytes, heap.name);
    out.put(nvmap_metric("jetmem_nvmap_orphan_handles"), heap.orphan_handles, heap.name);
    out.put(nvmap_metric("jetmem_nvmap_carveout_bytes"), heap.size, heap.name);
    out.put(nvmap_metric("jetmem_nvmap_carveout_free_bytes"), heap.free, heap.name);
    out.put(nvmap_metric("jetmem_nvmap_carveout_free_ratio"), free_ratio(heap), heap.name);
  }
  for (const Nvmap::Process& process : reading_.processes) {
    const std::string_view name = process.is_rest ? "other" : std::string_view(process.name);
    out.put(nvmap_metric("jetmem_nvmap_process_bytes"), process.bytes, process.heap, name);
  }
  out.put(nvmap_metric("jetmem_nvmap_total_bytes"), reading_.total_bytes);
  out.put(nvmap_metric("jetmem_nvmap_allocatable_bytes"), reading_.allocatable_bytes);
  if (reading_.pool_pages && context.facts.page_size) {
    out.put(
        nvmap_metric("jetmem_nvmap_page_pool_bytes"),
        static_cast<double>(*reading_.pool_pages) * static_cast<double>(*context.facts.page_size));
  } else if (reading_.pool_pages) {
    context.absent.add("page_size_unknown");
  }
}

}  // namespace jetmem
