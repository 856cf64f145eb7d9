// jetmem status: the whole device on one screen, or in one line.

#include "cli/status.h"

#include <unistd.h>

#include <array>
#include <cstdio>
#include <filesystem>

#include "base/text.h"
#include "cli/device_asked.h"
#include "cli/exit_codes.h"
#include "cli/status_text.h"

namespace jetmem {
namespace {

struct StatusOptions {
  DeviceAsked asked;
  bool json = false;
  bool brief = false;
};

// The name that a loop over a fleet shows: this machine's, else where the look came from.
std::string host_of(const StatusOptions& options) {
  if (!options.asked.root.empty()) {
    const std::string& named =
        options.asked.root_name.empty() ? options.asked.root : options.asked.root_name;
    auto path = std::filesystem::path(named).lexically_normal();
    if (path.filename().empty()) path = path.parent_path();
    return printable(path.filename().string(), 64);
  }
  if (!options.asked.daemon.empty() && options.asked.daemon.rfind("unix:", 0) != 0) {
    return printable(options.asked.daemon, 64);
  }
  std::array<char, 256> name{};
  if (::gethostname(name.data(), name.size() - 1) != 0) return "-";
  return printable(name.data(), 64);
}

// Whatever went wrong, nobody could tell: 2 would be read as critical.
int run_status(const StatusOptions& options) {
  const auto now = look_at_device(options.asked);
  if (!now) {
    if (options.brief && options.json) {
      const std::string line = unknown_status_json_line(now.error().message, host_of(options));
      std::fwrite(line.data(), 1, line.size(), stdout);
    } else if (options.brief) {
      std::printf("UNKNOWN %s: %s\n", host_of(options).c_str(),
                  printable(now.error().message, 300).c_str());
    } else {
      std::fprintf(stderr, "jetmem status: %s\n", now.error().message.c_str());
    }
    return kExitUnknown;
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
    out = status_text(answer, look_of_terminal());
  }
  std::fwrite(out.data(), 1, out.size(), stdout);
  return status_exit(answer.level);
}

}  // namespace

void add_status_command(CLI::App& app, CommandContext& context) {
  CLI::App* command =
      app.add_subcommand("status", "The device on one screen (what jetmem alone shows too)");
  auto options = std::make_shared<StatusOptions>();
  command->add_flag("--json", options->json,
                    "As JSON (docs/status.md); with --brief in one line, with the host's name");
  command->add_flag("--brief", options->brief,
                    "One line and the exit status, for loops over a fleet");
  add_device_options(*command, options->asked);
  command->footer(
      "Asks jetmemd: at /run/jetmem/api.socket, then where http.listen says. Where none answers, "
      "or\n"
      "with --root DIR, it is one look, which cannot tell what needs a past. What could not be "
      "read\n"
      "is said to be not known, with the reason; nothing is guessed or shown as 0.\n"
      "Exit status: 0 fine; 1 warning: a warning alert fires, or jetmem is blind where it should\n"
      "see; 2 critical: a critical alert fires; 3 nobody can tell (rules not judged, no jetmemd,\n"
      "a wrong command line). Alerts of severity info and pending ones change nothing.");
  command->callback([options, &context] {
    options->asked.root = context.root;
    options->asked.root_name = context.root_name;
    options->asked.access = context.access;
    context.status = run_status(*options);
  });
}

void show_status(CommandContext& context) {
  StatusOptions options;
  options.asked.root = context.root;
  options.asked.root_name = context.root_name;
  options.asked.access = context.access;
  context.status = run_status(options);
}

}  // namespace jetmem
