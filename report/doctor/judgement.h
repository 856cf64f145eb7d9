// SPDX-License-Identifier: Apache-2.0
// The verdict on a device: how bad it is, what is wrong most, who is involved, since when, why and
// what to do. There is one: status, doctor, watch, the page and the API show this result, and
// differ only in how much of it they show.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "history/history.h"
#include "report/doctor/verdict.h"
#include "report/doctor/who.h"

namespace jetmem {

struct Judgement {
  Verdict level = Verdict::kUnknown;
  // One sentence without its full stop: what is wrong most, who is involved, how many other
  // findings there are. Of a device that is well: that it is.
  std::string reason;
  std::string found_by;  // a step of the doctor; empty: nothing is wrong
  std::string alert;     // behind it; empty: none
  // For how long this alert has held; absent where there is none, or one reading cannot know.
  std::optional<double> since_seconds;
  std::optional<Who> who;
  std::string who_unknown;  // why nobody is named although somebody should be
  std::string cause;
  std::string remedy;
  std::string act;                   // restart_command() of who; empty: none
  std::string next_command;          // only looks; "jetmem --all" where nothing is wrong
  std::vector<std::string> made_of;  // alerts that are part of it, the one behind it first
};

// Of one look alone: what no jetmemd watches over time (a bundle, a captured tree) may be judged by
// its recorder too, `history`.
Judgement judge(const DeviceNow& now, History* history = nullptr);

void describe(json::Fields& v, Judgement& judgement);

// For how long an alert has held: rules are evaluated every 15 s, and a look is of now.
double active_seconds(const DeviceNow& now, const AlertsAnswer::Alert& alert);

}  // namespace jetmem
