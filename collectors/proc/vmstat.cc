// SPDX-License-Identifier: Apache-2.0
#include "collectors/proc/vmstat.h"

#include <algorithm>
#include <array>

#include "base/text/text.h"
#include "collectors/fields.h"
#include "collectors/storage.h"

namespace jetmem {
namespace {

constexpr std::array<std::string_view, 1> kVmstatPaths{"/proc/vmstat"};
constexpr std::size_t kMaxVmstatFields = 512;

constexpr std::string_view kPrefix = "jetmem_vmstat_";
constexpr std::string_view kSuffix = "_total";

constexpr std::array kVmstatMetrics{
    // Reclaim: the kernel looks for pages that it can take back.
    counter("jetmem_vmstat_allocstall_total",
            "Direct reclaim: times a program had to reclaim memory itself before its allocation "
            "went on, all zones together. Any steady rate is felt as latency: memory is short "
            "now."),
    counter("jetmem_vmstat_pgscan_kswapd_total",
            "Pages that the background reclaimer examined. A high rate with few pgsteal_kswapd "
            "means that it searches and finds nothing."),
    counter("jetmem_vmstat_pgscan_direct_total",
            "Pages that programs examined while they reclaimed memory themselves. Zero on a "
            "healthy machine."),
    counter("jetmem_vmstat_pgscan_direct_throttle_total",
            "Times a program was put to sleep because half of the reserves were used. Should "
            "stay 0; when it grows, programs hang for moments."),
    counter("jetmem_vmstat_pgscan_khugepaged_total",
            "Pages examined to make room for huge pages in the background."),
    counter("jetmem_vmstat_pgsteal_kswapd_total",
            "Pages reclaimed by the background reclaimer. Some rate is normal once the page "
            "cache has filled the memory."),
    counter("jetmem_vmstat_pgsteal_direct_total",
            "Pages that programs reclaimed themselves. See allocstall."),
    counter("jetmem_vmstat_pgsteal_khugepaged_total",
            "Pages reclaimed to make room for huge pages in the background."),
    counter("jetmem_vmstat_pgrefill_total",
            "Pages examined to be moved from the active to the inactive list. It grows before "
            "reclaim gets hard."),
    counter("jetmem_vmstat_pageoutrun_total",
            "Runs of the background reclaimer. A rate that climbs over hours is pressure that "
            "climbs over hours."),
    counter("jetmem_vmstat_kswapd_low_wmark_hit_quickly_total",
            "Times free memory fell below the low watermark again right after reclaim reached "
            "it: reclaim is slower than allocation."),
    counter("jetmem_vmstat_kswapd_high_wmark_hit_quickly_total",
            "Times free memory fell below the high watermark again right after reclaim reached "
            "it: reclaim can barely keep up."),
    counter("jetmem_vmstat_slabs_scanned_total",
            "Kernel objects examined during reclaim. A high rate: the kernel's own caches are "
            "being emptied."),
    counter("jetmem_vmstat_pgactivate_total", "Pages moved to the active list."),
    counter("jetmem_vmstat_pgdeactivate_total", "Pages moved to the inactive list."),
    counter("jetmem_vmstat_pginodesteal_total",
            "Pages reclaimed from the page cache along with their inode."),
    counter("jetmem_vmstat_workingset_refault_total",
            "Pages read back soon after they were evicted, on kernels before 5.9. A steady rate "
            "is thrashing."),
    counter("jetmem_vmstat_workingset_refault_anon_total",
            "Program memory swapped back in soon after it was swapped out. A steady rate is "
            "thrashing: the machine copies instead of working."),
    counter("jetmem_vmstat_workingset_refault_file_total",
            "File pages read back soon after they were evicted. A steady rate is thrashing: even "
            "program code is read from disk again and again."),
    counter("jetmem_vmstat_drop_pagecache_total",
            "Times somebody emptied the page cache by hand (/proc/sys/vm/drop_caches). If it "
            "grows, a script hides a shortage."),
    counter("jetmem_vmstat_drop_slab_total",
            "Times somebody emptied the kernel's caches by hand (/proc/sys/vm/drop_caches)."),
    counter("jetmem_vmstat_oom_kill_total",
            "Programs killed because memory ran out, in the whole machine or in a cgroup. The "
            "kernel log says which. Kernels before 4.13 do not count this."),

    // Faults and swap.
    counter("jetmem_vmstat_pgfault_total",
            "Page faults of every kind; most cost nothing but a little time."),
    counter("jetmem_vmstat_pgmajfault_total",
            "Page faults that waited for a disk or for swap. A rate that jumps while memory is "
            "short means thrashing."),
    counter("jetmem_vmstat_pswpin_total",
            "Pages read from swap, zram included. Programs wait for them."),
    counter("jetmem_vmstat_pswpout_total",
            "Pages written to swap, zram included. zram takes its space from the same memory."),
    counter("jetmem_vmstat_swap_ra_total", "Pages read ahead from swap."),
    counter("jetmem_vmstat_swap_ra_hit_total", "Pages read ahead from swap that were then used."),
    counter("jetmem_vmstat_zswpin_total", "Pages unpacked from the compressed cache before swap."),
    counter("jetmem_vmstat_zswpout_total", "Pages packed into the compressed cache before swap."),
    counter("jetmem_vmstat_zswpwb_total",
            "Pages written from the compressed cache to the swap device because it was full."),

    // Compaction and migration: pages are moved to make large free blocks.
    counter("jetmem_vmstat_compact_stall_total",
            "Times a program waited for compaction before it got a large block. Memory is "
            "fragmented."),
    counter("jetmem_vmstat_compact_success_total",
            "Compactions for a waiting program that made the block it needed."),
    counter("jetmem_vmstat_compact_fail_total",
            "Compactions for a waiting program that made no block. If it grows faster than "
            "compact_success, large allocations will fail soon."),
    counter("jetmem_vmstat_compact_migrate_scanned_total",
            "Pages that compaction examined to move away."),
    counter("jetmem_vmstat_compact_free_scanned_total",
            "Pages that compaction examined as places to move to. Much larger than the pages "
            "moved: compaction finds no room."),
    counter("jetmem_vmstat_compact_isolated_total", "Pages that compaction isolated to move them."),
    counter("jetmem_vmstat_compact_daemon_wake_total",
            "Times background compaction was woken: large blocks ran out in some zone."),
    counter("jetmem_vmstat_compact_daemon_migrate_scanned_total",
            "Pages that background compaction examined to move away."),
    counter("jetmem_vmstat_compact_daemon_free_scanned_total",
            "Pages that background compaction examined as places to move to."),
    counter("jetmem_vmstat_pgmigrate_success_total",
            "Pages moved, for compaction or to clear a contiguous area (CMA)."),
    counter("jetmem_vmstat_pgmigrate_fail_total",
            "Pages that could not be moved. Pinned pages do this: they are what makes cma_alloc "
            "fail though memory is free."),

    // Contiguous memory areas.
    counter("jetmem_vmstat_cma_alloc_success_total",
            "Calls of cma_alloc that succeeded. Calls, not pages. Kernel 5.13 and later."),
    counter("jetmem_vmstat_cma_alloc_fail_total",
            "Calls of cma_alloc that failed: a camera, display or codec was refused contiguous "
            "memory, though it may have a fallback. Calls, not pages. Kernel 5.13 and later."),

    // Huge pages.
    counter("jetmem_vmstat_thp_fault_alloc_total", "Huge pages allocated at a page fault."),
    counter("jetmem_vmstat_thp_fault_fallback_total",
            "Page faults that asked for a huge page and got small ones: no large block was free."),
    counter("jetmem_vmstat_thp_collapse_alloc_total",
            "Huge pages made in the background from small ones."),
    counter("jetmem_vmstat_thp_collapse_alloc_failed_total",
            "Huge pages that the background could not make because no large block was free."),
    counter("jetmem_vmstat_thp_split_page_total", "Huge pages split into small ones."),
};

constexpr std::string_view kernel_name(std::size_t metric) {
  const std::string_view name = kVmstatMetrics[metric].name;
  return name.substr(kPrefix.size(), name.size() - kPrefix.size() - kSuffix.size());
}

constexpr std::array<std::string_view, 6> kZoneSuffixes{"_dma",     "_dma32", "_normal",
                                                        "_movable", "_high",  "_device"};

// The names that some kernel prints once for each zone.
constexpr std::array<std::string_view, 6> kPerZone{
    "allocstall", "pgrefill", "pgscan_kswapd", "pgscan_direct", "pgsteal_kswapd", "pgsteal_direct"};

// "pgscan_direct_dma32" -> "pgscan_direct"; empty when the name is not one zone's share.
std::string_view without_zone(std::string_view name) {
  for (const std::string_view base : kPerZone) {
    if (name.substr(0, base.size()) != base) continue;
    const std::string_view zone = name.substr(base.size());
    // A zone that no kernel has yet would still be a share of allocstall: there is no other name
    // that begins so. Of pgscan_direct there is: pgscan_direct_throttle.
    const bool known = base == "allocstall" ? zone.size() > 1 && zone.front() == '_'
                                            : std::find(kZoneSuffixes.begin(), kZoneSuffixes.end(),
                                                        zone) != kZoneSuffixes.end();
    if (known) return base;
  }
  return {};
}

void find_parts(Vmstat& out) {
  out.parts.clear();
  for (std::size_t metric = 0; metric < kVmstatMetrics.size(); ++metric) {
    const std::string_view needed = kernel_name(metric);
    const std::size_t first = out.parts.size();
    bool whole = false;
    for (std::size_t field = 0; field < out.fields.size(); ++field) {
      const std::string_view name = out.fields[field].name;
      if (name == needed) {
        // A kernel that prints the total as well must not have its zones counted twice.
        out.parts.resize(first);
        whole = true;
      } else if (whole || without_zone(name) != needed) {
        continue;
      }
      out.parts.push_back({static_cast<std::uint16_t>(metric), static_cast<std::uint16_t>(field)});
    }
  }
}

// A name as the kernel prints them: no blanks, no control characters, no bytes beyond ASCII.
bool is_counter_name(std::string_view name) {
  return !name.empty() &&
         std::all_of(name.begin(), name.end(), [](char c) { return c > 0x20 && c < 0x7f; });
}

Result<void> parse_vmstat_lines(std::string_view text, Vmstat& out) {
  Fields fields(out.absent);
  Lines lines(text);
  std::size_t count = 0;
  bool same_names = true;  // as in the reading before: then nothing needs to be looked up
  for (std::string_view line; lines.next(line);) {
    if (trim(line).empty()) continue;
    const std::string_view name = line.substr(0, line.find(' '));
    if (!is_counter_name(name) || name.size() == line.size()) {
      fields.lost();
      continue;
    }
    if (count == kMaxVmstatFields) {
      fields.lost(kBeyondBound);
      continue;
    }
    if (count == out.fields.size()) out.fields.emplace_back();
    Vmstat::Field& field = out.fields[count++];
    field.value = fields.number(line.substr(name.size()));
    if (field.name == name) continue;
    same_names = false;
    field.name = name;
  }
  if (auto ok = fields.finish(text, "name number"); !ok) return ok;
  if (same_names && count == out.fields.size()) return {};
  out.fields.resize(count);
  while (const auto twin = find_twin(out.fields, &Vmstat::Field::name)) {
    out.fields.erase(out.fields.begin() + static_cast<std::ptrdiff_t>(*twin));
    fields.lost();
  }
  find_parts(out);
  return {};
}

}  // namespace

const SourceInfo VmstatSource::kInfo{
    .name = "vmstat",
    .what = "reclaim, compaction, swapping, OOM kills and CMA calls since boot",
    .paths = kVmstatPaths,
    .interval = std::chrono::seconds(5),
    .metrics = kVmstatMetrics,
};

std::optional<std::uint64_t> Vmstat::find(std::string_view name) const {
  for (const Field& field : fields) {
    if (field.name == name) return field.value;
  }
  return std::nullopt;
}

Result<void> parse_vmstat(std::string_view text, Vmstat& out) {
  out.absent.reset();
  auto ok = parse_vmstat_lines(text, out);
  // What a refused text left behind must not be taken for checked names next time.
  if (!ok) out.fields.clear();
  return ok;
}

void VmstatSource::write(SampleWriter& out, WriteContext& /*context*/) const {
  for (std::size_t i = 0; i < reading_.parts.size();) {
    const std::size_t metric = reading_.parts[i].counter;
    std::optional<double> sum = 0;
    for (; i < reading_.parts.size() && reading_.parts[i].counter == metric; ++i) {
      const auto& value = reading_.fields[reading_.parts[i].field].value;
      // Without one zone's share there is no sum.
      sum = sum && value ? std::optional(*sum + static_cast<double>(*value)) : std::nullopt;
    }
    out.put(kVmstatMetrics[metric], sum);
  }
}

}  // namespace jetmem
