// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <filesystem>
#include <system_error>

#include "rules/model/rules.h"

namespace jetmem {

std::vector<ConfigText> RuleFiles::views() const {
  std::vector<ConfigText> out;
  for (std::size_t i = 0; i < names.size(); ++i) out.push_back({names[i], texts[i]});
  return out;
}

RuleFiles read_rule_files(const std::string& directory) {
  namespace fs = std::filesystem;
  RuleFiles out;
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

}  // namespace jetmem
