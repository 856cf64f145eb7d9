// SPDX-License-Identifier: Apache-2.0
// jetmem sources: each source's state, and why.

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "base/text/json_integers.h"
#include "base/text/text.h"
#include "base/text/units.h"
#include "cli/client/device_client.h"
#include "cli/commands.h"
#include "cli/draw/table.h"
#include "cli/exit_codes.h"
#include "cli/text/answer_text.h"
#include "collectors/sampler/registry.h"
#include "collectors/sampler/sampler.h"
#include "rules/model/metric_catalog.h"

namespace jetmem {
namespace {

const SourceInfo* source_info(std::string_view name) {
  for (const SourceInfo* info : all_source_infos()) {
    if (info->name == name) return info;
  }
  return nullptr;
}

struct SourceRow {
  SourceNow now;
  const SourceInfo* info = nullptr;  // null: a source that only another version has
  std::size_t series = 0;
};

// "; absent: 3 powered_off": values that are missing although the source is ok.
std::string absent_values(const SourceNow& now) {
  std::string text;
  for (const auto& [reason, count] : now.absent_values) {
    text +=
        (text.empty() ? "; absent: " : ", ") + std::to_string(count) + " " + printable(reason, 64);
  }
  return text;
}

std::string explain(const SourceNow& now) {
  std::string text = printable(now.reason.empty() ? now.what : now.reason, 300);
  if (!now.skipped.empty()) text = "skipped: " + printable(now.skipped, 300);
  if (!now.grant.empty()) text += "; to read it: " + printable(now.grant, 300);
  return text + absent_values(now);
}

std::chrono::milliseconds interval_of(const SourceNow& now) {
  // Another machine says it: no number is too large, and NaN is none.
  constexpr double kLongest = 1e9;
  const double seconds = now.interval_seconds > 0 ? std::min(now.interval_seconds, kLongest) : 0;
  return std::chrono::milliseconds(static_cast<std::int64_t>(seconds * 1000));
}

std::string table_of(const std::vector<SourceRow>& rows) {
  constexpr auto kRight = Table::Align::kRight;
  Table table{{"SOURCE"}, {"STATE"}, {"SERIES", kRight}, {"INTERVAL", kRight}, {"BY", kRight}, {}};
  for (const SourceRow& row : rows) {
    table.row({row.now.name, printable(row.now.state, 20), std::to_string(row.series),
               format_duration(interval_of(row.now)),
               row.info == nullptr ? "-" : std::string(access_name(row.info->access)),
               explain(row.now)});
  }
  return table.text();
}

void print_json(const std::vector<SourceRow>& rows) {
  nlohmann::json list = nlohmann::json::array();
  for (const SourceRow& row : rows) {
    const SourceNow& now = row.now;
    nlohmann::json entry{{"source", now.name},
                         {"state", printable(now.state, 20)},
                         {"description", printable(now.what, 1000)},
                         {"series", row.series},
                         {"interval_seconds", now.interval_seconds}};
    if (row.info != nullptr) {
      entry["read_by"] = access_name(row.info->access);
      entry["paths"] = nlohmann::json::array();
      for (const std::string_view path : row.info->paths) entry["paths"].push_back(path);
    }
    if (!now.reason.empty()) entry["reason"] = printable(now.reason, 1000);
    if (!now.skipped.empty()) entry["skipped"] = printable(now.skipped, 1000);
    if (!now.grant.empty()) entry["grant"] = printable(now.grant, 1000);
    for (const auto& [reason, count] : now.absent_values) {
      entry["absent_values"][printable(reason, 64)] = count;
    }
    list.push_back(std::move(entry));
  }
  use_integers(list);
  put(list.dump(2) + "\n");
}

struct SourcesOptions : Target {
  bool local = false;
};

std::vector<SourceRow> rows_of(const DeviceNow& now) {
  std::map<std::string_view, std::size_t> series;
  for (const Sample& sample : now.samples.all()) {
    const auto metric = MetricCatalog::of_jetmem().find(sample.name.family);
    if (!metric || metric->sources.size() != 1) continue;
    const SourceInfo* const info = source_info(metric->sources.front());
    const auto declares = [&](const Descriptor& each) { return &each == metric->descriptor; };
    if (info == nullptr || std::none_of(info->metrics.begin(), info->metrics.end(), declares)) {
      continue;
    }
    ++series[info->name];
  }
  std::vector<SourceRow> rows;
  for (const SourceNow& source : now.sources) {
    rows.push_back({source, source_info(source.name), series[source.name]});
  }
  return rows;
}

int run_sources(const SourcesOptions& options) {
  DeviceClient client("sources", options);
  const auto now = options.local ? client.read_locally() : client.now();
  if (!now) return failed("sources", now.error());
  const std::vector<SourceRow> rows = rows_of(*now);
  if (options.json) {
    print_json(rows);
  } else {
    put(table_of(rows) + read_by_text(answer_from(*now), terminal_style()));
  }
  const bool one_failed = std::any_of(rows.begin(), rows.end(), [](const SourceRow& row) {
    return row.now.state == state_name(SourceState::kFailed);
  });
  return one_failed ? kExitWarning : kExitOk;
}

}  // namespace

void add_sources_command(const Command& program) {
  const Command command =
      program.add("sources", "Each source: its state and the reason, its series, its interval");
  auto& options = command.runs(run_sources);
  command
      .flag("--local", options.local,
            "Read this machine with your own rights: what a command without jetmemd can read")
      .excludes({"--daemon"});
  command.json("As JSON, with the paths that each source reads");
  command.device();
  command.footer(
      std::string(kAsksDaemon) +
      "States: ok; absent (this kernel or board has none); denied (it exists and needs a "
      "privilege, which is named); failed (it exists and could not be read or parsed); pending "
      "(skipped, to spare the device). 'absent: N reason' counts values that are missing although "
      "their source is ok.");
  command.exit_status("0 unless a source failed, then 1");
}

}  // namespace jetmem
