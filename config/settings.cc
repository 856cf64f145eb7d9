// SPDX-License-Identifier: Apache-2.0
#include "config/settings.h"

#include <array>

#include "base/version.h"
#include "config/named.h"

namespace jetmem {
namespace {

constexpr std::array kSocs{Named<SocChoice>{SocChoice::kAuto, "auto"},
                           Named<SocChoice>{SocChoice::kTegra210, "tegra210"},
                           Named<SocChoice>{SocChoice::kTegra186, "tegra186"},
                           Named<SocChoice>{SocChoice::kTegra194, "tegra194"},
                           Named<SocChoice>{SocChoice::kTegra234, "tegra234"},
                           Named<SocChoice>{SocChoice::kTegra264, "tegra264"}};
constexpr std::array kProcessLines{Named<ProcessLines>{ProcessLines::kAuto, "auto"},
                                   Named<ProcessLines>{ProcessLines::kAlways, "always"},
                                   Named<ProcessLines>{ProcessLines::kNever, "never"}};
constexpr std::array kLogLevels{
    Named<LogLevel>{LogLevel::kTrace, "trace"}, Named<LogLevel>{LogLevel::kDebug, "debug"},
    Named<LogLevel>{LogLevel::kInfo, "info"},   Named<LogLevel>{LogLevel::kWarning, "warning"},
    Named<LogLevel>{LogLevel::kError, "error"}, Named<LogLevel>{LogLevel::kCritical, "critical"}};

}  // namespace

std::string_view soc_choice_name(SocChoice choice) { return name_in(kSocs, choice); }
std::string_view process_lines_name(ProcessLines choice) { return name_in(kProcessLines, choice); }
std::string_view log_level_name(LogLevel level) { return name_in(kLogLevels, level); }

std::string RulesSettings::runbook_directory() const {
  return runbooks.empty() ? std::string(kDocDirectory) + "/runbooks" : runbooks;
}

const SourceSettings* Settings::find_source(std::string_view name) const {
  for (const SourceSettings& source : sources) {
    if (source.name == name) return &source;
  }
  return nullptr;
}

Settings default_settings(std::span<const KnownSource> sources) {
  Settings settings;
  settings.sources.reserve(sources.size());
  for (const KnownSource& source : sources) {
    settings.sources.push_back({.name = std::string(source.name), .interval = source.interval});
  }
  return settings;
}

}  // namespace jetmem
