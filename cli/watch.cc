// jetmem watch: the device live, on a terminal.

#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string_view>

#include "base/units.h"
#include "cli/commands.h"
#include "cli/device_asked.h"
#include "cli/exit_codes.h"
#include "cli/rule_input.h"
#include "cli/terminal.h"
#include "cli/watch/controller.h"
#include "cli/watch/loop.h"

namespace jetmem {
namespace {

// How long a look under way may still take when somebody leaves.
constexpr double kPatience = 0.5;

struct WatchOptions {
  DeviceAsked asked;
  std::string interval = "2s";
};

int usage(const std::string& message) {
  std::fprintf(stderr, "jetmem watch: %s\n", message.c_str());
  return kExitUsage;
}

watch::Glyphs glyphs() {
  const char* const term = std::getenv("TERM");
  const std::string_view name = term == nullptr ? "" : term;
  watch::Glyphs out;
  // A VT100 or VT220, on a serial line mostly, knows no UTF-8, whatever the locale says.
  out.utf8 = has_utf8() && name.substr(0, 2) != "vt";
  // The font of a Linux console has full and half blocks only.
  out.blocks = out.utf8 && name.substr(0, 5) != "linux";
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
  if (!options.asked.root.empty() && !options.asked.daemon.empty()) {
    return usage("--root and --daemon exclude each other");
  }
  // Mistakes of the settings are told while there is a line to tell them on.
  if (!settings_for("watch", options.asked.config)) return kExitUsage;
  use_terminal_locale();
  auto signals = watch::Signals::take();
  if (!signals) return usage(signals.error().message);
  auto screen = watch::Screen::open(wants_color());
  if (!screen) return usage(screen.error().message);
  int signal = 0;
  bool looking = false;
  {
    const Quiet quiet;
    watch::Looker looker([asked = options.asked] { return look_at_device(asked); },
                         watch::Signals::wake);
    signal = watch::watch_until_left(**screen, *signals, looker, seconds, glyphs());
    screen->reset();
    looking = !looker.stop(kPatience);
  }
  if (signal != 0) watch::end_by(signal);
  // A thread that still reads would outlive what it reads with.
  if (looking) std::_Exit(kExitOk);
  return kExitOk;
}

}  // namespace

void add_watch_command(CLI::App& app, CommandContext& context) {
  CLI::App* command =
      app.add_subcommand("watch", "The device live: overview, holders, fragmentation, CMA, events");
  auto options = std::make_shared<WatchOptions>();
  command
      ->add_option("--interval", options->interval,
                   "How often to look, 1s to 60s (2s); + and - change it")
      ->type_name("DURATION");
  add_device_options(*command, options->asked);
  command->footer(
      "Keys: 1-6 views, Tab next, s sort, p pause, + - interval, arrows and pages scroll, h help,\n"
      "q quit. Asks jetmemd; where none answers it reads the device itself, every 10 s at most, "
      "as\n"
      "some files take locks of the kernel. Below --root it looks again each time. The title says\n"
      "how old the figures are; a failed look leaves the last good one and says why. Nothing is\n"
      "guessed: what could not be read is \"-\" or \"not known\". Sends only what has changed.\n"
      "Exit status: 0; 2 on a wrong command line or without a terminal to draw on (status, top "
      "and\n"
      "the others do without, and have --json).");
  command->callback([options, &context] {
    options->asked.root = context.root;
    options->asked.root_name = context.root_name;
    options->asked.access = context.access;
    context.status = run_watch(*options);
  });
}

}  // namespace jetmem
