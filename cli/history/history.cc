// SPDX-License-Identifier: Apache-2.0
// jetmem history: what was, drawn or to take away.

#include "history/history.h"

#include <algorithm>
#include <functional>
#include <map>
#include <memory>

#include "base/text/text.h"
#include "base/version.h"
#include "cli/client/device_client.h"
#include "cli/client/output_file.h"
#include "cli/commands.h"
#include "cli/draw/since.h"
#include "cli/draw/terminal.h"
#include "cli/exit_codes.h"
#include "cli/history/history_export.h"
#include "cli/history/history_select.h"
#include "cli/history/history_text.h"
#include "cli/text/events/event_text.h"
#include "report/answers/history_answer.h"

namespace jetmem {
namespace {

constexpr std::size_t kMostPlotted = 8;
constexpr Nanoseconds kDefaultSpan = std::chrono::hours(6);

struct HistoryOptions : Target {
  std::string metric;
  std::string since;
  std::string until;
  std::string resolution;
  std::string output;
  std::vector<std::string> labels;
  bool list = false;
  bool csv = false;
  bool openmetrics = false;
  bool table = false;
  bool raw_counter = false;
  bool bands = false;
  bool untrusted = false;
  std::size_t height = 0;
};

int fail_with(const Error& error) { return failed_past("history", error); }

void note(const std::string& text) { warn("history", text); }

struct Span {
  Nanoseconds from{0};
  Nanoseconds to{0};
};

class HistoryCommand {
 public:
  HistoryCommand(const HistoryOptions& options, History& history, HistoryFacts facts)
      : options_(options), history_(history), facts_(std::move(facts)) {
    now_ = facts_.newest.value_or(Nanoseconds(0));
    // A tree that was carried away has its own now: its last moment.
    if (options.root.empty()) now_ = std::max(now_, SystemClock().wall());
  }

  int run() {
    if (!facts_.problem.empty()) note(facts_.problem);
    if (options_.list) return list();
    if (options_.metric.empty() && !(options_.csv || options_.openmetrics)) return list();
    if (auto span = span_of(); !span) return fail_with(span.error());
    const auto picked = pick();
    if (!picked) return fail_with(picked.error());
    OutputFile out(options_.output);
    if (auto open = out.open(); !open) return fail_with(open.error());
    const auto reported = notify(*picked, out);
    if (!reported) return fail_with(reported.error());
    if (auto whole = out.finish(); !whole) return fail_with(whole.error());
    return kExitOk;
  }

 private:
  AnswerFrom from() const {
    AnswerFrom out;
    out.by = std::string(snapshot_origin_name(SnapshotOrigin::kHistory));
    out.from = displayed_path(options_, facts_.location);
    out.version = kVersion;
    if (!facts_.boots.empty()) out.boot_id = facts_.boots.back().boot_id;
    out.wall = to_seconds(now_);
    return out;
  }

  int list() {
    std::vector<SeriesKnown> known;
    const auto all = every_series();
    if (!all) return fail_with(all.error());
    std::string part = options_.metric;
    part.erase(std::remove(part.begin(), part.end(), '*'), part.end());
    for (const SeriesKnown& each : *all) {
      if (each.key.find(part) != std::string::npos) known.push_back(each);
    }
    // What waits in memory is listed too, and the file has not counted it.
    facts_.series = std::max<std::uint64_t>(facts_.series, all->size());
    if (options_.json) {
      return written(history_list_json(from(), {facts_, known, {}}), kExitOk);
    }
    std::string text =
        known_text(known, !part.empty(), now_, static_cast<std::size_t>(terminal_width()));
    std::string last = std::to_string(known.size()) + " series";
    if (!part.empty()) last += " with '" + printable(part, 80) + "' in their name";
    last += ", of " + std::to_string(facts_.series) + " in " +
            printable(displayed_path(options_, facts_.location), 200);
    if (facts_.oldest && facts_.newest) {
      last += ", from " + local_time(*facts_.oldest) + " to " + local_time(*facts_.newest) +
              "; times are " + time_zone_text();
    }
    text += (text.empty() ? "" : "\n") + wrapped(last + ".", 0);
    return written(text, known.empty() ? kExitUnknown : kExitOk);
  }

  int written(const std::string& text, int status) const {
    OutputFile out(options_.output);
    if (auto open = out.open(); !open) return fail_with(open.error());
    out.put(text);
    if (auto whole = out.finish(); !whole) return fail_with(whole.error());
    return status;
  }

  Result<void> span_of() {
    span_.to = now_;
    if (!options_.until.empty()) {
      auto until = parse_moment(options_.until, now_);
      if (!until) return tl::unexpected(std::move(until.error()).within("--until"));
      span_.to = *until;
    }
    // A plot of six hours would show ten minutes as one column.
    span_.from = std::max(span_.to - kDefaultSpan, facts_.oldest.value_or(Nanoseconds(0)));
    if (span_.from >= span_.to) span_.from = span_.to - kDefaultSpan;
    // What is taken away is taken whole.
    if (options_.csv || options_.openmetrics) span_.from = facts_.oldest.value_or(span_.from);
    if (!options_.since.empty()) {
      auto since = parse_moment(options_.since, now_);
      if (!since) return tl::unexpected(std::move(since.error()).within("--since"));
      span_.from = *since;
    }
    if (span_.from >= span_.to) {
      return fail(Errc::kInvalid, "--since " + local_time(span_.from) + " is not before --until " +
                                      local_time(span_.to));
    }
    return {};
  }

  Result<std::vector<SeriesKnown>> every_series() {
    auto all = history_.series("");
    if (all && all->size() >= History::kMostSeries && all->size() < facts_.series) {
      note("only the first " + std::to_string(all->size()) + " series by name, of " +
           std::to_string(facts_.series) + ": name a metric to get the others");
    }
    return all;
  }

  Result<std::vector<SeriesKnown>> pick() {
    if (options_.metric.empty()) return every_series();
    const auto wish = parse_series_pattern(options_.metric);
    if (!wish) return tl::unexpected(wish.error());
    return pick_series(history_, *wish);
  }

  Result<SeriesPast> past(const SeriesKnown& known) {
    const auto resolution = resolution_named(options_.resolution);
    if (!resolution && (options_.csv || options_.openmetrics)) {
      return finest_past(history_, known.key, span_.from, span_.to, facts_.raw_step);
    }
    SeriesQuery requested;
    requested.key = known.key;
    requested.from = span_.from;
    requested.to = span_.to;
    requested.resolution = resolution;
    return history_.past(requested);
  }

  Result<void> notify(const std::vector<SeriesKnown>& picked, OutputFile& out) {
    if (options_.openmetrics) return print_openmetrics(picked, out);
    if (options_.csv) {
      out.put(csv_header());
      return each(picked, [&](const SeriesPast& past) { out.put(csv_lines(past)); });
    }
    if (options_.json) {
      return each(picked, [&](const SeriesPast& past) { out.put(series_past_json(from(), past)); });
    }
    return print_terminal(picked, out);
  }

  Result<void> each(const std::vector<SeriesKnown>& picked,
                    const std::function<void(const SeriesPast&)>& take) {
    for (const SeriesKnown& known : picked) {
      auto found = past(known);
      if (!found) return tl::unexpected(std::move(found.error()));
      if (found->cut) note(printable(known.key, 200) + ": the oldest points are omitted");
      take(*found);
    }
    return {};
  }

  Result<void> print_openmetrics(const std::vector<SeriesKnown>& picked, OutputFile& out) {
    OpenMetricsOptions needed;
    for (const std::string& text : options_.labels) {
      auto label = parse_extra_label(text);
      if (!label) return tl::unexpected(std::move(label.error()).within("--label"));
      needed.labels.push_back(std::move(*label));
    }
    needed.bands = options_.bands;
    needed.untrusted = options_.untrusted;
    needed.raw_step = facts_.raw_step;
    OpenMetricsWriter writer(std::move(needed));
    std::map<std::string, std::vector<SeriesKnown>> families;
    for (const SeriesKnown& known : picked) {
      families[known.key.substr(0, known.key.find('{'))].push_back(known);
    }
    for (const auto& [family, members] : families) {
      std::vector<SeriesPast> pasts;
      auto read = each(members, [&](const SeriesPast& past) { pasts.push_back(past); });
      if (!read) return read;
      out.put(writer.family(pasts));
    }
    out.put(OpenMetricsWriter::end());
    if (writer.omitted().untrusted > 0) {
      note(counted(writer.omitted().untrusted, "sample") +
           " omitted, recorded with an unsynchronised clock: include them with "
           "--untrusted-times");
    }
    if (writer.omitted().unnamed > 0) {
      note(std::to_string(writer.omitted().unnamed) +
           " series omitted: Prometheus does not allow their names");
    }
    if (writer.omitted().backwards > 0) {
      note(counted(writer.omitted().backwards, "sample") +
           " omitted, not later than the previous one: the clock was set back");
    }
    return {};
  }

  Result<void> print_terminal(std::vector<SeriesKnown> picked, OutputFile& out) {
    PastShown shown;
    shown.from = span_.from;
    shown.to = span_.to;
    shown.raw_step = facts_.raw_step;
    std::string others;
    std::size_t more = 0;
    while (picked.size() > kMostPlotted) {
      if (++more <= 20) others = printable(picked.back().key, 200) + "\n" + others;
      picked.pop_back();
    }
    auto read = each(picked, [&](const SeriesPast& past) { shown.series.push_back(past); });
    if (!read) return read;
    EventsQuery leaps;
    leaps.from = span_.from;
    leaps.to = span_.to;
    leaps.what = EventWhat::kDaemon;
    leaps.kinds = {"clock_step"};
    if (auto found = history_.events(leaps)) {
      shown.leaps = std::move(found->events);
    } else {
      note("clock steps are unknown: " + found.error().message);
    }
    const bool to_file = !options_.output.empty() && options_.output != "-";
    HistoryStyle style;
    style.width = to_file ? kTerminalWidth : static_cast<std::size_t>(terminal_width());
    style.height = options_.height;
    style.utf8 = has_utf8();
    style.color = !to_file && uses_color();
    style.raw_counter = options_.raw_counter;
    out.put(options_.table ? past_table_text(shown, style) : past_plot_text(shown, style));
    if (more > 0) {
      out.put("\n" +
              wrapped(std::to_string(more) +
                          " more series, not shown (select by labels; --csv has all):",
                      0) +
              others);
      if (more > 20) out.put("and " + std::to_string(more - 20) + " more\n");
    }
    return {};
  }

  const HistoryOptions& options_;
  History& history_;
  HistoryFacts facts_;
  Nanoseconds now_{0};
  Span span_;
};

int run_history(const HistoryOptions& options) {
  if (!options.resolution.empty() && !resolution_named(options.resolution)) {
    return fail_with({Errc::kInvalid, "--resolution: raw, 1m or 15m"});
  }
  auto history = DeviceClient("history", options).history();
  if (!history) return fail_with(history.error());
  auto facts = (*history)->facts();
  if (!facts) return fail_with(facts.error());
  return HistoryCommand(options, **history, std::move(*facts)).run();
}

}  // namespace

void add_history_command(const Command& program) {
  const Command command =
      program.add("history", "Plot a metric over time, or write it as CSV or OpenMetrics");
  auto& options = command.runs(run_history);
  command.option("METRIC", options.metric, "",
                 "A metric with all its series, or 'NAME{label=\"value\"}'; without one: list what "
                 "is recorded");
  command.option("--since", options.since, "WHEN", "Start: -6h, 02:00, yesterday (default: -6h)");
  command.option("--until", options.until, "WHEN", "End (default: now)");
  command.option("--resolution", options.resolution, "STEP",
                 "raw, 1m or 15m (default: the finest that reaches back to --since)");
  command
      .flag("--list", options.list,
            "List recorded series with METRIC in their name, and their start")
      .excludes({"--since", "--until", "--resolution"});
  command.json("As JSON (docs/api.md), one line per series");
  command.flag("--csv", options.csv, "As CSV; without METRIC everything")
      .excludes({"--json", "--openmetrics", "--table", "--list"});
  command
      .flag("--openmetrics", options.openmetrics,
            "As OpenMetrics, for promtool; without METRIC everything")
      .excludes({"--json", "--table", "--list"});
  command.flag("--table", options.table, "Every point, one per line")
      .excludes({"--json", "--list"});
  command.option("-o,--output", options.output, "FILE",
                 "Replace this file, completely or not at all; mode 0600");
  command.flag("--raw-counter", options.raw_counter, "Counters as values, not as rates")
      .excludes({"--json", "--csv", "--openmetrics", "--list"});
  command.option("--height", options.height, "LINES", "Lines of each plot")
      .range(3, 100)
      .excludes({"--json", "--csv", "--openmetrics", "--table", "--list"});
  command
      .flag("--bands", options.bands,
            "OpenMetrics: also ..._band_min and ..._band_max, the extremes within a roll-up")
      .needs("--openmetrics");
  command
      .option("--label", options.labels, "NAME=VALUE",
              "OpenMetrics: add this label, e.g. instance=orin-7")
      .needs("--openmetrics");
  command
      .flag("--untrusted-times", options.untrusted,
            "OpenMetrics: also samples with a clock that was never synchronised")
      .needs("--openmetrics");
  command.device();
  command.footer(
      "Asks jetmemd, or reads its file if none answers; --root DIR reads DIR/jetmem/history.db. "
      "Gaps stay gaps: nothing is drawn where nothing was recorded. R marks a restart of the "
      "device, C a clock step. Counters are shown as rates; a counter that restarts counts from "
      "0.\n"
      "For Prometheus: jetmem history --openmetrics --label instance=orin-7 -o FILE, then promtool "
      "tsdb create-blocks-from openmetrics FILE DATA_DIRECTORY.\n"
      "-o replaces only a regular file of its own user, never what a link, FIFO or device stands "
      "for: redirect standard output there.");
  command.exit_status("0 if it was shown; 3 if there is no history, or none of this metric");
}

}  // namespace jetmem
