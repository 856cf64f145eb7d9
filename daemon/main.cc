// SPDX-License-Identifier: Apache-2.0
// jetmemd: the daemon.

#include <getopt.h>
#include <malloc.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>
#include <system_error>

#include "base/exit_codes.h"
#include "base/fatal_handler.h"
#include "base/text/print_error.h"
#include "base/version.h"
#include "collectors/sampler/registry.h"
#include "config/load.h"
#include "daemon/log/log_writers.h"
#include "daemon/loop/daemon.h"

namespace jetmem {
namespace {

constexpr std::chrono::milliseconds kLogFlushTimeout{300};

struct Arguments {
  std::vector<std::string> config;
  std::string root;
  double speed = 1;
  int verbosity = 0;
};

constexpr double kMostSpeed = 1000;

constexpr std::string_view kHelp =
    "Samples the memory health of this machine and serves it to Prometheus.\n"
    "\n"
    "Usage: jetmemd [--config FILE]... [--root DIR [--speed X]] [-v]\n"
    "\n"
    "  --config FILE  settings; may be given more than once, later ones override earlier ones\n"
    "                 (default: /etc/jetmem/jetmem.yaml and /etc/jetmem/conf.d/*.yaml)\n"
    "  --root DIR     sample below this directory (a fixture, scenario or captured bundle)\n"
    "                 instead of /\n"
    "  --speed X      with --root: its clock runs so many times as fast, as the machine there\n"
    "                 is played (tests/scenarios/player.py); 1 to 1000, default 1\n"
    "  -v, --verbose  log more; twice for everything\n"
    "  -h, --help     this text\n"
    "  --version      the version\n"
    "\n"
    "Serves its page at /, /metrics, /api/v1/..., /healthz and /readyz where http.listen says\n"
    "(127.0.0.1:10743), and under systemd on /run/jetmem/api.socket.\n"
    "SIGHUP reloads the settings, SIGTERM ends it.\n"
    "Exit status: 0 after SIGTERM or SIGINT, 64 for a wrong command line, 65 for invalid or\n"
    "missing settings, 66 if the --root does not exist, 69 if it could not run, 71 if an\n"
    "allocation failed.\n";

// The status with which the program ends at once; nothing where it goes on.
std::optional<int> parse_arguments(int argc, char** argv, Arguments& out) {
  static constexpr option kOptions[] = {{"config", required_argument, nullptr, 'c'},
                                        {"root", required_argument, nullptr, 'r'},
                                        {"speed", required_argument, nullptr, 's'},
                                        {"verbose", no_argument, nullptr, 'v'},
                                        {"help", no_argument, nullptr, 'h'},
                                        {"version", no_argument, nullptr, 'V'},
                                        {}};
  ::opterr = 0;
  while (::optind < argc) {
    const std::string argument = argv[::optind];
    const int given = ::getopt_long(argc, argv, "+hv", kOptions, nullptr);
    if (given == 'c' && *::optarg != '\0') {
      out.config.emplace_back(::optarg);
    } else if (given == 'r' && *::optarg != '\0') {
      out.root = ::optarg;
    } else if (given == 's') {
      char* end = nullptr;
      out.speed = std::strtod(::optarg, &end);
      // False too of what is no number.
      if (*end != '\0' || !(out.speed >= 1 && out.speed <= kMostSpeed)) {
        print_error("jetmemd: --speed: '" + std::string(::optarg) +
                    "' is no number from 1 to 1000");
        return kExitUsage;
      }
    } else if (given == 'v') {
      ++out.verbosity;
    } else if (given == 'h') {
      std::fputs(kHelp.data(), stdout);
      return 0;
    } else if (given == 'V') {
      std::printf("jetmemd %s\n", kVersion);
      return 0;
    } else {
      print_error("jetmemd: unknown or incomplete argument '" + argument + "'; see --help");
      return kExitUsage;
    }
  }
  return std::nullopt;
}

bool is_this_machine(const std::string& root) {
  std::error_code error;
  return root.empty() || std::filesystem::equivalent(root, "/", error);
}

// glibc keeps what was freed, and a pool for each thread, in the hope of speed. Here all its
// threads would keep as much as they ever needed at once: two pools do, and what is large goes back
// when it is freed.
void keep_little_memory() {
  ::mallopt(M_ARENA_MAX, 2);
  ::mallopt(M_MMAP_THRESHOLD, 64 << 10);
  ::mallopt(M_TRIM_THRESHOLD, 64 << 10);
}

int run(const Arguments& arguments) {
  auto settings = load_named_or_default(arguments.config, known_sources());
  if (!settings) {
    print_errors(settings.error());
    std::fputs("jetmemd: the settings are wrong; not started\n", stderr);
    return kExitData;
  }
  Root root = Root::live();
  if (!arguments.root.empty()) {
    auto other = Root::at(arguments.root);
    if (!other) {
      print_error("jetmemd: --root: " + other.error().message);
      return kExitNoInput;
    }
    root = std::move(*other);
  }
  if (arguments.speed != 1 && is_this_machine(arguments.root)) {
    std::fputs(
        "jetmemd: --speed: only together with --root DIR of a played machine; the time of this "
        "machine cannot be hurried\n",
        stderr);
    return kExitUsage;
  }
  DaemonOptions options;
  options.speed = arguments.speed;
  options.root_directory = arguments.root;
  options.config = arguments.config;
  options.load = [files = arguments.config] {
    return load_named_or_default(files, known_sources());
  };
  options.verbosity = arguments.verbosity;

  AsyncLogger async_logger(make_log_writer());
  // A daemon without a log would be silent for good.
  if (!async_logger.problem().empty()) {
    print_error("jetmemd: no thread for the log: " + async_logger.problem() + "; not started");
    return kExitUnavailable;
  }
  int status = 0;
  {
    Daemon daemon(std::move(options), std::move(settings->values), std::move(root), async_logger);
    async_logger.info(std::string("jetmemd ") + kVersion + " starts" +
                      (arguments.root.empty() ? "" : " on " + arguments.root));
    status = daemon.run();
  }
  // A log that cannot be written must not keep the process: then the rest is left behind.
  if (!async_logger.stop(kLogFlushTimeout)) ::_exit(status);
  return status;
}

}  // namespace
}  // namespace jetmem

// What nobody expected ends the process, and systemd tells it.
// NOLINTNEXTLINE(bugprone-exception-escape)
int main(int argc, char** argv) {
  jetmem::install_fatal_handler();
  jetmem::keep_little_memory();
  // A log or client that went away is an error of that write, not the daemon's end.
  std::signal(SIGPIPE, SIG_IGN);
  jetmem::Daemon::block_signals();
  jetmem::Arguments arguments;
  if (const auto status = jetmem::parse_arguments(argc, argv, arguments)) return *status;
  return jetmem::run(arguments);
}
