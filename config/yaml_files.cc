// SPDX-License-Identifier: Apache-2.0
#include "config/yaml_files.h"

#include <filesystem>
#include <iterator>
#include <system_error>

namespace jetmem {

std::vector<ConfigText> YamlFiles::views() const {
  std::vector<ConfigText> out;
  for (std::size_t i = 0; i < names.size(); ++i) out.push_back({names[i], texts[i]});
  return out;
}

YamlFiles read_yaml_files(const std::string& directory) {
  YamlFiles out;
  if (directory.empty()) return out;
  for (std::string& path : list_yaml(directory, out.errors)) {
    auto text = read_config_file(path);
    if (!text) {
      out.errors.push_back({.file = std::move(path), .key = {}, .message = text.error().message});
      continue;
    }
    out.names.push_back(std::move(path));
    out.texts.push_back(std::move(*text));
  }
  return out;
}

void add_yaml_path(const std::string& path, YamlFiles& to) {
  std::error_code error;
  if (std::filesystem::is_directory(path, error)) {
    YamlFiles found = read_yaml_files(path);
    if (found.names.empty() && found.errors.empty()) {
      found.errors.push_back({.file = path, .key = {}, .message = "contains no *.yaml file"});
    }
    std::move(found.names.begin(), found.names.end(), std::back_inserter(to.names));
    std::move(found.texts.begin(), found.texts.end(), std::back_inserter(to.texts));
    std::move(found.errors.begin(), found.errors.end(), std::back_inserter(to.errors));
    return;
  }
  auto text = read_config_file(path);
  if (!text) {
    to.errors.push_back({.file = path, .key = {}, .message = text.error().message});
    return;
  }
  to.names.push_back(path);
  to.texts.push_back(std::move(*text));
}

}  // namespace jetmem
