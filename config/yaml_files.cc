// SPDX-License-Identifier: Apache-2.0
#include "config/yaml_files.h"

#include <algorithm>
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
  namespace fs = std::filesystem;
  YamlFiles out;
  if (directory.empty()) return out;
  const auto refuse = [&](std::string file, std::string message) {
    out.errors.push_back({.file = std::move(file), .key = {}, .message = std::move(message)});
  };
  std::error_code error;
  fs::directory_iterator entry(directory, error);
  if (error == std::errc::no_such_file_or_directory) return out;
  std::vector<std::string> names;
  for (; !error && entry != fs::directory_iterator(); entry.increment(error)) {
    std::string name = entry->path().filename().string();
    // Editors' backups and the like are left alone.
    if (name.front() == '.') continue;
    if (name.ends_with(".yml")) refuse(entry->path().string(), "is not read; rename it to .yaml");
    if (name.ends_with(".yaml")) names.push_back(entry->path().string());
    if (names.size() > kMaxConfigFiles) {
      refuse(directory, "holds more than " + std::to_string(kMaxConfigFiles) +
                            " YAML files; is this the right directory?");
      return out;
    }
  }
  if (error) refuse(directory, "cannot be listed as a directory: " + error.message());
  std::sort(names.begin(), names.end());
  for (std::string& name : names) {
    auto text = read_config_file(name);
    if (!text) {
      refuse(name, text.error().message);
      continue;
    }
    out.names.push_back(std::move(name));
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
