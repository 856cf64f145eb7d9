// SPDX-License-Identifier: Apache-2.0
// The checklist of an expert: steps with evidence, and one conclusion that names what happened, the
// culprit and since when. docs/doctor.md.
//
// A pure function of one look and of the past, run by the daemon's web thread and by `jetmem
// doctor`. A step whose source cannot be read is unknown, and a cause without numbers is not
// named.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "history/history.h"
#include "report/answers/answer_head.h"
#include "report/doctor/judgement.h"

namespace jetmem {

struct DoctorAnswer : Judgement {
  static constexpr std::string_view kSchema = "jetmem-doctor/1";
  // Bounds; the rest is counted.
  static constexpr std::size_t kMaxEvidence = 12;
  static constexpr std::size_t kMaxTimeline = 40;
  static constexpr std::size_t kMaxText = 1000;

  struct Evidence {
    std::string text;            // one sentence with its numbers
    std::optional<double> time;  // when, in seconds since 1970, where it is known
  };

  struct Alert {
    std::string alert;
    std::string severity;
    std::string state;  // "firing" or "pending"
    bool kept = false;  // it fires on for a while, although its conditions no longer hold
    // Not in JSON: whether it is part of the verdict, its sentence, and since when it holds, in
    // seconds since 1970.
    bool raises = false;
    std::string summary;
    std::optional<double> since;
  };

  struct Step {
    std::string name;   // "oom"
    std::string title;  // "Out of memory"
    Verdict verdict = Verdict::kUnknown;
    std::string summary;
    std::vector<Evidence> evidence;
    std::uint64_t evidence_omitted = 0;
    // Empty where there is nothing to do.
    std::string cause;
    std::string remedy;
    std::string confirm;        // a shell command
    std::string runbook;        // "oom-kill": docs/runbooks/oom-kill.md
    std::vector<Alert> alerts;  // firing and pending ones, the first to look at first
    // The part of it that is so now; the rest is what happened. Not in JSON.
    Verdict now = Verdict::kOk;
    bool happened = false;  // something bad, by the history alone: no verdict. Not in JSON
  };

  AnswerFrom from;
  std::string zone;                  // the time zone in which sentences name times
  std::optional<double> utc_offset;  // its seconds east of UTC now; an older jetmemd has none

  // The story behind the verdict, by the history: what fires first, then what happened.
  std::string conclusion;
  // What the conclusion is made of, oldest first.
  std::vector<Evidence> timeline;
  // Which history was read: "/var/lib/jetmem/history.db"; else why there is none.
  std::string history;
  std::string no_history;
  std::uint64_t history_queries = 0;
  std::vector<Step> steps;  // the worst first, then what fires
  std::vector<std::string> notes;

  const Step* step(std::string_view name) const;
};

// `history` may be null: start times are unknown then. It receives at most kMaxQuestions queries.
constexpr std::size_t kMaxQuestions = 80;
DoctorAnswer examine(const DeviceNow& now, History* history, std::string_view no_history = {});

// The names of all steps, in their order.
std::vector<std::string_view> doctor_steps();

std::string doctor_json(const DoctorAnswer& answer);
// An answer without verdicts is refused.
Result<DoctorAnswer> parse_doctor(std::string_view json);

}  // namespace jetmem
