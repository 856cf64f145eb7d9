// SPDX-License-Identifier: Apache-2.0
// The rules as a Prometheus rule file.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "rules/model/rules.h"

namespace jetmem {

// YAML that `promtool check rules` accepts: one group "jetmem" on the grid of `interval`. Runbooks
// are linked below the URL `runbooks`.
std::string prometheus_rules(const RuleSet& rules, std::chrono::milliseconds interval,
                             std::string_view runbooks);

// Where the runbooks are when nobody says it: the directory beside jetmem's documentation.
inline constexpr std::string_view kDefaultRunbooks = "file:///usr/share/doc/jetmem/runbooks";

}  // namespace jetmem
