// jetmem plan: whether what is meant to run on a device fits its memory.

#include <cstdio>
#include <utility>

#include "base/text.h"
#include "cli/commands.h"
#include "cli/device_asked.h"
#include "cli/exit_codes.h"
#include "cli/plan_text.h"
#include "config/rule_fields.h"
#include "report/answers/plan_answer.h"

namespace jetmem {
namespace {

struct PlanOptions {
  DeviceAsked asked;
  std::string file;
  std::string device;
  bool json = false;
  bool list = false;
  bool on_top = false;
};

int say(int status, const std::string& message) {
  std::fprintf(stderr, "jetmem plan: %s\n", message.c_str());
  return status;
}

Result<plan::DeviceMemory> device_for(const PlanOptions& options, const plan::Plan& plan) {
  const std::string& name = options.device.empty() ? plan.device : options.device;
  if (name.empty() || name == "this") {
    auto now = look_at_device(options.asked);
    if (!now) return tl::unexpected(std::move(now.error()));
    for (const std::string& note : now->notes) say(0, note);
    return memory_of(*now);
  }
  if (const plan::KnownDevice* known = plan::device_named(name)) return memory_of(*known);
  std::vector<std::string_view> names;
  for (const plan::KnownDevice& each : plan::known_devices()) names.push_back(each.name);
  return fail(Errc::kInvalid, "no device is called '" + printable(name, 60) + "'" +
                                  did_you_mean(name, names, "; known are " + join_names(names)) +
                                  "; `jetmem plan --list-devices` has them");
}

void list_devices() {
  for (const plan::KnownDevice& device : plan::known_devices()) {
    std::printf("%-20.*s %.*s, %.1f GB/s\n", static_cast<int>(device.name.size()),
                device.name.data(), static_cast<int>(device.title.size()), device.title.data(),
                device.peak_bytes_per_second / 1e9);
  }
}

int run_plan(const PlanOptions& options) {
  if (options.list) {
    list_devices();
    return kExitOk;
  }
  if (options.file.empty()) return say(kExitUsage, "which plan? `jetmem plan FILE.yaml`");
  const auto text = read_config_file(options.file);
  if (!text) return say(kExitUsage, printable(options.file, 300) + ": " + text.error().message);
  plan::ReadPlan read = plan::parse_plan(printable(options.file, 300), *text);
  if (!read.errors.empty()) {
    std::fprintf(stderr, "%s\n", describe(read.errors).c_str());
    return kExitUsage;
  }
  if (options.on_top) read.plan.on_top = true;
  auto device = device_for(options, read.plan);
  if (!device) {
    return say(device.error().code == Errc::kInvalid ? kExitUsage : kExitUnknown,
               device.error().message);
  }
  const PlanAnswer answer =
      plan_answer(printable(options.file, 300), read.plan, std::move(*device));
  const std::string out = options.json ? plan_json(answer) : plan_text(answer);
  std::fwrite(out.data(), 1, out.size(), stdout);
  switch (answer.budget.fit) {
    case plan::Fit::kFits:
    case plan::Fit::kTight:
      return kExitOk;
    case plan::Fit::kDoesNotFit:
      return kExitFailed;
    case plan::Fit::kUnknown:
      return kExitUnknown;
  }
  return kExitUnknown;
}

}  // namespace

void add_plan_command(CLI::App& app, CommandContext& context) {
  CLI::App* command = app.add_subcommand(
      "plan", "Whether cameras, models and services fit a device's memory, CMA and bandwidth");
  auto options = std::make_shared<PlanOptions>();
  command->add_option("FILE", options->file, "The plan (docs/plan.md), YAML")->type_name("FILE");
  command
      ->add_option("--device", options->device,
                   "A kind of device instead of this one, whatever the plan says; 'this' is this")
      ->type_name("NAME");
  command->add_flag("--on-top", options->on_top,
                    "What runs on the device now goes on; the plan comes on top of it");
  command->add_flag("--list-devices", options->list, "The kinds of devices that are known");
  command->add_flag("--json", options->json, "As JSON");
  add_device_options(*command, options->asked);
  command->footer(
      "Held against this device as it is now (or, with --root, a captured one), or against a kind\n"
      "of device by its data sheet. What is assumed and what is not known is said; nothing is "
      "set.\n"
      "Exit status: 0 when it fits, tightly perhaps; 1 when it does not; 3 when it cannot be "
      "told;\n"
      "2 on a wrong command line or plan.");
  command->callback([options, &context] {
    options->asked.root = context.root;
    options->asked.root_name = context.root_name;
    options->asked.access = context.access;
    context.status = run_plan(*options);
  });
}

}  // namespace jetmem
