#include "config/settings.h"

#include "base/version.h"

namespace jetmem {

std::string_view soc_choice_name(SocChoice choice) {
  switch (choice) {
    case SocChoice::kAuto:
      return "auto";
    case SocChoice::kTegra210:
      return "tegra210";
    case SocChoice::kTegra186:
      return "tegra186";
    case SocChoice::kTegra194:
      return "tegra194";
    case SocChoice::kTegra234:
      return "tegra234";
    case SocChoice::kTegra264:
      return "tegra264";
  }
  return "auto";
}

std::string_view process_lines_name(ProcessLines choice) {
  switch (choice) {
    case ProcessLines::kAuto:
      return "auto";
    case ProcessLines::kAlways:
      return "always";
    case ProcessLines::kNever:
      return "never";
  }
  return "auto";
}

std::string_view log_level_name(LogLevel level) {
  switch (level) {
    case LogLevel::kTrace:
      return "trace";
    case LogLevel::kDebug:
      return "debug";
    case LogLevel::kInfo:
      return "info";
    case LogLevel::kWarning:
      return "warning";
    case LogLevel::kError:
      return "error";
    case LogLevel::kCritical:
      return "critical";
  }
  return "unknown";
}

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
