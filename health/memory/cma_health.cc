// SPDX-License-Identifier: Apache-2.0
#include "health/memory/cma_health.h"

#include <algorithm>
#include <array>

#include "collectors/kernel_log/source.h"
#include "collectors/proc/meminfo.h"

namespace jetmem {
namespace {

using kernel_log::Entry;
using kernel_log::EventKind;
using kernel_log::Origin;
using kernel_log::Tally;

constexpr std::array kCmaHealthMetrics{
    gauge("jetmem_cma_used_ratio",
          "Share of the contiguous memory area that drivers hold. Near 1 the next camera, display "
          "or codec buffer is refused. Programs that borrow the area do not count: they return it "
          "on demand.",
          {"area"}, Cma::kMaxAreas),
    gauge("jetmem_cma_contiguity_ratio",
          "Largest free run of the area, as a share of all that drivers do not hold: 1 is one "
          "piece, near 0 is fragmented. Absent when drivers hold everything.",
          {"area"}, Cma::kMaxAreas),
    gauge("jetmem_cma_largest_request_bytes",
          "The largest contiguous request that failed since boot, by the kernel log, without those "
          "of jetmem's own probes. Absent when none failed."),
    gauge("jetmem_cma_frame_fit_ratio",
          "Largest free run of the area, divided by the larger of the camera frame (probe.frame) "
          "and the largest request that failed. Below 1 such a request is refused. Absent where "
          "the largest run is unknown, and for an area too small to ever hold it.",
          {"area"}, Cma::kMaxAreas),
    gauge("jetmem_cma_free_ratio",
          "CmaFree divided by CmaTotal, all areas together. A low value alone is normal: programs "
          "borrow what drivers do not use. jetmem_cma_used_ratio shows what drivers hold."),
};
enum CmaMetric { kUsed, kContiguity, kLargestRequest, kFrameFit, kFree };

constexpr std::array<std::string_view, 3> kCmaHealthSources{"meminfo", "cma", "kernel_log"};

double ratio(std::uint64_t part, std::uint64_t whole) {
  return static_cast<double>(part) / static_cast<double>(whole);
}

bool is_counted(const Entry& entry) {
  return entry.kind == EventKind::kCmaAllocFailure && entry.origin == Origin::kSystem;
}

// Of an entry of failed CMA allocations (kinds.h).
std::string_view area_of(const Entry& entry) { return entry.parts[0].view(); }

void write_free(SampleWriter& out, WriteContext& context, const Meminfo* meminfo) {
  const auto total = meminfo == nullptr ? std::nullopt : meminfo->find("CmaTotal");
  const auto free = meminfo == nullptr ? std::nullopt : meminfo->find("CmaFree");
  if (total && *total > 0 && free) {
    out.put(kCmaHealthMetrics[kFree], ratio(*free, *total));
  } else {
    context.absent.add(meminfo == nullptr ? "meminfo_unknown" : "no_cma");
  }
}

void write_request(SampleWriter& out, WriteContext& context, const Tally* tally) {
  const auto page_size = context.facts.page_size;
  if (tally == nullptr) {
    context.absent.add("kernel_log_unknown");
  } else if (const std::uint64_t pages = largest_failed_request(*tally); pages == 0) {
    context.absent.add("no_failed_request");
  } else if (!page_size) {
    context.absent.add("page_size_unknown");
  } else {
    out.put(kCmaHealthMetrics[kLargestRequest],
            static_cast<double>(pages) * static_cast<double>(*page_size));
  }
}

}  // namespace

std::optional<double> cma_used_ratio(const Cma::Area& area) {
  if (!area.used || area.total.value_or(0) == 0) return std::nullopt;
  return ratio(*area.used, *area.total);
}

std::optional<double> cma_contiguity_ratio(const Cma::Area& area) {
  if (!area.used || !area.total || !area.largest_run || *area.used >= *area.total) {
    return std::nullopt;
  }
  const std::uint64_t left = *area.total - *area.used;
  if (*area.largest_run > left) return std::nullopt;
  return ratio(*area.largest_run, left);
}

std::uint64_t largest_failed_request(const Tally& tally) {
  std::uint64_t largest = 0;
  for (const Entry& entry : tally.entries()) {
    if (is_counted(entry)) largest = std::max(largest, entry.largest_pages);
  }
  return largest;
}

std::uint64_t largest_failed_request(const Tally& tally, const Cma::Area& area,
                                     const std::vector<Cma::Area>& areas) {
  std::uint64_t largest = 0;
  for (const Entry& entry : tally.entries()) {
    if (!is_counted(entry) || entry.largest_pages <= largest) continue;
    const bool is_anothers = area_of(entry) != area.name &&
                             std::any_of(areas.begin(), areas.end(), [&](const Cma::Area& each) {
                               return area_of(entry) == each.name;
                             });
    if (!is_anothers) largest = entry.largest_pages;
  }
  return largest;
}

std::uint64_t required_contiguous_bytes(std::uint64_t size, std::uint64_t frame,
                                        std::uint64_t request) {
  return std::max(frame <= size ? frame : 0, request <= size ? request : 0);
}

const DerivedInfo CmaHealth::kInfo{"cma_health", kCmaHealthSources, kCmaHealthMetrics};

void CmaHealth::write(SampleWriter& out, WriteContext& context) {
  const auto* meminfo = context.readings.get<Meminfo>();
  const auto* cma = context.readings.get<Cma>();
  const auto* log = context.readings.get<KernelLogReading>();
  const Tally* tally = log == nullptr || log->log == nullptr ? nullptr : &log->log->tally();

  write_free(out, context, meminfo);
  write_request(out, context, tally);
  if (cma != nullptr) {
    for (const Cma::Area& area : cma->areas) write_area(out, context, *cma, area, tally);
  } else if (meminfo == nullptr || meminfo->find("CmaTotal").value_or(0) > 0) {
    context.absent.add("areas_unknown");
  }
}

void CmaHealth::write_area(SampleWriter& out, WriteContext& context, const Cma& cma,
                           const Cma::Area& area, const Tally* tally) const {
  const std::string_view size_reason = area.total.value_or(0) == 0 ? "size_unknown" : "";
  if (const auto used = cma_used_ratio(area)) {
    out.put(kCmaHealthMetrics[kUsed], *used, area.name);
  } else {
    context.absent.add(size_reason.empty() ? "used_unknown" : size_reason);
  }

  if (const auto contiguity = cma_contiguity_ratio(area)) {
    out.put(kCmaHealthMetrics[kContiguity], *contiguity, area.name);
  } else if (!size_reason.empty()) {
    context.absent.add(size_reason);
  } else if (!area.largest_run) {
    context.absent.add("largest_run_unknown");
  } else if (!area.used) {
    context.absent.add("used_unknown");
  } else {
    context.absent.add(*area.used == *area.total ? "nothing_free" : "inconsistent");
  }

  const auto page_size = context.facts.page_size;
  if (!size_reason.empty()) {
    context.absent.add(size_reason);
  } else if (!area.largest_run) {
    context.absent.add("largest_run_unknown");
  } else if (!page_size || *page_size == 0) {
    context.absent.add("page_size_unknown");
  } else {
    // In pages: those of a frame that is not a whole number of them are rounded up.
    const std::uint64_t frame = options_.frame / *page_size + (options_.frame % *page_size ? 1 : 0);
    const std::uint64_t request =
        tally == nullptr ? 0 : largest_failed_request(*tally, area, cma.areas);
    const std::uint64_t required = required_contiguous_bytes(*area.total, frame, request);
    if (required > 0) {
      out.put(kCmaHealthMetrics[kFrameFit], ratio(*area.largest_run, required), area.name);
    } else {
      context.absent.add("area_too_small");
    }
  }
}

}  // namespace jetmem
