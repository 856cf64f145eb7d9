// One condition of a rule, as it is written under `when:`.
#pragma once

#include <optional>

#include "config/rule_fields.h"

namespace jetmem {

// Nothing where something is wrong with it, which is said. `first`: of its rule.
std::optional<Condition> parse_condition(const YamlNode& node, bool first, RuleProblems& problems);

}  // namespace jetmem
