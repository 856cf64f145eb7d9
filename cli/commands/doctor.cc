// SPDX-License-Identifier: Apache-2.0
// jetmem doctor: the walk of an expert through the device, and what it adds up to.

#include <algorithm>
#include <cstdio>

#include "base/text/text.h"
#include "cli/client/device_client.h"
#include "cli/client/rule_input.h"
#include "cli/commands.h"
#include "cli/draw/terminal.h"
#include "cli/exit_codes.h"
#include "cli/text/doctor_text.h"
#include "cli/text/judgement_text.h"
#include "config/yaml_fields.h"

namespace jetmem {
namespace {

struct DoctorOptions : Target {
  bool all = false;
  std::string step;
};

// Absent where the daemon has no such page (an older one), or none answers.
Result<DoctorAnswer> from_daemon(const Target& requested, const HttpSettings& http) {
  auto reply = ask_daemon(requested, http, "/api/v1/doctor", std::chrono::seconds(10));
  if (!reply) return tl::unexpected(std::move(reply.error()));
  auto answer = parse_doctor(reply->body);
  if (!answer) return tl::unexpected(std::move(answer.error()).within(reply->from.text()));
  answer->from.from = reply->from.text();
  return answer;
}

Result<DoctorAnswer> ask(const Target& requested) {
  std::string failed;
  if (!requested.root.empty()) {
    // Of a machine that was captured from afar: its jetmemd had the history.
    if (const auto text = captured_text(requested.root, kCapturedDoctor)) {
      auto answer = parse_doctor(*text);
      if (!answer) return tl::unexpected(std::move(answer.error()).within(kCapturedDoctor));
      answer->from.by = snapshot_origin_name(SnapshotOrigin::kCapture);
      answer->from.from = requested.root_name.empty() ? requested.root : requested.root_name;
      return answer;
    }
  } else {
    const auto settings = settings_for("doctor", requested.config);
    if (!settings) return tl::unexpected(settings.error());
    auto reported = from_daemon(requested, settings->http);
    if (reported || reported.error().code == Errc::kInvalid) return reported;
    failed = std::move(reported.error().message);
  }
  std::string silent;
  auto now = query_device(requested, &silent);
  if (!now) return tl::unexpected(std::move(now.error()));
  auto history = open_device_history(requested);
  DoctorAnswer answer =
      history ? examine(*now, history->get()) : examine(*now, nullptr, history.error().message);
  // A daemon that is not there is among the notes already.
  const auto& notes = answer.notes;
  if (!failed.empty() && silent.empty() &&
      std::find(notes.begin(), notes.end(), failed) == notes.end()) {
    answer.notes.push_back("examined here, as jetmemd's own examination is unavailable: " + failed);
  }
  return answer;
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
