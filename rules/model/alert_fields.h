// SPDX-License-Identifier: Apache-2.0
// An alert's labels and texts as fields of the journal and of programs.
#pragma once

#include <string>
#include <string_view>

namespace jetmem {

// "JETMEM_LABEL_AREA" for the label area. Of any text a name that the journal takes.
std::string label_field(std::string_view label);

// A text of a rule, which may have several lines, in one: without control characters, and cut where
// it is longer.
std::string one_line(std::string_view text, std::size_t max_bytes);

}  // namespace jetmem
