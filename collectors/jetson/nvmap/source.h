// SPDX-License-Identifier: Apache-2.0
// nvmap: the memory that GPU, cameras, codecs and display have, on boards whose GPU driver is nvgpu
// (Jetson up to Orin). Asked of jetmem-reader, since debugfs is root's.
//
// /sys/kernel/debug/nvmap/ (drivers/video/tegra/nvmap/nvmap_dev.c and nvmap_debug.c of L4T):
//   <heap>/clients         a header, a row for each client, a total. Since L4T 21.
//       CLIENT                        PROCESS      PID        SIZE
//       user                  nvargus-daemon     1012     262144K
//       total                                             270336K
//     Header "%-18s %18s %8s %11s"; a driver's own client has the process "kernel" and pid 0. Each
//     client is listed in each heap, with 0K where it has nothing. A buffer that several share is
//     charged in equal parts; old kernels charge it in full to each. The total is of all handles,
//     also of those that no client has. Sizes are cut to whole KiB.
//   <heap>/orphan_handles  a header, a row for each handle that no client refers to; about L4T 32
//   on.
//           BASE        SIZE USERFLAGS   REFS  KMAPS  UMAPS      UID
//     No total. A handle of pages in the protected heap (vpr) has a row for each of its pages, each
//     with the size of the whole: rows in succession with one UID are one handle. The kernel makes
//     all of it at the first read, under a spinlock and in a buffer that it begins anew at each
//     doubling (single_open): to read it in pieces spares nothing, so a large one is not read
//     (nvmap::kMostWalkTime), and the orphans are what of the total no client is charged with.
//   <heap>/{size,free_size}  of a carve-out: one number in hex ("0x0000000004000000"); free_size
//     from about L4T 36. Or "Error while fetching free size of IOVMM memory".
//   iovmm/free_size        from about L4T 36: "Max allocatable IOVMM memory: 3221225472 bytes".
//   stats/total_memory is not read: memory that a program gave (NVMAP_IOC_FROM_VA) and parts of
//   other handles are subtracted when freed but never added, so that it falls below zero.
//   pagepool/page_pool_{available_pages,pages_to_zero}   pages kept in stock, the latter from
//     about L4T 32 on
// <heap>: iovmm (pages from everywhere), generic-0, vpr, vpr1, iram, fsi, ...: whatever folders
// there are. The lines after 36.4 (38, 39) keep both tables; their new column FROM_HUGETLBFS is in
// allocations and all_allocations only.
//
// What reading costs the device: `clients` takes the mutex that a process needs to open nvmap, and
// for the total, as orphan_handles does, the spinlock that each allocation takes, while it walks
// all handles (a few words each; not measured on a board). So it is read once a minute, and
// more seldom where it takes long. maps, procrank, allocations and all_allocations hold the same
// locks while they print every handle and walk page tables: never read but by `jetmem top --gpu
// --maps`.
//
// Omitted and counted, by reason:
//   malformed      a row or a table that cannot be understood
//   heap_total_unknown   the total of all heaps: that of one of them is not known
//   beyond_bound   what is more than 16 heaps, 512 clients of a heap, or 64 KiB (clients) and
//                  512 KiB (orphans) of a table. Totals need all parts and are omitted else; of
//                  orphans only their number
//   unreadable, denied   a table; no_orphan_table: this kernel has none
//   page_size_unknown    the page pool's pages cannot be converted to bytes
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "collectors/source.h"

namespace jetmem {

namespace nvmap {

inline constexpr std::string_view kRoot = "/sys/kernel/debug/nvmap";
inline constexpr std::size_t kMaxHeaps = 16;
inline constexpr std::size_t kMaxClients = 512;  // of a heap
// Process names listed per heap; the rest is summed up.
inline constexpr std::size_t kMaxNames = 32;

// Reading `clients` walks all handles under the spinlock that each allocation takes. Where one such
// walk takes longer, the same heap's orphan_handles, which prints a row for each handle under that
// lock, would take many times as long: it is not read. Some 10 000 handles of an Orin.
inline constexpr std::chrono::milliseconds kMostWalkTime{1};

// Notes of the gatherer ("jetmem:" stands before them). Whether the driver's device is there, known
// only when debugfs could not be listed; how many folders were not looked at.
inline constexpr std::string_view kDeviceRemark = "nvmap device";
inline constexpr std::string_view kLeftOutNote = "nvmap folders omitted";

}  // namespace nvmap

struct Nvmap : Reading {
  // A process with memory in a heap; several may bear one name, one may have several heaps.
  struct Client {
    std::string heap;  // "iovmm", "generic-0", ...
    std::string name;  // the process's comm
    std::uint32_t pid = 0;
    std::uint64_t bytes = 0;

    bool operator==(const Client&) const = default;
  };
  std::vector<Client> clients;
  // Whether every heap's table of clients was read to its end and understood, and so `clients` are
  // all there are: a process that is not among them has nothing.
  bool clients_whole = false;
  // Of all clients, those without memory too; each once, in order.
  std::vector<std::uint32_t> client_pids;

  struct Heap {
    std::string name;
    std::optional<std::uint64_t> bytes;  // the printed total
    // How many clients have memory in it, and what is charged to all of them together. Absent when
    // not every row is known.
    std::optional<std::uint64_t> clients;
    std::optional<std::uint64_t> charged_bytes;
    bool is_partial = false;                      // some of its clients are not in Nvmap::clients
    std::optional<std::uint64_t> orphan_handles;  // absent when not every row is known
    std::optional<std::uint64_t> orphan_bytes;
    std::optional<std::uint64_t> size;  // of a carve-out
    std::optional<std::uint64_t> free;

    bool operator==(const Heap&) const = default;
  };
  std::vector<Heap> heaps;  // by name

  // The clients of a heap by process name: the 32 that have most of each heap, by name, and behind
  // them one with `is_rest` for all others, where there are any.
  struct Process {
    std::string heap;
    std::string name;
    bool is_rest = false;
    std::uint64_t bytes = 0;

    bool operator==(const Process&) const = default;
  };
  std::vector<Process> processes;

  std::optional<std::uint64_t> total_bytes;  // the sum of all heaps; absent unless each is known
  std::optional<std::uint64_t> allocatable_bytes;
  std::optional<std::uint64_t> pool_pages;
};

// A table that cannot be read or understood leaves out its figures and no others. Errors: kAbsent
// without nvmap or without its tables; kDenied; when no heap's tables could be understood, why.
Result<void> parse_nvmap(const Snapshot& snapshot, Nvmap& out);

class NvmapSource final : public ParsedSource<NvmapSource, Nvmap, parse_nvmap> {
 public:
  static const SourceInfo kInfo;
  void write(SampleWriter& out, WriteContext& context) const override;
};

}  // namespace jetmem
