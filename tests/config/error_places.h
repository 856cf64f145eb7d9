// SPDX-License-Identifier: Apache-2.0
// Errors of a configuration without their sentences.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "config/load.h"

namespace jetmem {

// Of each error file, line, column and key, and the suggested name: "a.yaml:3:5 log 'http'".
inline std::string places_of(const std::vector<ConfigError>& errors) {
  std::string out;
  for (const ConfigError& error : errors) {
    out.append(out.empty() ? "" : "\n").append(error.file).append(":");
    out.append(std::to_string(error.line) + ":" + std::to_string(error.column) + " " + error.key);
    constexpr std::string_view kSuggestion = "did you mean ";
    const std::size_t at = error.message.find(kSuggestion);
    if (at == std::string::npos) continue;
    const std::string name = error.message.substr(at + kSuggestion.size());
    out.append(" " + name.substr(0, name.find('?')));
  }
  return out;
}

}  // namespace jetmem
