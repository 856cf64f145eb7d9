#include "report/answers/status_verdict.h"

#include <string>

namespace jetmem {
namespace {

using Answer = StatusAnswer;

std::string count_of(std::uint64_t count, const char* one, const char* many) {
  return std::to_string(count) + " " + (count == 1 ? one : many);
}

bool raises(const Answer::Alert& alert, bool one_look) {
  if (alert.severity != "critical" && alert.severity != "warning") return false;
  return alert.state == "firing" || one_look;
}

void set(Answer& answer, StatusLevel level, std::string reason) {
  answer.level = level;
  answer.reason = std::move(reason);
}

const Answer::Blind* broken_source(const Answer& answer) {
  for (const Answer::Blind& blind : answer.blind) {
    if (blind.state == "failed" || blind.state == "stale") return &blind;
  }
  return nullptr;
}

// What could not be told; empty: all could.
std::string gap(const Answer& answer, const DeviceNow& now) {
  if (now.samples.empty()) return "nothing could be read of this device";
  if (!answer.mem_total_bytes || !answer.available_bytes) {
    return "how much memory there is could not be read: " +
           why_absent(answer.absent, "available_bytes");
  }
  if (!answer.unknown) {
    return "alerts were not judged: " + why_absent(answer.absent, "alerts");
  }
  if (answer.rules == 0) return "there are no rules: nothing would ever be told";
  if (!now.alerts->mistakes.empty()) {
    return "the rules have mistakes, so not all that was written is judged: jetmem rules check";
  }
  const std::string of = std::to_string(*answer.unknown) + " of " +
                         count_of(answer.rules, "rule", "rules") + " could not be judged";
  if (*answer.unknown > 0 && now.alerts->one_look) {
    return "nothing seen to be wrong, but " + of + " from one look";
  }
  if (*answer.unknown > 0) return "nothing known to be wrong, but " + of + ": jetmem alerts";
  if (now.by == LookBy::kCommand) return "nothing seen to be wrong, but no jetmemd answers";
  return {};
}

}  // namespace

void judge_status(Answer& answer, const DeviceNow& now) {
  const bool one_look = now.alerts && now.alerts->one_look;
  const Answer::Alert* worst = nullptr;
  std::uint64_t others = 0;
  for (const Answer::Alert& alert : answer.alerts) {
    if (!raises(alert, one_look)) continue;
    if (worst == nullptr) {
      worst = &alert;
    } else {
      ++others;
    }
  }
  if (worst != nullptr) {
    // One look cannot tell that it lasts, so it claims no more than a warning.
    const bool critical = worst->severity == "critical" && worst->state == "firing";
    std::string reason = worst->summary.empty() ? worst->name : worst->summary;
    if (others > 0) reason += " (and " + count_of(others, "other", "others") + ")";
    return set(answer, critical ? StatusLevel::kCritical : StatusLevel::kWarning,
               std::move(reason));
  }
  if (now.samples.value("jetmem_sampling_stalled").value_or(0) > 0) {
    return set(answer, StatusLevel::kWarning, "jetmemd's sampling stands still");
  }
  if (const Answer::Blind* blind = broken_source(answer)) {
    return set(answer, StatusLevel::kWarning,
               "jetmem is blind: source " + blind->source + " is " + blind->state +
                   (blind->why.empty() ? "" : ": " + blind->why));
  }
  if (std::string why = gap(answer, now); !why.empty()) {
    return set(answer, StatusLevel::kUnknown, std::move(why));
  }
  std::string reason = "nothing fires, every rule was judged";
  if (answer.pending.value_or(0) > 0) {
    reason = "nothing fires, " + count_of(*answer.pending, "alert is", "alerts are") + " pending";
  }
  set(answer, StatusLevel::kOk, std::move(reason));
}

}  // namespace jetmem
