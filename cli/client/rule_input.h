// SPDX-License-Identifier: Apache-2.0
// The settings and rules of the commands alerts and rules.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/command.h"
#include "config/settings.h"
#include "rules/model/rules.h"

namespace jetmem {

struct NamedRules {
  std::vector<std::string> paths;  // files, and directories of *.yaml; none: those in force
  bool with_shipped = false;       // in front of the paths
};

// From the named files, or those below /etc/jetmem. Errors are printed; an invalid named file is
// one (settings_error()), an invalid /etc/jetmem gives the defaults, so that it does not stop a
// diagnosis.
Result<Settings> settings_for(const char* command, const std::vector<std::string>& named);

// Of files that could not be loaded: kNotRegular where one is not there (kAbsent would be what a
// command asks for), kDenied, else kMalformed.
Errc settings_error(const std::vector<std::string>& named);
// The same of rules; their paths may be folders.
Errc rules_error(const NamedRules& named);

// The rules of jetmemd: the shipped ones, then rules.directory.
ParsedRules rules_in_force(const RulesSettings& settings);

// PATH... and --with-shipped of the commands that read rules.
void add_rule_paths(const Command& command, NamedRules& named);
// `files`: how many were read. An error that --with-shipped would fix mentions that.
ParsedRules read_rules(const NamedRules& named, const RulesSettings& settings, std::size_t& files);

}  // namespace jetmem
