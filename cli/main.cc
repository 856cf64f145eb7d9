// SPDX-License-Identifier: Apache-2.0
// jetmem: the on-call engineer's command.

#include <csignal>
#include <cstdio>
#include <filesystem>
#include <memory>

#include "base/fatal_handler.h"
#include "base/text/text.h"
#include "cli/bundle/unpack.h"
#include "cli/command.h"
#include "cli/exit_codes.h"

namespace {

// A full disk must not look like a short answer.
int reported(int status) {
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return status;
  std::perror("jetmem: cannot write");
  return jetmem::kExitFailed;
}

// A --root that is a file is a bundle: the command sees its contents. Returns the exit status.
int open_root(jetmem::CommandContext& context, std::unique_ptr<jetmem::UnpackedBundle>& bundle) {
  std::error_code ignored;
  if (context.root.empty() || !std::filesystem::is_regular_file(context.root, ignored)) {
    return jetmem::kExitOk;
  }
  auto opened = jetmem::UnpackedBundle::open(context.root);
  if (!opened) {
    std::fprintf(stderr, "jetmem: --root: %s\n", opened.error().message.c_str());
    return jetmem::kExitFailed;
  }
  bundle = std::move(*opened);
  for (const std::string& remark : bundle->remarks()) {
    std::fprintf(stderr, "jetmem: --root %s: %s\n", jetmem::printable(context.root, 500).c_str(),
                 remark.c_str());
  }
  context.root = bundle->root();
  return jetmem::kExitOk;
}

}  // namespace

int main(int argc, char** argv) {
  jetmem::install_fatal_handler();
  // A closed pipe (`jetmem metrics | head`) ends a write with an error, not the process.
  std::signal(SIGPIPE, SIG_IGN);
  std::unique_ptr<jetmem::UnpackedBundle> bundle;
  jetmem::CommandProgram program;
  return reported(program.run({argv + 1, argv + argc}, [&](jetmem::CommandContext& context) {
    return open_root(context, bundle);
  }));
}
