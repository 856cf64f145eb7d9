#include "report/doctor/doctor.h"

#include <algorithm>
#include <array>

#include "base/text.h"
#include "report/doctor/say.h"
#include "report/doctor/step.h"
#include "report/doctor/story.h"

namespace jetmem {
namespace {

constexpr std::array<std::string_view, 4> kVerdicts{"fine", "unknown", "warning", "critical"};

}  // namespace

std::string_view verdict_name(Verdict verdict) {
  return kVerdicts[static_cast<std::size_t>(verdict)];
}

std::optional<Verdict> verdict_named(std::string_view name) {
  for (std::size_t i = 0; i < kVerdicts.size(); ++i) {
    if (kVerdicts[i] == name) return static_cast<Verdict>(i);
  }
  return std::nullopt;
}

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
  answer.by = std::string(look_by_name(now.by));
  answer.from = now.from;
  answer.version = now.version;
  answer.boot_id = now.boot_id;
  answer.since_boot = now.since_boot;
  answer.wall = now.wall;
  answer.zone = doctor::zone_name();
  for (const std::string& each : now.notes) answer.notes.push_back(printable(each, 500));

  doctor::Past past(history, kMaxQuestions);
  const doctor::Findings found = doctor::correlate(now, past);
  if (history == nullptr) {
    answer.no_history = no_history.empty() ? "no history was given" : printable(no_history, 300);
  } else if (const HistoryFacts* facts = past.facts()) {
    answer.history = printable(facts->place.empty() ? "the recorder" : facts->place, 300);
    if (!facts->trouble.empty())
      answer.notes.push_back("History: " + printable(facts->trouble, 300));
    if (found.of_other_day) {
      answer.notes.push_back("The history goes on after the moment at which this was captured (" +
                             doctor::moment(*now.wall, found.now) + "): its last moment, " +
                             doctor::moment(found.now, found.now) + ", is taken for now");
    }
  } else {
    answer.no_history = past.trouble().empty() ? "the history tells nothing" : past.trouble();
  }
  // Who looked by himself says under each step what he could not see.
  if (now.by == LookBy::kDaemon && !now.no_events.empty() && answer.no_history.empty()) {
    answer.notes.push_back("The last day's events may lack some: jetmemd has " +
                           (now.events.empty() ? std::string("none") : std::string("not all")) +
                           " of them, as " + printable(now.no_events, 300));
  }
  std::set<std::string, std::less<>> claimed;
  const doctor::Look look{now, found, &claimed};
  for (const doctor::StepInfo& info : doctor::steps()) {
    DoctorAnswer::Step step;
    step.name = std::string(info.name);
    step.title = std::string(info.title);
    step.verdict = Verdict::kFine;
    info.examine(look, step);
    // What is fine needs nothing done.
    if (step.verdict == Verdict::kFine) {
      step.cause.clear();
      step.remedy.clear();
      step.runbook.clear();
    }
    answer.steps.push_back(std::move(step));
  }
  answer.verdict = Verdict::kFine;
  for (const DoctorAnswer::Step& step : answer.steps) {
    answer.verdict = std::max(answer.verdict, step.verdict);
  }
  doctor::tell(found, answer);
  answer.history_questions = past.asked();
  if (!past.trouble().empty() && !answer.history.empty()) {
    answer.notes.push_back("Not all of the history could be asked: " + past.trouble());
  }
  return answer;
}

}  // namespace jetmem
