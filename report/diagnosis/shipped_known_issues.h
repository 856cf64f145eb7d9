// SPDX-License-Identifier: Apache-2.0
// The text of known_issues.yaml.
#pragma once

#include <string_view>

namespace jetmem::diagnosis {

std::string_view shipped_known_issues_text();

}  // namespace jetmem::diagnosis
