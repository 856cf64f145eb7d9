// SPDX-License-Identifier: Apache-2.0
// jetmem status: the device on one screen, all of it, in one line, or line by line.

#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/text/text.h"
#include "base/text/units.h"
#include "cli/client/device_client.h"
#include "cli/commands.h"
#include "cli/draw/since.h"
#include "cli/draw/terminal.h"
#include "cli/exit_codes.h"
#include "cli/suggestion.h"
#include "cli/text/judgement_text.h"
#include "cli/text/status_follow.h"
#include "cli/text/status_screen.h"
#include "cli/text/status_text.h"

namespace jetmem {
namespace {

// Between two looks of --follow: at jetmemd, and by this program itself, as some files take kernel
// locks.
constexpr auto kFollowPause = std::chrono::seconds(2);
constexpr auto kLocalPause = std::chrono::seconds(10);

struct StatusOptions : Target {
  bool brief = false;
  bool all = false;
  bool follow = false;
  std::string interval = "1m";
};

// The name in a loop over a fleet: this machine's, else that of the root or daemon.
std::string host_of(const StatusOptions& options) {
  if (!options.root.empty()) {
    const std::string& named = options.root_name.empty() ? options.root : options.root_name;
    auto path = std::filesystem::path(named).lexically_normal();
    if (path.filename().empty()) path = path.parent_path();
    return printable(path.filename().string(), 64);
  }
  if (!options.daemon.empty() && !options.daemon.starts_with("unix:")) {
    return printable(options.daemon, 64);
  }
  std::array<char, 256> name{};
  if (::gethostname(name.data(), name.size() - 1) != 0) return "-";
  return printable(name.data(), 64);
}

// Services and the journal here are not of a device elsewhere.
std::string next_command(const StatusOptions& options, const std::string& command) {
  const std::string there = commands_for(options, command);
  return there.empty() ? commands_for(options, "jetmem doctor") : there;
}

StatusAnswer answer_of(const StatusOptions& options, const DeviceNow& now, DeviceClient& client) {
  // As `jetmem doctor`: where no jetmemd judges, its recorder's file may know what fired.
  auto history = now.by == SnapshotOrigin::kDaemon ? Result<std::unique_ptr<History>>(nullptr)
                                                   : client.history_file();
  StatusAnswer answer = status_answer(now, history ? history->get() : nullptr);
  const bool has_problem = answer.level == Verdict::kWarning || answer.level == Verdict::kCritical;
  if (!client.silent().empty() && !has_problem) {
    answer.level = Verdict::kUnknown;
    answer.reason = "jetmemd runs but gave no answer: which alerts fire is unknown";
    answer.next_command = "journalctl -u jetmemd";
  }
  answer.next_command = next_command(options, answer.next_command);
  return answer;
}

std::string line_of(const StatusOptions& options, const StatusAnswer& answer) {
  return options.json ? status_json_line(answer, host_of(options))
                      : status_brief(answer, host_of(options));
}

std::string line_of(const StatusOptions& options, const Error& error) {
  if (options.json) return unknown_status_json_line(error.message, host_of(options));
  return "UNKNOWN " + host_of(options) + ": " + printable(error.message, 300) + "\n";
}

// Until Ctrl-C, or until nobody reads on.
int follow(const StatusOptions& options, std::chrono::milliseconds interval) {
  StatusChanges changes(static_cast<double>(interval.count()) / 1000);
  const SystemClock clock;
  while (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) {
    DeviceClient client("", options);
    const auto now = client.now();
    if (!now && now.error().code == Errc::kInvalid) return failed("status", now.error());
    const double at = to_seconds(clock.boot());
    const std::string time = options.json ? "" : local_time(clock.wall()) + " ";
    bool is_local = false;
    if (now) {
      const StatusAnswer answer = answer_of(options, *now, client);
      if (changes.is_due(answer, at)) put(time + line_of(options, answer));
      is_local = now->by == SnapshotOrigin::kCommand;
    } else if (changes.is_due(now.error().message, at)) {
      put(time + line_of(options, now.error()));
    }
    std::fflush(stdout);
    std::this_thread::sleep_for(is_local ? kLocalPause : kFollowPause);
  }
  return kExitIo;
}

// What could not be asked is unknown, also to a loop over a fleet.
int run_status(const StatusOptions& options) {
  const auto interval = parse_duration(options.interval);
  if (!interval) {
    return failed("status", {Errc::kInvalid, "--interval: " + interval.error().message});
  }
  if (*interval < std::chrono::seconds(1) || *interval > std::chrono::hours(24)) {
    return failed("status", {Errc::kInvalid, "--interval: from 1s to 24h"});
  }
  if (options.follow) return follow(options, *interval);
  DeviceClient client("status", options);
  const auto now = client.now();
  if (!now) {
    if (options.brief) {
      put(line_of(options, now.error()));
    } else {
      warn("status", now.error().message);
    }
    return exit_unknown(options, now.error());
  }
  const StatusAnswer answer = answer_of(options, *now, client);
  if (options.brief) {
    put(line_of(options, answer));
  } else if (options.json) {
    put(status_json(answer));
  } else {
    const auto command_for = [&options](const std::string& command) {
      return next_command(options, command);
    };
    put(options.all ? status_text(answer, terminal_style(), command_for)
                    : status_screen(answer, terminal_style(), command_for));
  }
  return verdict_exit(answer.level);
}

// The same for `jetmem` alone, whose own help need not list them.
void add_options(const Command& command, StatusOptions& options, bool alone) {
  std::vector<CommandOption> added;
  added.push_back(command.flag("--all", options.all,
                               "All that is known: budget, fragmentation, faults, alerts, probes, "
                               "jetmem's own health"));
  added.push_back(
      command.flag("--brief", options.brief, "One line and the exit status, for loops over a fleet")
          .excludes({"--all", "--follow"}));
  added.push_back(command
                      .flag("--follow", options.follow,
                            "One line whenever the state, an alert or who is involved changes, and "
                            "every --interval, until Ctrl-C")
                      .excludes({"--all"}));
  added.push_back(command
                      .option("--interval", options.interval, "DURATION",
                              "With --follow: a line at least this often (default: 1m)")
                      .needs("--follow"));
  if (!alone) {
    command.json(
        "As JSON (docs/status.md); with --brief or --follow on one line, with the host's name");
    command.device();
    return;
  }
  for (CommandOption& each : added) each.hidden().only_alone();
}

}  // namespace

void add_status_command(const Command& program, const Command& group) {
  add_options(program, program.runs(run_status), true);
  const Command command =
      group.add("status", "The device on one screen (the same as jetmem alone)");
  add_options(command, command.runs(run_status), false);
  command.footer(
      std::string(kAsksDaemon) +
      "At most 24 lines: the verdict with who is involved and since when, the alerts behind it, "
      "memory, CMA, GPU and heat, the last event, and the command to type next.\n"
      "A pending critical alert is a warning. Info alerts change nothing; pending warnings count "
      "only without jetmemd, where one reading cannot wait.");
  command.exit_status(
      "0 ok; 1 warning: a warning alert fires, a source that should be readable fails, or "
      "the history cannot be written; 2 "
      "critical: a critical alert fires; 3 unknown: rules not evaluated, no jetmemd");
}

}  // namespace jetmem
