// SPDX-License-Identifier: Apache-2.0
// jetmem: the on-call engineer's command.

#include <cerrno>
#include <csignal>
#include <exception>
#include <filesystem>
#include <memory>
#include <string_view>
#include <system_error>

#include "base/fatal_handler.h"
#include "base/text/print_error.h"
#include "cli/bundle/unpack.h"
#include "cli/command.h"
#include "cli/draw/terminal.h"
#include "cli/exit_codes.h"
#include "cli/manual/command_page.h"

namespace {

// A full disk must not look like a short answer. Who closed the output knows that it is short.
int reported(int status) {
  const int error = jetmem::flush_output();
  if (error == 0) return status;
  if (error != EPIPE && !jetmem::is_output_closed()) {
    jetmem::print_error("jetmem: cannot write" +
                        (error > 0 ? ": " + std::generic_category().message(error)
                                   : std::string(" all of the output")));
  }
  return jetmem::kExitIo;
}

// A --root that is a file is a bundle: the command sees its contents. Returns the exit status.
int open_root(jetmem::CommandContext& context, std::unique_ptr<jetmem::UnpackedBundle>& bundle) {
  if (context.root.empty()) return jetmem::kExitOk;
  const auto refused = [](const jetmem::Error& error) {
    jetmem::print_error("jetmem: --root: " + error.message);
    return jetmem::exit_code(error.code);
  };
  std::error_code error;
  const auto type = std::filesystem::status(context.root, error).type();
  if (type == std::filesystem::file_type::not_found) error = {ENOENT, std::generic_category()};
  if (error) return refused(jetmem::errno_error("open", context.root, error.value()));
  if (type == std::filesystem::file_type::directory) return jetmem::kExitOk;
  if (type != std::filesystem::file_type::regular) {
    return refused({jetmem::Errc::kNotRegular, context.root + ": neither a folder nor a bundle"});
  }
  auto opened = jetmem::UnpackedBundle::open(context.root);
  if (!opened) return refused(opened.error());
  bundle = std::move(*opened);
  for (const std::string& remark : bundle->remarks()) {
    jetmem::print_error("jetmem: --root " + context.root + ": " + remark);
  }
  jetmem::set_folder_name(bundle->root(), context.root);
  context.root = bundle->root();
  return jetmem::kExitOk;
}

}  // namespace

int main(int argc, char** argv) {
  jetmem::install_fatal_handler();
  // A closed pipe (`jetmem metrics | head`) ends a write with an error, not the process.
  std::signal(SIGPIPE, SIG_IGN);
  std::unique_ptr<jetmem::UnpackedBundle> bundle;
  try {
    jetmem::CommandProgram program;
    // Asked by the shells' completions.
    if (argc > 1 && std::string_view(argv[1]) == "__complete") {
      jetmem::put(
          jetmem::completions(jetmem::command_pages(program.app()), {argv + 2, argv + argc}));
      return reported(jetmem::kExitOk);
    }
    return reported(program.run({argv + 1, argv + argc}, [&](jetmem::CommandContext& context) {
      return open_root(context, bundle);
    }));
  } catch (const std::exception& error) {
    jetmem::print_error(std::string("jetmem: internal error, please report it: ") + error.what());
    return jetmem::kExitInternal;
  }
}
