// SPDX-License-Identifier: Apache-2.0
// The YAML files of a directory that a site fills: its rules, its messages.
#pragma once

#include <string>
#include <vector>

#include "config/load.h"

namespace jetmem {

// The texts of DIRECTORY/*.yaml in the order of their names, as errors where they cannot be read. A
// directory that is not there has none.
struct YamlFiles {
  std::vector<std::string> names;
  std::vector<std::string> texts;
  std::vector<ConfigError> errors;
  std::vector<ConfigText> views() const;
};
YamlFiles read_yaml_files(const std::string& directory);
// Adds what a command line names: a file, or a directory, in which there must be some.
void add_yaml_path(const std::string& path, YamlFiles& to);

}  // namespace jetmem
