// SPDX-License-Identifier: Apache-2.0
// Which files the settings are in, and reading one without being hurt by it.
#pragma once

#include <string>
#include <tl/expected.hpp>
#include <vector>

#include "base/result.h"

namespace jetmem {

struct ConfigError {
  std::string file;
  int line = 0;  // from 1; 0: the file as a whole
  int column = 0;
  std::string key;      // "http.listen", where the error belongs to one
  std::string message;  // complete without the other fields, but for the place

  bool operator==(const ConfigError&) const = default;
};

// "/etc/jetmem/jetmem.yaml:3:5: unknown key ..."
std::string describe(const ConfigError& error);
// One line per error; the last one without its newline.
std::string describe(const std::vector<ConfigError>& errors);
// The same on stderr.
void print_errors(const std::vector<ConfigError>& errors);

struct ConfigFile {
  std::string path;
  bool must_exist = true;  // false: a missing file means that nothing is set in it
};

constexpr std::size_t kMaxConfigFileBytes = 1U << 20;
constexpr std::size_t kMaxConfigFiles = 256;

// The paths of DIRECTORY/*.yaml in lexical order; none where there is no such directory. Other
// names are left alone (editors' backups, packages' leftovers), except *.yml: whoever wrote it
// believes that it is read. Adds what is wrong to `errors`; of more than kMaxConfigFiles nothing is
// returned.
std::vector<std::string> list_yaml(const std::string& directory, std::vector<ConfigError>& errors);

// DIR/jetmem.yaml, which may be missing, then DIR/conf.d/*.yaml as list_yaml() has them.
tl::expected<std::vector<ConfigFile>, std::vector<ConfigError>> find_config_files(
    const std::string& directory);

// Why the program of a setting cannot be started by this user now. Empty: it can, or nobody knows.
std::string program_problem(const std::string& path);

// The whole text of a regular file of at most kMaxConfigFileBytes; never blocks on a FIFO.
Result<std::string> read_config_file(const std::string& path);

}  // namespace jetmem
