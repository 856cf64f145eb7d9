// SPDX-License-Identifier: Apache-2.0
// Who is involved in an alert, and in which role, by what one look at the device shows: the labels
// of the alert, the event that it fires on, or what grows or holds most of what runs out.
#pragma once

#include <optional>
#include <string>

#include "report/alerts/alerts.h"
#include "report/device/device_now.h"

namespace jetmem {

struct Who {
  std::string name;  // "python3 (vision.service)", "tegra-capture-vi"
  // "growing", "largest holder", "largest holder seen" (of those that are not hidden), "killed",
  // "refused", "at its limit", "named by the kernel", "named by the rule". Only what grows, or what
  // the kernel names as the origin of an error, is a cause; the others are victims or neighbours.
  std::string role;
  std::string unit;       // of a process; empty: none
  std::string container;  // of a process; empty: none
  std::optional<double> pid;
  std::optional<double> bytes;   // that it holds
  std::optional<double> growth;  // bytes a second
};

struct WhoFound {
  std::optional<Who> who;
  std::string unknown;  // what is not known, with the reason: "largest holder not known: ..."
};

// Neither is given where the alert is not about anybody.
WhoFound who_of(const AlertsAnswer::Rule& rule, const AlertsAnswer::Alert& alert,
                const DeviceNow& now);
// "largest holder: python3 (vision.service), PID 2215, 4.9 GiB".
std::string who_text(const Who& who);
// The command that restarts what grows, is at its limit or holds most, which frees its memory; what
// only grows and is neither service nor container is ended. It is an act: a person decides whether
// the program can be spared, jetmem never runs it. Empty for other roles, and where nothing to
// restart is known.
std::string restart_command(const Who& who);

void describe(json::Fields& v, Who& who);

}  // namespace jetmem
