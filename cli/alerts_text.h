// Alerts for people: blocks of text that fit a terminal of 80 columns.
#pragma once

#include <string>

#include "report/alerts.h"

namespace jetmem {

struct AlertsTextOptions {
  bool color = false;
  bool all = false;  // also the rules that are quiet
  std::string from;  // the daemon's address; empty: judged from one look
};

std::string alerts_text(const AlertsAnswer& answer, const AlertsTextOptions& options);

// Where a rule's condition stands: "42% (area="a"); 1 of 2 series".
std::string standing(const AlertsAnswer::Condition& condition);

// "judged by jetmemd (unix:...) at ...", "judged from one look, without jetmemd".
std::string who_judged(const AlertsAnswer& answer, const std::string& from);

// 1 where something fires; 3 where nothing is known to and not all could be told; else 0.
int alerts_status(const AlertsAnswer& answer);

}  // namespace jetmem
