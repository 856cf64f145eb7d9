// SPDX-License-Identifier: Apache-2.0
// jetmem watch: the device live, on a terminal.

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <memory>
#include <string_view>

#include "base/text/units.h"
#include "cli/client/device_client.h"
#include "cli/client/rule_input.h"
#include "cli/commands.h"
#include "cli/draw/terminal.h"
#include "cli/exit_codes.h"
#include "cli/watch/loop.h"
#include "cli/watch/reader.h"
#include "cli/watch/signals.h"

namespace jetmem {
namespace {

// How long a read in progress may still take at the end.
constexpr std::chrono::milliseconds kStopTimeout(500);

struct WatchOptions : Target {
  std::string interval = "2s";
  std::string at = "now";
};

int usage(std::string message) { return failed("watch", {Errc::kInvalid, std::move(message)}); }

watch::Glyphs glyphs() {
  const char* const term = std::getenv("TERM");
  const std::string_view name = term == nullptr ? "" : term;
  watch::Glyphs out;
  // A VT100 or VT220, usually on a serial line, has no UTF-8, whatever the locale.
  out.utf8 = has_utf8() && !name.starts_with("vt");
  // The font of a Linux console has full and half blocks only.
  out.blocks = out.utf8 && !name.starts_with("linux");
  return out;
}

// What a library says on standard error would be drawn over the screen.
class Quiet {
 public:
  Quiet() {
    if (::isatty(STDERR_FILENO) != 1) return;
    saved_ = ::fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
    const int null = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
    if (null < 0) return;
    ::dup2(null, STDERR_FILENO);
    ::close(null);
  }
  Quiet(const Quiet&) = delete;
  Quiet& operator=(const Quiet&) = delete;
  ~Quiet() {
    if (saved_ < 0) return;
    ::dup2(saved_, STDERR_FILENO);
    ::close(saved_);
  }

 private:
  int saved_ = -1;
};

int run_watch(const WatchOptions& options) {
  const auto interval = parse_duration(options.interval);
  if (!interval) return usage("--interval: " + interval.error().message);
  const double seconds = static_cast<double>(interval->count()) / 1000;
  if (seconds < watch::kShortest || seconds > watch::kLongest) {
    return usage("--interval: from 1s to 60s");
  }
  // Print errors in the settings before the screen is taken over.
  if (const auto settings = settings_for("watch", options.config); !settings) {
    return exit_code(settings.error().code);
  }
  watch::Shown first;
  first.interval = seconds;
  const auto reader = std::make_shared<watch::Reader>(options);
  auto at = reader->moment(options.at);
  if (!at) return failed_past("watch", std::move(at.error()).within("--at"));
  first.as_of = *at;
  use_terminal_locale();
  const SignalFd signals({SIGINT, SIGTERM, SIGHUP, SIGTSTP, SIGWINCH});
  if (!signals.valid()) return usage(errno_error("signalfd", "", errno).message);
  auto screen = watch::Screen::open(uses_color());
  if (!screen) return usage(screen.error().message);
  int signal = 0;
  bool looking = false;
  {
    const Quiet quiet;
    watch::SnapshotWorker looker(
        [reader](const watch::Request& request) { return reader->read(request); });
    signal = watch::run_watch_loop(**screen, signals, looker, first, glyphs());
    screen->reset();
    looking = !looker.stop(kStopTimeout);
  }
  if (signal != 0) watch::take_usual_effect(signal);
  // A thread that still reads would outlive what it reads with.
  if (looking) std::_Exit(kExitOk);
  return kExitOk;
}

}  // namespace

void add_watch_command(const Command& program) {
  const Command command =
      program.add("watch",
                  "The device live or at a recorded moment: overview, holders, fragmentation, CMA, "
                  "thermal, events");
  auto& options = command.runs(run_watch);
  command.option("--interval", options.interval, "DURATION",
                 "Refresh interval, 1s to 60s (default: 2s); + and - change it");
  command.option("--at", options.at, "WHEN",
                 "Start at a recorded moment: 03:12, '2026-11-20 03:12', 30m (ago), yesterday, "
                 "@1790000000");
  command.device();
  command.footer(
      "Keys: 1-6 views, Tab next; Up, Down, PgUp and PgDn scroll; / filter, s sort, Space pause, "
      "+ - interval, h help, q quit; F1, F4, F6 and F10 as in htop. Left and Right step through "
      "the history, with Shift (or < >) ten steps at once, t goes to a time, l back to live. A "
      "recorded moment is marked \"as of\" and NOT LIVE: it comes from jetmemd's history, or from "
      "its file if jetmemd does not answer, with --root DIR from DIR/jetmem/history.db.\n"
      "Asks jetmemd; if none answers it reads the device itself, at most every 10 s, as some files "
      "take kernel locks. With --root it reads the files at each refresh. The title shows the age "
      "of the values; after a failed read the last values stay, with the reason. Unknown values "
      "are \"-\" or \"not known\".\n"
      "It needs a terminal: status, top and the others need none, and have --json.");
  command.exit_status("0; 3 if there is no history for --at");
}

}  // namespace jetmem
