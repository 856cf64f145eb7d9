// SPDX-License-Identifier: Apache-2.0
#include "collectors/sysfs/zram.h"

#include <array>

namespace jetmem {
namespace {

constexpr std::array<std::string_view, 6> kPaths{
    "/proc/swaps",
    "/sys/block/zram*/disksize",
    "/sys/block/zram*/initstate",
    "/sys/block/zram*/comp_algorithm",
    "/sys/block/zram*/mm_stat",
    "/sys/block/zram*/io_stat",
};

constexpr std::array kMetrics{
    gauge("jetmem_swap_areas",
          "Swap areas in use. 0: nothing can be swapped out, and a shortage ends in OOM kills."),
    gauge("jetmem_swap_area_bytes",
          "Size of the swap area. Of a zram device it is what may be swapped out, uncompressed, "
          "not memory in use.",
          {"device", "type"}, Zram::kMaxAreas),
    gauge("jetmem_swap_area_used_bytes", "What of the swap area is in use, uncompressed.",
          {"device", "type"}, Zram::kMaxAreas, Worst::kMax),
    gauge("jetmem_swap_area_priority",
          "The area with the highest priority is filled first, equal ones in turn.",
          {"device", "type"}, Zram::kMaxAreas),
    gauge("jetmem_zram_disk_bytes",
          "How much the zram device can store, uncompressed. 0: it is not set up.", {"device"},
          Zram::kMaxDevices),
    gauge("jetmem_zram_initialized",
          "1 when the zram device is set up and can be used, otherwise 0.", {"device"},
          Zram::kMaxDevices),
    gauge("jetmem_zram_algorithm_info",
          "Always 1: the compression that the zram device uses is in its label.",
          {"device", "algorithm"}, Zram::kMaxDevices),
    gauge("jetmem_zram_original_bytes",
          "What is stored in the zram device, uncompressed. Divided by jetmem_zram_used_bytes it "
          "is the gain of compression; near 1 it gains nothing.",
          {"device"}, Zram::kMaxDevices),
    gauge("jetmem_zram_compressed_bytes",
          "What is stored in the zram device, compressed, without the allocator's losses.",
          {"device"}, Zram::kMaxDevices),
    gauge("jetmem_zram_used_bytes",
          "Memory that the zram device uses, of the same DRAM that it is meant to relieve.",
          {"device"}, Zram::kMaxDevices, Worst::kMax),
    gauge("jetmem_zram_limit_bytes",
          "The most memory that the zram device may use; 0 is no limit. At the limit writes to "
          "it fail, and with them swapping.",
          {"device"}, Zram::kMaxDevices),
    gauge("jetmem_zram_used_peak_bytes",
          "The most memory that the zram device used since it was set up or since somebody reset "
          "this value.",
          {"device"}, Zram::kMaxDevices),
    gauge("jetmem_zram_same_pages",
          "Pages in the zram device that repeat one word, usually zeroes: they use no memory.",
          {"device"}, Zram::kMaxDevices),
    gauge("jetmem_zram_huge_pages",
          "Pages in the zram device that could not be compressed: they use as much memory as "
          "before. Many of them (camera frames, model weights) make zram cost more than it "
          "gives.",
          {"device"}, Zram::kMaxDevices),
    counter("jetmem_zram_failed_reads_total",
            "Reads from the zram device that failed. Any growth means lost data.", {"device"},
            Zram::kMaxDevices),
    counter("jetmem_zram_failed_writes_total",
            "Writes to the zram device that failed: its limit is reached, or there was no memory "
            "left to compress into.",
            {"device"}, Zram::kMaxDevices),
    gauge("jetmem_zram_compression_ratio",
          "What is stored in the zram device, divided by the memory that it uses: 3 means that "
          "three bytes fit in one. Near 1 zram gains nothing and costs time. Absent while "
          "nothing is stored.",
          {"device"}, Zram::kMaxDevices),
};
enum Metric : std::size_t {
  kAreas,
  kAreaBytes,
  kAreaUsed,
  kAreaPriority,
  kDisk,
  kInitialized,
  kAlgorithm,
  kOriginal,
  kCompressed,
  kUsed,
  kLimit,
  kPeak,
  kSame,
  kHuge,
  kFailedReads,
  kFailedWrites,
  kRatio
};

}  // namespace

const SourceInfo ZramSource::kInfo{
    .name = "zram",
    .what = "swap, and what compressed swap in memory (zram) costs and saves",
    .paths = kPaths,
    .access = Access::kReader,
    .interval = std::chrono::seconds(10),
    .shortest_interval = std::chrono::seconds(1),
    .metrics = kMetrics,
};

Result<void> ZramSource::parse(const Snapshot& snapshot, Nanoseconds /*read_time*/) {
  return parse_zram(snapshot, reading_);
}

void ZramSource::write(SampleWriter& out, WriteContext& context) const {
  context.absent.add(reading_.absent);
  if (reading_.areas_known) out.put(kMetrics[kAreas], reading_.areas.size());
  for (const Zram::Area& area : reading_.areas) {
    out.put(kMetrics[kAreaBytes], area.bytes, area.device, area.type);
    out.put(kMetrics[kAreaUsed], area.used_bytes, area.device, area.type);
    out.put(kMetrics[kAreaPriority], area.priority, area.device, area.type);
  }
  for (const Zram::Device& device : reading_.devices) {
    const auto put = [&](Metric metric, const std::optional<std::uint64_t>& value) {
      out.put(kMetrics[metric], value, device.name);
    };
    put(kDisk, device.disksize);
    if (device.initialized) {
      out.put(kMetrics[kInitialized], *device.initialized ? 1 : 0, device.name);
    }
    if (!device.algorithm.empty()) {
      out.put(kMetrics[kAlgorithm], 1, device.name, device.algorithm);
    }
    put(kOriginal, device.original_bytes);
    put(kCompressed, device.compressed_bytes);
    put(kUsed, device.used_bytes);
    if (device.original_bytes.value_or(0) > 0 && device.used_bytes.value_or(0) > 0) {
      out.put(kMetrics[kRatio],
              static_cast<double>(*device.original_bytes) / static_cast<double>(*device.used_bytes),
              device.name);
    }
    put(kLimit, device.limit_bytes);
    put(kPeak, device.max_used_bytes);
    put(kSame, device.same_pages);
    put(kHuge, device.huge_pages);
    put(kFailedReads, device.failed_reads);
    put(kFailedWrites, device.failed_writes);
  }
}

}  // namespace jetmem
