// What an expert would say after a walk through the device: step by step, each with what was seen,
// and one conclusion that says what happened, who, and since when. docs/doctor.md.
//
// A pure function of one look and of the past, run by the daemon's web thread and by `jetmem
// doctor`. It only says what the data shows: a step whose source cannot be read is unknown, and a
// cause that no numbers carry is not named.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "history/history.h"
#include "report/device_now.h"

namespace jetmem {

enum class Verdict : std::uint8_t { kFine, kUnknown, kWarning, kCritical };
// "fine", "unknown", "warning", "critical".
std::string_view verdict_name(Verdict verdict);
std::optional<Verdict> verdict_named(std::string_view name);

struct DoctorAnswer {
  static constexpr std::string_view kSchema = "jetmem-doctor/1";
  // Bounds of what is said; a step with more to say counts the rest.
  static constexpr std::size_t kMaxEvidence = 12;
  static constexpr std::size_t kMaxTimeline = 40;
  static constexpr std::size_t kMaxText = 1000;

  struct Evidence {
    std::string text;            // one sentence with its numbers
    std::optional<double> time;  // when, in seconds since 1970, where it is known
  };

  struct Step {
    std::string name;   // "oom"
    std::string title;  // "Out of memory"
    Verdict verdict = Verdict::kUnknown;
    std::string summary;
    std::vector<Evidence> evidence;
    std::uint64_t evidence_left_out = 0;
    // Empty where there is nothing to do.
    std::string cause;
    std::string remedy;
    std::string confirm;  // a shell command
    std::string runbook;  // "oom-kill": docs/runbooks/oom-kill.md
  };

  std::string by;  // look_by_name()
  std::string from;
  std::string version;
  std::string boot_id;
  double since_boot = 0;
  std::optional<double> wall;
  std::string zone;  // the time zone in which sentences name times

  Verdict verdict = Verdict::kUnknown;
  std::string conclusion;
  // What the conclusion is made of, oldest first.
  std::vector<Evidence> timeline;
  // Where the past was asked: "/var/lib/jetmem/history.db"; else why there is none.
  std::string history;
  std::string no_history;
  std::uint64_t history_questions = 0;
  std::vector<Step> steps;
  std::vector<std::string> notes;

  const Step* step(std::string_view name) const;
};

// `history` may be null: when things began cannot be told then. At most kMaxQuestions questions are
// put to it.
constexpr std::size_t kMaxQuestions = 60;
DoctorAnswer examine(const DeviceNow& now, History* history, std::string_view no_history = {});

// The names of all steps, in their order.
std::vector<std::string_view> doctor_steps();

std::string doctor_json(const DoctorAnswer& answer);
// Texts are made printable(): who answers may be anybody. One without verdicts is refused.
Result<DoctorAnswer> parse_doctor(std::string_view json);

}  // namespace jetmem
