// jetmem mark: notes what a person did to the device, so that graphs and `jetmem boots` have it.

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "base/clock.h"
#include "base/facts.h"
#include "base/small_file.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/event_text.h"
#include "cli/exit_codes.h"
#include "cli/since.h"
#include "collectors/boot/marks.h"
#include "collectors/boot/story.h"

namespace jetmem {
namespace {

using boot::Mark;
using boot::Marks;

struct MarkOptions {
  std::string text;
  std::string state_directory{boot::kStateDirectory};
  bool text_given = false;
  bool list = false;
  bool json = false;
};

int fail_with(const Error& error) {
  std::fprintf(stderr, "jetmem mark: %s\n", error.message.c_str());
  return error.code == Errc::kInvalid ? kExitUsage : kExitFailed;
}

int run_list(const std::string& directory, bool json) {
  auto text = read_small_file(directory + "/" + std::string(boot::kMarksFile));
  if (!text && text.error().code == Errc::kDenied) {
    text.error().message += "; root and the group jetmem may: sudo jetmem mark --list";
  }
  if (!text && text.error().code != Errc::kAbsent) return fail_with(text.error());
  Marks marks;
  if (text) boot::parse_marks(*text, marks);
  for (const Mark& mark : marks.list) {
    if (json) {
      nlohmann::ordered_json each;
      each["time"] = nullptr;
      if (mark.at.plausible()) each["time"] = utc_time(std::chrono::seconds(mark.at.wall));
      each["since_boot_seconds"] = mark.at.uptime;
      each["boot_id"] = mark.boot;
      each["text"] = mark.text;
      std::printf("%s\n", each.dump().c_str());
    } else {
      std::printf("%s  %s\n", moment_text(mark.at).c_str(), mark.text.c_str());
    }
  }
  if (!json && marks.list.empty()) std::printf("no marks\n");
  if (marks.malformed > 0) {
    std::fprintf(stderr, "jetmem mark: %s of the file are no marks\n",
                 counted(marks.malformed, "line").c_str());
  }
  return kExitOk;
}

int run_mark(const std::string& directory, const std::string& text) {
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
  if (!added) return fail_with(added.error());
  std::printf("%s  %s\n", moment_text(added->at).c_str(), added->text.c_str());
  if (cut) std::fprintf(stderr, "jetmem mark: cut to %zu bytes\n", Mark::kMaxText);
  return kExitOk;
}

int run_mark(const std::string& root, const MarkOptions& options) {
  if (options.list == options.text_given) {
    return fail_with({Errc::kInvalid, options.list
                                          ? "--list takes no text"
                                          : "a mark needs a text; --list shows those set"});
  }
  if (options.json && !options.list) return fail_with({Errc::kInvalid, "--json goes with --list"});
  // What was captured is not written to.
  if (!root.empty() && !options.list) {
    return fail_with({Errc::kInvalid, "--root is read only; --state-dir names another directory"});
  }
  if (options.list) return run_list(root + options.state_directory, options.json);
  return run_mark(options.state_directory, options.text);
}

}  // namespace

void add_mark_command(CLI::App& app, CommandContext& context) {
  CLI::App* command =
      app.add_subcommand("mark", "Note what was done to the device, beside what jetmem measures");
  auto options = std::make_shared<MarkOptions>();
  command->add_option("TEXT", options->text, "What was done, at most 200 bytes")->type_name("");
  command->add_flag("--list", options->list, "Show the marks that were set, oldest first");
  command->add_flag("--json", options->json, "With --list: one JSON object a line");
  command->add_option("--state-dir", options->state_directory, "Where jetmemd keeps its history")
      ->type_name("DIR")
      ->capture_default_str();
  command->footer(
      "  sudo jetmem mark 'camera firmware 2.1'\n"
      "Kept in DIR/marks.jsonl (the last some hundreds), also while jetmemd is not running; it\n"
      "tells the journal and counts them within ten seconds (jetmem_marks_total). jetmem boots\n"
      "shows them with the changes that jetmem saw itself. Root and the group jetmem may set "
      "them.\n"
      "Exit status: 0 when it was done; 1 when it could not be; 2 on a wrong command line.");
  command->callback([command, options, &context] {
    options->text_given = command->count("TEXT") > 0;
    context.status = run_mark(context.root, *options);
  });
}

}  // namespace jetmem
