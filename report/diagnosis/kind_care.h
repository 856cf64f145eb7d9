// SPDX-License-Identifier: Apache-2.0
// Who looks after each kind of event: the step of `jetmem doctor`, the runbook, and why no alert
// fires where none does. A test holds that every kind is here, and that the rule is there unless a
// reason says why not.
#pragma once

#include <span>
#include <string_view>
#include <vector>

namespace jetmem::diagnosis {

struct KindCare {
  std::string_view kind;
  std::string_view step;           // of `jetmem doctor`
  std::string_view runbook;        // docs/runbooks/NAME.md; empty: of a site's own messages
  std::string_view rule;           // the shipped rule that fires on it, or
  std::string_view no_rule;        // why none does
  std::string_view severe_rule{};  // that fires on the severe ones
};

// Roots before what follows from them: a bus error stalls CPUs, a stalled CPU loses frames.
std::span<const KindCare> all_care();
// Null for a kind that is unknown.
const KindCare* care_of(std::string_view kind);
// The kinds that a step looks at, in that order.
std::vector<std::string_view> kinds_of_step(std::string_view step);

}  // namespace jetmem::diagnosis
