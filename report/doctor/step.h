// A step of the walk: what it looks at, and what it may say. One file per step; the registry in
// steps.cc has their order.
//
// A step begins as fine and is raised by what it sees. What it cannot see makes it unknown, never
// fine, with the reason and what would grant it; a known trouble counts more than something
// unknown.
#pragma once

#include <initializer_list>
#include <set>
#include <span>
#include <string>
#include <string_view>

#include "report/doctor/correlate.h"
#include "report/doctor/doctor.h"
#include "report/doctor/say.h"

namespace jetmem::doctor {

using Step = DoctorAnswer::Step;

struct Look {
  const DeviceNow& now;
  const Findings& found;
  // Alerts that steps have spoken of: the last step takes the others.
  std::set<std::string, std::less<>>* claimed = nullptr;

  std::optional<double> today() const {
    return found.now > 0 ? std::optional(found.now) : std::nullopt;
  }
  std::optional<double> value(std::string_view family, SampleSet::Match match = {}) const {
    return now.samples.value(family, match);
  }
  bool is_jetson() const;
};

struct StepInfo {
  std::string_view name;
  std::string_view title;
  void (*examine)(const Look& look, Step& step);
};
std::span<const StepInfo> steps();

void raise(Step& step, Verdict verdict);
// One sentence; beyond the bound they are counted. `time` in seconds since 1970.
void note(Step& step, std::string text, std::optional<double> time = std::nullopt);
// The first to say it keeps it: what is worst is looked at first.
void advise(Step& step, std::string_view cause, std::string_view remedy, std::string_view runbook);
void conclude(Step& step, std::string summary);

// What an alert that fires or is pending says: verdict, evidence, and for the first that fires its
// summary, cause, remedy and runbook.
void take_alerts(const Look& look, Step& step, std::span<const std::string_view> names);
inline void take_alerts(const Look& look, Step& step,
                        std::initializer_list<std::string_view> names) {
  take_alerts(look, step, std::span(names.begin(), names.size()));
}

enum class Seeing { kSeen, kAbsent, kBlind };
// Whether a source can be read. Where it should be and cannot, the step is unknown and says why and
// what would grant it. An absent one is left to the step.
Seeing see(const Look& look, Step& step, std::string_view source);
// Why an absent source is: "source cma is absent: ...".
std::string absent_text(const Look& look, std::string_view source);

struct Counted {
  double total = 0;              // since boot, as far as the log reaches
  std::optional<double> last;    // wall
  double recent = 0;             // events of the last day, as far as the look has them
  bool is_recent = false;        // the last is at most a day ago, or nobody knows when it was
  bool at_least = false;         // there may have been more
  bool from_probe_only = false;  // all of them while jetmem's own probe ran
};
// Kernel-log events of these kinds; those of jetmem's own probes are left out of `total`.
Counted count_events(const Look& look, std::initializer_list<std::string_view> kinds);
// "3 since boot, the last at 02:11:47".
std::string counted_text(const Look& look, const Counted& counted);
// The newest events of these kinds, as evidence, at most `most`.
void note_events(const Look& look, Step& step, std::initializer_list<std::string_view> kinds,
                 std::size_t most = 3);

void examine_restart(const Look& look, Step& step);
void examine_memory(const Look& look, Step& step);
void examine_fragmentation(const Look& look, Step& step);
void examine_cma(const Look& look, Step& step);
void examine_smmu(const Look& look, Step& step);
void examine_oom(const Look& look, Step& step);
void examine_thermal(const Look& look, Step& step);
void examine_gpu_memory(const Look& look, Step& step);
void examine_probes(const Look& look, Step& step);
void examine_versions(const Look& look, Step& step);
void examine_daemon(const Look& look, Step& step);
void examine_alerts(const Look& look, Step& step);

}  // namespace jetmem::doctor
