// SPDX-License-Identifier: Apache-2.0
#include "collectors/sysfs/cma.h"

#include <algorithm>
#include <cerrno>

#include "base/text/text.h"
#include "collectors/proc/meminfo.h"
#include "collectors/storage.h"
#include "collectors/sysfs/sysfs_text.h"

namespace jetmem {
namespace {

constexpr std::string_view kCmaMeminfoPath = "/proc/meminfo";
constexpr std::string_view kSysfs = "/sys/kernel/mm/cma";
constexpr std::string_view kDebugfs = "/sys/kernel/debug/cma";
constexpr std::array<std::string_view, 9> kCmaPaths{
    kCmaMeminfoPath,
    "/sys/kernel/mm/cma/*/alloc_pages_success",
    "/sys/kernel/mm/cma/*/alloc_pages_fail",
    "/sys/kernel/mm/cma/*/release_pages_success",
    "/sys/kernel/mm/cma/*/total_pages",
    "/sys/kernel/mm/cma/*/available_pages",
    "/sys/kernel/debug/cma/*/count",
    "/sys/kernel/debug/cma/*/used",
    "/sys/kernel/debug/cma/*/maxchunk",
};

constexpr std::array kCmaMetrics{
    gauge("jetmem_cma_areas",
          "Contiguous memory areas that the kernel has set up. 0: drivers that need contiguous "
          "memory, as those without an IOMMU do, cannot allocate it."),
    gauge("jetmem_cma_area_bytes", "Size of the contiguous memory area. Fixed at boot.", {"area"},
          Cma::kMaxAreas),
    gauge("jetmem_cma_used_bytes",
          "Memory of the area that drivers have allocated (cma_alloc). Unlike CmaFree it does "
          "not count programs that merely borrow the area, so steady growth is a leak.",
          {"area"}, Cma::kMaxAreas, Worst::kMax),
    gauge("jetmem_cma_available_bytes",
          "Memory of the area that drivers have not allocated: the most that cma_alloc could "
          "still allocate, contiguous or not. Not CmaFree, which borrowers make smaller.",
          {"area"}, Cma::kMaxAreas, Worst::kMin),
    gauge("jetmem_cma_largest_free_run_bytes",
          "The largest contiguous part of the area that drivers have not allocated. This decides "
          "whether a camera starts: a larger buffer is refused. An upper bound, since pinned "
          "pages of borrowers may still block a part of it.",
          {"area"}, Cma::kMaxAreas, Worst::kMin),
    counter("jetmem_cma_alloc_pages_success_total",
            "Pages allocated by cma_alloc. Pages, not calls.", {"area"}, Cma::kMaxAreas),
    counter("jetmem_cma_alloc_pages_fail_total",
            "Pages that cma_alloc refused. Pages, not calls: one refused camera buffer adds "
            "thousands. Any growth means that contiguous memory ran short.",
            {"area"}, Cma::kMaxAreas),
    counter("jetmem_cma_release_pages_success_total",
            "Pages returned to the area. Less than alloc_pages_success by what is in use.",
            {"area"}, Cma::kMaxAreas),
};
constexpr MetricTable cma_metric{kCmaMetrics};

// Why a figure is missing; the larger says more.
enum class Why : std::uint8_t { kAbsent, kUnreadable, kMalformed, kDenied };

Why reason_for(const FileText& file) {
  // Below 0 stands no errno: too large, or no regular file.
  switch (file.error > 0 ? errc_of_errno(file.error) : Errc::kIo) {
    case Errc::kAbsent:
      return Why::kAbsent;
    case Errc::kDenied:
      return Why::kDenied;
    default:
      return Why::kUnreadable;
  }
}

std::string_view reason_for_gap(Why why, bool is_debugfs) {
  switch (why) {
    case Why::kAbsent:
      return is_debugfs ? "debugfs_absent" : "sysfs_absent";
    case Why::kDenied:
      return is_debugfs ? "debugfs_denied" : "sysfs_denied";
    case Why::kMalformed:
      return "malformed";
    case Why::kUnreadable:
      break;
  }
  return "unreadable";
}

// The files of an area, as in kCmaPaths.
enum AreaFile : std::size_t {
  kLeafAllocSuccess = 1,
  kLeafAllocFail,
  kLeafReleaseSuccess,
  kLeafTotal,
  kLeafAvailable,
  kLeafCount,
  kLeafUsed,
  kLeafMaxchunk,
};
constexpr bool in_debugfs(std::size_t leaf) { return leaf >= kLeafCount; }

// One area as its files say it, before the figures are put together.
struct RawArea {
  std::string_view name;
  bool in_sysfs = false;
  struct Cell {
    std::optional<std::uint64_t> value;
    Why why = Why::kAbsent;
  };
  std::array<Cell, kCmaPaths.size()> cells{};
};

class CmaFiles {
 public:
  explicit CmaFiles(Cma& out) : out_(out) {}

  void take(const FileText& file) {
    if (file.path == kSysfs) sysfs_.why = reason_for(file);
    if (file.path == kDebugfs) debugfs_.why = reason_for(file);
    std::array<std::string_view, 1> name;
    for (std::size_t leaf = kLeafAllocSuccess; leaf < kCmaPaths.size(); ++leaf) {
      if (capture(kCmaPaths[leaf], file.path, name)) return take_value(file, leaf, name[0]);
    }
  }

  void finish() {
    areas_.sort_by(&RawArea::name);
    for (const RawArea& raw : areas_) put_together(raw, out_.areas.emplace_back());
    if (dropped_ > 0) out_.absent.add("too_many_areas", dropped_);
    out_.areas_known = sysfs_.listed || debugfs_.listed;
    if (out_.areas_known) return;
    if (out_.total_bytes == 0U) {
      out_.areas_known = true;  // there are none
      return;
    }
    // How many areas there are is unknown, so each place that would tell counts once.
    out_.absent.add(reason_for_gap(sysfs_.why, false));
    out_.absent.add(reason_for_gap(debugfs_.why, true));
  }

  bool any_denied() const {
    return any_denied_ || sysfs_.why == Why::kDenied || debugfs_.why == Why::kDenied;
  }
  bool any_value() const { return any_value_; }

 private:
  struct Location {
    bool listed = false;
    Why why = Why::kAbsent;  // unless it was listed
  };

  void take_value(const FileText& file, std::size_t leaf, std::string_view name) {
    const bool is_debugfs = in_debugfs(leaf);
    (is_debugfs ? debugfs_ : sysfs_).listed = true;
    RawArea* area = is_debugfs ? debugfs_area(name) : sysfs_area(name);
    if (area == nullptr) {
      ++dropped_;
      return;
    }
    RawArea::Cell& cell = area->cells[leaf];
    if (!file.ok()) {
      cell.why = reason_for(file);
      any_denied_ = any_denied_ || cell.why == Why::kDenied;
      return;
    }
    cell.value = one_u64(file.text);
    if (!cell.value) cell.why = Why::kMalformed;
  }

  RawArea* find(std::string_view name) {
    for (RawArea& area : areas_) {
      if (area.name == name) return &area;
    }
    return nullptr;
  }

  // Found, or made if need be; null at the bound.
  RawArea* add(std::string_view name) { return areas_.find_or_add(&RawArea::name, name); }

  RawArea* sysfs_area(std::string_view name) {
    RawArea* area = add(name);
    if (area != nullptr) area->in_sysfs = true;
    return area;
  }

  // Called after all of sysfs: the paths are read in that order.
  RawArea* debugfs_area(std::string_view folder) {
    constexpr std::string_view kOldPrefix = "cma-";
    constexpr std::size_t kCutFolder = 15;
    std::string_view name = folder;
    // An area that is really called "cma-..." has its folder in sysfs under the same name.
    if (find(folder) == nullptr && folder.size() > kOldPrefix.size()) {
      take_prefix(name, kOldPrefix);
    }
    if (name.size() < folder.size() && folder.size() == kCutFolder && find(name) == nullptr) {
      RawArea* match = nullptr;
      for (RawArea& area : areas_) {
        if (!area.in_sysfs || area.name.substr(0, name.size()) != name) continue;
        if (match != nullptr) return add(name);  // two that begin alike: do not guess
        match = &area;
      }
      if (match != nullptr) return match;
    }
    return add(name);
  }

  // A missing figure is counted under the reason that says most about how to get it.
  void missing(const RawArea& raw, AreaFile first, std::optional<AreaFile> second = {}) {
    AreaFile leaf = first;
    if (second && why(raw, *second) > why(raw, first)) leaf = *second;
    out_.absent.add(reason_for_gap(why(raw, leaf), in_debugfs(leaf)));
  }

  Why why(const RawArea& raw, AreaFile leaf) const {
    const Location& location = in_debugfs(leaf) ? debugfs_ : sysfs_;
    const Why own = raw.cells[leaf].why;
    // What could be listed once, and not again, does not lack its files.
    return location.listed && own != Why::kAbsent ? own : location.why;
  }

  void put_together(const RawArea& raw, Cma::Area& area) {
    area.name = raw.name;
    const auto value = [&](AreaFile leaf) { return raw.cells[leaf].value; };

    area.total = value(kLeafCount) ? value(kLeafCount) : value(kLeafTotal);
    if (!area.total) missing(raw, kLeafCount, kLeafTotal);

    // Either place alone tells what is used; figures of two moments are not mixed.
    area.used = value(kLeafUsed);
    if (!area.used && value(kLeafTotal) && value(kLeafAvailable)) {
      if (*value(kLeafAvailable) <= *value(kLeafTotal)) {
        area.used = *value(kLeafTotal) - *value(kLeafAvailable);
      } else {
        out_.absent.add("inconsistent");
      }
    } else if (!area.used) {
      missing(raw, kLeafUsed, kLeafAvailable);
    }
    area.largest_run = value(kLeafMaxchunk);
    if (!area.largest_run) missing(raw, kLeafMaxchunk);
    for (auto* part : {&area.used, &area.largest_run}) {
      if (!*part || !area.total || **part <= *area.total) continue;
      part->reset();
      out_.absent.add("inconsistent");
    }

    area.alloc_success = value(kLeafAllocSuccess);
    area.alloc_fail = value(kLeafAllocFail);
    if (!area.alloc_success) missing(raw, kLeafAllocSuccess);
    if (!area.alloc_fail) missing(raw, kLeafAllocFail);
    // Not counted as missing when it is not there: kernels before 6.10 have the two others only.
    area.release_success = value(kLeafReleaseSuccess);
    if (!area.release_success && why(raw, kLeafReleaseSuccess) != Why::kAbsent) {
      missing(raw, kLeafReleaseSuccess);
    }
    any_value_ = any_value_ || area.total || area.used || area.largest_run || area.alloc_success ||
                 area.alloc_fail || area.release_success;
  }

  Cma& out_;
  BoundedList<RawArea, Cma::kMaxAreas> areas_;
  Location sysfs_;
  Location debugfs_;
  std::uint64_t dropped_ = 0;
  bool any_denied_ = false;
  bool any_value_ = false;
};

}  // namespace

const SourceInfo CmaSource::kInfo{
    .name = "cma",
    .what = "each contiguous memory area: size, use, largest free run, pages refused",
    .paths = kCmaPaths,
    .access = Access::kReader,
    .interval = std::chrono::seconds(5),
    .shortest_interval = std::chrono::seconds(1),
    .grant = "CAP_DAC_READ_SEARCH for jetmem-reader, or run as root: debugfs is root's",
    .metrics = kCmaMetrics,
};

Result<void> parse_cma(const Snapshot& snapshot, Cma& out) {
  out = {};
  Meminfo meminfo;
  std::optional<Error> meminfo_error;
  const auto text = snapshot.text_of(kCmaMeminfoPath);
  if (!text) {
    meminfo_error = text.error();
  } else if (auto ok = parse_meminfo(*text, meminfo); !ok) {
    meminfo_error = std::move(ok.error()).within("meminfo");
  } else {
    out.total_bytes = meminfo.find("CmaTotal");
    out.free_bytes = meminfo.find("CmaFree");
  }

  CmaFiles collector(out);
  for (std::size_t i = 0; i < snapshot.size(); ++i) collector.take(snapshot[i]);
  collector.finish();

  if (out.areas.empty() && !out.total_bytes) {
    if (meminfo_error) return tl::unexpected(std::move(*meminfo_error));
    return fail(Errc::kAbsent, "this kernel has no CMA: no CmaTotal in /proc/meminfo");
  }
  // Areas there are, and nothing is known of any: the totals in meminfo are all one gets.
  const bool has_areas = !out.areas.empty() || out.total_bytes.value_or(0) > 0;
  if (has_areas && !collector.any_value()) {
    if (collector.any_denied()) {
      return fail(Errc::kDenied, "the figures of the areas may not be read; totals are in meminfo");
    }
    if (!out.areas.empty()) {
      return fail(Errc::kMalformed,
                  std::to_string(out.areas.size()) + " areas, and no figure could be understood");
    }
    return fail(Errc::kAbsent,
                "this kernel does not describe its areas: that takes CONFIG_CMA_SYSFS (5.13), or "
                "CONFIG_CMA_DEBUGFS and debugfs mounted; totals are in meminfo");
  }
  if (meminfo_error) out.absent.add("meminfo_unreadable");
  return {};
}

void CmaSource::write(SampleWriter& out, WriteContext& context) const {
  if (reading_.areas_known) out.put(cma_metric("jetmem_cma_areas"), reading_.areas.size());

  // Sizes are in pages in the kernel's files, and only a fact of the machine says how large one is.
  const auto page_size = context.facts.page_size;
  const auto put_bytes = [&](const Descriptor& descriptor,
                             const std::optional<std::uint64_t>& pages, const Cma::Area& area) {
    if (!pages) return;
    if (!page_size) {
      context.absent.add("page_size_unknown");
      return;
    }
    const double bytes = static_cast<double>(*pages) * static_cast<double>(*page_size);
    out.put(descriptor, bytes, area.name);
  };
  for (const Cma::Area& area : reading_.areas) {
    put_bytes(cma_metric("jetmem_cma_area_bytes"), area.total, area);
    put_bytes(cma_metric("jetmem_cma_used_bytes"), area.used, area);
    if (area.total && area.used)
      put_bytes(cma_metric("jetmem_cma_available_bytes"), *area.total - *area.used, area);
    put_bytes(cma_metric("jetmem_cma_largest_free_run_bytes"), area.largest_run, area);
    out.put(cma_metric("jetmem_cma_alloc_pages_success_total"), area.alloc_success, area.name);
    out.put(cma_metric("jetmem_cma_alloc_pages_fail_total"), area.alloc_fail, area.name);
    out.put(cma_metric("jetmem_cma_release_pages_success_total"), area.release_success, area.name);
  }
}

}  // namespace jetmem
