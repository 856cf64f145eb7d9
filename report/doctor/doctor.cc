// SPDX-License-Identifier: Apache-2.0
#include "report/doctor/doctor.h"

#include <algorithm>
#include <array>
#include <tuple>
#include <utility>

#include "base/json/fields.h"
#include "base/text/text.h"
#include "config/named.h"
#include "report/diagnosis/format.h"
#include "report/doctor/step.h"
#include "report/doctor/summary.h"

namespace jetmem {
namespace {

constexpr std::array<Named<Verdict>, 4> kVerdicts{{{Verdict::kOk, "ok"},
                                                   {Verdict::kUnknown, "unknown"},
                                                   {Verdict::kWarning, "warning"},
                                                   {Verdict::kCritical, "critical"}}};

// From the worst to the best; of equals the most urgent first.
void sort_steps(std::vector<DoctorAnswer::Step>& steps) {
  std::stable_sort(steps.begin(), steps.end(),
                   [](const DoctorAnswer::Step& a, const DoctorAnswer::Step& b) {
                     if (a.verdict != b.verdict) return a.verdict > b.verdict;
                     return doctor::urgency(a) < doctor::urgency(b);
                   });
}

// A step that passed needs no action.
void drop_advice_if_ok(DoctorAnswer::Step& step) {
  if (step.verdict != Verdict::kOk) return;
  step.cause.clear();
  step.remedy.clear();
  step.runbook.clear();
}

std::vector<DoctorAnswer::Step> steps_of(const DeviceNow& now, const doctor::Findings& found) {
  std::set<std::string, std::less<>> claimed;
  const std::vector<diagnosis::Cause> causes = doctor::recent_causes(now, found);
  const doctor::DeviceView view{now, found, &claimed, causes};
  std::vector<DoctorAnswer::Step> out;
  for (const doctor::StepInfo& info : doctor::steps()) {
    DoctorAnswer::Step step;
    step.name = std::string(info.name);
    step.title = std::string(info.title);
    step.verdict = Verdict::kOk;
    doctor::advise_by_events(view, step);
    info.examine(view, step);
    doctor::acknowledge(view, step);
    drop_advice_if_ok(step);
    out.push_back(std::move(step));
  }
  sort_steps(out);
  return out;
}

}  // namespace

Judgement judge(const DeviceNow& now, History* history) {
  doctor::Past past(now.by == SnapshotOrigin::kDaemon ? nullptr : history, kMaxQuestions);
  const doctor::Findings found = doctor::correlate(now, past);
  return doctor::judge_steps(now, found, steps_of(now, found));
}

std::string_view verdict_name(Verdict verdict) { return name_in(kVerdicts, verdict); }

std::optional<Verdict> verdict_named(std::string_view name) { return value_named(kVerdicts, name); }

const DoctorAnswer::Step* DoctorAnswer::step(std::string_view name) const {
  for (const Step& each : steps) {
    if (each.name == name) return &each;
  }
  return nullptr;
}

std::vector<std::string_view> doctor_steps() {
  std::vector<std::string_view> out;
  for (const doctor::StepInfo& each : doctor::steps()) out.push_back(each.name);
  return out;
}

DoctorAnswer examine(const DeviceNow& now, History* history, std::string_view no_history) {
  DoctorAnswer answer;
  answer.from = answer_from(now);
  std::tie(answer.zone, answer.utc_offset) = doctor::local_zone();
  answer.notes = std::exchange(answer.from.notes, {});

  doctor::Past past(history, kMaxQuestions);
  const doctor::Findings found = doctor::correlate(now, past);
  if (history == nullptr) {
    answer.no_history = no_history.empty() ? "no history was provided" : printable(no_history, 300);
  } else if (const HistoryFacts* facts = past.facts()) {
    answer.history = printable(facts->location.empty() ? "the recorder" : facts->location, 300);
    if (!facts->problem.empty())
      answer.notes.push_back("History: " + printable(facts->problem, 300));
    if (found.of_other_day) {
      answer.notes.push_back("The history continues after the capture (" +
                             doctor::moment(*now.wall, found.now) + "): its end, " +
                             doctor::moment(found.now, found.now) + ", is taken as the present");
    }
  } else {
    answer.no_history = past.problem().empty() ? "the history is empty" : past.problem();
  }
  // A local reading reports under each step what it could not read.
  if (now.by == SnapshotOrigin::kDaemon && !now.no_events.empty() && answer.no_history.empty()) {
    answer.notes.push_back("Events of the last 24 h are " +
                           std::string(now.events.empty() ? "unknown: " : "incomplete: ") +
                           printable(now.no_events, 300));
  }
  answer.steps = steps_of(now, found);
  // The verdict is that of one look, as status has it; the history only explains it.
  std::vector<DoctorAnswer::Step> judged;
  if (now.by == SnapshotOrigin::kDaemon && history != nullptr) {
    doctor::Past none(nullptr, 0);
    judged = steps_of(now, doctor::correlate(now, none));
    for (DoctorAnswer::Step& step : answer.steps) {
      const auto same = std::find_if(judged.begin(), judged.end(),
                                     [&](const auto& each) { return each.name == step.name; });
      step.happened = step.verdict >= Verdict::kWarning;
      step.verdict = same->verdict;
      drop_advice_if_ok(step);
    }
    sort_steps(answer.steps);
  }
  static_cast<Judgement&>(answer) =
      doctor::judge_steps(now, found, judged.empty() ? answer.steps : judged);
  doctor::summarize(found, answer);
  answer.history_queries = past.requested();
  if (!past.problem().empty() && !answer.history.empty()) {
    answer.notes.push_back("The history could not be read completely: " + past.problem());
  }
  return answer;
}

namespace {

constexpr std::size_t kMostSteps = 64;
constexpr std::size_t kMostEvidence = 100;

template <class T>
void keep_first(std::vector<T>& list, std::size_t most) {
  if (list.size() > most) list.erase(list.begin() + static_cast<std::ptrdiff_t>(most), list.end());
}

}  // namespace

static void describe(json::Fields& v, DoctorAnswer::Evidence& evidence) {
  v("text", evidence.text);
  v("time", evidence.time);
}

static void describe(json::Fields& v, DoctorAnswer::Alert& alert) {
  v("alert", alert.alert);
  v("severity", alert.severity);
  v("state", alert.state);
  v.unless_false("kept", alert.kept);
}

static void describe(json::Fields& v, DoctorAnswer::Step& step) {
  v("step", step.name);
  v("title", step.title);
  if (!v.word("verdict", step.verdict, verdict_name, verdict_named)) {
    v.fail("verdict", "must be one of ok, unknown, warning, critical");
  }
  v("summary", step.summary);
  v.unless_empty("alerts", step.alerts);
  if (v.reading()) keep_first(step.alerts, kMostEvidence);
  v("evidence", step.evidence);
  if (v.reading()) keep_first(step.evidence, kMostEvidence);
  v.unless_empty("evidence_omitted", step.evidence_omitted);
  v.unless_empty("cause", step.cause);
  v.unless_empty("remedy", step.remedy);
  v.unless_empty("confirm", step.confirm);
  v.unless_empty("runbook", step.runbook);
}

static void describe(json::Fields& v, DoctorAnswer& answer) {
  describe_head(v, DoctorAnswer::kSchema, answer.from);
  describe(v, static_cast<Judgement&>(answer));
  v("conclusion", answer.conclusion);
  v("time_zone", answer.zone);
  v("utc_offset_seconds", answer.utc_offset);
  v("timeline", answer.timeline);
  v.object("history", [&](json::Fields& w) {
    w.unless_empty("absent", answer.no_history);
    w.unless_empty("path", answer.history);
    w.unless_empty("queries", answer.history_queries);
  });
  v.required("steps", answer.steps);
  v.unless_empty("notes", answer.notes);
  if (!v.reading()) return;
  if (answer.steps.empty()) v.fail("steps", "must not be empty");
  keep_first(answer.timeline, kMostEvidence);
  keep_first(answer.notes, kMostEvidence);
  keep_first(answer.steps, kMostSteps);
}

std::string doctor_json(const DoctorAnswer& answer) { return json::write(answer, 2); }

Result<DoctorAnswer> parse_doctor(std::string_view text) {
  auto out = json::read<DoctorAnswer>(text);
  if (!out) return tl::unexpected(std::move(out.error()).within("the doctor's answer"));
  return out;
}

}  // namespace jetmem
