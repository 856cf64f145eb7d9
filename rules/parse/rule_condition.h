// SPDX-License-Identifier: Apache-2.0
// One condition of a rule, as it is written under `when:`.
#pragma once

#include <optional>

#include "config/yaml_fields.h"
#include "rules/model/rules.h"

namespace jetmem {

// Absent after an error. `first`: of its rule.
std::optional<Condition> parse_condition(const YamlNode& node, bool first, ConfigErrors& errors);

}  // namespace jetmem
