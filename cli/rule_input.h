// The settings and rules that the commands alerts and rules go by.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "config/rules.h"
#include "config/settings.h"

namespace CLI {
class App;
}

namespace jetmem {

// From the files named, or those below /etc/jetmem. Nothing, and said on stderr, where a named one
// is wrong; where one of /etc/jetmem is, that is said and the defaults hold: who looks for what is
// wrong with a device must not be stopped by it.
std::optional<Settings> settings_for(const char* command, const std::vector<std::string>& named);

// The rules that jetmemd judges by: the shipped ones, then rules.directory.
ParsedRules rules_in_force(const RulesSettings& settings);

struct NamedRules {
  std::vector<std::string> paths;  // files, and directories of *.yaml; none: those in force
  bool with_shipped = false;       // in front of the paths
};
// PATH... and --with-shipped of the commands that read rules.
void add_rule_paths(CLI::App* command, NamedRules& named);
// `files`: how many were read. A mistake that is none with the shipped rules says so.
ParsedRules read_rules(const NamedRules& named, const RulesSettings& settings, std::size_t& files);

}  // namespace jetmem
