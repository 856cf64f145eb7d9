// SPDX-License-Identifier: Apache-2.0
#include "cli/text/doctor_text.h"

#include <algorithm>
#include <vector>

#include "base/text/text.h"
#include "cli/draw/since.h"
#include "cli/text/judgement_text.h"

namespace jetmem {
namespace {

constexpr std::size_t kFindingIndent = 4;
constexpr std::size_t kFurther = 6;

std::string word(Verdict verdict, const ScreenStyle& style) {
  const std::string name(verdict_name(verdict));
  return painted(style, paint_of(verdict), verdict == Verdict::kOk ? name : upper_case(name));
}

// "  - " before the first line of a sentence.
std::string item(std::string_view text) {
  std::string out = wrapped(text, kFurther);
  if (out.size() > kFurther) out.replace(kFindingIndent, 2, "- ");
  return out;
}

std::string step_text(const DoctorAnswer::Step& step, const DoctorTextOptions& options) {
  std::string head = word(step.verdict, options.style);
  const std::size_t width = verdict_name(step.verdict).size();
  head.append(width < 9 ? 9 - width : 1, ' ')
      .append(step.title)
      .append(" (")
      .append(step.name)
      .append(")\n");
  std::string out = head + wrapped(step.summary, kFindingIndent);
  for (const DoctorAnswer::Evidence& each : step.evidence) {
    // The summary often is the one sentence that there is to say.
    if (each.text != step.summary) out += item(each.text);
  }
  if (step.evidence_omitted > 0)
    out += item("and " + std::to_string(step.evidence_omitted) + " more");
  if (!step.cause.empty()) out += wrapped("Cause: " + step.cause, kFindingIndent);
  if (!step.remedy.empty()) out += wrapped("Remedy: " + step.remedy, kFindingIndent);
  if (!step.confirm.empty()) out += wrapped("Confirm: " + step.confirm, kFindingIndent);
  if (!step.runbook.empty()) out += wrapped("Runbook: " + step.runbook, kFindingIndent);
  return out;
}

// "source kernel_log is denied: ..." of "SMMU faults are unknown: source kernel_log is denied:
// ...".
std::string_view reason_of(const DoctorAnswer::Step& step) {
  constexpr std::string_view kUnknown = " unknown: ";
  const std::size_t at = step.summary.find(kUnknown);
  return at == std::string::npos ? std::string_view(step.summary)
                                 : std::string_view(step.summary).substr(at + kUnknown.size());
}

// Steps that are unknown for one reason, in one paragraph; one alone in full.
std::string unknown_steps(const DoctorAnswer& answer, const DoctorTextOptions& options) {
  std::vector<std::vector<const DoctorAnswer::Step*>> groups;
  for (const DoctorAnswer::Step& step : answer.steps) {
    if (step.verdict != Verdict::kUnknown) continue;
    const auto same = std::find_if(groups.begin(), groups.end(), [&](const auto& group) {
      return reason_of(*group.front()) == reason_of(step);
    });
    if (same == groups.end()) {
      groups.push_back({&step});
    } else {
      same->push_back(&step);
    }
  }
  std::string out;
  for (const auto& group : groups) {
    if (group.size() == 1 || options.all) {
      for (const DoctorAnswer::Step* step : group) out += "\n" + step_text(*step, options);
      continue;
    }
    std::string names;
    for (const DoctorAnswer::Step* step : group) {
      names += (names.empty() ? "" : ", ") + step->name;
    }
    std::string head = word(Verdict::kUnknown, options.style) + "  ";
    out += "\n" + head + std::to_string(group.size()) +
           " steps for one reason (--all shows them)\n" + wrapped(names, kFindingIndent) +
           wrapped(reason_of(*group.front()), kFindingIndent);
    const auto& evidence = group.front()->evidence;
    if (!evidence.empty()) out += item(evidence.front().text);
  }
  return out;
}

std::string footer(const DoctorAnswer& answer) {
  std::string out = answer.from.by == "daemon"    ? "Examined by jetmemd"
                    : answer.from.by == "capture" ? "Examined from a capture"
                                                  : "Examined from one reading, without jetmemd";
  if (!answer.from.from.empty()) out += " (" + answer.from.from + ")";
  if (answer.from.wall) {
    out += " of " + local_time(wall_clock(*answer.from.wall), answer.utc_offset);
  }
  if (answer.utc_offset) out += "; times are " + time_zone_text(answer.zone, *answer.utc_offset);
  out += "; " + (answer.history.empty() ? answer.no_history : "history: " + answer.history);
  return out + ".";
}

}  // namespace

std::string doctor_text(const DoctorAnswer& answer, const DoctorTextOptions& options) {
  if (!options.step.empty()) {
    const DoctorAnswer::Step* const step = answer.step(options.step);
    return step == nullptr ? "" : step_text(*step, options);
  }
  // The same as the first lines of status.
  std::string out = verdict_text(answer, answer.from, options.style, 8, answer.utc_offset);
  out += act_text(answer, options.style);
  if (!answer.conclusion.empty()) out += "\n" + wrapped(answer.conclusion, 0);
  if (answer.level >= Verdict::kWarning && answer.timeline.size() > 1) {
    out += "\n";
    for (const DoctorAnswer::Evidence& each : answer.timeline) {
      std::string line = each.text;
      if (each.time) {
        line = local_time(wall_clock(*each.time), answer.utc_offset) + "  " + line;
      }
      out += wrapped(line, 2);
    }
  }
  std::string fine;
  for (const Verdict verdict :
       {Verdict::kCritical, Verdict::kWarning, Verdict::kUnknown, Verdict::kOk}) {
    if (verdict == Verdict::kUnknown) out += unknown_steps(answer, options);
    for (const DoctorAnswer::Step& step : answer.steps) {
      if (step.verdict != verdict) continue;
      if (verdict == Verdict::kUnknown) continue;
      if (verdict == Verdict::kOk && !options.all) {
        fine += (fine.empty() ? "" : ", ") + step.name;
      } else {
        out += "\n" + step_text(step, options);
      }
    }
  }
  if (!fine.empty()) out += "\n" + wrapped("OK: " + fine + " (--all shows them)", 0);
  for (const std::string& each : answer.notes) out += wrapped("Note: " + each, 0);
  return out + wrapped(footer(answer), 0);
}

}  // namespace jetmem
