// jetmem: the on-call engineer's command.

#include <CLI/CLI.hpp>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <memory>

#include "base/last_words.h"
#include "base/text.h"
#include "cli/bundle/unpack.h"
#include "cli/commands.h"
#include "cli/exit_codes.h"
#include "cli/status.h"

namespace {

// A full disk must not pass for a short answer, whatever the answer was.
int told(int status) {
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return status;
  std::perror("jetmem: cannot write");
  return jetmem::kExitFailed;
}

// Where --root is a file it is a bundle: what it holds is what the command sees.
void open_root(jetmem::CommandContext& context, std::unique_ptr<jetmem::UnpackedBundle>& bundle) {
  context.root_name = context.root;
  std::error_code ignored;
  if (context.root.empty() || !std::filesystem::is_regular_file(context.root, ignored)) return;
  auto opened = jetmem::UnpackedBundle::open(context.root);
  if (!opened) {
    std::fprintf(stderr, "jetmem: --root: %s\n", opened.error().message.c_str());
    throw CLI::RuntimeError(jetmem::kExitFailed);
  }
  bundle = std::move(*opened);
  for (const std::string& remark : bundle->remarks()) {
    std::fprintf(stderr, "jetmem: --root %s: %s\n", jetmem::printable(context.root, 500).c_str(),
                 remark.c_str());
  }
  context.root = bundle->root();
}

}  // namespace

int main(int argc, char** argv) {
  jetmem::say_last_words();
  // A closed pipe (`jetmem metrics | head`) ends a write with an error, not the process.
  std::signal(SIGPIPE, SIG_IGN);
  CLI::App app;
  jetmem::CommandContext context;
  jetmem::set_up_program(app, context);
  std::unique_ptr<jetmem::UnpackedBundle> bundle;
  app.parse_complete_callback([&] { open_root(context, bundle); });
  try {
    app.parse(argc, argv);
  } catch (const CLI::RuntimeError& error) {
    return told(error.get_exit_code());
  } catch (const CLI::ParseError& error) {
    // Help and version come this way too, with status 0.
    const int status = app.exit(error);
    if (status == 0) return told(jetmem::kExitOk);
    // With these 2 says that the device is in a critical state.
    for (const CLI::App* command : app.get_subcommands()) {
      const std::string& name = command->get_name();
      if (name == "status" || name == "doctor") return told(jetmem::kExitUnknown);
    }
    return told(jetmem::kExitUsage);
  }
  if (app.get_subcommands().empty()) jetmem::show_status(context);
  return told(context.status);
}
