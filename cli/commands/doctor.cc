// SPDX-License-Identifier: Apache-2.0
// jetmem doctor: the walk of an expert through the device, and what it adds up to.

#include <algorithm>
#include <cstdio>

#include "base/text/text.h"
#include "cli/client/device_client.h"
#include "cli/commands.h"
#include "cli/draw/terminal.h"
#include "cli/exit_codes.h"
#include "cli/suggestion.h"
#include "cli/text/doctor_text.h"
#include "cli/text/judgement_text.h"
#include "config/yaml_fields.h"

namespace jetmem {
namespace {

struct DoctorOptions : Target {
  bool all = false;
  std::string step;
};

Result<DoctorAnswer> ask(const Target& requested) {
  if (!requested.root.empty()) {
    // Of a machine that was captured from afar: its jetmemd had the history.
    if (const auto text = captured_text(requested.root, kCapturedDoctor)) {
      auto answer = parse_doctor(*text);
      if (!answer) return tl::unexpected(std::move(answer.error()).within(kCapturedDoctor));
      answer->from.by = snapshot_origin_name(SnapshotOrigin::kCapture);
      answer->from.from = requested.root_name.empty() ? requested.root : requested.root_name;
      return answer;
    }
  }
  DeviceClient client("", requested);
  auto now = client.now();
  if (!now) return tl::unexpected(std::move(now.error()));
  const bool answered = now->by == SnapshotOrigin::kDaemon;
  if (answered) {
    // An older one has no such page, or its disk hangs.
    auto reported = client.ask("/api/v1/doctor", parse_doctor, std::chrono::seconds(10));
    if (reported) reported->from.from = client.from();
    if (reported) return reported;
    now->notes.push_back("examined here, as jetmemd's own examination is unavailable: " +
                         reported.error().message);
  }
  auto history = answered ? client.history() : client.history_file();
  return history ? examine(*now, history->get()) : examine(*now, nullptr, history.error().message);
}

int run_doctor(const DoctorOptions& options) {
  const auto names = doctor_steps();
  if (!options.step.empty() && std::find(names.begin(), names.end(), options.step) == names.end()) {
    return failed("doctor", {Errc::kInvalid, "unknown step " + printable(options.step, 60) +
                                                 "; known: " + join_names(names)});
  }
  auto answer = ask(options);
  if (!answer) return undecided("doctor", options, answer.error());
  const DoctorAnswer::Step* const step = answer->step(options.step);
  if (!options.step.empty() && step == nullptr) {
    warn("doctor", "the answer has no step " + options.step);
    return kExitUnknown;
  }
  const Verdict verdict = step != nullptr ? step->verdict : answer->level;
  if (options.json) {
    put(doctor_json(*answer));
    return verdict_exit(verdict);
  }
  for (DoctorAnswer::Step& each : answer->steps) {
    each.confirm = commands_for(options, each.confirm);
    each.remedy = with_target(options, each.remedy);
  }
  put(doctor_text(*answer, {terminal_style(), options.all, options.step}));
  return verdict_exit(verdict);
}

}  // namespace

void add_doctor_command(const Command& program) {
  const Command command = program.add(
      "doctor", "What is wrong with this device, since when, who is involved, and what to do");
  auto& options = command.runs(run_doctor);
  command.json("As JSON (docs/doctor.md), all steps");
  command.flag("--all", options.all, "Every step in full, also those that are ok");
  command.option("--step", options.step, "NAME",
                 "Only this step, in full; the exit status is its own");
  command.device();
  command.footer(
      std::string(kAsksDaemon) +
      "Without jetmemd the history is read from the recorder's file (DIR/jetmem/history.db below "
      "--root). A program is named only where the numbers prove it.");
  command.exit_status(
      "0 ok; 1 warning; 2 critical; 3 if nothing bad is known but some steps are unknown, or the "
      "device could not be read");
}

}  // namespace jetmem
