// jetmem doctor: the walk of an expert through the device, and what it adds up to.

#include <algorithm>
#include <cstdio>

#include "base/text.h"
#include "cli/commands.h"
#include "cli/daemon_client.h"
#include "cli/device_asked.h"
#include "cli/doctor_text.h"
#include "cli/exit_codes.h"
#include "cli/rule_input.h"
#include "cli/terminal.h"

namespace jetmem {
namespace {

// 2 says that the device is in a critical state: a mistake on the command line must not.
constexpr int kExitNotAsked = kExitUnknown;

struct DoctorOptions {
  DeviceAsked asked;
  bool json = false;
  bool all = false;
  std::string step;
};

// Absent where the daemon has no such page (an older one), or none answers.
Result<DoctorAnswer> from_daemon(const DeviceAsked& asked) {
  auto settings = settings_for("doctor", asked.config);
  if (!settings) return fail(Errc::kInvalid, "the settings are wrong");
  auto places = daemon_places(asked.daemon, settings->http, asked.access);
  if (!places) return tl::unexpected(std::move(places.error()));
  auto reply = ask_daemon(*places, "/api/v1/doctor", std::chrono::seconds(10));
  if (!reply) return tl::unexpected(std::move(reply.error()));
  auto answer = parse_doctor(reply->body);
  if (!answer) return tl::unexpected(std::move(answer.error()).within(reply->from.text()));
  answer->from = reply->from.text();
  return answer;
}

Result<DoctorAnswer> ask(const DeviceAsked& asked) {
  if (!asked.root.empty() && !asked.daemon.empty()) {
    return fail(Errc::kInvalid, "--root and --daemon exclude each other");
  }
  if (asked.root.empty()) {
    auto told = from_daemon(asked);
    if (told || told.error().code == Errc::kInvalid) return told;
  }
  auto now = look_at_device(asked);
  if (!now) return tl::unexpected(std::move(now.error()));
  auto history = history_of_device(asked);
  if (!history) return examine(*now, nullptr, history.error().message);
  return examine(*now, history->get());
}

int run_doctor(const DoctorOptions& options) {
  const auto names = doctor_steps();
  if (!options.step.empty() && std::find(names.begin(), names.end(), options.step) == names.end()) {
    std::string all;
    for (const std::string_view name : names) all.append(all.empty() ? "" : ", ").append(name);
    std::fprintf(stderr, "jetmem doctor: there is no step %s; there are: %s\n",
                 printable(options.step, 60).c_str(), all.c_str());
    return kExitNotAsked;
  }
  const auto answer = ask(options.asked);
  if (!answer) {
    std::fprintf(stderr, "jetmem doctor: %s\n", printable(answer.error().message, 1000).c_str());
    return kExitNotAsked;
  }
  const DoctorAnswer::Step* const step = answer->step(options.step);
  if (!options.step.empty() && step == nullptr) {
    std::fprintf(stderr, "jetmem doctor: the answer has no step %s\n", options.step.c_str());
    return kExitNotAsked;
  }
  const std::string out = options.json
                              ? doctor_json(*answer)
                              : doctor_text(*answer, {wants_color(), options.all, options.step});
  std::fwrite(out.data(), 1, out.size(), stdout);
  return doctor_status(step != nullptr ? step->verdict : answer->verdict);
}

}  // namespace

void add_doctor_command(CLI::App& app, CommandContext& context) {
  CLI::App* command = app.add_subcommand(
      "doctor", "What is wrong with this device, since when, who did it, and what to do");
  auto options = std::make_shared<DoctorOptions>();
  command->add_flag("--json", options->json, "As JSON (docs/doctor.md), all steps");
  command->add_flag("--all", options->all, "Every step in full, also what is fine");
  command
      ->add_option("--step", options->step, "Only this step, in full; the exit status is its own")
      ->type_name("NAME");
  add_device_options(*command, options->asked);
  command->footer(
      "Asks jetmemd: at /run/jetmem/api.socket, then where http.listen says. Where none answers, "
      "or\n"
      "with --root DIR, it is one look and the recorder's file (DIR/jetmem/history.db). What "
      "cannot be\n"
      "read is unknown and never taken for fine; a culprit is only named where the numbers show "
      "it.\n"
      "Exit status: 0 fine, 1 warning, 2 critical, 3 when nothing bad is known and not all could "
      "be\n"
      "told, also when the device could not be asked or --step is wrong.");
  command->callback([options, &context] {
    options->asked.root = context.root;
    options->asked.root_name = context.root_name;
    options->asked.access = context.access;
    context.status = run_doctor(*options);
  });
}

}  // namespace jetmem
