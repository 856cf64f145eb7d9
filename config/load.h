// SPDX-License-Identifier: Apache-2.0
// From YAML files to settings. Whatever is not exactly right is an error with its place and its
// fix; nothing is guessed, and nothing falls back to a default because it could not be understood.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

#include "config/files.h"
#include "config/settings.h"

namespace jetmem {

struct LoadedSettings {
  Settings values;
  // For every key where its value came from: "/etc/jetmem/jetmem.yaml:12", or "default".
  std::map<std::string, std::string, std::less<>> origins;
};

template <class T>
using Loaded = tl::expected<T, std::vector<ConfigError>>;

// Later files override earlier ones key by key; a list replaces the whole list before it. The
// errors of all files are returned together, in the order of files and lines.
Loaded<LoadedSettings> load_settings(std::span<const ConfigFile> files,
                                     std::span<const KnownSource> sources);

// What a command line asks for: the files it names, or those below /etc/jetmem.
inline constexpr const char* kConfigDirectory = "/etc/jetmem";
Loaded<LoadedSettings> load_named_or_default(std::span<const std::string> named,
                                             std::span<const KnownSource> sources);

// The same from texts in memory.
struct ConfigText {
  std::string name;  // stands for the file's in errors and origins
  std::string_view text;
};
Loaded<LoadedSettings> parse_settings(std::span<const ConfigText> texts,
                                      std::span<const KnownSource> sources);

// An error of a value that is valid in itself, with the place where it was set.
ConfigError error_of_setting(const LoadedSettings& settings, std::string_view key,
                             std::string_view problem);

// The effective settings as YAML, each with a comment that says where it came from. Loading the
// text gives the same settings.
std::string show_settings(const LoadedSettings& settings);

}  // namespace jetmem
