// SPDX-License-Identifier: Apache-2.0
// jetmem status: the whole device on one screen, or in one line.

#include <unistd.h>

#include <array>
#include <cstdio>
#include <filesystem>

#include "base/text/text.h"
#include "cli/client/device_client.h"
#include "cli/commands.h"
#include "cli/draw/terminal.h"
#include "cli/exit_codes.h"
#include "cli/text/status_text.h"

namespace jetmem {
namespace {

struct StatusOptions : DeviceClientOptions {
  bool json = false;
  bool brief = false;
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

// What could not be asked is unknown, also to a loop over a fleet.
int run_status(const StatusOptions& options) {
  const auto now = query_device(options);
  if (!now) {
    if (options.brief && options.json) {
      put(unknown_status_json_line(now.error().message, host_of(options)));
    } else if (options.brief) {
      put("UNKNOWN " + host_of(options) + ": " + printable(now.error().message, 300) + "\n");
    } else {
      warn("status", now.error().message);
    }
    return exit_unknown(now.error());
  }
  const StatusAnswer answer = status_answer(*now);
  std::string out;
  if (options.json && options.brief) {
    out = status_json_line(answer, host_of(options));
  } else if (options.json) {
    out = status_json(answer);
  } else if (options.brief) {
    out = status_brief(answer, host_of(options));
  } else {
    out = status_text(answer, terminal_style());
  }
  put(out);
  return status_exit(answer.level);
}

}  // namespace

void add_status_command(const Command& program) {
  program.runs(run_status);
  const Command command =
      program.add("status", "The device on one screen (the same as jetmem alone)");
  auto& options = command.runs(run_status);
  command.flag("--json", options.json,
               "As JSON (docs/status.md); with --brief on one line, with the host's name");
  command.flag("--brief", options.brief, "One line and the exit status, for loops over a fleet");
  add_device_options(command, options);
  command.footer(
      std::string(kAsksDaemon) +
      "A pending critical alert is a warning; info alerts and pending warnings change nothing.");
  command.exit_status(
      "0 ok; 1 warning: a warning alert fires, or a source that should be readable fails; 2 "
      "critical: a critical alert fires; 3 unknown: rules not evaluated, no jetmemd");
}

}  // namespace jetmem
