// The same for the texts in JSON: the line rules must not eat a quote or a brace.
#pragma once

#include <string>
#include <string_view>

#include "cli/bundle/redact.h"

namespace jetmem {

// Every string in it but those of a key that ends in "boot_id", which joins files; keys stay.
// `indent` as nlohmann's dump: -1 is one line. What is no JSON is treated as text.
std::string redact_json(std::string_view json, Redacted& counts, int indent);

}  // namespace jetmem
