// SPDX-License-Identifier: Apache-2.0
// jetmem-nvml: asks NVIDIA's management library for the memory of processes on each GPU, prints
// what it says, and ends.
//
// A process of its own, because the library is large, belongs to the driver, needs the GPU's
// devices and may hang in that driver beyond any signal. It is loaded at run time; no CUDA context
// is made and nothing is changed. The format is described in collectors/jetson/nvml/source.h.

#include <fcntl.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cstdio>
#include <string_view>

#include "base/spawn.h"
#include "base/version.h"
#include "collectors/jetson/nvml/program/report.h"

namespace jetmem::nvml {
namespace {

constexpr int kExitUsage = 2;
// Whoever started it has given up on it by then.
constexpr unsigned kLongestRun = 20;

constexpr std::string_view kHelp =
    "Usage: jetmem-nvml [--library PATH]\n"
    "\n"
    "Prints what NVIDIA's management library says of each GPU: memory, load, and the memory of\n"
    "processes. jetmemd starts it, or systemd does for jetmemd.\n"
    "\n"
    "  --library PATH  load this in place of libnvidia-ml.so.1; for tests\n"
    "  --help          this text\n"
    "  --version       the version\n";

int run(int argc, char** argv) {
  const char* library = "libnvidia-ml.so.1";
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (argument == "--help") {
      std::fputs(kHelp.data(), stdout);
      return 0;
    }
    if (argument == "--version") {
      std::printf("jetmem-nvml %s\n", kVersion);
      return 0;
    }
    if (argument == "--library" && i + 1 < argc && argv[i + 1][0] == '/') {
      library = argv[++i];
      continue;
    }
    std::fprintf(stderr, "jetmem-nvml: unknown or incomplete argument '%s'; see --help\n", argv[i]);
    return kExitUsage;
  }
  ::alarm(kLongestRun);
  ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  give_up_oom_protection();
  std::printf("jetmem-nvml 1\npid %d\n", static_cast<int>(::getpid()));
  std::fflush(stdout);
  report(library);
  std::puts("end");
  return std::fflush(stdout) == 0 ? 0 : 1;
}

}  // namespace
}  // namespace jetmem::nvml

int main(int argc, char** argv) { return jetmem::nvml::run(argc, argv); }
