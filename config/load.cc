// SPDX-License-Identifier: Apache-2.0
#include "config/load.h"

#include <algorithm>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "base/text/text.h"
#include "config/schema.h"
#include "config/yaml_fields.h"

namespace jetmem {
namespace {

using Kind = YamlNode::Kind;

// Puts what one document says into the settings.
class FileLoader {
 public:
  FileLoader(const Schema& schema, ConfigErrors errors, LoadedSettings& out)
      : schema_(schema), errors_(std::move(errors)), out_(out) {}

  void load(const YamlDocument& document) {
    errors_.add(document.problems);
    if (document.readable) take_root(document.root);
  }

 private:
  void take_root(const YamlNode& root) {
    if (root.kind == Kind::kNull || root.kind == Kind::kRefused) return;
    if (root.kind == Kind::kMap) return take_section(root, "");
    errors_.add(root.at, {},
                "settings must be a map of sections, found " + found(root) + advice(root));
  }

  void take_section(const YamlNode& map, const std::string& section) {
    std::unordered_map<std::string_view, int> seen;  // name to its line
    for (std::size_t i = 0; i < map.keys.size() && i < map.items.size(); ++i) {
      if (errors_.count() > ConfigErrors::kMost) return;
      const YamlNode& name = map.keys[i];
      if (name.kind == Kind::kRefused) continue;
      if (name.kind != Kind::kScalar) {
        errors_.add(name.at, section, "the name of a setting must be a word, found " + found(name));
        continue;
      }
      const std::string key = setting_key(section, printable(name.text, 100));
      if (const auto [first, is_new] = seen.emplace(name.text, name.at.line); !is_new) {
        errors_.add(name.at, key,
                    "'" + key + "' is set twice, first in line " + std::to_string(first->second) +
                        "; keep one");
        continue;
      }
      take_entry(name, map.items[i], section, key);
    }
  }

  void take_entry(const YamlNode& name, const YamlNode& value, const std::string& section,
                  const std::string& key) {
    // "a.b" in one word is not the key a.b, and what had to be cut or cleaned is no key at all.
    const bool is_one_name = !name.text.empty() && name.text.find('.') == std::string::npos &&
                             printable(name.text, 100) == name.text;
    const Setting* setting = is_one_name ? schema_.find(key) : nullptr;
    if (setting == nullptr && !(is_one_name && schema_.is_section(key))) {
      return errors_.add(name.at, key, unknown(name, section, key));
    }
    if (value.kind == Kind::kRefused) return;
    if (value.kind == Kind::kNull) {
      return errors_.add(
          name.at, key,
          key +
              (setting != nullptr ? " has no value; write one (" + setting->allowed + ")"
                                  : std::string(" has no value; indent its settings below it")) +
              " or remove the line");
    }
    if (setting != nullptr) return take_setting(*setting, name, value);
    if (value.kind == Kind::kMap) return take_section(value, key);
    errors_.add(
        value.at, key,
        key + " is a section; indent its settings below it, found " + found(value) + advice(value));
  }

  void take_setting(const Setting& setting, const YamlNode& name, const YamlNode& value) {
    ValueProblems problems;
    setting.read(value, out_.values, problems);
    for (ValueProblem& problem : problems) {
      errors_.add(problem.at, setting.key, setting.key + " " + problem.message);
    }
    out_.origins[setting.key] = errors_.file() + ":" + std::to_string(name.at.line);
  }

  std::string unknown(const YamlNode& name, const std::string& section,
                      const std::string& key) const {
    if (name.text == "<<") return "merge keys (<<) are not supported; write the settings out";
    std::string message = "unknown key '" + key + "'";
    if (name.text.find('.') != std::string::npos && schema_.find(key) != nullptr) {
      return message + "; write each part on its own line, indented, instead of dots";
    }
    const std::string suggestion = schema_.suggest(section, name.text);
    if (!suggestion.empty()) return message + "; did you mean '" + suggestion + "'?";
    const auto names = schema_.names_in(section);
    message.append(section.empty() ? "; the sections are " : "; known here: ");
    for (std::size_t i = 0; i < names.size(); ++i) {
      if (i != 0) message.append(", ");
      message.append(names[i]);
    }
    return message;
  }

  // "level:debug" is one word to YAML.
  static std::string advice(const YamlNode& node) {
    if (node.kind != Kind::kScalar || node.quoted) return {};
    return node.text.find(':') == std::string::npos ? "" : "; put a space behind the ':'";
  }

  const Schema& schema_;
  ConfigErrors errors_;
  LoadedSettings& out_;
};

class Loader {
 public:
  explicit Loader(std::span<const KnownSource> sources) : schema_(sources) {
    loaded_.values = default_settings(sources);
    for (const Setting& setting : schema_.settings()) loaded_.origins[setting.key] = "default";
  }

  void add_text(const std::string& name, std::string_view text) {
    const auto first = static_cast<std::ptrdiff_t>(errors_.size());
    FileLoader(schema_, {name, errors_}, loaded_).load(parse_yaml(text));
    // Errors about the whole file come last.
    const auto location = [](const ConfigError& e) {
      return std::tuple(e.line == 0, e.line, e.column);
    };
    std::ranges::stable_sort(errors_.begin() + first, errors_.end(), {}, location);
  }
  void add_error(ConfigError error) { errors_.push_back(std::move(error)); }

  Loaded<LoadedSettings> finish() && {
    if (!errors_.empty()) return tl::unexpected(std::move(errors_));
    return std::move(loaded_);
  }

 private:
  Schema schema_;
  LoadedSettings loaded_;
  std::vector<ConfigError> errors_;
};

}  // namespace

Loaded<LoadedSettings> load_named_or_default(std::span<const std::string> named,
                                             std::span<const KnownSource> sources) {
  std::vector<ConfigFile> files;
  files.reserve(named.size());
  for (const std::string& path : named) files.push_back({path});
  if (named.empty()) {
    auto found = find_config_files(kConfigDirectory);
    if (!found) return tl::unexpected(found.error());
    files = std::move(*found);
  }
  return load_settings(files, sources);
}

Loaded<LoadedSettings> load_settings(std::span<const ConfigFile> files,
                                     std::span<const KnownSource> sources) {
  Loader loader(sources);
  for (const ConfigFile& file : files) {
    const auto text = read_config_file(file.path);
    if (text) {
      loader.add_text(file.path, *text);
    } else if (text.error().code != Errc::kAbsent || file.must_exist) {
      loader.add_error({.file = file.path, .key = {}, .message = text.error().message});
    }
  }
  return std::move(loader).finish();
}

Loaded<LoadedSettings> parse_settings(std::span<const ConfigText> texts,
                                      std::span<const KnownSource> sources) {
  Loader loader(sources);
  for (const ConfigText& text : texts) loader.add_text(text.name, text.text);
  return std::move(loader).finish();
}

ConfigError error_of_setting(const LoadedSettings& settings, std::string_view key,
                             std::string_view problem) {
  ConfigError error{.file = {}, .key = std::string(key), .message = std::string(key)};
  error.message.append(": ").append(problem);
  if (const auto origin = settings.origins.find(key); origin != settings.origins.end()) {
    const std::size_t colon = origin->second.rfind(':');
    error.file = origin->second.substr(0, colon);
    if (colon != std::string::npos) {
      error.line = static_cast<int>(parse_u64(origin->second.substr(colon + 1)).value_or(0));
    }
  }
  return error;
}

std::string show_settings(const LoadedSettings& settings) {
  const Schema schema = Schema::of(settings.values);
  std::string out;
  std::string_view open;  // the section of the line before
  for (const Setting& setting : schema.settings()) {
    const std::string_view key = setting.key;
    const std::size_t dot = key.rfind('.');
    const std::string_view section = dot == std::string_view::npos ? "" : key.substr(0, dot);
    // Headings of the sections that begin here, outermost first.
    std::size_t depth = 0;
    for (std::size_t start = 0; start < section.size(); ++depth) {
      const std::size_t end = std::min(section.find('.', start), section.size());
      const std::string_view path = section.substr(0, end);
      if (open != path && !(open.starts_with(path) && open.substr(end).starts_with('.'))) {
        out.append(depth * 2, ' ').append(path.substr(start)).append(":\n");
      }
      start = end + 1;
    }
    open = section;
    const auto origin = settings.origins.find(key);
    out.append(depth * 2, ' ').append(key.substr(dot + 1)).append(": ");
    out.append(setting.show(settings.values)).append("  # ");
    out.append(origin == settings.origins.end() ? "unknown" : printable(origin->second, 4096));
    out.append("\n");
  }
  return out;
}

}  // namespace jetmem
