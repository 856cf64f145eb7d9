// jetmem: the on-call engineer's command.

#include <CLI/CLI.hpp>
#include <csignal>
#include <cstdio>

#include "base/version.h"
#include "cli/commands.h"
#include "cli/exit_codes.h"

namespace {

// A full disk must not pass for a short answer, whatever the answer was.
int told(int status) {
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return status;
  std::perror("jetmem: cannot write");
  return jetmem::kExitFailed;
}

}  // namespace

int main(int argc, char** argv) {
  // A closed pipe (`jetmem metrics | head`) ends a write with an error, not the process.
  std::signal(SIGPIPE, SIG_IGN);
  CLI::App app("The memory health of a board whose CPU, GPU and camera share one DRAM.\n",
               "jetmem");
  app.set_version_flag("--version", std::string("jetmem ") + jetmem::kVersion);
  app.require_subcommand(1);
  app.fallthrough();
  jetmem::CommandContext context;
  app.add_option("--root", context.root,
                 "Read below this directory (a fixture or a captured bundle) instead of /")
      ->type_name("DIR");
  jetmem::add_alerts_command(app, context);
  jetmem::add_metrics_command(app, context);
  jetmem::add_sources_command(app, context);
  jetmem::add_config_command(app, context);
  jetmem::add_decode_command(app, context);
  jetmem::add_events_command(app, context);
  jetmem::add_nvmap_command(app, context);
  jetmem::add_boots_command(app, context);
  jetmem::add_mark_command(app, context);
  jetmem::add_probe_command(app, context);
  jetmem::add_compact_command(app, context);
  jetmem::add_rules_command(app, context);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    // Help and version come this way too, with status 0.
    const int status = app.exit(error);
    return told(status == 0 ? jetmem::kExitOk : jetmem::kExitUsage);
  }
  return told(context.status);
}
