#include "cli/probe_told.h"

#include <nlohmann/json.hpp>

#include "base/gatherer.h"
#include "base/root.h"
#include "base/text.h"
#include "cli/exit_codes.h"
#include "probes/request.h"

namespace jetmem {

using nlohmann::ordered_json;

void ToldProbes::take(std::string line, const std::string& group) {
  ProbeRun run;
  if (auto ok = parse_probe_run(line, run); !ok) {
    errors.push_back({group, "printed what is no result: " + ok.error().message});
    return;
  }
  lines.push_back(std::move(line));
  runs.push_back(std::move(run));
}

Result<void> read_captured_probes(const std::string& directory, ToldProbes& told) {
  auto root = Root::at(directory);
  if (!root) return tl::unexpected(std::move(root.error()).within("--root"));
  Snapshot snapshot;
  const ReadLimits limits{.file_bytes = ProbeReading::kMaxRuns * kMaxProbeOutput,
                          .total_bytes = ProbeReading::kMaxRuns * kMaxProbeOutput};
  Gatherer gatherer(*root, snapshot, limits);
  const FileText file = gatherer.read("/jetmem/probe");
  if (!file.ok()) {
    Error error = file.as_error();
    if (error.code == Errc::kAbsent) error.message += ": no probe was captured";
    return tl::unexpected(std::move(error));
  }
  if (file.text == "\n") {
    return fail(Errc::kAbsent, "/jetmem/probe: no result held when this was captured");
  }
  Lines lines(file.text);
  std::string_view line;
  while (lines.next(line)) {
    if (told.runs.size() == ProbeReading::kMaxRuns) {
      told.errors.push_back(
          {"", "/jetmem/probe: more than " + std::to_string(ProbeReading::kMaxRuns) + " lines"});
      break;
    }
    const std::size_t before = told.errors.size();
    told.take(std::string(line), "");
    if (told.errors.size() > before) {
      told.errors.back().error.insert(
          0, "/jetmem/probe: line " + std::to_string(lines.number()) + " ");
    }
  }
  if (file.text.empty()) return fail(Errc::kMalformed, "/jetmem/probe is empty");
  return {};
}

std::string probe_json(const ToldProbes& told) {
  ordered_json out;
  out["runs"] = ordered_json::array();
  // Whole, with members that are not known here. That a line can be parsed is known by now, and
  // that it is not too deep for it.
  for (const std::string& line : told.lines) out["runs"].push_back(ordered_json::parse(line));
  out["skipped"] = ordered_json::array();
  for (const ToldProbes::Skipped& each : told.skipped) {
    out["skipped"].push_back(
        {{"group", each.group}, {"reason", each.reason}, {"words", each.words}});
  }
  out["errors"] = ordered_json::array();
  for (const ToldProbes::Failed& each : told.errors) {
    ordered_json entry;
    entry["group"] = nullptr;
    if (!each.group.empty()) entry["group"] = each.group;
    entry["error"] = each.error;
    out["errors"].push_back(std::move(entry));
  }
  return out.dump(2, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

int probe_exit_status(const ToldProbes& told) {
  if (!told.errors.empty()) return kExitFailed;
  bool tried = false;
  bool answered = false;
  bool refused = false;
  for (const ProbeRun& run : told.runs) {
    for (const ProbeRun::Probe& probe : run.probes) {
      const ProbeState state = probe.state;
      if (state == ProbeState::kFailed || state == ProbeState::kMismatch) return kExitFailed;
      tried = tried || state == ProbeState::kOk;
      answered = answered || state == ProbeState::kUnsupported;
      refused = refused || state == ProbeState::kDenied || state == ProbeState::kSkipped;
    }
  }
  return tried || (answered && !refused) ? kExitOk : kExitFailed;
}

}  // namespace jetmem
