// SPDX-License-Identifier: Apache-2.0
// The table of all settings: what the loader accepts, what is shown, which names are suggested,
// what needs a restart, and what config/jetmem.yaml must hold all come from here.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "config/setting_types.h"
#include "config/settings.h"

namespace jetmem {

enum class Applies { kAtOnce, kAtRestart };

struct Setting {
  std::string key;      // "http.request_timeout"
  std::string allowed;  // "a duration from 1s to 5m"
  Applies applies = Applies::kAtOnce;

  // What follows knows the setting's field and type; see declare() in schema.cc.
  std::function<void(const YamlNode&, Settings&, ValueProblems&)> read;
  std::function<std::string(const Settings&)> show;  // one line of YAML, different for each value
  std::function<void(const Settings& from, Settings& to)> copy;
};

class Schema {
 public:
  explicit Schema(std::span<const KnownSource> sources);
  // For comparing and showing settings that were loaded before: the same keys.
  static Schema of(const Settings& settings);

  // Settings of one section stand together.
  std::span<const Setting> settings() const& { return settings_; }
  std::span<const Setting> settings() const&& = delete;  // would outlive its Schema
  const Setting* find(std::string_view key) const;
  // "http" and "sources.meminfo" are sections; "" is the file itself.
  bool is_section(std::string_view key) const;
  // The names that may stand in a section: "listen", "max_connections", ...
  std::vector<std::string_view> names_in(std::string_view section) const;
  // The key a person probably meant by `name` within `section`, or empty.
  std::string suggest(std::string_view section, std::string_view name) const;

 private:
  std::vector<Setting> settings_;
};

// "http", "listen": "http.listen". Of the top level the section is empty.
std::string setting_key(std::string_view section, std::string_view name);

// Of new settings: the keys that differ and that only a restart applies, in the order of the
// schema. Both settings must have been loaded with the same known sources.
std::vector<std::string> keys_that_need_restart(const Settings& running, const Settings& needed);

// `needed`, but with the running values of those keys: what a reload puts into effect.
Settings applicable_without_restart(const Settings& running, const Settings& needed);

}  // namespace jetmem
