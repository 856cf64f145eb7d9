// jetmem thermal: temperatures, limits, clocks, and what slows the device now.

#include <cstdio>

#include "cli/commands.h"
#include "cli/device_asked.h"
#include "cli/exit_codes.h"
#include "cli/thermal_text.h"

namespace jetmem {
namespace {

struct ThermalOptions {
  DeviceAsked asked;
  bool json = false;
};

int run_thermal(const ThermalOptions& options) {
  const auto now = look_at_device(options.asked);
  if (!now) {
    std::fprintf(stderr, "jetmem thermal: %s\n", now.error().message.c_str());
    return now.error().code == Errc::kInvalid ? kExitUsage : kExitUnknown;
  }
  const ThermalAnswer answer = thermal_answer(*now);
  const std::string out =
      options.json ? thermal_json(answer) : thermal_text(answer, look_of_terminal());
  std::fwrite(out.data(), 1, out.size(), stdout);
  return !answer.zones.empty() || !answer.clocks.empty() || answer.throttling ? kExitOk
                                                                              : kExitUnknown;
}

}  // namespace

void add_thermal_command(CLI::App& app, CommandContext& context) {
  CLI::App* command = app.add_subcommand(
      "thermal", "Temperatures and limits, clocks, rails: what slows the device now");
  auto options = std::make_shared<ThermalOptions>();
  command->add_flag("--json", options->json, "As JSON (docs/status.md)");
  add_device_options(*command, options->asked);
  command->footer(
      "Asks jetmemd: at /run/jetmem/api.socket, then where http.listen says; where none answers, "
      "or\n"
      "with --root DIR, it is one look. What could not be read is said to be not known, never 0.\n"
      "Reads the sources thermal, throttle, clocks and power. A zone without a temperature is\n"
      "mostly without power. Exit status: 0 shown; 3 nothing of it could be read; 2 on a wrong\n"
      "command line.");
  command->callback([options, &context] {
    options->asked.root = context.root;
    options->asked.root_name = context.root_name;
    options->asked.access = context.access;
    context.status = run_thermal(*options);
  });
}

}  // namespace jetmem
