// jetmem config check|show: the settings as jetmemd would read them.

#include <cstdio>

#include "cli/commands.h"
#include "cli/exit_codes.h"
#include "collectors/registry.h"
#include "config/load.h"

namespace jetmem {
namespace {

int run_check(const std::vector<std::string>& named) {
  const auto loaded = load_named_or_default(named, known_sources());
  if (!loaded) {
    std::fprintf(stderr, "%s\n", describe(loaded.error()).c_str());
    return kExitUsage;
  }
  std::printf("ok\n");
  return kExitOk;
}

int run_show(const std::vector<std::string>& named) {
  const auto loaded = load_named_or_default(named, known_sources());
  if (!loaded) {
    std::fprintf(stderr, "%s\n", describe(loaded.error()).c_str());
    return kExitUsage;
  }
  std::fputs(show_settings(*loaded).c_str(), stdout);
  return kExitOk;
}

}  // namespace

void add_config_command(CLI::App& app, CommandContext& context) {
  CLI::App* command = app.add_subcommand("config", "Check or show the settings of jetmemd");
  command->require_subcommand(1);
  struct Action {
    const char* name;
    const char* help;
    int (*run)(const std::vector<std::string>&);
  };
  for (const Action& action :
       {Action{"check", "Say whether the settings are right, or what is wrong and where",
               run_check},
        Action{"show", "Print the settings in force and where each comes from", run_show}}) {
    CLI::App* sub = command->add_subcommand(action.name, action.help);
    auto files = std::make_shared<std::vector<std::string>>();
    sub->add_option("FILE", *files,
                    "Settings files, later ones override earlier ones (default: "
                    "/etc/jetmem/jetmem.yaml and /etc/jetmem/conf.d/*.yaml)")
        ->type_name("");
    sub->footer("Exit status: 0 when the settings are right, 2 when they are not.");
    sub->callback([files, &context, run = action.run] { context.status = run(*files); });
  }
}

}  // namespace jetmem
