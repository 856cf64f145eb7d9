// SPDX-License-Identifier: Apache-2.0
// jetmem sources: each source's state, and why.

#include <cstdio>
#include <nlohmann/json.hpp>

#include "base/text/text.h"
#include "base/text/units.h"
#include "cli/client/local_snapshot.h"
#include "cli/commands.h"
#include "cli/exit_codes.h"

namespace jetmem {
namespace {

// "; absent: 3 powered_off": values that are missing although the source is ok.
std::string absent_values(const AbsentValues& absent) {
  std::string text;
  for (const AbsentValues::Count& count : absent.counts()) {
    if (count.count == 0) continue;
    text += (text.empty() ? "; absent: " : ", ") + std::to_string(count.count) + " " +
            std::string(count.reason);
  }
  return text;
}

std::string explain(const SourceInfo& info, const SourceStatus& status,
                    const AbsentValues& absent) {
  std::string text = printable(status.reason.empty() ? info.what : status.reason, 300);
  if (!status.skipped.empty()) text = "skipped: " + printable(status.skipped, 300);
  if (status.state == SourceState::kDenied && !info.grant.empty()) {
    text += "; to read it: " + std::string(info.grant);
  }
  return text + absent_values(absent);
}

void print_table(const LocalSnapshot& shot) {
  std::printf("%-14s %-8s %6s %8s %7s  %s\n", "SOURCE", "STATE", "SERIES", "INTERVAL", "BY", "");
  for (const std::size_t i : shot.chosen()) {
    const SourceInfo& info = shot.sampler().info(i);
    const SourceStatus& status = shot.sampler().status(i);
    std::printf("%-14s %-8s %6zu %8s %7s  %s\n", std::string(info.name).c_str(),
                std::string(state_name(status.state)).c_str(), shot.series_of(i),
                format_duration(info.interval).c_str(),
                std::string(access_name(info.access)).c_str(),
                explain(info, status, shot.sampler().absent(i)).c_str());
  }
}

void print_json(const LocalSnapshot& shot) {
  nlohmann::json list = nlohmann::json::array();
  for (const std::size_t i : shot.chosen()) {
    const SourceInfo& info = shot.sampler().info(i);
    const SourceStatus& status = shot.sampler().status(i);
    nlohmann::json paths = nlohmann::json::array();
    for (const std::string_view path : info.paths) paths.push_back(path);
    nlohmann::json entry{{"source", info.name},
                         {"state", state_name(status.state)},
                         {"description", info.what},
                         {"series", shot.series_of(i)},
                         {"interval_seconds", static_cast<double>(info.interval.count()) / 1000},
                         {"read_by", access_name(info.access)},
                         {"paths", paths}};
    if (!status.reason.empty()) entry["reason"] = printable(status.reason, 1000);
    if (!status.skipped.empty()) entry["skipped"] = printable(status.skipped, 1000);
    if (status.state == SourceState::kDenied) entry["grant"] = info.grant;
    for (const AbsentValues::Count& count : shot.sampler().absent(i).counts()) {
      if (count.count > 0) entry["absent_values"][std::string(count.reason)] = count.count;
    }
    list.push_back(std::move(entry));
  }
  std::printf("%s\n", list.dump(2).c_str());
}

struct SourcesOptions : Target {
  bool json = false;
};

int run_sources(const SourcesOptions& options) {
  auto shot = LocalSnapshot::read(options.root, {});
  if (!shot) return failed("sources", shot.error());
  if (options.json) {
    print_json(**shot);
  } else {
    print_table(**shot);
  }
  for (const std::size_t i : (*shot)->chosen()) {
    if ((*shot)->sampler().status(i).state == SourceState::kFailed) return kExitFailed;
  }
  return kExitOk;
}

}  // namespace

void add_sources_command(const Command& program) {
  const Command command =
      program.add("sources", "Each source: its state and the reason, its series, its interval");
  auto& options = command.runs(run_sources);
  command.flag("--json", options.json, "As JSON, with the paths that each source reads");
  command.footer(
      "States: ok; absent (this kernel or board has none); denied (it exists and needs a "
      "privilege, which is named); failed (it exists and could not be read or parsed); pending "
      "(skipped, to spare the device). 'absent: N reason' counts values that are missing although "
      "their source is ok. Reads with your privileges, not the daemon's. --root DIR reads below "
      "DIR.\n"
      "Exit status: 0 unless a source failed, then 1; 2 on a wrong command line.");
}

}  // namespace jetmem
