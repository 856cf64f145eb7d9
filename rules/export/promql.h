// SPDX-License-Identifier: Apache-2.0
// A rule in Prometheus' words. The engine means exactly this expression: whoever changes the one
// changes the other.
#pragma once

#include <string>

#include "rules/model/rules.h"

namespace jetmem {

// "jetmem_cma_used_ratio{area=\"linux,cma\"}"
std::string promql_selector(const Condition& condition);

// Without its comparison: "rate(jetmem_x_total[5m])".
std::string promql_value(const Condition& condition);

// The whole expression of the alert. With several devices in one Prometheus, conditions are tied by
// job and instance; with `clear` the alert is held by its own ALERTS series:
//   start conditions
//   or clear conditions and ignoring (alertname, alertstate, severity) ALERTS{..., firing}
//   unless on (job, instance) ALERTS{of an alert in `unless`, firing}
std::string promql_expression(const Rule& rule);

}  // namespace jetmem
