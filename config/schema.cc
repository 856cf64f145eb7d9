#include "config/schema.h"

#include <algorithm>
#include <utility>

#include "base/text.h"

namespace jetmem {
namespace {

using namespace std::chrono_literals;

// `access` takes Settings& or const Settings& and returns the address of the setting's field.
template <class Type, class Access>
Setting declare(std::string key, Type type, Applies applies, std::string_view what, Access access) {
  Setting setting;
  setting.key = std::move(key);
  setting.what = what;
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
  setting.same = [access](const Settings& a, const Settings& b) {
    const auto* in_a = access(a);
    const auto* in_b = access(b);
    if (in_a == nullptr || in_b == nullptr) return in_a == in_b;
    return *in_a == *in_b;
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

std::string join(std::string_view section, std::string_view name) {
  std::string key(section);
  if (!key.empty()) key.push_back('.');
  return key.append(name);
}

}  // namespace

Schema::Schema(std::span<const KnownSource> sources)
    : settings_{
          declare("log.level",
                  Choice<LogLevel>{{LogLevel::kTrace, LogLevel::kDebug, LogLevel::kInfo,
                                    LogLevel::kWarning, LogLevel::kError},
                                   log_level_name},
                  Applies::kAtOnce, "The least important messages that are still logged.",
                  [](auto& s) { return &s.log.level; }),

          declare("http.listen", ListOf<Address>{{}, 16}, Applies::kAtRestart,
                  "Where /metrics and the API are served; an empty list opens no port.",
                  [](auto& s) { return &s.http.listen; }),
          declare("http.web_config", AbsolutePath{true}, Applies::kAtRestart,
                  "A file of TLS, passwords and headers for TCP addresses; empty: none of them.",
                  [](auto& s) { return &s.http.web_config; }),
          declare("http.hosts", ListOf<HostName>{{}, 16}, Applies::kAtRestart,
                  "Names of this device that browsers may ask it by, beside localhost.",
                  [](auto& s) { return &s.http.hosts; }),
          declare("http.max_connections", Integer{1, 1024}, Applies::kAtRestart,
                  "Connections open at a time, for each address; further ones wait.",
                  [](auto& s) { return &s.http.max_connections; }),
          declare("http.max_connections_per_client", Integer{1, 1024}, Applies::kAtRestart,
                  "Of those that one client may have over TCP; further ones are closed.",
                  [](auto& s) { return &s.http.max_connections_per_client; }),
          declare("http.request_timeout", Duration{1s, 5min}, Applies::kAtRestart,
                  "A request that is not complete after this long is cut.",
                  [](auto& s) { return &s.http.request_timeout; }),
          declare("http.idle_timeout", Duration{1s, 5min}, Applies::kAtRestart,
                  "A connection silent for this long is closed.",
                  [](auto& s) { return &s.http.idle_timeout; }),

          declare("reader.deadline", Duration{100ms, 60s}, Applies::kAtOnce,
                  "A jetmem-reader that has not answered after this long is given up.",
                  [](auto& s) { return &s.reader.deadline; }),
          declare("reader.max_wedged", Integer{1, 16}, Applies::kAtOnce,
                  "Readers that may hang in the kernel before no new one is started.",
                  [](auto& s) { return &s.reader.max_wedged; }),
          declare("reader.socket", AbsolutePath{true, kMaxSocketPath}, Applies::kAtRestart,
                  "Socket of the reader that systemd starts; used when it exists.",
                  [](auto& s) { return &s.reader.socket; }),
          declare("reader.program", AbsolutePath{true}, Applies::kAtRestart,
                  "The jetmem-reader to start where there is no socket.",
                  [](auto& s) { return &s.reader.program; }),

          declare("kernel_log.accept_user_records", Boolean{}, Applies::kAtOnce,
                  "Believe records that processes write into the kernel's log: for tests.",
                  [](auto& s) { return &s.kernel_log.accept_user_records; }),
          declare(
              "kernel_log.soc",
              Choice<SocChoice>{{SocChoice::kAuto, SocChoice::kTegra210, SocChoice::kTegra186,
                                 SocChoice::kTegra194, SocChoice::kTegra234, SocChoice::kTegra264},
                                soc_choice_name},
              Applies::kAtRestart, "The SoC whose stream IDs SMMU faults name.",
              [](auto& s) { return &s.kernel_log.soc; }),
          declare("kernel_log.process_lines",
                  Choice<ProcessLines>{
                      {ProcessLines::kAuto, ProcessLines::kAlways, ProcessLines::kNever},
                      process_lines_name},
                  Applies::kAtRestart,
                  "Follow the journal for NvMap and NvBufSurface errors of processes.",
                  [](auto& s) { return &s.kernel_log.process_lines; }),

          declare("tegrastats.program", AbsolutePath{true}, Applies::kAtRestart,
                  "The tegrastats to run; empty: the one that is installed, if any.",
                  [](auto& s) { return &s.tegrastats.program; }),

          declare("probe.frame", Size{4U << 10, 256U << 20}, Applies::kAtOnce,
                  "The largest buffer that is tried: a camera's frame.",
                  [](auto& s) { return &s.probe.frame; }),
          declare("probe.cuda", Boolean{}, Applies::kAtOnce,
                  "Whether memory is probed with CUDA at all.",
                  [](auto& s) { return &s.probe.cuda; }),
          declare("probe.cuda_interval", Duration{10min, 168h}, Applies::kAtOnce,
                  "Time between two probes with CUDA.",
                  [](auto& s) { return &s.probe.cuda_interval; }),
          declare("probe.min_available", Size{64U << 20, 1ULL << 40}, Applies::kAtOnce,
                  "MemAvailable below which nothing is probed with CUDA.",
                  [](auto& s) { return &s.probe.min_available; }),
          declare("probe.min_free", Size{32U << 20, 1ULL << 40}, Applies::kAtOnce,
                  "MemFree below which nothing is probed with CUDA.",
                  [](auto& s) { return &s.probe.min_free; }),
          declare("probe.deadline", Duration{5s, 10min}, Applies::kAtOnce,
                  "A jetmem-probe that has not ended after this long is killed.",
                  [](auto& s) { return &s.probe.deadline; }),
          declare("probe.socket", AbsolutePath{true, kMaxSocketPath}, Applies::kAtRestart,
                  "Socket of the jetmem-probe that systemd starts; used when it exists.",
                  [](auto& s) { return &s.probe.socket; }),
          declare("probe.program", AbsolutePath{true}, Applies::kAtRestart,
                  "The jetmem-probe to start where there is no socket.",
                  [](auto& s) { return &s.probe.program; }),

          declare("rules.shipped", Boolean{}, Applies::kAtOnce,
                  "Whether jetmem's own rules are judged.",
                  [](auto& s) { return &s.rules.shipped; }),
          declare("rules.directory", AbsolutePath{true}, Applies::kAtOnce,
                  "Where the site's own rules and thresholds are (*.yaml).",
                  [](auto& s) { return &s.rules.directory; }),
          declare("rules.interval", Duration{1s, 150s}, Applies::kAtOnce,
                  "Time between two judgements.", [](auto& s) { return &s.rules.interval; }),
          declare("rules.memory", Size{64U << 10, 8U << 20}, Applies::kAtOnce,
                  "The most memory for the past of the series that rules mention.",
                  [](auto& s) { return &s.rules.memory; }),
          declare("rules.runbooks", AbsolutePath{true}, Applies::kAtOnce,
                  "Where the runbooks are that alerts point to; empty: where they were installed.",
                  [](auto& s) { return &s.rules.runbooks; }),

          declare("alerts.program", AbsolutePath{true}, Applies::kAtOnce,
                  "A program to run when an alert fires or resolves; empty: none.",
                  [](auto& s) { return &s.alerts.program; }),
          declare("alerts.socket", AbsolutePath{true, kMaxSocketPath}, Applies::kAtOnce,
                  "A socket that is told when an alert fires or resolves; empty: none.",
                  [](auto& s) { return &s.alerts.socket; }),
          declare("alerts.deadline", Duration{1s, 5min}, Applies::kAtOnce,
                  "A program that has not ended after this long is killed.",
                  [](auto& s) { return &s.alerts.deadline; }),
          declare("alerts.compact", Boolean{}, Applies::kAtOnce,
                  "Ask the kernel to compact memory when it is fragmented.",
                  [](auto& s) { return &s.alerts.compact; }),
          declare("alerts.compact_interval", Duration{10min, 168h}, Applies::kAtOnce,
                  "The shortest time between two compactions.",
                  [](auto& s) { return &s.alerts.compact_interval; }),
          declare("alerts.compact_socket", AbsolutePath{false, kMaxSocketPath}, Applies::kAtOnce,
                  "Socket of the unit that may compact memory.",
                  [](auto& s) { return &s.alerts.compact_socket; }),

          declare("history.enabled", Boolean{}, Applies::kAtRestart,
                  "Whether what is measured is kept on this device's disk.",
                  [](auto& s) { return &s.history.enabled; }),
          declare("history.directory", AbsolutePath{true}, Applies::kAtRestart,
                  "Where the history is kept; empty: the state directory that systemd made.",
                  [](auto& s) { return &s.history.directory; }),
          declare("history.interval", Duration{5s, 60s}, Applies::kAtRestart,
                  "Time between two values of a series.",
                  [](auto& s) { return &s.history.interval; }),
          declare("history.max_size", Size{8U << 20, 1U << 30}, Applies::kAtRestart,
                  "The most that the history may take of the disk.",
                  [](auto& s) { return &s.history.max_size; }),
          declare("history.metrics", ListOf<MetricPattern>{{}, 64}, Applies::kAtRestart,
                  "Metrics to keep beside the default ones, or not to keep.",
                  [](auto& s) { return &s.history.metrics; }),

          declare("capture.enabled", Boolean{}, Applies::kAtOnce,
                  "Whether a bundle is written when a critical alert fires.",
                  [](auto& s) { return &s.capture.enabled; }),
          declare("capture.keep", Integer{1, 100}, Applies::kAtOnce,
                  "Bundles that are kept; the oldest go.", [](auto& s) { return &s.capture.keep; }),
          declare("capture.max_size", Size{1U << 20, 1U << 30}, Applies::kAtOnce,
                  "The most that all bundles together may take of the disk.",
                  [](auto& s) { return &s.capture.max_size; }),
          declare("capture.interval", Duration{10min, 168h}, Applies::kAtOnce,
                  "The shortest time between two bundles.",
                  [](auto& s) { return &s.capture.interval; }),
          declare("capture.history", Duration{10min, 72h}, Applies::kAtOnce,
                  "How much of the past goes into a bundle.",
                  [](auto& s) { return &s.capture.history; }),
          declare("capture.deadline", Duration{10s, 10min}, Applies::kAtOnce,
                  "A capture that has not ended after this long is killed.",
                  [](auto& s) { return &s.capture.deadline; }),

          declare("textfile.directory", AbsolutePath{true}, Applies::kAtRestart,
                  "A node_exporter's textfile directory, to write jetmem.prom into; empty: none.",
                  [](auto& s) { return &s.textfile.directory; }),
          declare("textfile.interval", Duration{5s, 10min}, Applies::kAtRestart,
                  "Time between two writes of jetmem.prom.",
                  [](auto& s) { return &s.textfile.interval; }),
      } {
  for (const KnownSource& source : sources) {
    const std::string section = join("sources", source.name);
    settings_.push_back(declare(join(section, "enabled"), Boolean{}, Applies::kAtOnce,
                                "Whether the source is read at all.",
                                source_field(source.name, &SourceSettings::enabled)));
    settings_.push_back(declare(join(section, "interval"), Duration{source.shortest_interval, 1h},
                                Applies::kAtOnce, "Time between two readings.",
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
  if (!near.empty()) return join(section, near);
  // The right name in the wrong section, if only one setting bears it.
  const Setting* elsewhere = nullptr;
  for (const Setting& setting : settings_) {
    if (last_name(setting.key) != name) continue;
    if (elsewhere != nullptr) return {};
    elsewhere = &setting;
  }
  return elsewhere == nullptr ? std::string() : elsewhere->key;
}

}  // namespace jetmem
