// SPDX-License-Identifier: Apache-2.0
#include "config/schema.h"

#include <algorithm>
#include <utility>

#include "base/text/text.h"

namespace jetmem {
namespace {

using namespace std::chrono_literals;

// Letters, digits and these signs.
bool consists_of(std::string_view text, std::string_view signs) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [&](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || is_digit(c) ||
           signs.find(c) != std::string_view::npos;
  });
}
// A name in the DNS, or in /etc/hosts: no port, no scheme.
constexpr Word kHostName{"a name such as orin-7.example.org, without a port", 253,
                         [](std::string_view text) { return consists_of(text, ".-_"); }};
// A metric's name in which '*' stands for any run of characters, a '-' in front perhaps.
constexpr Word kMetricPattern{
    "a metric's name such as jetmem_nvmap_process_bytes, '*' for any characters, '-' in front to "
    "exclude it",
    200, [](std::string_view text) {
      take_prefix(text, "-");
      return consists_of(text, "*_");
    }};

// `access` takes Settings& or const Settings& and returns the address of the setting's field.
template <class Type, class Access>
Setting declare(std::string key, Type type, Applies applies, Access access) {
  Setting setting;
  setting.key = std::move(key);
  setting.allowed = type.allowed();
  setting.applies = applies;
  setting.read = [type, access](const YamlNode& node, Settings& to, ValueProblems& problems) {
    auto value = type.read(node, problems);
    auto* field = access(to);
    if (value && field != nullptr) *field = std::move(*value);
  };
  setting.show = [type, access](const Settings& from) {
    const auto* field = access(from);
    return field == nullptr ? std::string() : type.show(*field);
  };
  setting.copy = [access](const Settings& from, Settings& to) {
    const auto* value = access(from);
    auto* field = access(to);
    if (value != nullptr && field != nullptr) *field = *value;
  };
  return setting;
}

// The field of one source, by name: null in settings that do not know the source.
template <class Field>
auto source_field(std::string_view source, Field SourceSettings::*field) {
  return [name = std::string(source), field](auto& settings) {
    using Pointer = decltype(&(settings.sources.front().*field));
    for (auto& each : settings.sources) {
      if (each.name == name) return &(each.*field);
    }
    return Pointer{nullptr};
  };
}

std::string_view last_name(std::string_view key) { return key.substr(key.rfind('.') + 1); }

}  // namespace

std::string setting_key(std::string_view section, std::string_view name) {
  std::string key(section);
  if (!key.empty()) key.push_back('.');
  return key.append(name);
}

Schema::Schema(std::span<const KnownSource> sources)
    : settings_{
          declare("log.level",
                  Choice<LogLevel>{{LogLevel::kTrace, LogLevel::kDebug, LogLevel::kInfo,
                                    LogLevel::kWarning, LogLevel::kError},
                                   log_level_name},
                  Applies::kAtOnce, [](auto& s) { return &s.log.level; }),

          declare("http.listen", ListOf<Address>{{}, 16}, Applies::kAtRestart,
                  [](auto& s) { return &s.http.listen; }),
          declare("http.web_config", AbsolutePath{true}, Applies::kAtRestart,
                  [](auto& s) { return &s.http.web_config; }),
          declare("http.hosts", ListOf<Word>{kHostName, 16}, Applies::kAtRestart,
                  [](auto& s) { return &s.http.hosts; }),
          declare("http.max_connections", Integer{1, 1024}, Applies::kAtRestart,
                  [](auto& s) { return &s.http.max_connections; }),
          declare("http.max_connections_per_client", Integer{1, 1024}, Applies::kAtRestart,
                  [](auto& s) { return &s.http.max_connections_per_client; }),
          declare("http.request_timeout", Duration{1s, 5min}, Applies::kAtRestart,
                  [](auto& s) { return &s.http.request_timeout; }),

          declare("reader.deadline", Duration{100ms, 60s}, Applies::kAtOnce,
                  [](auto& s) { return &s.reader.deadline; }),
          declare("reader.max_wedged", Integer{1, 16}, Applies::kAtOnce,
                  [](auto& s) { return &s.reader.max_wedged; }),
          declare("reader.socket", AbsolutePath{true, kMaxSocketPath}, Applies::kAtRestart,
                  [](auto& s) { return &s.reader.socket; }),
          declare("reader.program", AbsolutePath{true}, Applies::kAtRestart,
                  [](auto& s) { return &s.reader.program; }),

          declare("kernel_log.accept_user_records", Boolean{}, Applies::kAtOnce,
                  [](auto& s) { return &s.kernel_log.accept_user_records; }),
          declare(
              "kernel_log.soc",
              Choice<SocChoice>{{SocChoice::kAuto, SocChoice::kTegra210, SocChoice::kTegra186,
                                 SocChoice::kTegra194, SocChoice::kTegra234, SocChoice::kTegra264},
                                soc_choice_name},
              Applies::kAtRestart, [](auto& s) { return &s.kernel_log.soc; }),
          declare("kernel_log.library_errors",
                  Choice<ProcessLines>{
                      {ProcessLines::kAuto, ProcessLines::kAlways, ProcessLines::kNever},
                      process_lines_name},
                  Applies::kAtRestart, [](auto& s) { return &s.kernel_log.library_errors; }),

          declare("messages.directory", AbsolutePath{true}, Applies::kAtOnce,
                  [](auto& s) { return &s.messages.directory; }),

          declare("tegrastats.program", AbsolutePath{true}, Applies::kAtRestart,
                  [](auto& s) { return &s.tegrastats.program; }),

          declare("probe.frame", Size{4U << 10, 256U << 20}, Applies::kAtOnce,
                  [](auto& s) { return &s.probe.frame; }),
          declare("probe.cuda", Boolean{}, Applies::kAtOnce, [](auto& s) { return &s.probe.cuda; }),
          declare("probe.cuda_interval", Duration{10min, 168h}, Applies::kAtOnce,
                  [](auto& s) { return &s.probe.cuda_interval; }),
          declare("probe.min_available", Size{64U << 20, 1ULL << 40}, Applies::kAtOnce,
                  [](auto& s) { return &s.probe.min_available; }),
          declare("probe.min_free", Size{32U << 20, 1ULL << 40}, Applies::kAtOnce,
                  [](auto& s) { return &s.probe.min_free; }),
          declare("probe.deadline", Duration{5s, 10min}, Applies::kAtOnce,
                  [](auto& s) { return &s.probe.deadline; }),
          declare("probe.socket", AbsolutePath{true, kMaxSocketPath}, Applies::kAtRestart,
                  [](auto& s) { return &s.probe.socket; }),
          declare("probe.program", AbsolutePath{true}, Applies::kAtRestart,
                  [](auto& s) { return &s.probe.program; }),

          declare("rules.shipped", Boolean{}, Applies::kAtOnce,
                  [](auto& s) { return &s.rules.shipped; }),
          declare("rules.directory", AbsolutePath{true}, Applies::kAtOnce,
                  [](auto& s) { return &s.rules.directory; }),
          declare("rules.interval", Duration{1s, 150s}, Applies::kAtOnce,
                  [](auto& s) { return &s.rules.interval; }),
          declare("rules.memory", Size{64U << 10, 8U << 20}, Applies::kAtOnce,
                  [](auto& s) { return &s.rules.memory; }),
          declare("rules.runbooks", AbsolutePath{true}, Applies::kAtOnce,
                  [](auto& s) { return &s.rules.runbooks; }),

          declare("alerts.program", AbsolutePath{true}, Applies::kAtOnce,
                  [](auto& s) { return &s.alerts.program; }),
          declare("alerts.deadline", Duration{1s, 5min}, Applies::kAtOnce,
                  [](auto& s) { return &s.alerts.deadline; }),

          declare("history.enabled", Boolean{}, Applies::kAtRestart,
                  [](auto& s) { return &s.history.enabled; }),
          declare("history.directory", AbsolutePath{true}, Applies::kAtRestart,
                  [](auto& s) { return &s.history.directory; }),
          declare("history.interval", Duration{5s, 60s}, Applies::kAtRestart,
                  [](auto& s) { return &s.history.interval; }),
          declare("history.max_size", Size{8U << 20, 1U << 30}, Applies::kAtRestart,
                  [](auto& s) { return &s.history.max_size; }),
          declare("history.metrics", ListOf<Word>{kMetricPattern, 64}, Applies::kAtRestart,
                  [](auto& s) { return &s.history.metrics; }),

          declare("capture.enabled", Boolean{}, Applies::kAtOnce,
                  [](auto& s) { return &s.capture.enabled; }),
          declare("capture.keep", Integer{1, 100}, Applies::kAtOnce,
                  [](auto& s) { return &s.capture.keep; }),
          declare("capture.max_size", Size{1U << 20, 1U << 30}, Applies::kAtOnce,
                  [](auto& s) { return &s.capture.max_size; }),
          declare("capture.interval", Duration{10min, 168h}, Applies::kAtOnce,
                  [](auto& s) { return &s.capture.interval; }),
          declare("capture.history", Duration{10min, 72h}, Applies::kAtOnce,
                  [](auto& s) { return &s.capture.history; }),
          declare("capture.deadline", Duration{10s, 10min}, Applies::kAtOnce,
                  [](auto& s) { return &s.capture.deadline; }),
      } {
  for (const KnownSource& source : sources) {
    const std::string section = setting_key("sources", source.name);
    settings_.push_back(declare(setting_key(section, "enabled"), Boolean{}, Applies::kAtOnce,
                                source_field(source.name, &SourceSettings::enabled)));
    settings_.push_back(declare(setting_key(section, "interval"),
                                Duration{source.shortest_interval, 1h}, Applies::kAtOnce,
                                source_field(source.name, &SourceSettings::interval)));
  }
}

Schema Schema::of(const Settings& settings) {
  std::vector<KnownSource> sources;
  sources.reserve(settings.sources.size());
  for (const SourceSettings& source : settings.sources) sources.push_back({source.name});
  return Schema(sources);
}

const Setting* Schema::find(std::string_view key) const {
  for (const Setting& setting : settings_) {
    if (setting.key == key) return &setting;
  }
  return nullptr;
}

bool Schema::is_section(std::string_view key) const {
  return std::any_of(settings_.begin(), settings_.end(), [&](const Setting& setting) {
    std::string_view rest = setting.key;
    return key.empty() || (take_prefix(rest, key) && take_prefix(rest, "."));
  });
}

std::vector<std::string_view> Schema::names_in(std::string_view section) const {
  std::vector<std::string_view> names;
  for (const Setting& setting : settings_) {
    std::string_view rest = setting.key;
    if (!section.empty() && !(take_prefix(rest, section) && take_prefix(rest, "."))) continue;
    const std::string_view name = rest.substr(0, rest.find('.'));
    if (names.empty() || names.back() != name) names.push_back(name);
  }
  return names;
}

std::string Schema::suggest(std::string_view section, std::string_view name) const {
  const std::string_view near = nearest_name(name, names_in(section));
  if (!near.empty()) return setting_key(section, near);
  // The right name in the wrong section, if only one setting bears it.
  const Setting* elsewhere = nullptr;
  for (const Setting& setting : settings_) {
    if (last_name(setting.key) != name) continue;
    if (elsewhere != nullptr) return {};
    elsewhere = &setting;
  }
  return elsewhere == nullptr ? std::string() : elsewhere->key;
}

std::vector<std::string> keys_that_need_restart(const Settings& running, const Settings& needed) {
  std::vector<std::string> keys;
  const Schema schema = Schema::of(running);
  for (const Setting& setting : schema.settings()) {
    if (setting.applies == Applies::kAtOnce) continue;
    if (setting.show(running) != setting.show(needed)) keys.push_back(setting.key);
  }
  return keys;
}

Settings applicable_without_restart(const Settings& running, const Settings& needed) {
  Settings result = needed;
  const Schema schema = Schema::of(running);
  for (const Setting& setting : schema.settings()) {
    if (setting.applies == Applies::kAtRestart) setting.copy(running, result);
  }
  return result;
}

}  // namespace jetmem
