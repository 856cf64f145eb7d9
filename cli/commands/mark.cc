// SPDX-License-Identifier: Apache-2.0
// jetmem mark: notes what a person did to the device, so that graphs and `jetmem boots` have it.

#include <algorithm>
#include <cstdio>

#include "base/clock.h"
#include "base/root/facts.h"
#include "base/root/small_file.h"
#include "base/text/text.h"
#include "cli/commands.h"
#include "cli/draw/since.h"
#include "cli/exit_codes.h"
#include "cli/text/events/event_text.h"
#include "collectors/device/boot/marks.h"
#include "collectors/device/boot/restart_summary.h"
#include "report/json/fields.h"

namespace jetmem {
namespace {

using boot::Mark;
using boot::Marks;

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
        v.output("text", mark.text);
      }));
    } else {
      std::printf("%s  %s\n", moment_text(mark.at).c_str(), mark.text.c_str());
    }
  }
  if (!as_json && marks.list.empty()) std::printf("no marks\n");
  if (marks.malformed > 0) {
    warn("mark", counted(marks.malformed, "line") + " of the file could not be read as marks");
  }
  return kExitOk;
}

int add_mark(const std::string& directory, const std::string& text) {
  const SystemClock clock;
  Mark mark;
  mark.text = text;
  mark.at.wall = std::max<std::int64_t>(
      std::chrono::duration_cast<std::chrono::seconds>(clock.wall()).count(), 0);
  mark.at.uptime = static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::seconds>(clock.boot()).count());
  mark.boot = Facts::of_this_machine().boot_id.value_or("");
  const bool cut = text.size() > Mark::kMaxText;
  const auto added = boot::add_mark(directory, std::move(mark));
  if (!added) return failed("mark", added.error());
  std::printf("%s  %s\n", moment_text(added->at).c_str(), added->text.c_str());
  if (cut) warn("mark", "truncated to " + std::to_string(Mark::kMaxText) + " bytes");
  return kExitOk;
}

int run_mark(const MarkOptions& options) {
  if (options.list == options.text.has_value()) {
    return failed("mark",
                  {Errc::kInvalid, options.list ? "--list takes no text"
                                                : "a mark needs a text; --list shows the marks"});
  }
  if (options.json && !options.list)
    return failed("mark", {Errc::kInvalid, "--json requires --list"});
  // What was captured is not written to.
  if (!options.root.empty() && !options.list) {
    return failed("mark",
                  {Errc::kInvalid, "--root is read-only; --state-dir sets another directory"});
  }
  if (options.list) return run_list(options.root + options.state_directory, options.json);
  return add_mark(options.state_directory, *options.text);
}

}  // namespace

void add_mark_command(const Command& program) {
  const Command command =
      program.add("mark", "Note a change to the device beside what jetmem measures");
  command.alias("annotate");
  auto& options = command.runs(run_mark);
  command.option("TEXT", options.text, "", "What was done, at most 200 bytes");
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

}  // namespace jetmem
