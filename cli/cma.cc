// jetmem cma: what is taken of contiguous memory, and whether a frame still fits.

#include <cstdio>

#include "cli/cma_text.h"
#include "cli/commands.h"
#include "cli/device_asked.h"
#include "cli/exit_codes.h"

namespace jetmem {
namespace {

struct CmaOptions {
  DeviceAsked asked;
  bool json = false;
};

int run_cma(const CmaOptions& options) {
  const auto now = look_at_device(options.asked);
  if (!now) {
    std::fprintf(stderr, "jetmem cma: %s\n", now.error().message.c_str());
    return now.error().code == Errc::kInvalid ? kExitUsage : kExitUnknown;
  }
  const CmaAnswer answer = cma_answer(*now);
  const std::string out = options.json ? cma_json(answer) : cma_text(answer, look_of_terminal());
  std::fwrite(out.data(), 1, out.size(), stdout);
  return answer.has_cma ? kExitOk : kExitUnknown;
}

}  // namespace

void add_cma_command(CLI::App& app, CommandContext& context) {
  CLI::App* command = app.add_subcommand(
      "cma", "Contiguous memory (CMA): what is taken, the largest piece left, refusals");
  auto options = std::make_shared<CmaOptions>();
  command->add_flag("--json", options->json, "As JSON (docs/status.md)");
  add_device_options(*command, options->asked);
  command->footer(
      "Asks jetmemd: at /run/jetmem/api.socket, then where http.listen says; where none answers, "
      "or\n"
      "with --root DIR, it is one look. What could not be read is said to be not known, never 0.\n"
      "Areas, largest run and pages are of debugfs and sysfs (source cma), refusals of the "
      "kernel's\n"
      "log. Exit status: 0 shown; 3 whether there is contiguous memory could not be told; 2 on a\n"
      "wrong command line.");
  command->callback([options, &context] {
    options->asked.root = context.root;
    options->asked.root_name = context.root_name;
    options->asked.access = context.access;
    context.status = run_cma(*options);
  });
}

}  // namespace jetmem
