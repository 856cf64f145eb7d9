// SPDX-License-Identifier: Apache-2.0
// Alerts for people: blocks of text that fit a terminal of 80 columns.
#pragma once

#include <string>

#include "report/alerts/alerts.h"

namespace jetmem {

struct AlertsTextOptions {
  bool color = false;
  bool all = false;  // also inactive rules
  std::string from;  // the daemon's address; empty: evaluated on one reading
};

std::string alerts_text(const AlertsAnswer& answer, const AlertsTextOptions& options);

// Where a rule's condition stands: "42% (area="a"); 1 of 2 series".
std::string standing(const AlertsAnswer::Condition& condition);

// "evaluated by jetmemd (unix:...) at ...", "evaluated on one reading, without jetmemd".
std::string evaluator_name(const AlertsAnswer& answer, const std::string& from);

// 1 if an alert fires; 3 if none is known to and some rules are unknown; else 0.
int alerts_status(const AlertsAnswer& answer);

}  // namespace jetmem
