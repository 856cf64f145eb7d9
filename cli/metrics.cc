// jetmem metrics: one sample of every source as Prometheus text.

#include <cstdio>

#include "base/text.h"
#include "cli/commands.h"
#include "cli/exit_codes.h"
#include "cli/one_shot.h"
#include "report/answers/answer_head.h"
#include "report/exposition.h"
#include "report/sample_set.h"

namespace jetmem {
namespace {

// JSON has no word for infinite and what is no number: null.
std::string samples_json(const OneShot& shot) {
  nlohmann::ordered_json samples = nlohmann::ordered_json::object();
  const SampleSet set = SampleSet::of(shot.table());
  for (const Sample& sample : set.all()) {
    samples[sample.name.key()] = sample.value;
  }
  nlohmann::ordered_json out{{"schema", "jetmem-metrics/1"}, {"samples", std::move(samples)}};
  return answer_text(out);
}

int run_metrics(const std::string& root, const std::vector<std::string>& only, bool json) {
  auto shot = OneShot::read(root, only);
  if (!shot) {
    std::fprintf(stderr, "jetmem metrics: %s\n", shot.error().message.c_str());
    return shot.error().code == Errc::kInvalid ? kExitUsage : kExitFailed;
  }
  bool any_ok = false;
  const Sampler& sampler = (*shot)->sampler();
  for (const std::size_t i : (*shot)->chosen()) {
    const SourceStatus& status = sampler.status(i);
    any_ok |= status.state == SourceState::kOk;
    const std::string_view name = sampler.info(i).name;
    if (status.state == SourceState::kDenied || status.state == SourceState::kFailed) {
      std::fprintf(stderr, "jetmem metrics: %.*s: %.*s: %s\n", static_cast<int>(name.size()),
                   name.data(), static_cast<int>(state_name(status.state).size()),
                   state_name(status.state).data(), printable(status.reason, 500).c_str());
    }
    if (!status.skipped.empty()) {
      std::fprintf(stderr, "jetmem metrics: %.*s: skipped: %s\n", static_cast<int>(name.size()),
                   name.data(), printable(status.skipped, 500).c_str());
    }
  }
  std::string text;
  if (json) {
    text = samples_json(**shot);
  } else {
    Page page;
    fill_page((*shot)->table(), (*shot)->now(), 1, page);
    render_text(page, text);
  }
  const bool written =
      std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0;
  if (!written) {
    std::perror("jetmem metrics: cannot write");
    std::clearerr(stdout);  // it is said
    return kExitFailed;
  }
  return any_ok ? kExitOk : kExitFailed;
}

}  // namespace

void add_metrics_command(CLI::App& app, CommandContext& context) {
  CLI::App* command = app.add_subcommand(
      "metrics", "Read every source once and print its samples as Prometheus text");
  auto only = std::make_shared<std::vector<std::string>>();
  command->add_option("--only", *only, "Only these sources, separated by commas")
      ->delimiter(',')
      ->type_name("NAME[,NAME]")
      ->allow_extra_args(false);
  auto json = std::make_shared<bool>(false);
  command->add_flag("--json", *json, "As JSON: {\"samples\": {SERIES: VALUE}}");
  command->footer(
      "Needs no daemon. A source that could not be read is absent, and said on standard error; "
      "values\n"
      "that a source lacks are counted in jetmem_source_absent_values. --root DIR reads below "
      "DIR.\n"
      "Exit status: 0 when at least one source could be read, 1 when none could, 2 on a wrong\n"
      "command line.");
  command->callback(
      [only, json, &context] { context.status = run_metrics(context.root, *only, *json); });
}

}  // namespace jetmem
