// jetmem fragmentation: how contiguous free memory is.

#include <cstdio>

#include "cli/commands.h"
#include "cli/device_asked.h"
#include "cli/exit_codes.h"
#include "cli/fragmentation_text.h"

namespace jetmem {
namespace {

struct FragmentationOptions {
  DeviceAsked asked;
  bool json = false;
};

int run_fragmentation(const FragmentationOptions& options) {
  const auto now = look_at_device(options.asked);
  if (!now) {
    std::fprintf(stderr, "jetmem fragmentation: %s\n", now.error().message.c_str());
    return now.error().code == Errc::kInvalid ? kExitUsage : kExitUnknown;
  }
  const FragmentationAnswer answer = fragmentation_answer(*now);
  const std::string out =
      options.json ? fragmentation_json(answer) : fragmentation_text(answer, look_of_terminal());
  std::fwrite(out.data(), 1, out.size(), stdout);
  return !answer.zones.empty() ? kExitOk : kExitUnknown;
}

}  // namespace

void add_fragmentation_command(CLI::App& app, CommandContext& context) {
  CLI::App* command = app.add_subcommand(
      "fragmentation", "How contiguous free memory is: free blocks by zone and order");
  auto options = std::make_shared<FragmentationOptions>();
  command->add_flag("--json", options->json, "As JSON (docs/status.md)");
  add_device_options(*command, options->asked);
  command->footer(
      "Asks jetmemd: at /run/jetmem/api.socket, then where http.listen says; where none answers, "
      "or\n"
      "with --root DIR, it is one look. What could not be read is said to be not known, never 0.\n"
      "Reads /proc/buddyinfo, zoneinfo and vmstat; mobility types only as often as the source\n"
      "pagetypeinfo may, as its file takes a lock. Exit status: 0 shown; 3 the free blocks could\n"
      "not be read; 2 on a wrong command line.");
  command->callback([options, &context] {
    options->asked.root = context.root;
    options->asked.root_name = context.root_name;
    options->asked.access = context.access;
    context.status = run_fragmentation(*options);
  });
}

}  // namespace jetmem
