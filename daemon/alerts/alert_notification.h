// SPDX-License-Identifier: Apache-2.0
// One change of an alert as it is sent to a program: texts filled in, every part printable and of
// bounded length, whoever wrote it.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "rules/engine/transition.h"

namespace jetmem {

struct AlertNotification {
  // Of each part, in bytes; what is longer is cut. A metric has at most 5 labels.
  static constexpr std::size_t kMaxName = 100;
  static constexpr std::size_t kMaxLabelValue = 300;
  static constexpr std::size_t kMaxText = 2000;
  static constexpr std::size_t kMaxLabels = 8;

  using Labels = std::vector<std::pair<std::string, std::string>>;

  std::string alert;
  std::string severity;
  Change change = Change::kFiring;
  double value = 0;
  Labels labels;
  std::string summary;  // with values in place of {{ ... }}, as the next two
  std::string cause;
  std::string remedy;
  std::string runbook;   // where its page is
  std::string reason;    // of unknown and inhibited
  Nanoseconds since{0};  // how long it had been active by then
  Nanoseconds at{0};     // when it changed, on the boot clock
  Nanoseconds wall{0};   // the same since 1970; 0: not known
};

// Of a rule and its labels: "JetmemX\nzone=DMA".
std::string alert_key(std::string name, const AlertNotification::Labels& labels);

// What the transition itself says; the texts are whoever's who renders them.
AlertNotification alert_notification(const Transition& transition);

// One object in one line, with its newline: alert, severity, state, value (null when it is not a
// number), labels, at (UTC: it may be sent minutes later; null when unknown), at_boot_seconds,
// summary, cause, remedy, runbook, since_seconds; reason where there is one.
std::string alert_json(const AlertNotification& notification);

// JETMEM_ALERT, _SEVERITY, _STATE, _VALUE, _AT, _SUMMARY, _RUNBOOK and _LABEL_<NAME>, as
// "NAME=value".
std::vector<std::string> alert_environment(const AlertNotification& notification);

}  // namespace jetmem
