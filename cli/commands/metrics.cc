// SPDX-License-Identifier: Apache-2.0
// jetmem metrics: one sample of every source, or what jetmemd serves, as Prometheus text.

#include <optional>

#include "base/text/text.h"
#include "cli/client/device_client.h"
#include "cli/client/local_snapshot.h"
#include "cli/client/output_file.h"
#include "cli/commands.h"
#include "cli/exit_codes.h"
#include "report/answers/answer_head.h"
#include "report/device/sample_set.h"
#include "report/exposition/exposition.h"

namespace jetmem {
namespace {

// JSON has neither infinity nor NaN: null.
std::string samples_json(const SampleSet& set) {
  json::Fields::Map<double> samples;
  for (const Sample& sample : set.all()) samples.emplace_back(sample.name.key(), sample.value);
  return json::write_document(1, [&](json::Fields& v) {
    v.schema("jetmem-metrics/1");
    v("samples", samples);
  });
}

struct MetricsOptions : Target {
  std::vector<std::string> only;
  bool local = false;
  std::string output;
};

struct MetricsText {
  std::string text;
  bool any_ok = true;
};

void report(std::string_view message) { warn("metrics", printable(message, 1000)); }

Result<MetricsText> local_metrics(const MetricsOptions& options) {
  auto shot = LocalSnapshot::read(options.root, options.only);
  if (!shot) return tl::unexpected(std::move(shot.error()));
  MetricsText out{{}, false};
  const Sampler& sampler = (*shot)->sampler();
  for (std::size_t i = 0; i < sampler.size(); ++i) {
    const SourceStatus& status = sampler.status(i);
    out.any_ok |= status.state == SourceState::kOk;
    const std::string name(sampler.info(i).name);
    if (status.state == SourceState::kDenied || status.state == SourceState::kFailed) {
      report(name + ": " + std::string(state_name(status.state)) + ": " + status.reason);
    }
    if (!status.skipped.empty()) report(name + ": skipped: " + status.skipped);
  }
  if (options.json) {
    out.text = samples_json(SampleSet::of((*shot)->table()));
  } else {
    Page page;
    fill_page((*shot)->table(), (*shot)->now(), 1, page);
    render_text(page, out.text);
  }
  return out;
}

// Of another machine's bundle: what its jetmemd served. Nothing: it is none, or does not have that.
std::optional<MetricsText> captured_metrics(const MetricsOptions& options) {
  if (options.root.empty() || !options.only.empty()) return std::nullopt;
  const auto now = captured_text(options.root, kCapturedNow);
  if (!now) return std::nullopt;
  if (options.json) {
    const auto device = parse_device_now(*now);
    if (!device) return std::nullopt;
    return MetricsText{samples_json(device->samples)};
  }
  const auto text = captured_text(options.root, kCapturedMetrics);
  if (!text) return std::nullopt;
  MetricsText out;
  Lines lines(*text);
  std::string_view line;
  while (lines.next(line)) out.text += printable(line, line.size()) + "\n";
  return out;
}

// The page's last families are those of jetmemd's process by their standard names: a node_exporter
// that reads this text has its own.
std::string without_standard_process_metrics(std::string page) {
  const std::size_t at = page.find("\n# HELP process_");
  if (at != std::string::npos) page.resize(at + 1);
  return page;
}

Result<MetricsText> metrics_of(const MetricsOptions& options) {
  if (auto captured = captured_metrics(options)) return std::move(*captured);
  const bool is_local = options.local || !options.only.empty();
  if (is_local || !options.root.empty()) return local_metrics(options);
  DeviceClient client("metrics", options);
  Error problem;
  if (options.json) {
    auto now = client.ask("/api/v1/now", parse_device_now);
    if (now) return MetricsText{samples_json(now->samples)};
    problem = std::move(now.error());
  } else {
    auto page = client.ask("/metrics");
    if (page) return MetricsText{without_standard_process_metrics(page->body)};
    problem = std::move(page.error());
  }
  if (!client.can_do_without(problem)) return tl::unexpected(std::move(problem));
  client.note_missing(problem, kOneReading);
  return local_metrics(options);
}

Result<void> write_to(const std::string& file, const std::string& text) {
  // Whoever reads it runs as another user.
  constexpr mode_t kMode = 0644;
  OutputFile out(file, kMode);
  if (auto opened = out.open(); !opened) return opened;
  out.put(text);
  return out.finish();
}

int run_metrics(const MetricsOptions& options) {
  const auto metrics = metrics_of(options);
  auto done = metrics ? write_to(options.output, metrics->text)
                      : Result<void>(tl::unexpected(metrics.error()));
  if (done) return metrics->any_ok ? kExitOk : kExitUnknown;
  report(done.error().message);
  const int status = exit_code(done.error().code);
  if (status == kExitUsage) return status;
  // Whoever reads the old file would take its values for current ones.
  const auto removed = OutputFile::remove_old(options.output);
  if (!removed && removed.error().message != done.error().message) {
    report(removed.error().message);
  }
  return status;
}

}  // namespace

void add_metrics_command(const Command& program) {
  const Command command =
      program.add("metrics", "Every sample of every source, as Prometheus text");
  auto& options = command.runs(run_metrics);
  command
      .option("--only", options.only, "NAME[,NAME]",
              "Read only these sources, separated by commas; implies --local")
      .separated_by_commas()
      .excludes({"--daemon"});
  command.flag("--local", options.local, "Read this machine with your own rights")
      .excludes({"--daemon"});
  command.json("As JSON: {\"samples\": {SERIES: VALUE}}");
  command.device();
  command.option("-o,--output", options.output, "FILE",
                 "Replace this file, completely or not at all; mode 0644");
  command.footer(
      std::string(kAsksDaemon) +
      "A source that could not be read is omitted and reported on standard error; missing values "
      "of "
      "a source are counted in jetmem_source_absent_values. --root DIR reads below DIR; of a "
      "bundle "
      "of another machine, prints what its jetmemd served.\n"
      "-o is for node_exporter's textfile collector (jetmem-textfile.timer): FILE is written as "
      "FILE.part and renamed. If there are no metrics or they cannot be written, an old FILE is "
      "removed, as its values are no longer current. -o replaces only a regular file of its own "
      "user.");
  command.exit_status(
      "0 if at least one source could be read or the daemon answered; 3 if no source could be "
      "read");
}

}  // namespace jetmem
