// SPDX-License-Identifier: Apache-2.0
#include "cli/client/rule_input.h"

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "base/text/print_error.h"
#include "collectors/sampler/registry.h"
#include "config/load.h"
#include "config/yaml_files.h"
#include "rules/parse/check.h"

namespace jetmem {
namespace {

// A file read alone may refer to shipped names: that is an error only then.
void print_shipped_rules(const NamedRules& named, const RulesSettings& settings,
                         ParsedRules& parsed) {
  NamedRules with = named;
  with.with_shipped = true;
  std::size_t files = 0;
  const ParsedRules both = read_rules(with, settings, files);
  for (ConfigError& error : parsed.errors) {
    const bool stays =
        std::any_of(both.errors.begin(), both.errors.end(), [&](const ConfigError& other) {
          return other.file == error.file && other.line == error.line &&
                 other.column == error.column && other.key == error.key;
        });
    if (!stays) error.message += " (shipped: add --with-shipped)";
  }
}

}  // namespace

Errc settings_error(const std::vector<std::string>& named) {
  for (const std::string& file : named) {
    const auto text = read_config_file(file);
    if (!text) return text.error().code == Errc::kAbsent ? Errc::kNotRegular : text.error().code;
  }
  return Errc::kMalformed;
}

Errc rules_error(const NamedRules& named) {
  std::error_code ignored;
  for (const std::string& path : named.paths) {
    if (!std::filesystem::exists(path, ignored)) return Errc::kNotRegular;
  }
  return Errc::kMalformed;
}

Result<Settings> settings_for(const char* command, const std::vector<std::string>& named) {
  auto loaded = load_named_or_default(named, known_sources());
  if (loaded) return std::move(loaded->values);
  print_errors(loaded.error());
  if (!named.empty()) {
    const Errc code = settings_error(named);
    return fail(code, code == Errc::kMalformed ? "invalid settings" : "cannot read the settings");
  }
  print_error("jetmem " + std::string(command) +
              ": invalid settings; continuing with the defaults");
  return default_settings(known_sources());
}

ParsedRules read_rules(const NamedRules& named, const RulesSettings& settings, std::size_t& files) {
  std::vector<ConfigText> texts;
  const bool in_force = named.paths.empty();
  if (in_force ? settings.shipped : named.with_shipped) {
    texts.assign(shipped_rules().begin(), shipped_rules().end());
  }
  YamlFiles local;
  if (in_force) local = read_yaml_files(settings.directory);
  for (const std::string& path : named.paths) add_yaml_path(path, local);
  for (const ConfigText& text : local.views()) texts.push_back(text);
  files = texts.size();
  ParsedRules parsed = load_rules(texts, MetricCatalog::of_jetmem(), settings.interval);
  parsed.errors.insert(parsed.errors.begin(), local.errors.begin(), local.errors.end());
  const bool is_alone = !in_force && !named.with_shipped;
  if (is_alone && !parsed.errors.empty()) print_shipped_rules(named, settings, parsed);
  return parsed;
}

void add_rule_paths(const Command& command, NamedRules& named) {
  command.option("PATH", named.paths, "",
                 "Rule files, or directories of *.yaml (default: the shipped rules and those in "
                 "rules.directory)");
  command
      .flag("--with-shipped", named.with_shipped,
            "Read the shipped rules before PATH, for files that change them")
      .needs("PATH");
}

ParsedRules rules_in_force(const RulesSettings& settings) {
  std::size_t files = 0;
  return read_rules({}, settings, files);
}

}  // namespace jetmem
