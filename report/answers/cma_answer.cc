#include "report/answers/cma_answer.h"

#include <algorithm>
#include <array>
#include <set>

#include "base/text.h"

namespace jetmem {
namespace {

using nlohmann::ordered_json;
using Answer = CmaAnswer;

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

Answer::Area area_of(const DeviceNow& now, const std::string& name) {
  const SampleSet::Match match{{"area", name}};
  const auto value = [&](const char* family) { return now.samples.value(family, match); };
  Answer::Area area;
  area.name = printable(name, 64);
  area.bytes = value("jetmem_cma_area_bytes");
  area.used_bytes = value("jetmem_cma_used_bytes");
  area.available_bytes = value("jetmem_cma_available_bytes");
  area.used_ratio = value("jetmem_cma_used_ratio");
  area.largest_run_bytes = value("jetmem_cma_largest_free_run_bytes");
  area.frame_fit_ratio = value("jetmem_cma_frame_fit_ratio");
  if (area.largest_run_bytes && area.frame_fit_ratio && *area.frame_fit_ratio > 0) {
    area.wanted_bytes = *area.largest_run_bytes / *area.frame_fit_ratio;
  }
  area.pages_allocated = value("jetmem_cma_alloc_pages_success_total");
  area.pages_refused = value("jetmem_cma_alloc_pages_fail_total");
  const std::string why = now.why_absent("cma");
  const std::string debugfs =
      why.empty() ? "the area's directory in debugfs does not tell it, or may not be read" : why;
  explain(area.absent, "bytes", area.bytes, debugfs);
  explain(area.absent, "used_bytes", area.used_bytes, debugfs);
  explain(area.absent, "available_bytes", area.available_bytes, debugfs);
  explain(area.absent, "used_ratio", area.used_ratio, debugfs);
  explain(area.absent, "largest_run_bytes", area.largest_run_bytes, debugfs);
  explain(area.absent, "frame_fit_ratio", area.frame_fit_ratio,
          area.largest_run_bytes ? "the area is too small to ever hold a frame" : debugfs);
  explain(area.absent, "pages_allocated", area.pages_allocated,
          why.empty() ? "this kernel does not count pages by area" : why);
  explain(area.absent, "pages_refused", area.pages_refused,
          why.empty() ? "this kernel does not count pages by area" : why);
  return area;
}

void add_failures(Answer& answer, const DeviceNow& now) {
  for (const EventRecord& event : now.events) {
    const bool refused =
        event.what == EventWhat::kKernel && event.origin != "probe" &&
        std::find(kRefusals.begin(), kRefusals.end(), event.kind) != kRefusals.end();
    if (!refused) continue;
    if (answer.failures.size() == Answer::kMaxFailures) {
      ++answer.failures_left_out;
      continue;
    }
    Answer::Failure failure;
    failure.kind = event.kind;
    failure.subject = printable(event.subject, 64);
    failure.summary = printable(event.summary, 300);
    if (event.wall) failure.wall = to_seconds(*event.wall);
    if (event.at) failure.since_boot = to_seconds(*event.at);
    failure.count = event.count;
    answer.failures.push_back(std::move(failure));
  }
}

void advise(Answer& answer) {
  bool fragmented = false;
  bool full = false;
  bool small = false;
  for (const Answer::Area& area : answer.areas) {
    if (!area.wanted_bytes || !area.frame_fit_ratio || *area.frame_fit_ratio >= 1) continue;
    if (area.bytes && *area.bytes < *area.wanted_bytes) {
      small = true;
    } else if (area.available_bytes && *area.available_bytes >= *area.wanted_bytes) {
      fragmented = true;
    } else {
      full = true;
    }
  }
  if (fragmented) {
    answer.advice.emplace_back(
        "Enough is left, but in pieces: restart the pipelines that use the area, the oldest "
        "first; take large buffers at start and keep them. No compaction joins what drivers "
        "hold.");
  }
  if (full) {
    answer.advice.emplace_back(
        "Drivers have taken nearly all: jetmem top says who holds buffers; stop what is not "
        "needed, or give the area more at boot (cma= on the kernel's command line).");
  }
  if (small) {
    answer.advice.emplace_back(
        "The area as a whole is smaller than one buffer that was asked for: give it more at boot "
        "(cma= on the kernel's command line, or linux,cma in the device tree).");
  }
  const bool refused = !answer.failures.empty() || answer.calls_failed.value_or(0) > 0;
  if (refused && answer.advice.empty() && answer.has_cma.value_or(false)) {
    answer.advice.emplace_back(
        "Requests were refused although the largest piece looks large enough: it is an upper "
        "bound, pinned pages of borrowers may lie in it (EBUSY in the kernel's log).");
  }
}

// Yes, no, or nobody can tell: that a source told nothing is no answer.
void tell_whether(Answer& answer, const DeviceNow& now, const std::optional<double>& count) {
  if (answer.total_bytes.value_or(0) > 0 || !answer.areas.empty() || count.value_or(0) > 0) {
    answer.has_cma = true;
    return;
  }
  const std::string why = now.why_absent("cma");
  const SourceNow* source = now.source("cma");
  const bool is_absent = source != nullptr && source->state == "absent";
  if (answer.total_bytes || (count && why.empty())) {
    answer.has_cma = false;
    answer.none = "the kernel has set up no contiguous memory area (CmaTotal is 0)";
  } else if (is_absent && now.samples.meminfo("MemTotal")) {
    answer.has_cma = false;
    answer.none = why;
  } else {
    answer.absent.emplace_back("has_cma",
                               !why.empty() ? why : "nothing tells of contiguous memory areas");
  }
}

}  // namespace

CmaAnswer cma_answer(const DeviceNow& now) {
  Answer answer;
  answer.from = answer_from(now);
  const SampleSet& samples = now.samples;
  answer.total_bytes = samples.meminfo("CmaTotal");
  answer.free_bytes = samples.meminfo("CmaFree");
  answer.calls_failed = samples.value("jetmem_vmstat_cma_alloc_fail_total");
  answer.calls_succeeded = samples.value("jetmem_vmstat_cma_alloc_success_total");
  answer.largest_request_bytes = samples.value("jetmem_cma_largest_request_bytes");
  for (const std::string& name : area_names(samples)) {
    if (answer.areas.size() == Answer::kMaxAreas) {
      ++answer.areas_left_out;
    } else {
      answer.areas.push_back(area_of(now, name));
    }
  }
  const auto count = samples.value("jetmem_cma_areas");
  const std::string why = now.why_absent("cma");
  tell_whether(answer, now, count);
  if (answer.has_cma.value_or(false) && answer.areas.empty()) {
    answer.absent.emplace_back("areas", why.empty() ? "not told by this device" : why);
  }
  explain(answer.absent, "total_bytes", answer.total_bytes, now.why_absent("meminfo"));
  explain(answer.absent, "free_bytes", answer.free_bytes, now.why_absent("meminfo"));
  explain(answer.absent, "calls_succeeded", answer.calls_succeeded,
          now.why_absent("vmstat").empty() ? "/proc/vmstat of this kernel does not count them"
                                           : now.why_absent("vmstat"));
  explain(answer.absent, "calls_failed", answer.calls_failed,
          now.why_absent("vmstat").empty() ? "/proc/vmstat of this kernel does not count them"
                                           : now.why_absent("vmstat"));
  add_failures(answer, now);
  if (!now.no_events.empty()) answer.absent.emplace_back("failures", now.no_events);
  advise(answer);
  return answer;
}

ordered_json cma_area_json(const Answer::Area& area) {
  ordered_json out{{"area", area.name}};
  put(out, "bytes", area.bytes);
  put(out, "used_bytes", area.used_bytes);
  put(out, "available_bytes", area.available_bytes);
  put(out, "used_ratio", area.used_ratio);
  put(out, "largest_run_bytes", area.largest_run_bytes);
  put(out, "wanted_bytes", area.wanted_bytes);
  put(out, "frame_fit_ratio", area.frame_fit_ratio);
  put(out, "pages_allocated", area.pages_allocated);
  put(out, "pages_refused", area.pages_refused);
  put_absences(out, area.absent);
  return out;
}

std::string cma_json(const Answer& answer) {
  ordered_json out = answer_head(Answer::kSchema, answer.from);
  if (answer.has_cma) out["has_cma"] = *answer.has_cma;
  put_text(out, "none", answer.none);
  put(out, "total_bytes", answer.total_bytes);
  put(out, "free_bytes", answer.free_bytes);
  put(out, "calls_succeeded", answer.calls_succeeded);
  put(out, "calls_failed", answer.calls_failed);
  put(out, "largest_request_bytes", answer.largest_request_bytes);
  ordered_json& areas = out["areas"] = ordered_json::array();
  for (const Answer::Area& area : answer.areas) areas.push_back(cma_area_json(area));
  out["areas_left_out"] = answer.areas_left_out;
  ordered_json& failures = out["failures"] = ordered_json::array();
  for (const Answer::Failure& failure : answer.failures) {
    ordered_json each{{"kind", failure.kind}};
    put_text(each, "subject", failure.subject);
    put_text(each, "summary", failure.summary);
    put(each, "time", failure.wall);
    put(each, "since_boot_seconds", failure.since_boot);
    each["count"] = failure.count;
    failures.push_back(std::move(each));
  }
  out["failures_left_out"] = answer.failures_left_out;
  out["advice"] = answer.advice;
  put_absences(out, answer.absent);
  return answer_text(out);
}

}  // namespace jetmem
