// jetmem map: where the module's memory went.

#include <cstdio>
#include <memory>

#include "cli/commands.h"
#include "cli/device_asked.h"
#include "cli/exit_codes.h"
#include "cli/map_text.h"
#include "cli/terminal.h"

namespace jetmem {
namespace {

struct MapOptions {
  DeviceAsked asked;
  bool json = false;
};

int run_map(const MapOptions& options) {
  const auto now = look_at_device(options.asked);
  if (!now) {
    std::fprintf(stderr, "jetmem map: %s\n", now.error().message.c_str());
    return now.error().code == Errc::kInvalid ? kExitUsage : kExitUnknown;
  }
  const MapAnswer answer = map_answer(*now);
  const std::string out =
      options.json ? map_json(answer) : map_text(answer, {terminal_width(), wants_color()});
  std::fwrite(out.data(), 1, out.size(), stdout);
  return answer.parts.empty() || !answer.memory.has_basics() ? kExitUnknown : kExitOk;
}

}  // namespace

void add_map_command(CLI::App& app, CommandContext& context) {
  CLI::App* command = app.add_subcommand(
      "map", "Where the module's memory went: carve-outs, kernel, CMA, zones, who has the rest");
  auto options = std::make_shared<MapOptions>();
  command->add_flag("--json", options->json, "As JSON (docs/views.md)");
  add_device_options(*command, options->asked);
  command->footer(
      "Asks jetmemd; where none answers, or with --root DIR, looks once itself. Reads the device\n"
      "tree, /proc/iomem, memblock, zoneinfo, meminfo, CMA's and nvmap's files. The module's size\n"
      "is inferred, as nothing on a device says it, and not told of a PC; of nothing else is a\n"
      "figure guessed: what could not be read is \"not known\", with the reason.\n"
      "Exit status: 0; 3 when the parts could not be told; 2 on a wrong command line.");
  command->callback([options, &context] {
    options->asked.root = context.root;
    options->asked.root_name = context.root_name;
    options->asked.access = context.access;
    context.status = run_map(*options);
  });
}

}  // namespace jetmem
