#include "collectors/zram.h"

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
    Descriptor{.name = "jetmem_swap_areas",
               .type = MetricType::kGauge,
               .help = "Swap areas in use. 0: nothing can be moved out of memory, and what does "
                       "not fit ends in the OOM killer."},
    Descriptor{.name = "jetmem_swap_area_bytes",
               .type = MetricType::kGauge,
               .help = "Size of the swap area. Of a zram device it is what may be swapped out, "
                       "uncompressed, and no memory by itself.",
               .labels = {"device", "type"},
               .max_series = Zram::kMaxAreas},
    Descriptor{.name = "jetmem_swap_area_used_bytes",
               .type = MetricType::kGauge,
               .help = "What of the swap area is taken, as it was in memory.",
               .labels = {"device", "type"},
               .max_series = Zram::kMaxAreas,
               .worst = Worst::kMax},
    Descriptor{.name = "jetmem_swap_area_priority",
               .type = MetricType::kGauge,
               .help = "The area with the highest priority is filled first, equal ones in turn.",
               .labels = {"device", "type"},
               .max_series = Zram::kMaxAreas},
    Descriptor{.name = "jetmem_zram_disk_bytes",
               .type = MetricType::kGauge,
               .help = "How much the zram device takes in, uncompressed. 0: it is not set up.",
               .labels = {"device"},
               .max_series = Zram::kMaxDevices},
    Descriptor{.name = "jetmem_zram_initialized",
               .type = MetricType::kGauge,
               .help = "1 when the zram device is set up and can be used, otherwise 0.",
               .labels = {"device"},
               .max_series = Zram::kMaxDevices},
    Descriptor{.name = "jetmem_zram_algorithm_info",
               .type = MetricType::kGauge,
               .help = "Always 1: the compression that the zram device uses is in its label.",
               .labels = {"device", "algorithm"},
               .max_series = Zram::kMaxDevices},
    Descriptor{.name = "jetmem_zram_original_bytes",
               .type = MetricType::kGauge,
               .help = "What is stored in the zram device, uncompressed. Divided by "
                       "jetmem_zram_used_bytes it tells what compression gains; near 1 it gains "
                       "nothing.",
               .labels = {"device"},
               .max_series = Zram::kMaxDevices},
    Descriptor{.name = "jetmem_zram_compressed_bytes",
               .type = MetricType::kGauge,
               .help = "What is stored in the zram device, compressed, without the allocator's "
                       "losses.",
               .labels = {"device"},
               .max_series = Zram::kMaxDevices},
    Descriptor{.name = "jetmem_zram_used_bytes",
               .type = MetricType::kGauge,
               .help = "Memory that the zram device takes, out of the same DRAM that it is to "
                       "relieve.",
               .labels = {"device"},
               .max_series = Zram::kMaxDevices,
               .worst = Worst::kMax},
    Descriptor{.name = "jetmem_zram_limit_bytes",
               .type = MetricType::kGauge,
               .help = "The most memory that the zram device may take; 0 is no limit. At the limit "
                       "writes to it fail, and with them swapping.",
               .labels = {"device"},
               .max_series = Zram::kMaxDevices},
    Descriptor{.name = "jetmem_zram_used_peak_bytes",
               .type = MetricType::kGauge,
               .help = "The most memory that the zram device took since it was set up or since "
                       "somebody reset this figure.",
               .labels = {"device"},
               .max_series = Zram::kMaxDevices},
    Descriptor{.name = "jetmem_zram_same_pages",
               .type = MetricType::kGauge,
               .help = "Pages in the zram device that repeat one word, mostly zeroes: they take no "
                       "memory.",
               .labels = {"device"},
               .max_series = Zram::kMaxDevices},
    Descriptor{.name = "jetmem_zram_huge_pages",
               .type = MetricType::kGauge,
               .help = "Pages in the zram device that could not be compressed: they take as much "
                       "memory as before. Many of them (camera frames, model weights) make zram "
                       "cost more than it gives.",
               .labels = {"device"},
               .max_series = Zram::kMaxDevices},
    Descriptor{.name = "jetmem_zram_failed_reads_total",
               .type = MetricType::kCounter,
               .help = "Reads from the zram device that failed. Any growth means lost data.",
               .labels = {"device"},
               .max_series = Zram::kMaxDevices},
    Descriptor{.name = "jetmem_zram_failed_writes_total",
               .type = MetricType::kCounter,
               .help = "Writes to the zram device that failed: its limit is reached, or there was "
                       "no memory left to compress into.",
               .labels = {"device"},
               .max_series = Zram::kMaxDevices},
    Descriptor{.name = "jetmem_zram_compression_ratio",
               .type = MetricType::kGauge,
               .help =
                   "What is stored in the zram device, by the memory that it takes for it: 3 "
                   "means that three bytes fit in one. Near 1 zram gains nothing and costs time. "
                   "Absent while nothing is stored.",
               .labels = {"device"},
               .max_series = Zram::kMaxDevices},
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
  for (const AbsentValues::Count& entry : reading_.absent.counts()) {
    if (entry.count > 0) context.absent.add(entry.reason, entry.count);
  }
  if (reading_.areas_known) out.put(kMetrics[kAreas], static_cast<double>(reading_.areas.size()));
  for (const Zram::Area& area : reading_.areas) {
    out.put(kMetrics[kAreaBytes], static_cast<double>(area.bytes), area.device, area.type);
    out.put(kMetrics[kAreaUsed], static_cast<double>(area.used_bytes), area.device, area.type);
    out.put(kMetrics[kAreaPriority], static_cast<double>(area.priority), area.device, area.type);
  }
  for (const Zram::Device& device : reading_.devices) {
    const auto put = [&](Metric metric, const std::optional<std::uint64_t>& value) {
      if (value) out.put(kMetrics[metric], static_cast<double>(*value), device.name);
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
