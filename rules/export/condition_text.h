// SPDX-License-Identifier: Apache-2.0
// A rule in words, for people who do not read PromQL.
#pragma once

#include <string>
#include <string_view>

#include "rules/model/rules.h"

namespace jetmem {

// "the increase of jetmem_x_total over 10m is above 0", "jetmem_cma_used_ratio{area="a"} is at
// least 95% (cma_used_high)". With `clear`: ", until it is below 90%".
std::string condition_text(const Condition& condition);

// The page of a rule's runbook below a directory or URL; empty when it has none.
std::string runbook_page(std::string_view below, const Rule& rule);

}  // namespace jetmem
