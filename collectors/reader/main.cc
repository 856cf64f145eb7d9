// SPDX-License-Identifier: Apache-2.0
// jetmem-reader: reads the files that need privilege or may hang in the kernel, and hands their
// bytes to the daemon; what is followed it opens, and hands over the descriptor. It is all that
// ever holds a capability, so it does nothing else: no parsing, no network, no path from outside.
//
// It serves one connection, on descriptor 3: given by systemd's socket activation (Accept=yes) or
// by the program that spawned it. It ends when the connection does, and it ends itself when a read
// does not return in time; a read stuck in the kernel beyond any signal keeps only this process.

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <string>

#include "base/exit_codes.h"
#include "base/fatal_handler.h"
#include "base/root/root.h"
#include "base/spawn.h"
#include "base/text/print_error.h"
#include "base/version.h"
#include "collectors/reader/server.h"
#include "collectors/sampler/registry.h"

namespace jetmem::reader {
namespace {

constexpr int kConnection = 3;

constexpr std::string_view kHelp =
    "Usage: jetmem-reader [--root DIR]\n"
    "\n"
    "Reads jetmem's privileged sources for jetmemd, which starts it: by hand it is of no use.\n"
    "Serves one connection, a SOCK_SEQPACKET socket on descriptor 3.\n"
    "\n"
    "  --root DIR  read below DIR (a fixture, scenario or captured bundle) instead of /\n"
    "  --help      this text\n"
    "  --version   the version\n";

int run(int argc, char** argv) {
  std::string root_directory;
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (argument == "--help") {
      std::fputs(kHelp.data(), stdout);
      return 0;
    }
    if (argument == "--version") {
      std::printf("jetmem-reader %s\n", kVersion);
      return 0;
    }
    if (argument == "--root" && i + 1 < argc) {
      root_directory = argv[++i];
      continue;
    }
    print_error("jetmem-reader: unknown argument '" + std::string(argument) + "'; see --help");
    return kExitUsage;
  }
  int type = 0;
  socklen_t size = sizeof type;
  if (::getsockopt(kConnection, SOL_SOCKET, SO_TYPE, &type, &size) != 0 || type != SOCK_SEQPACKET) {
    std::fputs(
        "jetmem-reader: descriptor 3 is not the daemon's socket; jetmemd starts this "
        "program, or systemd does\n",
        stderr);
    return kExitUsage;
  }
  // Nothing of whoever started us stays open in a process that may hang indefinitely.
  close_from(kConnection + 1);
  const int null = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  for (int fd = 0; null >= 0 && fd < 3; ++fd) ::dup2(null, fd);
  if (null > kConnection) ::close(null);
  ::signal(SIGALRM, SIG_DFL);
  ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  ::prctl(PR_SET_NAME, "jetmem-reader", 0, 0, 0);

  Root root = Root::live();
  if (!root_directory.empty()) {
    auto other = Root::at(root_directory);
    if (!other) return kExitNoInput;
    root = std::move(*other);
  }
  Server server(kConnection, std::move(root), all_source_infos());
  if (!server.send_hello()) return kExitIo;
  while (server.serve_one()) {
  }
  return 0;
}

}  // namespace
}  // namespace jetmem::reader

int main(int argc, char** argv) {
  jetmem::install_fatal_handler();
  return jetmem::reader::run(argc, argv);
}
