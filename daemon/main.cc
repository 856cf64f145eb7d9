// SPDX-License-Identifier: Apache-2.0
// jetmemd: the daemon.

#include <malloc.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
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
  CLI::App app("Samples the memory health of this machine and serves it to Prometheus.\n",
               "jetmemd");
  app.set_version_flag("--version", std::string("jetmemd ") + jetmem::kVersion);
  jetmem::Arguments arguments;
  app.add_option("--config", arguments.config,
                 "Settings file; may be given more than once, later ones override earlier ones\n"
                 "(default: /etc/jetmem/jetmem.yaml and /etc/jetmem/conf.d/*.yaml)")
      ->type_name("FILE")
      ->expected(1)
      ->allow_extra_args(false)
      ->take_all();
  app.add_option(
         "--root", arguments.root,
         "Sample below this directory (a fixture, scenario or captured bundle) instead of /")
      ->type_name("DIR");
  app.add_option("--speed", arguments.speed,
                 "With --root: its clock runs so many times as fast, as the machine there is\n"
                 "played (tests/scenarios/player.py); 1 to 1000, default 1")
      ->type_name("X")
      ->check(CLI::Range(1.0, jetmem::kMostSpeed))
      // What is no number is in every range.
      ->check([](const std::string& text) {
        return std::isnan(std::strtod(text.c_str(), nullptr)) ? "not a number: " + text
                                                              : std::string();
      });
  app.add_flag("-v,--verbose", arguments.verbosity, "Log more; twice for everything");
  app.footer(
      "Serves its page at /, /metrics, /api/v1/..., /healthz and /readyz where http.listen says\n"
      "(127.0.0.1:10743), and under systemd on /run/jetmem/api.socket.\n"
      "SIGHUP reloads the settings, SIGTERM ends it.\n"
      "Exit status: 0 after SIGTERM or SIGINT, 64 for a wrong command line, 65 for invalid or\n"
      "missing settings, 66 if the --root does not exist, 69 if it could not run, 71 if an\n"
      "allocation failed.");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    // Help and version come this way too, with status 0.
    if (error.get_exit_code() == 0) return app.exit(error);
    jetmem::print_error(error.what());
    jetmem::print_error("Run with --help for more information.");
    return jetmem::kExitUsage;
  }
  return jetmem::run(arguments);
}
