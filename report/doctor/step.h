// SPDX-License-Identifier: Apache-2.0
// A step of the walk: what it looks at, and what it may say. One file per step; the registry in
// steps.cc has their order.
//
// A step starts as ok and is raised by its findings. An unreadable source makes it unknown, with
// the reason and the missing right; a known problem outranks something unknown.
#pragma once

#include <initializer_list>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "report/diagnosis/cause.h"
#include "report/diagnosis/format.h"
#include "report/doctor/correlate.h"
#include "report/doctor/doctor.h"

namespace jetmem::doctor {

using Step = DoctorAnswer::Step;

struct DeviceView {
  const DeviceNow& now;
  const Findings& found;
  // Alerts that earlier steps cover: the last step takes the others.
  std::set<std::string, std::less<>>* claimed = nullptr;
  // What explains the events of the last day, the likeliest root first.
  std::span<const diagnosis::Cause> causes{};

  std::optional<double> today() const {
    return found.now > 0 ? std::optional(found.now) : std::nullopt;
  }
  std::optional<double> value(std::string_view family, SampleSet::Match match = {}) const {
    return now.samples.value(family, match);
  }
  bool is_jetson() const;
  // Whether a daemon evaluates this rule, and waits whether its condition lasts: it decides then.
  // The steps' own limits are for a single reading, and for a site without the rule.
  bool is_judged_by(std::string_view rule) const;
};

struct StepInfo {
  std::string_view name;
  std::string_view title;
  void (*examine)(const DeviceView& view, Step& step);
};
std::span<const StepInfo> steps();

// About the present.
void raise(Step& step, Verdict verdict);
// About the past.
void raise_past(Step& step, Verdict verdict);
// One sentence; beyond the bound they are counted. `time` in seconds since 1970.
void note(Step& step, std::string text, std::optional<double> time = std::nullopt);
// The first call wins: steps check the worst first.
void advise(Step& step, std::string_view cause, std::string_view remedy, std::string_view runbook);
void conclude(Step& step, std::string summary);

struct Advice {
  std::string_view cause;
  std::string_view remedy;
  std::string_view runbook;
};

// Raises, concludes and advises at once.
void found(Step& step, Verdict verdict, std::string summary, const Advice& advice = {});
void found_past(Step& step, Verdict verdict, std::string summary, const Advice& advice = {});
// Unknown, as the source cannot be read: "Fragmentation is" unknown: source buddyinfo is denied.
void unknown(const DeviceView& view, Step& step, std::string_view what, std::string_view source);
// The sample of a metric with the greatest value, of those that count; null where there is none.
const Sample* largest(const DeviceView& view, std::string_view family,
                      bool (*counts)(const Sample&) = nullptr);

// Firing and pending alerts become evidence; the first firing one (report/alerts/alert_order.h)
// sets verdict, summary, cause, remedy and runbook. A pending critical one is a warning.
void take_alerts(const DeviceView& view, Step& step, std::span<const std::string_view> names);
inline void take_alerts(const DeviceView& view, Step& step,
                        std::initializer_list<std::string_view> names) {
  take_alerts(view, step, std::span(names.begin(), names.size()));
}

// What a person acknowledged (jetmem ack) leaves the verdict, until it happens again. Called behind
// the step's examination.
void acknowledge(const DeviceView& view, Step& step);

enum class Seeing { kSeen, kAbsent, kBlind };
// Whether a source can be read. If not, the step becomes unknown, with the reason and the missing
// right. An absent one is left to the step.
Seeing see(const DeviceView& view, Step& step, std::string_view source);
// Why an absent source is: "source cma is absent: ...".
std::string absent_text(const DeviceView& view, std::string_view source);

struct Counted {
  double total = 0;              // since boot, as far as the log reaches
  double suppressed = 0;         // of these, those that the kernel counted and did not print
  std::optional<double> last;    // wall
  double recent = 0;             // events of the last day, as far as the look has them
  bool is_recent = false;        // the last is at most a day ago, or at an unknown time
  bool at_least = false;         // there may have been more
  double of_probe = 0;           // since boot, while jetmem's own probe ran
  bool from_probe_only = false;  // all of them
};
using Kinds = std::span<const std::string_view>;
// Kernel-log events of these kinds; `total` excludes those of jetmem's own probes.
Counted count_events(const DeviceView& view, Kinds kinds);
inline Counted count_events(const DeviceView& view, std::initializer_list<std::string_view> kinds) {
  return count_events(view, Kinds(kinds.begin(), kinds.size()));
}
// "3 since boot, the last at 02:11:47".
std::string counted_text(const DeviceView& view, const Counted& counted);
// Whether what explains the events of these kinds is harmless, as an allocation with a fallback is.
bool are_harmless(const DeviceView& view, Kinds kinds);
// Failures in the kernel log: "Failed page allocations: 3 since boot" and the newest ones as
// evidence; a warning with `headline` where the last is at most a day old.
Counted examine_failures(const DeviceView& view, Step& step,
                         std::initializer_list<std::string_view> kinds, std::string_view noted,
                         std::string_view headline, const Advice& advice = {});
// The newest events of these kinds, as evidence, at most `most`; not those of jetmem's own probes.
void note_events(const DeviceView& view, Step& step, Kinds kinds, std::size_t most = 3);
inline void note_events(const DeviceView& view, Step& step,
                        std::initializer_list<std::string_view> kinds, std::size_t most = 3) {
  note_events(view, step, Kinds(kinds.begin(), kinds.size()), most);
}

// What explains the events of the last day, those of jetmem's own probes excluded.
std::vector<diagnosis::Cause> recent_causes(const DeviceNow& now, const Findings& found);
// What explains the step's events of the last day: cause, remedy and runbook of the worst. Called
// before the step says anything more general.
void advise_by_events(const DeviceView& view, Step& step);
// The step's kinds of events (kinds.yaml) but for `covered`, which the step looks at
// itself: counts and the newest ones as evidence, a verdict by what explains them.
void examine_events(const DeviceView& view, Step& step,
                    std::initializer_list<std::string_view> covered = {});

// By steps that were examined, the worst first.
Judgement judge_steps(const DeviceNow& now, const Findings& found, std::span<const Step> steps);

void examine_restart(const DeviceView& view, Step& step);
void examine_hardware(const DeviceView& view, Step& step);
void examine_stalls(const DeviceView& view, Step& step);
// Steps that only events tell of: dma, storage, gpu, camera.
void examine_by_events(const DeviceView& view, Step& step);
void examine_site(const DeviceView& view, Step& step);
void examine_memory(const DeviceView& view, Step& step);
void examine_fragmentation(const DeviceView& view, Step& step);
void examine_cma(const DeviceView& view, Step& step);
void examine_smmu(const DeviceView& view, Step& step);
void examine_oom(const DeviceView& view, Step& step);
void examine_thermal(const DeviceView& view, Step& step);
void examine_gpu_memory(const DeviceView& view, Step& step);
void examine_probes(const DeviceView& view, Step& step);
void examine_versions(const DeviceView& view, Step& step);
void examine_daemon(const DeviceView& view, Step& step);
void examine_alerts(const DeviceView& view, Step& step);

}  // namespace jetmem::doctor
