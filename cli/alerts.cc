// jetmem alerts: what fires now, and what to do about it.

#include <cstdio>

#include "cli/alerts_asked.h"
#include "cli/alerts_text.h"
#include "cli/commands.h"
#include "cli/event_text.h"
#include "cli/exit_codes.h"
#include "cli/rule_input.h"
#include "cli/terminal.h"

namespace jetmem {
namespace {

struct AlertsOptions {
  AlertsWanted wanted;
  bool json = false;
  bool all = false;
};

int run_alerts(const AlertsOptions& options) {
  const auto settings = settings_for("alerts", options.wanted.config);
  if (!settings) return kExitUsage;
  const auto asked = ask_for_alerts(options.wanted, *settings);
  if (!asked) {
    std::fprintf(stderr, "jetmem alerts: %s\n", asked.error().message.c_str());
    return asked.error().code == Errc::kInvalid ? kExitUsage : kExitUnknown;
  }
  if (!asked->why_not_asked.empty()) {
    std::fprintf(stderr, "jetmem alerts: %s\n", asked->why_not_asked.c_str());
  }
  for (const std::string& note : asked->notes) {
    std::fprintf(stderr, "jetmem alerts: %s\n", note.c_str());
  }
  const std::string out =
      options.json ? asked->json
                   : alerts_text(asked->answer, {wants_color(), options.all, asked->from});
  std::fwrite(out.data(), 1, out.size(), stdout);
  return alerts_status(asked->answer);
}

}  // namespace

void add_alerts_command(CLI::App& app, CommandContext& context) {
  CLI::App* command =
      app.add_subcommand("alerts", "What fires, is pending or could not be judged, and what to do");
  auto options = std::make_shared<AlertsOptions>();
  command->add_flag("--json", options->json, "As JSON (docs/api.md), all rules");
  command->add_flag("--all", options->all, "Also the rules that are quiet, and where they stand");
  command
      ->add_option("--daemon", options->wanted.daemon,
                   "Ask the jetmemd at this address (127.0.0.1:10743, unix:/path) and no other")
      ->type_name("ADDRESS");
  command
      ->add_option("--config", options->wanted.config,
                   "Settings file, for http.listen and the rules (default: those of jetmemd)")
      ->type_name("FILE");
  command->footer(
      "Asks jetmemd: at /run/jetmem/api.socket, then where http.listen says. Where none answers, "
      "or\n"
      "with --root DIR, the rules are judged from one look; what needs a past cannot be told "
      "then.\n"
      "Of a bundle the answer is what jetmemd judged when it was captured.\n"
      "Exit status: 0 when nothing fires and every rule was judged; 1 when something fires; 3 "
      "when\n"
      "nothing is known to fire and not all could be told (a source is blind, a rule has a "
      "mistake,\n"
      "one look was not enough, nobody answers); 2 on a wrong command line. A rule that has\n"
      "nothing to look at, as the device has no such thing, counts as judged: --all names them.");
  command->callback([options, &context] {
    options->wanted.root = context.root;
    options->wanted.access = context.access;
    context.status = run_alerts(*options);
  });
}

}  // namespace jetmem
