// SPDX-License-Identifier: Apache-2.0
#include "cli/probe/probe_report.h"

#include "base/json/fields.h"
#include "base/root/gatherer.h"
#include "base/root/root.h"
#include "base/text/text.h"
#include "cli/exit_codes.h"
#include "probes/request.h"

namespace jetmem {

void ProbeReport::take(std::string line, const std::string& group) {
  ProbeRun run;
  if (auto ok = parse_probe_run(line, run); !ok) {
    errors.push_back({group, "produced invalid output: " + ok.error().message});
    return;
  }
  lines.push_back(std::move(line));
  runs.push_back(std::move(run));
}

Result<void> read_captured_probes(const std::string& directory, ProbeReport& probe_report) {
  auto root = Root::at(directory);
  if (!root) return tl::unexpected(std::move(root.error()).within("--root"));
  Snapshot snapshot;
  const ReadLimits limits{.file_bytes = ProbeReading::kMaxRuns * kMaxProbeOutput,
                          .total_bytes = ProbeReading::kMaxRuns * kMaxProbeOutput};
  Gatherer gatherer(*root, snapshot, limits);
  const FileText file = gatherer.read("/jetmem/probe");
  if (!file.ok()) {
    Error error = file.as_error();
    if (error.code == Errc::kAbsent) error.message += ": the capture has no probe";
    return tl::unexpected(std::move(error));
  }
  if (file.text == "\n") {
    return fail(Errc::kAbsent, "/jetmem/probe: no valid result at the time of the capture");
  }
  Lines lines(file.text);
  std::string_view line;
  while (lines.next(line)) {
    if (probe_report.runs.size() == ProbeReading::kMaxRuns) {
      probe_report.errors.push_back(
          {"", "/jetmem/probe: more than " + std::to_string(ProbeReading::kMaxRuns) + " lines"});
      break;
    }
    const std::size_t before = probe_report.errors.size();
    probe_report.take(std::string(line), "");
    if (probe_report.errors.size() > before) {
      probe_report.errors.back().error.insert(
          0, "/jetmem/probe: line " + std::to_string(lines.number()) + " ");
    }
  }
  if (file.text.empty()) return fail(Errc::kMalformed, "/jetmem/probe is empty");
  return {};
}

static void describe(json::Fields& v, ProbeReport::Skipped& skipped) {
  v("group", skipped.group);
  v("reason", skipped.reason);
  v("message", skipped.message);
}

static void describe(json::Fields& v, ProbeReport::Failed& failed) {
  v.null_if_empty("group", failed.group);
  v("error", failed.error);
}

static void describe(json::Fields& v, ProbeReport& report) {
  // Whole, with members that are not known here.
  v.list("runs", report.lines, [](json::Fields& w, std::string& line) { w.whole(line); });
  v("skipped", report.skipped);
  v("errors", report.errors);
}

std::string probe_json(const ProbeReport& probe_report) { return json::write(probe_report, 2); }

int probe_exit_status(const ProbeReport& probe_report) {
  bool tried = false;
  bool failed = false;
  bool answered = false;
  bool refused = false;
  for (const ProbeRun& run : probe_report.runs) {
    for (const ProbeRun::Probe& probe : run.probes) {
      const ProbeState state = probe.state;
      // As the alert of it: memory that does not hold what was written is the worst.
      if (state == ProbeState::kMismatch) return kExitCritical;
      failed = failed || state == ProbeState::kFailed;
      tried = tried || state == ProbeState::kOk;
      answered = answered || state == ProbeState::kUnsupported;
      refused = refused || state == ProbeState::kDenied || state == ProbeState::kSkipped;
    }
  }
  if (failed) return kExitWarning;
  const bool complete = probe_report.errors.empty() && (tried || (answered && !refused));
  return complete ? kExitOk : kExitUnknown;
}

}  // namespace jetmem
