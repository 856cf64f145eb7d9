// SPDX-License-Identifier: Apache-2.0
// jetmem mark: notes what a person did to the device, so that graphs and `jetmem boots` have it.

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "base/clock.h"
#include "base/json/fields.h"
#include "base/root/facts.h"
#include "base/root/small_file.h"
#include "base/text/text.h"
#include "base/text/utc_time.h"
#include "cli/commands.h"
#include "cli/exit_codes.h"
#include "cli/text/events/event_text.h"
#include "collectors/device/boot/marks.h"
#include "collectors/device/boot/restart_summary.h"
#include "config/yaml_fields.h"
#include "report/doctor/doctor.h"

namespace jetmem {
namespace {

using boot::Mark;
using boot::Marks;

struct AckOptions : Target {
  std::string finding;
  std::string why;
  std::string state_directory{boot::kStateDirectory};
};

struct MarkOptions : Target {
  std::optional<std::string> text;
  std::string state_directory{boot::kStateDirectory};
  bool list = false;
};

int run_list(const std::string& directory, bool as_json) {
  auto text = read_small_file(directory + "/" + std::string(boot::kMarksFile));
  if (!text && text.error().code == Errc::kDenied) {
    text.error().message += "; it needs root or the group jetmem: sudo jetmem mark --list";
  }
  if (!text && text.error().code != Errc::kAbsent) return failed("mark", text.error());
  Marks marks;
  if (text) boot::parse_marks(*text, marks);
  for (const Mark& mark : marks.list) {
    if (as_json) {
      put(json::write_document(-1, [&](json::Fields& v) {
        if (mark.at.plausible()) v.output("time", utc_time(std::chrono::seconds(mark.at.wall)));
        v.output("since_boot_seconds", mark.at.uptime);
        v.output("boot_id", mark.boot);
        if (!mark.finding.empty()) {
          v.output("finding", mark.finding);
          v.output("by", mark.by);
        }
        v.output("text", mark.text);
      }));
    } else {
      std::printf("%s  %s\n", moment_text(mark.at).c_str(), mark.sentence().c_str());
    }
  }
  if (!as_json && marks.list.empty()) std::printf("no marks\n");
  if (marks.malformed > 0) {
    warn("mark", counted(marks.malformed, "line") + " of the file could not be read as marks");
  }
  return kExitOk;
}

// Who types it, also behind sudo; empty: not known.
std::string user_name() {
  for (const char* name : {"SUDO_USER", "USER", "LOGNAME"}) {
    const char* const value = std::getenv(name);
    if (value != nullptr && *value != '\0') return printable(value, 32);
  }
  return {};
}

int note_mark(const char* command, const std::string& directory, Mark mark) {
  const SystemClock clock;
  mark.at.wall = std::max<std::int64_t>(
      std::chrono::duration_cast<std::chrono::seconds>(clock.wall()).count(), 0);
  mark.at.uptime = static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::seconds>(clock.boot()).count());
  mark.boot = Facts::of_this_machine().boot_id.value_or("");
  const bool cut = mark.text.size() > Mark::kMaxText;
  const auto added = boot::add_mark(directory, std::move(mark));
  if (!added) return failed(command, added.error());
  std::printf("%s  %s\n", moment_text(added->at).c_str(), added->sentence().c_str());
  if (cut) warn(command, "truncated to " + std::to_string(Mark::kMaxText) + " bytes");
  return kExitOk;
}

int run_mark(const MarkOptions& options) {
  if (!options.list && !options.text) {
    return failed("mark", {Errc::kInvalid, "a mark needs a text; --list shows the marks"});
  }
  if (options.list) return run_list(options.root + options.state_directory, options.json);
  Mark mark;
  mark.text = *options.text;
  return note_mark("mark", options.state_directory, std::move(mark));
}

// The step of the doctor that looks after an alert; empty: none does.
std::string step_of_alert(const std::string& alert) {
  DeviceNow now;
  AlertsAnswer::Rule& rule = now.alerts.emplace().rules.emplace_back();
  rule.name = alert;
  rule.severity = "warning";
  rule.state = "firing";
  rule.alerts.emplace_back().state = "firing";
  for (const DoctorAnswer::Step& step : examine(now, nullptr).steps) {
    if (!step.alerts.empty() && step.name != "alerts") return step.name;
  }
  return {};
}

int run_ack(const AckOptions& options) {
  const auto steps = doctor_steps();
  const bool is_step = std::find(steps.begin(), steps.end(), options.finding) != steps.end();
  Mark mark;
  mark.finding = is_step ? options.finding : step_of_alert(options.finding);
  if (mark.finding.empty()) {
    return failed("ack", {Errc::kInvalid, "'" + printable(options.finding, 60) +
                                              "' is neither a step of jetmem doctor nor an alert "
                                              "that one looks after; steps: " +
                                              join_names(steps)});
  }
  if (SystemClock().wall() < kFirstPlausibleTime) {
    return failed("ack", {Errc::kUnavailable,
                          "the clock is not set: what happened before cannot be told apart from "
                          "what happens later; set it first"});
  }
  mark.by = user_name();
  mark.text = options.why;
  return note_mark("ack", options.state_directory, std::move(mark));
}

}  // namespace

void add_mark_command(const Command& program) {
  const Command command =
      program.add("mark", "Note a change to the device beside what jetmem measures");
  command.alias("annotate");
  auto& options = command.runs(run_mark);
  // What was captured is not written to.
  command.option("TEXT", options.text, "", "What was done, at most 200 bytes")
      .excludes({"--list", "--json", "--root"});
  command.flag("--list", options.list, "List the marks, oldest first");
  command.json("With --list: one JSON object per line");
  command.option("--state-dir", options.state_directory, "DIR", "jetmemd's state directory")
      .show_default();
  command.footer(
      "  sudo jetmem mark 'camera firmware 2.1'\n"
      "jetmem annotate is the same. Kept in DIR/marks.jsonl (the last few hundred), also while "
      "jetmemd is not running; within ten seconds jetmemd logs it to the journal and counts it "
      "(jetmem_marks_total). jetmem boots shows marks together with the changes that jetmem saw. "
      "Root and the group jetmem may set marks.");
  command.exit_status("0 if the mark was set, or the marks listed");
}

void add_ack_command(const Command& program) {
  const Command command =
      program.add("ack", "Acknowledge what happened: it leaves the verdict until it happens again");
  command.without_root();
  auto& options = command.runs(run_ack);
  command
      .option("FINDING", options.finding, "",
              "A step of jetmem doctor (oom, restart, ...) or an alert")
      .required();
  command.option("WHY", options.why, "", "Why it needs no more attention, at most 200 bytes")
      .required();
  command.option("--state-dir", options.state_directory, "DIR", "jetmemd's state directory")
      .show_default();
  command.footer(
      "  sudo jetmem ack oom 'the trainer took all memory; its limit is set now'\n"
      "An alert stands for its step. Only what is over can be acknowledged: what is wrong now "
      "stays in the verdict. The step of "
      "jetmem doctor shows who acknowledged it and why; jetmem mark --list and the history keep "
      "it. "
      "jetmemd takes it within ten seconds (jetmem_acknowledged_timestamp_seconds). "
      "Root and the group jetmem may acknowledge.");
  command.exit_status("0 if it was noted");
}

}  // namespace jetmem
