// SPDX-License-Identifier: Apache-2.0
// jetmem diff: what changed between two captures, or two moments.

#include <algorithm>
#include <filesystem>
#include <set>

#include "base/text/text.h"
#include "base/version.h"
#include "cli/bundle/unpack.h"
#include "cli/client/device_client.h"
#include "cli/commands.h"
#include "cli/draw/since.h"
#include "cli/draw/terminal.h"
#include "cli/events/events_past.h"
#include "cli/exit_codes.h"
#include "cli/history/history_select.h"
#include "cli/history/recorded_device.h"
#include "cli/text/answer_text.h"

namespace jetmem {
namespace {

constexpr std::size_t kMostEvents = 100;

struct DiffOptions : Target {
  std::string before;
  std::string after = "now";
  bool all = false;
};

class SnapshotPair {
 public:
  explicit SnapshotPair(const DiffOptions& options) : options_(options), client_("diff", options) {}

  Result<DeviceNow> at(const std::string& text) {
    std::error_code error;
    if (std::filesystem::is_directory(text, error)) return captured(text, text);
    if (std::filesystem::is_regular_file(text, error)) {
      auto bundle = UnpackedBundle::open(text);
      if (!bundle) return tl::unexpected(std::move(bundle.error()));
      bundles_.push_back(std::move(*bundle));
      return captured(bundles_.back()->root(), text);
    }
    if (!is_moment_syntax(text)) {
      return fail(Errc::kNotRegular, "'" + printable(text, 200) +
                                         "' is not a moment (-6h, 02:00), a folder or a bundle");
    }
    // Now is what is there now, but under a root its own moment.
    if (text == "now") return client_.now();
    return recorded(text);
  }

  // The recorder keeps a selection of metrics and, of some, of their series: what it never kept is
  // no change. What is left out of `other`, in words; empty: nothing.
  std::string keep_recorded(DeviceNow& other) {
    const auto known = history_->series({});
    if (!known) return "what the history does not record: " + known.error().message;
    std::set<std::string> keys;
    std::vector<std::pair<std::string, double>> names;
    for (const SeriesKnown& each : *known) names.emplace_back(each.key, 0);
    const SampleSet recorded = SampleSet::of(names);
    for (const Sample& sample : recorded.all()) keys.insert(sample.name.key());
    SampleSet same;
    std::set<std::string> families;
    std::uint64_t left_out = 0;
    for (const Sample& sample : other.samples.all()) {
      if (keys.contains(sample.name.key())) {
        same.add(sample.name, sample.value);
      } else {
        families.insert(sample.name.family);
        ++left_out;
      }
    }
    same.sort();
    other.samples = std::move(same);
    if (left_out == 0) return {};
    return std::to_string(left_out) + " series of " + counted(families.size(), "metric") +
           ": the history does not record them";
  }

  // Those between the two: of the history, or of the later of two captures.
  void add_events(DiffAnswer& answer, const DeviceNow& before, const DeviceNow& after) {
    if (!before.wall || !after.wall) return;
    if (captures_ == 2) {
      const bool forward = *after.wall >= *before.wall;
      const DeviceNow& later = forward ? after : before;
      const double from = forward ? *before.wall : *after.wall;
      const double to = forward ? *after.wall : *before.wall;
      for (const EventRecord& event : later.events) {
        if (!event.wall) continue;
        const double at = to_seconds(*event.wall);
        if (at >= from && at <= to) answer.events.push_back(event);
      }
      std::reverse(answer.events.begin(), answer.events.end());
      sort_by_time(answer.events);
      return;
    }
    // One device's events say nothing of another's capture.
    if (captures_ > 0 || !history()) return;
    EventFilter requested;
    requested.from = wall_clock(std::min(*answer.before.wall, *answer.after.wall));
    requested.to = wall_clock(std::max(*answer.before.wall, *answer.after.wall));
    requested.limit = kMostEvents;
    auto events = past_events(*history_, requested);
    if (!events) {
      answer.unknown.push_back("events: " + events.error().message);
      return;
    }
    answer.events = std::move(events->events);
    answer.more_events = events->more;
  }

 private:
  Result<DeviceNow> captured(const std::string& root, const std::string& name) {
    ++captures_;
    Target requested = options_;
    requested.root = root;
    requested.root_name = name;
    requested.daemon.clear();
    auto now = DeviceClient("diff", requested).now();
    if (now) now->from = name;
    return now;
  }

  Result<void> history() {
    if (history_) return {};
    auto found = client_.history();
    if (!found) return tl::unexpected(std::move(found.error()));
    auto facts = (*found)->facts();
    if (!facts) return tl::unexpected(std::move(facts.error()));
    history_ = std::move(*found);
    facts_ = std::move(*facts);
    facts_.location = displayed_path(options_, facts_.location);
    return {};
  }

  Result<DeviceNow> recorded(const std::string& text) {
    if (auto there = history(); !there) return tl::unexpected(std::move(there.error()));
    Nanoseconds now = facts_.newest.value_or(Nanoseconds(0));
    if (options_.root.empty()) now = std::max(now, SystemClock().wall());
    const auto wall = parse_moment(text, now);
    if (!wall) return tl::unexpected(wall.error());
    // Two steps: one of them may not be complete. What is older is not of this moment; a roll-up
    // counts until its end.
    return recorded_device(*history_, facts_, *wall, 2 * facts_.raw_step + std::chrono::seconds(5));
  }

  const DiffOptions& options_;
  DeviceClient client_;
  std::vector<std::unique_ptr<UnpackedBundle>> bundles_;
  int captures_ = 0;
  std::unique_ptr<History> history_;
  HistoryFacts facts_;
};

int run_diff(const DiffOptions& options) {
  const auto fail_with = [](const Error& error) { return failed_past("diff", error); };
  SnapshotPair looking(options);
  auto before = looking.at(options.before);
  if (!before) return fail_with(before.error());
  auto after = looking.at(options.after);
  if (!after) return fail_with(after.error());
  std::string left_out;
  if (before->by != after->by) {
    if (before->by == SnapshotOrigin::kHistory) left_out = looking.keep_recorded(*after);
    if (after->by == SnapshotOrigin::kHistory) left_out = looking.keep_recorded(*before);
  }
  if (before->version.empty()) before->version = after->version;
  if (after->version.empty()) after->version = before->version;
  DiffAnswer answer = diff_of(*before, *after, options.all);
  if (!left_out.empty()) answer.unknown.push_back(std::move(left_out));
  looking.add_events(answer, *before, *after);
  put(options.json ? diff_json(answer)
                   : diff_text(answer, static_cast<std::size_t>(terminal_width())));
  return kExitOk;
}

}  // namespace

void add_diff_command(const Command& program) {
  const Command command = program.add("diff", "What changed between two captures, or two moments");
  auto& options = command.runs(run_diff);
  command
      .option("BEFORE", options.before, "", "A bundle or unpacked folder, or a moment: -6h, 02:00")
      .required();
  command.option("AFTER", options.after, "", "Likewise (default: now)");
  command.flag("--all", options.all, "Small changes too");
  command.json("As JSON (docs/views.md)");
  command.device();
  command.footer(
      "Moments come from jetmemd's history, or from its file if jetmemd does not answer; with "
      "--root DIR from DIR/jetmem/history.db. Lists bytes that changed by 1 MiB and 5% or more, "
      "ratios by 5 points, levels and states that changed at all and counters that grew, then "
      "states of sources, alerts, hardware and software versions, and the events in between. What "
      "the history does not record is listed, not compared.");
  command.exit_status(
      "0 if both could be read, changed or not; 3 if nothing was recorded at that time");
}

}  // namespace jetmem
