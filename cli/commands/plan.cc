// SPDX-License-Identifier: Apache-2.0
// jetmem plan: whether what is meant to run on a device fits its memory.

#include <cstdio>
#include <utility>

#include "base/text/text.h"
#include "cli/client/device_client.h"
#include "cli/commands.h"
#include "cli/draw/terminal.h"
#include "cli/exit_codes.h"
#include "cli/text/answer_text.h"
#include "config/yaml_fields.h"
#include "report/answers/plan_answer.h"

namespace jetmem {
namespace {

struct PlanOptions : DeviceClientOptions {
  std::string file;
  std::string device;
  bool json = false;
  bool list = false;
  bool on_top = false;
};

Result<plan::DeviceMemory> device_for(const PlanOptions& options, const plan::Plan& plan) {
  const std::string& name = options.device.empty() ? plan.device : options.device;
  if (name.empty() || name == "this") {
    auto now = query_device(options);
    if (!now) return tl::unexpected(std::move(now.error()));
    for (const std::string& note : now->notes) warn("plan", note);
    return memory_of(*now);
  }
  if (const plan::KnownDevice* known = plan::device_named(name)) return memory_of(*known);
  std::vector<std::string_view> names;
  for (const plan::KnownDevice& each : plan::known_devices()) names.push_back(each.name);
  const Errc code = options.device.empty() ? Errc::kMalformed : Errc::kInvalid;
  return fail(code, "unknown device '" + printable(name, 60) + "'" +
                        did_you_mean(name, names, "; known: " + join_names(names)) +
                        "; see `jetmem plan --list-devices`");
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
  if (options.file.empty())
    return failed("plan", {Errc::kInvalid, "no plan given: `jetmem plan FILE.yaml`"});
  const auto text = read_config_file(options.file);
  if (!text) {
    return failed("plan",
                  {text.error().code, printable(options.file, 300) + ": " + text.error().message});
  }
  plan::ReadPlan read = plan::parse_plan(printable(options.file, 300), *text);
  if (!read.errors.empty()) {
    std::fprintf(stderr, "%s\n", describe(read.errors).c_str());
    return kExitData;
  }
  if (options.on_top) read.plan.on_top = true;
  auto device = device_for(options, read.plan);
  if (!device) return undecided("plan", device.error());
  const PlanAnswer answer =
      plan_answer(printable(options.file, 300), read.plan, std::move(*device));
  put(options.json ? plan_json(answer) : plan_text(answer));
  if (answer.budget.fit == plan::Fit::kUnknown) return kExitUnknown;
  return answer.budget.fit == plan::Fit::kDoesNotFit ? kExitWarning : kExitOk;
}

}  // namespace

void add_plan_command(const Command& program) {
  const Command command = program.add(
      "plan", "Whether cameras, models and services fit a device's memory, CMA and bandwidth");
  auto& options = command.runs(run_plan);
  command.option("FILE", options.file, "FILE", "The plan, YAML (docs/plan.md)");
  command.option("--device", options.device, "NAME",
                 "Check against this kind of device, whatever the plan names; 'this' is this one");
  command.flag("--on-top", options.on_top,
               "Everything that runs now keeps running; the plan is added to it");
  command.flag("--list-devices", options.list, "List the known kinds of devices");
  command.flag("--json", options.json, "As JSON");
  add_device_options(command, options);
  command.footer(
      "Compares the plan with this device as it is now (with --root, a captured one), or with a "
      "kind of device by its data sheet. Assumptions and unknown values are listed; nothing is "
      "changed.");
  command.exit_status("0 if it fits, even tightly; 1 if it does not; 3 if that is unknown");
}

}  // namespace jetmem
