// jetmem history: what was, drawn or to take away.

#include "history/history.h"

#include <fcntl.h>

#include <algorithm>
#include <cstdio>
#include <functional>
#include <map>
#include <memory>

#include "base/text.h"
#include "base/version.h"
#include "cli/commands.h"
#include "cli/device_asked.h"
#include "cli/event_text.h"
#include "cli/exit_codes.h"
#include "cli/history_csv.h"
#include "cli/history_finest.h"
#include "cli/history_moment.h"
#include "cli/history_openmetrics.h"
#include "cli/history_pick.h"
#include "cli/history_text.h"
#include "cli/output_place.h"
#include "cli/since.h"
#include "cli/terminal.h"
#include "report/answers/history_answer.h"

namespace jetmem {
namespace {

constexpr std::size_t kMostPlotted = 8;
constexpr Nanoseconds kDefaultSpan = std::chrono::hours(6);

struct HistoryOptions {
  DeviceAsked device;
  std::string metric;
  std::string since;
  std::string until;
  std::string resolution;
  std::string output;
  std::vector<std::string> labels;
  bool list = false;
  bool json = false;
  bool csv = false;
  bool openmetrics = false;
  bool table = false;
  bool raw_counter = false;
  bool bands = false;
  bool untrusted = false;
  std::size_t height = 0;
};

int fail_with(const Error& error) {
  std::fprintf(stderr, "jetmem history: %s\n", error.message.c_str());
  if (error.code == Errc::kInvalid) return kExitUsage;
  return error.code == Errc::kAbsent ? kExitUnknown : kExitFailed;
}

void note(const std::string& text) { std::fprintf(stderr, "jetmem history: %s\n", text.c_str()); }

// Standard output, a device or FIFO that is written into, or a file that is whole or not there.
class Output {
 public:
  explicit Output(std::string file) : file_(std::move(file)) {}
  ~Output() {
    if (out_ != nullptr) std::fclose(out_);
    if (!temporary_.empty()) std::remove(temporary_.c_str());
  }
  Output(const Output&) = delete;
  Output& operator=(const Output&) = delete;

  Result<void> open() {
    if (file_.empty() || file_ == "-") return {};
    auto place = output_place(file_);
    if (!place) return tl::unexpected(std::move(place.error()));
    file_ = std::move(place->file);
    if (place->in_place) {
      const int fd = ::open(file_.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY);
      out_ = fd < 0 ? nullptr : ::fdopen(fd, "w");
      if (out_ == nullptr) return tl::unexpected(errno_error("open", file_, errno));
      return {};
    }
    const std::string temporary = file_ + ".part";
    out_ = std::fopen(temporary.c_str(), "wxe");
    if (out_ == nullptr) return tl::unexpected(errno_error("create", temporary, errno));
    temporary_ = temporary;
    return {};
  }
  void put(const std::string& text) {
    std::fwrite(text.data(), 1, text.size(), out_ != nullptr ? out_ : stdout);
  }
  Result<void> finish() {
    if (out_ == nullptr) return {};
    const bool whole = std::ferror(out_) == 0;
    const bool closed = std::fclose(out_) == 0;
    const int error = errno;
    out_ = nullptr;
    if (!whole || !closed) return tl::unexpected(errno_error("write", file_, error));
    if (temporary_.empty()) return {};
    if (std::rename(temporary_.c_str(), file_.c_str()) != 0) {
      return tl::unexpected(errno_error("rename to", file_, errno));
    }
    temporary_.clear();
    return {};
  }

 private:
  std::string file_;
  std::string temporary_;
  std::FILE* out_ = nullptr;
};

struct Span {
  Nanoseconds from{0};
  Nanoseconds to{0};
};

class Asking {
 public:
  Asking(const HistoryOptions& options, History& history, HistoryFacts facts)
      : options_(options), history_(history), facts_(std::move(facts)) {
    now_ = facts_.newest.value_or(Nanoseconds(0));
    // A tree that was carried away has its own now: its last moment.
    if (options.device.root.empty()) now_ = std::max(now_, SystemClock().wall());
  }

  int run() {
    if (!facts_.trouble.empty()) note(facts_.trouble);
    if (options_.list) return list();
    if (options_.metric.empty() && !(options_.csv || options_.openmetrics)) return list();
    if (auto span = span_of(); !span) return fail_with(span.error());
    const auto picked = pick();
    if (!picked) return fail_with(picked.error());
    Output out(options_.output);
    if (auto open = out.open(); !open) return fail_with(open.error());
    const auto told = tell(*picked, out);
    if (!told) return fail_with(told.error());
    if (auto whole = out.finish(); !whole) return fail_with(whole.error());
    return kExitOk;
  }

 private:
  AnswerFrom from() const {
    AnswerFrom out;
    out.by = std::string(look_by_name(LookBy::kHistory));
    out.from = shown_place(options_.device, facts_.place);
    out.version = kVersion;
    if (!facts_.boots.empty()) out.boot_id = facts_.boots.back().boot_id;
    out.wall = to_seconds(now_);
    return out;
  }

  int list() {
    std::vector<SeriesKnown> known;
    const auto all = history_.series("");
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
            printable(shown_place(options_.device, facts_.place), 200);
    if (facts_.oldest && facts_.newest) {
      last += ", from " + local_time(*facts_.oldest) + " to " + local_time(*facts_.newest);
    }
    text += (text.empty() ? "" : "\n") + wrapped(last + ".", 0);
    return written(text, known.empty() ? kExitUnknown : kExitOk);
  }

  int written(const std::string& text, int status) const {
    Output out(options_.output);
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
    span_.from = span_.to - kDefaultSpan;
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

  Result<std::vector<SeriesKnown>> pick() {
    if (options_.metric.empty()) return history_.series("");
    const auto wish = parse_series_wish(options_.metric);
    if (!wish) return tl::unexpected(wish.error());
    return pick_series(history_, *wish);
  }

  Result<SeriesPast> past(const SeriesKnown& known) {
    const auto resolution = resolution_named(options_.resolution);
    if (!resolution && (options_.csv || options_.openmetrics)) {
      return finest_past(history_, known.key, span_.from, span_.to, facts_.raw_step);
    }
    SeriesAsked asked;
    asked.key = known.key;
    asked.from = span_.from;
    asked.to = span_.to;
    asked.resolution = resolution;
    return history_.past(asked);
  }

  Result<void> tell(const std::vector<SeriesKnown>& picked, Output& out) {
    if (options_.openmetrics) return tell_openmetrics(picked, out);
    if (options_.csv) {
      out.put(csv_header());
      return each(picked, [&](const SeriesPast& past) { out.put(csv_lines(past)); });
    }
    if (options_.json) {
      return each(picked, [&](const SeriesPast& past) { out.put(series_past_json(from(), past)); });
    }
    return tell_terminal(picked, out);
  }

  Result<void> each(const std::vector<SeriesKnown>& picked,
                    const std::function<void(const SeriesPast&)>& take) {
    for (const SeriesKnown& known : picked) {
      auto found = past(known);
      if (!found) return tl::unexpected(std::move(found.error()));
      if (found->cut) note(printable(known.key, 200) + ": the oldest points were left out");
      take(*found);
    }
    return {};
  }

  Result<void> tell_openmetrics(const std::vector<SeriesKnown>& picked, Output& out) {
    OpenMetricsWanted wanted;
    for (const std::string& text : options_.labels) {
      auto label = parse_extra_label(text);
      if (!label) return tl::unexpected(std::move(label.error()).within("--label"));
      wanted.labels.push_back(std::move(*label));
    }
    wanted.bands = options_.bands;
    wanted.untrusted = options_.untrusted;
    wanted.raw_step = facts_.raw_step;
    OpenMetricsWriter writer(std::move(wanted));
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
    if (writer.left_out().untrusted > 0) {
      note(counted(writer.left_out().untrusted, "sample") +
           " left out, recorded while the clock was not known to be right: --untrusted-times "
           "takes them too");
    }
    if (writer.left_out().unnamed > 0) {
      note(std::to_string(writer.left_out().unnamed) +
           " series left out, whose names are none that Prometheus takes");
    }
    if (writer.left_out().backwards > 0) {
      note(counted(writer.left_out().backwards, "sample") +
           " left out, not later than the one before: the clock was set back");
    }
    return {};
  }

  Result<void> tell_terminal(std::vector<SeriesKnown> picked, Output& out) {
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
    EventsAsked leaps;
    leaps.from = span_.from;
    leaps.to = span_.to;
    leaps.what = EventWhat::kDaemon;
    leaps.kinds = {"clock_leap"};
    if (auto found = history_.events(leaps)) {
      shown.leaps = std::move(found->events);
    } else {
      note("changes of the clock are not known: " + found.error().message);
    }
    const bool to_file = !options_.output.empty() && options_.output != "-";
    HistoryLook look;
    look.width = to_file ? kTerminalWidth : static_cast<std::size_t>(terminal_width());
    look.height = options_.height;
    look.utf8 = has_utf8();
    look.color = !to_file && wants_color();
    look.raw_counter = options_.raw_counter;
    out.put(options_.table ? past_table_text(shown, look) : past_plot_text(shown, look));
    if (more > 0) {
      out.put("\n" +
              wrapped(std::to_string(more) + " more series, not shown (name labels to " +
                          "choose, --csv has all):",
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
    return fail_with({Errc::kInvalid, "--resolution is one of raw, 1m, 15m"});
  }
  auto history = history_of_device(options.device);
  if (!history) return fail_with(history.error());
  auto facts = (*history)->facts();
  if (!facts) return fail_with(facts.error());
  return Asking(options, **history, std::move(*facts)).run();
}

}  // namespace

void add_history_command(CLI::App& app, CommandContext& context) {
  CLI::App* command = app.add_subcommand(
      "history", "Draw what a metric was over time, or write it as CSV or OpenMetrics");
  auto options = std::make_shared<HistoryOptions>();
  command
      ->add_option("METRIC", options->metric,
                   "A metric, all series of it, or 'NAME{label=\"value\"}'; without one: what is "
                   "recorded")
      ->type_name("");
  command
      ->add_option("--since", options->since, "From then on: -6h, 02:00, yesterday (default -6h)")
      ->type_name("WHEN");
  command->add_option("--until", options->until, "Until then (default: now)")->type_name("WHEN");
  command
      ->add_option("--resolution", options->resolution,
                   "raw, 1m or 15m (default: the finest that reaches back so far)")
      ->type_name("STEP");
  auto* list = command->add_flag("--list", options->list,
                                 "The series recorded whose name has METRIC in it, and since when");
  auto* json = command->add_flag("--json", options->json, "As JSON (docs/api.md), a line a series");
  auto* csv = command->add_flag("--csv", options->csv, "As CSV; without METRIC everything");
  auto* metrics = command->add_flag("--openmetrics", options->openmetrics,
                                    "As OpenMetrics, for promtool; without METRIC everything");
  auto* table = command->add_flag("--table", options->table, "Every point, a line each");
  json->excludes(csv)->excludes(metrics)->excludes(table);
  csv->excludes(metrics)->excludes(table);
  metrics->excludes(table);
  list->excludes(csv)->excludes(metrics)->excludes(table);
  command->add_option("-o,--output", options->output, "Write to this file")->type_name("FILE");
  command->add_flag("--raw-counter", options->raw_counter,
                    "Counters as they are, not as growth a second");
  command->add_option("--height", options->height, "Lines of each picture")
      ->type_name("LINES")
      ->check(CLI::Range(3, 100));
  command->add_flag(
      "--bands", options->bands,
      "OpenMetrics: also ..._band_min and ..._band_max, the extremes within a roll-up");
  command->add_option("--label", options->labels, "OpenMetrics: a label more, instance=orin-7 say")
      ->type_name("NAME=VALUE");
  command->add_flag("--untrusted-times", options->untrusted,
                    "OpenMetrics: also samples of a clock that was never known to be right");
  add_device_options(*command, options->device);
  command->footer(
      "Asks jetmemd, or reads its file where none answers; --root DIR reads "
      "DIR/jetmem/history.db.\n"
      "Gaps stay gaps: nothing is drawn where nothing was recorded. R marks a restart of the "
      "device,\n"
      "C a change of its clock. Counters are growth a second; one that begins anew counts from "
      "0.\n"
      "For Prometheus: jetmem history --openmetrics --label instance=orin-7 -o FILE, then\n"
      "promtool tsdb create-blocks-from openmetrics FILE DATA_DIRECTORY.\n"
      "-o writes FILE whole or not at all, behind a symbolic link too; into a device or FIFO it "
      "writes.\n"
      "Exit status: 0 when it was told; 1 when it could not be read; 2 on a wrong command line or "
      "a\n"
      "name that is not recorded; 3 when there is no history.");
  command->callback([options, &context] {
    options->device.root = context.root;
    options->device.root_name = context.root_name;
    options->device.access = context.access;
    context.status = run_history(*options);
  });
}

}  // namespace jetmem
