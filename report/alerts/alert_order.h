// SPDX-License-Identifier: Apache-2.0
// Which of several alerts to begin with: the one order that status, doctor, watch and `jetmem
// alerts` follow. docs/runbooks/README.md has it for people; a test compares the two.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

namespace jetmem {

// Causes before what follows from them. Alerts that are not listed come after all of these.
std::span<const std::string_view> alerts_in_order();
// The place of an alert in it; alerts_in_order().size() if it is not listed.
std::size_t alert_place(std::string_view alert);

struct AlertRank {
  std::string_view state;     // "firing", "pending", ...
  std::string_view severity;  // "critical", "warning", "info"
  std::string_view alert;     // its name
};
// Firing critical ones, pending critical ones, other firing ones, other pending ones, unknown ones;
// within each the more severe first, then by place. All others are equal, and keep their order in a
// stable sort.
bool comes_before(const AlertRank& a, const AlertRank& b);

}  // namespace jetmem
