// A rule in words, for people who do not read PromQL.
#pragma once

#include <string>
#include <string_view>

#include "config/rules.h"

namespace jetmem {

// "the increase of jetmem_x_total over 10m is above 0", "jetmem_cma_used_ratio{area="a"} is at
// least 95% (cma_used_high)". With `clear`: ", until it is below 90%".
std::string condition_words(const Condition& condition);

// The page of a rule's runbook below a directory or URL; empty when it has none.
std::string runbook_page(std::string_view below, const Rule& rule);

}  // namespace jetmem
