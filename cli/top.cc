// jetmem top: who holds the memory.

#include <cstdio>
#include <memory>

#include "cli/commands.h"
#include "cli/device_asked.h"
#include "cli/exit_codes.h"
#include "cli/terminal.h"
#include "cli/top_text.h"

namespace jetmem {
namespace {

struct TopOptions {
  DeviceAsked asked;
  TopWanted wanted;
  std::string sort = "total";
  bool json = false;
};

int run_top(const TopOptions& options) {
  const auto now = look_at_device(options.asked);
  if (!now) {
    std::fprintf(stderr, "jetmem top: %s\n", now.error().message.c_str());
    return now.error().code == Errc::kInvalid ? kExitUsage : kExitUnknown;
  }
  const TopAnswer answer = top_answer(*now, options.wanted);
  const std::string out =
      options.json ? top_json(answer) : top_text(answer, {terminal_width(), wants_color()});
  std::fwrite(out.data(), 1, out.size(), stdout);
  return answer.groups.empty() || !answer.memory.has_basics() ? kExitUnknown : kExitOk;
}

}  // namespace

void add_top_command(CLI::App& app, CommandContext& context) {
  CLI::App* command = app.add_subcommand(
      "top", "Who holds the memory: processes, GPU and camera buffers, DMA-BUFs, the kernel");
  auto options = std::make_shared<TopOptions>();
  command->add_flag("--json", options->json, "As JSON (docs/views.md)");
  command
      ->add_option("--sort", options->sort,
                   "Processes by: total (default), resident, gpu, dmabuf or growth")
      ->check(CLI::IsMember({"total", "resident", "gpu", "dmabuf", "growth"}))
      ->type_name("BY");
  command->add_option("--limit", options->wanted.limit, "At most so many rows of each kind (20)")
      ->check(CLI::Range(1, 1000))
      ->type_name("N");
  add_device_options(*command, options->asked);
  command->footer(
      "Asks jetmemd; where none answers, or with --root DIR, looks once itself. jetmemd tells of\n"
      "the 20 largest groups of processes, the rest is \"other\". Nothing is guessed: what could\n"
      "not be read is \"-\" or \"not known\", with the reason. The last line of\n"
      "the memory is an estimate of what no figure explains: memory that drivers took, mostly. "
      "GROWTH is over the last\n"
      "hours where a line explains it, else over the last minutes.\n"
      "Exit status: 0; 3 when the processes or the kernel's own figures could not be read; 2 on a\n"
      "wrong command line.");
  command->callback([options, &context] {
    options->asked.root = context.root;
    options->asked.root_name = context.root_name;
    options->asked.access = context.access;
    options->wanted.sort = top_sort_named(options->sort).value_or(TopSort::kTotal);
    context.status = run_top(*options);
  });
}

}  // namespace jetmem
