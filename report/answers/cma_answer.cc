// SPDX-License-Identifier: Apache-2.0
#include "report/answers/cma_answer.h"

#include <algorithm>
#include <array>
#include <set>

#include "base/text/text.h"
#include "report/diagnosis/format.h"

namespace jetmem {
namespace {

constexpr std::array<std::string_view, 3> kRefusals{"cma_alloc_failure", "dma_alloc_failure",
                                                    "cma_busy"};

std::set<std::string> area_names(const SampleSet& samples) {
  std::set<std::string> names;
  for (const char* family :
       {"jetmem_cma_area_bytes", "jetmem_cma_used_bytes", "jetmem_cma_largest_free_run_bytes",
        "jetmem_cma_alloc_pages_success_total"}) {
    for (const Sample& sample : samples.family(family)) names.emplace(sample.label("area"));
  }
  return names;
}

CmaAnswer::Area area_of(const DeviceNow& now, const std::string& name) {
  const SampleSet::Match match{{"area", name}};
  const auto value = [&](const char* family) { return now.samples.value(family, match); };
  CmaAnswer::Area area;
  area.name = printable(name, 64);
  area.bytes = value("jetmem_cma_area_bytes");
  area.used_bytes = value("jetmem_cma_used_bytes");
  area.available_bytes = value("jetmem_cma_available_bytes");
  area.used_ratio = value("jetmem_cma_used_ratio");
  area.largest_run_bytes = value("jetmem_cma_largest_free_run_bytes");
  area.frame_fit_ratio = value("jetmem_cma_frame_fit_ratio");
  if (area.largest_run_bytes && area.frame_fit_ratio && *area.frame_fit_ratio > 0) {
    area.required_bytes = *area.largest_run_bytes / *area.frame_fit_ratio;
  }
  area.pages_allocated = value("jetmem_cma_alloc_pages_success_total");
  area.pages_refused = value("jetmem_cma_alloc_pages_fail_total");
  const std::string debugfs =
      now.absence_reason("cma", "the area's directory in debugfs lacks it, or is not readable");
  const std::string pages = now.absence_reason("cma", "this kernel does not count pages by area");
  explain(area.absent, "bytes", area.bytes, debugfs);
  explain(area.absent, "used_bytes", area.used_bytes, debugfs);
  explain(area.absent, "available_bytes", area.available_bytes, debugfs);
  explain(area.absent, "used_ratio", area.used_ratio, debugfs);
  explain(area.absent, "largest_run_bytes", area.largest_run_bytes, debugfs);
  explain(area.absent, "frame_fit_ratio", area.frame_fit_ratio,
          area.largest_run_bytes ? "the area is smaller than a frame" : debugfs);
  explain(area.absent, "wanted_bytes", area.required_bytes,
          area.frame_fit_ratio ? "no block is free to compare with" : debugfs);
  explain(area.absent, "pages_allocated", area.pages_allocated, pages);
  explain(area.absent, "pages_refused", area.pages_refused, pages);
  return area;
}

// What jetmem's own map has of the areas, and areas of which only the map knows.
void add_owners(CmaAnswer& answer, const DeviceNow& now) {
  const std::string why = now.absence_reason("cma_map", "the kernel traced nothing of this area");
  if (now.cma_map && now.cma_map->page_bytes) {
    const CmaMap& map = *now.cma_map;
    for (const CmaMap::Area& from : map.areas) {
      const std::string name = from.name.empty() ? "unknown" : printable(from.name, 64);
      // Folders of debugfs are cut, the events' names are not.
      auto area =
          std::find_if(answer.areas.begin(), answer.areas.end(), [&](const CmaAnswer::Area& each) {
            return each.name == name || (each.name.size() == 11 && name.starts_with(each.name)) ||
                   (from.name.empty() && answer.areas.size() == 1);
          });
      if (area == answer.areas.end()) {
        if (from.pieces.empty() || answer.areas.size() == CmaAnswer::kMaxAreas) continue;
        answer.areas.emplace_back().name = name;
        area = std::prev(answer.areas.end());
      }
      const auto page = static_cast<double>(*map.page_bytes);
      find_owners(map, from, page, *area);
      if (!area->largest_run_bytes && area->map_largest_run_bytes) {
        area->largest_run_bytes = area->map_largest_run_bytes;
        std::erase_if(area->absent, [](const auto& e) { return e.first == "largest_run_bytes"; });
      }
      if (!area->bytes && from.pages) area->bytes = static_cast<double>(*from.pages) * page;
    }
  }
  for (CmaAnswer::Area& area : answer.areas) {
    explain(area.absent, "owners", area.before_bytes, why);
    if (!area.before_bytes) continue;
    explain(area.absent, "unknown_bytes", area.unknown_bytes,
            "where the area lies is not known: debugfs lacks cma/*/base_pfn");
  }
}

void add_failures(CmaAnswer& answer, const DeviceNow& now) {
  for (const EventRecord& event : now.events) {
    const bool refused =
        event.what == EventWhat::kKernel && event.origin != "probe" &&
        std::find(kRefusals.begin(), kRefusals.end(), event.kind) != kRefusals.end();
    if (!refused) continue;
    if (answer.failures.size() == CmaAnswer::kMaxFailures) {
      ++answer.failures_omitted;
      continue;
    }
    CmaAnswer::Failure failure;
    failure.kind = event.kind;
    failure.subject = printable(event.subject, 64);
    failure.summary = printable(event.summary, 300);
    if (event.wall) failure.wall = to_seconds(*event.last_wall());
    if (event.at) failure.since_boot = to_seconds(*event.last_at());
    failure.lasted_seconds = to_seconds(event.lasted());
    failure.count = event.count;
    answer.failures.push_back(std::move(failure));
  }
}

void advise(CmaAnswer& answer) {
  bool fragmented = false;
  bool full = false;
  bool small = false;
  bool known = !answer.areas.empty();
  for (const CmaAnswer::Area& area : answer.areas) {
    known &= area.largest_run_bytes.has_value();
    if (!area.frame_fit_ratio || *area.frame_fit_ratio >= 1) continue;
    if (!area.required_bytes) {
      // No block is free.
      full = true;
    } else if (area.bytes && *area.bytes < *area.required_bytes) {
      small = true;
    } else if (area.available_bytes && *area.available_bytes >= *area.required_bytes) {
      fragmented = true;
    } else {
      full = true;
    }
    if (!area.required_bytes) continue;
    if (std::string restart = restart_advice(area, *area.required_bytes); !restart.empty()) {
      answer.advice.push_back(std::move(restart));
    }
  }
  if (fragmented) {
    answer.advice.emplace_back(
        "The area is fragmented: restart the pipelines that use it, the oldest first; allocate "
        "large buffers at start and keep them. Compaction cannot move drivers' buffers.");
  }
  if (full) {
    answer.advice.emplace_back(
        "Drivers hold nearly all of it: stop what is not needed, or enlarge the area (cma= on the "
        "kernel command line).");
  }
  if (small) {
    answer.advice.emplace_back(
        "The area is smaller than one requested buffer: enlarge it (cma= on the kernel command "
        "line, or linux,cma in the device tree).");
  }
  const bool refused = !answer.failures.empty() || answer.calls_failed.value_or(0) > 0;
  if (refused && answer.advice.empty() && answer.has_cma.value_or(false)) {
    answer.advice.emplace_back(
        !known ? "Allocations failed, and the largest free block is not known: whether the area is "
                 "full or fragmented takes CONFIG_CMA_DEBUGFS and root."
               : "Allocations failed although the largest free block looks large enough: it is an "
                 "upper "
                 "bound, as pinned pages may lie in it (EBUSY in the kernel log).");
  }
}

// Yes, no, or unknown: a source without values proves nothing.
void print_whether(CmaAnswer& answer, const DeviceNow& now, const std::optional<double>& count) {
  if (answer.total_bytes.value_or(0) > 0 || !answer.areas.empty() || count.value_or(0) > 0) {
    answer.has_cma = true;
    return;
  }
  const std::string why = now.absence_reason("cma");
  const SourceNow* source = now.source("cma");
  const bool is_absent = source != nullptr && source->state == "absent";
  if (answer.total_bytes || (count && why.empty())) {
    answer.has_cma = false;
    answer.none = "the kernel has no CMA area (CmaTotal is 0)";
  } else if (is_absent && now.samples.meminfo("MemTotal")) {
    answer.has_cma = false;
    answer.none = why;
  } else {
    answer.absent.emplace_back("has_cma", !why.empty() ? why : "no source reports CMA areas");
  }
}

}  // namespace

std::string unmet_request(const SampleSet& samples) {
  const auto requested = samples.value("jetmem_cma_requested_bytes");
  const auto total = samples.meminfo("CmaTotal");
  if (!requested || !total || *total >= *requested) return {};
  return doctor::bytes(*requested) + " requested (cma=), " + doctor::bytes(*total) +
         " reserved: the request was not met";
}

std::string restart_advice(const CmaAnswer::Area& area, double required_bytes) {
  if (!area.map_largest_run_bytes) return {};
  const CmaOwnership::Owner* best = nullptr;
  for (const CmaOwnership::Owner& owner : area.owners) {
    if (owner.has_ended || owner.owner.empty()) continue;
    const double run = owner.largest_run_without_bytes.value_or(0);
    if (run <= *area.map_largest_run_bytes) continue;
    // What helps most; of what helps alike, the least.
    const auto key = [](const CmaOwnership::Owner& each) {
      return std::pair(each.largest_run_without_bytes.value_or(0), -each.bytes);
    };
    if (best == nullptr || key(owner) > key(*best)) best = &owner;
  }
  if (best == nullptr) return {};
  std::string what = doctor::bytes(best->bytes);
  if (best->oldest_seconds) what += " for " + doctor::span(*best->oldest_seconds);
  const std::string pid = best->pid != 0 ? "PID " + std::to_string(best->pid) + ", " : "";
  const double run = *best->largest_run_without_bytes;
  return "Restart " + best->owner + " (" + pid + what + "): the largest free block grows from " +
         doctor::bytes(*area.map_largest_run_bytes) + " to " + doctor::bytes(run) +
         (run >= required_bytes ? ", and the request fits." : ", which is not enough alone.");
}

CmaAnswer cma_answer(const DeviceNow& now) {
  CmaAnswer answer;
  answer.from = answer_from(now);
  const SampleSet& samples = now.samples;
  answer.total_bytes = samples.meminfo("CmaTotal");
  answer.requested_bytes = samples.value("jetmem_cma_requested_bytes");
  answer.reservation = unmet_request(samples);
  answer.free_bytes = samples.meminfo("CmaFree");
  answer.calls_failed = samples.value("jetmem_vmstat_cma_alloc_fail_total");
  answer.calls_succeeded = samples.value("jetmem_vmstat_cma_alloc_success_total");
  answer.largest_request_bytes = samples.value("jetmem_cma_largest_request_bytes");
  for (const std::string& name : area_names(samples)) {
    if (answer.areas.size() == CmaAnswer::kMaxAreas) {
      ++answer.areas_omitted;
    } else {
      answer.areas.push_back(area_of(now, name));
    }
  }
  const auto count = samples.value("jetmem_cma_areas");
  add_owners(answer, now);
  print_whether(answer, now, count);
  if (answer.has_cma.value_or(false) && answer.areas.empty()) {
    explain(answer.absent, "areas", std::nullopt, now.absence_reason("cma"));
  }
  explain(answer.absent, "total_bytes", answer.total_bytes, now.absence_reason("meminfo"));
  explain(answer.absent, "free_bytes", answer.free_bytes, now.absence_reason("meminfo"));
  explain(answer.absent, "calls_succeeded", answer.calls_succeeded,
          now.absence_reason("vmstat", "/proc/vmstat of this kernel does not count them"));
  explain(answer.absent, "calls_failed", answer.calls_failed,
          now.absence_reason("vmstat", "/proc/vmstat of this kernel does not count them"));
  add_failures(answer, now);
  if (!now.no_events.empty()) answer.absent.emplace_back("failures", now.no_events);
  advise(answer);
  return answer;
}

void describe(json::Fields& v, CmaAnswer::Area& area) {
  v("area", area.name);
  v("bytes", area.bytes);
  v("used_bytes", area.used_bytes);
  v("available_bytes", area.available_bytes);
  v("used_ratio", area.used_ratio);
  v("largest_run_bytes", area.largest_run_bytes);
  v("wanted_bytes", area.required_bytes);
  v("frame_fit_ratio", area.frame_fit_ratio);
  v("pages_allocated", area.pages_allocated);
  v("pages_refused", area.pages_refused);
  describe_ownership(v, area);
  v.absent(area.absent);
}

static void describe(json::Fields& v, CmaAnswer::Failure& failure) {
  v("kind", failure.kind);
  v.unless_empty("subject", failure.subject);
  v.unless_empty("summary", failure.summary);
  v("time", failure.wall);
  v("since_boot_seconds", failure.since_boot);
  v("count", failure.count);
  v("lasted_seconds", failure.lasted_seconds);
}

static void describe(json::Fields& v, CmaAnswer& answer) {
  describe_head(v, CmaAnswer::kSchema, answer.from);
  v("has_cma", answer.has_cma);
  v.unless_empty("none", answer.none);
  v("total_bytes", answer.total_bytes);
  v("requested_bytes", answer.requested_bytes);
  v.unless_empty("reservation", answer.reservation);
  v("free_bytes", answer.free_bytes);
  v("calls_succeeded", answer.calls_succeeded);
  v("calls_failed", answer.calls_failed);
  v("largest_request_bytes", answer.largest_request_bytes);
  v("areas", answer.areas);
  v("areas_omitted", answer.areas_omitted);
  v("failures", answer.failures);
  v("failures_omitted", answer.failures_omitted);
  v("advice", answer.advice);
  v.absent(answer.absent);
}

std::string cma_json(const CmaAnswer& answer) { return json::write(answer); }

}  // namespace jetmem
