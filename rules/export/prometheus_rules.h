// SPDX-License-Identifier: Apache-2.0
// The rules as a Prometheus rule file.
#pragma once

#include <chrono>
#include <span>
#include <string>
#include <string_view>

#include "rules/model/rules.h"

namespace jetmem {

// YAML that `promtool check rules` accepts: one group "jetmem" on the grid of `interval`. Each
// alert has summary, description and runbook_url; `runbooks` is as in runbook_url().
std::string prometheus_rules(const RuleSet& rules, std::chrono::milliseconds interval,
                             std::string_view runbooks);

// Written by hand and compiled in: "records" is a further group of the file above, what the
// dashboards query; the others are whole files of rules that the device does not evaluate.
std::span<const ConfigText> prometheus_texts();
// One of them, its alerts linked to `runbooks`; empty: no such file.
std::string prometheus_text_of(std::string_view name, std::string_view runbooks);

// The address of a page: `runbooks` with the page's name for NAME. Without NAME it is a folder of
// docs/runbooks: /PAGE.md is added.
std::string runbook_url(std::string_view runbooks, std::string_view page);
// Empty: an address that a browser elsewhere can open, http or https. A template may begin it.
std::string problem_of_runbooks(const std::string& runbooks);

// Each device serves its runbooks. Prometheus fills in the address at which it scrapes the device.
inline constexpr std::string_view kDefaultRunbooks = "http://{{ $labels.instance }}/runbooks/NAME";

}  // namespace jetmem
