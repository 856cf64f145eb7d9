// SPDX-License-Identifier: Apache-2.0
// Who is behind an alert, by what one look at the device shows: the labels of the alert, the event
// that it fires on, or the largest holder of what runs out. Who grew since when takes the past:
// `jetmem doctor`.
#pragma once

#include <optional>
#include <string>

#include "report/alerts/alerts.h"
#include "report/device/device_now.h"

namespace jetmem {

struct Culprit {
  std::string name;  // "python3 (vision.service)", "tegra-capture-vi"
  // "largest holder seen": of those that are not hidden.
  std::string role;  // "growing", "largest holder", "killed", "named by the kernel", "alert label"
  std::optional<double> bytes;   // that it holds
  std::optional<double> growth;  // bytes a second
};

struct Suspect {
  std::optional<Culprit> culprit;
  std::string unknown;  // what is not known, with the reason: "largest holder not known: ..."
};

// Neither is given where the alert is not about anybody.
Suspect suspect_of(const AlertsAnswer::Rule& rule, const AlertsAnswer::Alert& alert,
                   const DeviceNow& now);
// "largest holder: python3 (vision.service), 4.9 GiB".
std::string culprit_text(const Culprit& culprit);

}  // namespace jetmem
