// SPDX-License-Identifier: Apache-2.0
// jetmem plan: whether what is meant to run on a device fits its memory.

#include <cstdio>
#include <utility>

#include "base/text/text.h"
#include "cli/client/device_client.h"
#include "cli/commands.h"
#include "cli/draw/terminal.h"
#include "cli/exit_codes.h"
#include "cli/suggestion.h"
#include "cli/text/answer_text.h"
#include "config/yaml_fields.h"
#include "plan/model/header_reader.h"
#include "plan/model/model_file.h"
#include "plan/model/ollama.h"
#include "plan/plan_answer.h"

namespace jetmem {
namespace {

struct PlanOptions : Target {
  std::string file;
  std::vector<std::string> models;
  std::string context;
  std::string kv_type;
  int sequences = 1;
  std::string device;
  bool list = false;
  bool on_top = false;
};

Result<plan::DeviceMemory> device_for(const PlanOptions& options, const plan::Plan& plan) {
  const std::string& name = options.device.empty() ? plan.device : options.device;
  if (name.empty() || name == "this") {
    auto now = DeviceClient("", options).now();
    if (!now) return tl::unexpected(std::move(now.error()));
    for (const std::string& note : now->notes) warn("plan", note);
    return memory_of(*now);
  }
  if (const device::KnownDevice* known = device::device_named(name)) return memory_of(*known);
  std::vector<std::string_view> names;
  for (const device::KnownDevice& each : device::known_devices()) names.push_back(each.name);
  const Errc code = options.device.empty() ? Errc::kMalformed : Errc::kInvalid;
  return fail(code, "unknown device '" + printable(name, 60) + "'" +
                        did_you_mean(name, names, "; known: " + join_names(names)) +
                        "; see `jetmem plan --list-devices`");
}

void list_devices() {
  for (const device::KnownDevice& device : device::known_devices()) {
    std::printf("%-25.*s %.*s, ", static_cast<int>(device.name.size()), device.name.data(),
                static_cast<int>(device.title.size()), device.title.data());
    if (device.peak_bytes_per_second > 0) {
      std::printf("%.1f GB/s\n", device.peak_bytes_per_second / 1e9);
    } else {
      std::printf("bandwidth unknown\n");
    }
  }
}

// "8192", and "8k" and "128K" as people write it: 1024 each.
std::optional<std::uint64_t> tokens(std::string_view text) {
  constexpr std::uint64_t kMost = 1ULL << 30;
  const bool is_kilo = text.ends_with('k') || text.ends_with('K');
  if (is_kilo) text.remove_suffix(1);
  const auto number = parse_u64(text);
  if (!number || *number == 0 || *number > kMost) return std::nullopt;
  return is_kilo ? *number << 10 : *number;
}

std::string context_problem(const std::string& text) {
  return tokens(text) ? std::string() : "expected a number of tokens such as 8192 or 8k";
}

std::string kv_type_problem(const std::string& text) {
  if (plan::kv_type_named(text) != nullptr) return {};
  std::vector<std::string_view> names;
  for (const plan::KvType& each : plan::kv_types()) names.push_back(each.name);
  return "unknown type '" + printable(text, 60) + "'" + did_you_mean(text, names) +
         "; known: " + join_names(names);
}

Result<void> add_models(const PlanOptions& options, plan::Plan& plan) {
  const plan::ModelUse use{tokens(options.context), plan::kv_type_named(options.kv_type),
                           static_cast<std::uint64_t>(options.sequences)};
  for (const std::string& given : options.models) {
    auto file = plan::read_model_file(given, plan::ollama_folders());
    if (!file) return tl::unexpected(std::move(file.error()));
    plan.language_models.push_back(plan::language_model_of(*file, use));
  }
  return {};
}

bool is_gguf(const std::string& path) {
  if (path.ends_with(".gguf")) return true;
  const auto file = plan::open_bytes(path);
  return file && plan::HeaderReader(*file, 4).text(4, "'GGUF'") == "GGUF";
}

// What is given as a plan and is none may be a model.
void hint_at_model(const PlanOptions& options) {
  if (!is_gguf(options.file)) return;
  warn("plan", "a GGUF file is a model, not a plan: `jetmem plan --model " +
                   shell_word(options.file) + "`");
}

// 0, or the exit status after a message.
int read_plan(const PlanOptions& options, plan::Plan& plan) {
  const std::string name = printable(options.file, 300);
  const auto text = read_config_file(options.file);
  if (!text) {
    const int status = failed("plan", {text.error().code, name + ": " + text.error().message});
    hint_at_model(options);
    return status;
  }
  plan::ReadPlan read = plan::parse_plan(name, *text);
  if (!read.errors.empty()) {
    print_errors(read.errors);
    hint_at_model(options);
    return kExitData;
  }
  plan = std::move(read.plan);
  return kExitOk;
}

int run_plan(const PlanOptions& options) {
  if (options.list) {
    list_devices();
    return kExitOk;
  }
  if (options.file.empty() && options.models.empty()) {
    return failed(
        "plan",
        {Errc::kInvalid, "no plan given: `jetmem plan FILE.yaml`, or `jetmem plan --model FILE`"});
  }
  plan::Plan plan;
  if (!options.file.empty()) {
    if (const int status = read_plan(options, plan); status != kExitOk) return status;
  }
  if (auto added = add_models(options, plan); !added) return failed("plan", added.error());
  if (options.on_top) plan.on_top = true;
  auto device = device_for(options, plan);
  if (!device) return undecided("plan", options, device.error());
  std::string title = options.file;
  for (const std::string& model : options.models) title += (title.empty() ? "" : " + ") + model;
  const PlanAnswer answer = plan_answer(printable(title, 300), plan, std::move(*device));
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
  command
      .option(
          "--model", options.models, "FILE",
          "Add a model from its own files: a GGUF or ONNX file, a TensorRT engine, a Hugging Face "
          "folder, or the name of an Ollama model; several as A,B")
      .separated_by_commas();
  command
      .option("--context", options.context, "TOKENS",
              "Context of these models, 8192 or 8k; default: the longest they were made for")
      .check(context_problem)
      .needs("--model");
  command
      .option("--kv-type", options.kv_type, "TYPE",
              "How their KV cache is stored: f16, q8_0, q4_0, fp8, ...; default: f16, or as "
              "config.json says")
      .check(kv_type_problem)
      .needs("--model");
  command
      .option("--sequences", options.sequences, "N",
              "Sequences with a context of their own that run at a time")
      .range(1, 4096)
      .show_default()
      .needs("--model");
  command.option("--device", options.device, "NAME",
                 "Check against this kind of device, whatever the plan names; 'this' is this one");
  command.flag("--on-top", options.on_top,
               "Everything that runs now keeps running; the plan is added to it");
  command.flag("--list-devices", options.list, "List the known kinds of devices")
      .excludes({"FILE", "--model", "--device", "--on-top", "--json"});
  command.json("As JSON");
  command.device();
  command.footer(
      "Compares the plan with this device as it is now (with --root, a captured one), or with a "
      "kind of device by its data sheet. Assumptions and unknown values are listed; nothing is "
      "changed.\n"
      "Only the headers of a model's files are read, never the weights. Where the architecture or "
      "one of its keys is not known, the KV cache is an upper bound, and the output says so.");
  command.exit_status("0 if it fits, even tightly; 1 if it does not; 3 if that is unknown");
}

}  // namespace jetmem
