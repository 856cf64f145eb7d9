// jetmem diff: what changed between two captures, or two moments.

#include <algorithm>
#include <cstdio>
#include <filesystem>

#include "base/text.h"
#include "base/version.h"
#include "cli/bundle/unpack.h"
#include "cli/commands.h"
#include "cli/device_asked.h"
#include "cli/diff_text.h"
#include "cli/events_past.h"
#include "cli/exit_codes.h"
#include "cli/history_boot.h"
#include "cli/history_moment.h"
#include "cli/terminal.h"

namespace jetmem {
namespace {

// As old as a value may be to count for a moment: a quarter, and the steps around it.
constexpr Nanoseconds kPatience = std::chrono::minutes(31);
constexpr std::size_t kMostEvents = 100;

struct DiffOptions {
  DeviceAsked device;
  std::string before;
  std::string after = "now";
  bool all = false;
  bool json = false;
};

class Looking {
 public:
  explicit Looking(const DiffOptions& options) : options_(options) {}

  Result<DeviceNow> at(const std::string& text) {
    std::error_code error;
    if (std::filesystem::is_directory(text, error)) return captured(text, text);
    if (std::filesystem::is_regular_file(text, error)) {
      auto bundle = UnpackedBundle::open(text);
      if (!bundle) return tl::unexpected(std::move(bundle.error()));
      bundles_.push_back(std::move(*bundle));
      return captured(bundles_.back()->root(), text);
    }
    if (!looks_like_moment(text)) {
      return fail(Errc::kInvalid, "'" + printable(text, 200) +
                                      "' is neither a moment (-6h, 02:00), nor a folder or bundle");
    }
    // Now is what is there now, but under a root its own moment.
    if (text == "now") return look_at_device(options_.device);
    return recorded(text);
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
      put_in_order(answer.events);
      return;
    }
    // One device's events say nothing of another's capture.
    if (captures_ > 0 || !history()) return;
    EventsWanted asked;
    const auto wall = [](double seconds) {
      return std::chrono::round<Nanoseconds>(std::chrono::duration<double>(seconds));
    };
    asked.from = wall(std::min(*answer.before.wall, *answer.after.wall));
    asked.to = wall(std::max(*answer.before.wall, *answer.after.wall));
    asked.limit = kMostEvents;
    auto events = past_events(*history_, asked);
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
    DeviceAsked asked = options_.device;
    asked.root = root;
    asked.root_name = name;
    asked.daemon.clear();
    auto now = look_at_device(asked);
    if (now) now->from = name;
    return now;
  }

  Result<void> history() {
    if (history_) return {};
    auto found = history_of_device(options_.device);
    if (!found) return tl::unexpected(std::move(found.error()));
    auto facts = (*found)->facts();
    if (!facts) return tl::unexpected(std::move(facts.error()));
    history_ = std::move(*found);
    facts_ = std::move(*facts);
    return {};
  }

  Result<DeviceNow> recorded(const std::string& text) {
    if (auto there = history(); !there) return tl::unexpected(std::move(there.error()));
    Nanoseconds now = facts_.newest.value_or(Nanoseconds(0));
    if (options_.device.root.empty()) now = std::max(now, SystemClock().wall());
    const auto wall = parse_moment(text, now);
    if (!wall) return tl::unexpected(wall.error());
    const auto samples = history_->at(*wall, kPatience);
    if (!samples) return tl::unexpected(samples.error());
    if (samples->empty()) {
      return fail(Errc::kAbsent, "nothing was recorded at " + printable(text, 60) +
                                     "; `jetmem history` says since when there is something");
    }
    DeviceNow out;
    out.by = LookBy::kHistory;
    out.from = "the history (" + facts_.place + ")";
    out.wall = to_seconds(*wall);
    out.samples = SampleSet::of(*samples);
    out.no_alerts = "the history has their changes, as events";
    out.boot_id = boot_at(facts_.boots, *wall);
    return out;
  }

  const DiffOptions& options_;
  std::vector<std::unique_ptr<UnpackedBundle>> bundles_;
  int captures_ = 0;
  std::unique_ptr<History> history_;
  HistoryFacts facts_;
};

int run_diff(const DiffOptions& options) {
  const auto fail_with = [](const Error& error) {
    std::fprintf(stderr, "jetmem diff: %s\n", error.message.c_str());
    if (error.code == Errc::kInvalid) return kExitUsage;
    return error.code == Errc::kAbsent ? kExitUnknown : kExitFailed;
  };
  Looking looking(options);
  auto before = looking.at(options.before);
  if (!before) return fail_with(before.error());
  auto after = looking.at(options.after);
  if (!after) return fail_with(after.error());
  // The recorder keeps a choice: against a moment of it the rest is no change.
  for (const bool first : {true, false}) {
    const DeviceNow& kept = first ? *before : *after;
    DeviceNow& other = first ? *after : *before;
    if (kept.by != LookBy::kHistory || other.by == LookBy::kHistory) continue;
    SampleSet same;
    for (const Sample& sample : other.samples.all()) {
      if (!kept.samples.family(sample.name.family).empty()) same.add(sample.name, sample.value);
    }
    same.sort();
    other.samples = std::move(same);
  }
  if (before->version.empty()) before->version = after->version;
  if (after->version.empty()) after->version = before->version;
  DiffAnswer answer = diff_of(*before, *after, options.all);
  looking.add_events(answer, *before, *after);
  const std::string text = options.json
                               ? diff_json(answer)
                               : diff_text(answer, static_cast<std::size_t>(terminal_width()));
  std::fwrite(text.data(), 1, text.size(), stdout);
  return kExitOk;
}

}  // namespace

void add_diff_command(CLI::App& app, CommandContext& context) {
  CLI::App* command =
      app.add_subcommand("diff", "What changed between two captures, or two moments");
  auto options = std::make_shared<DiffOptions>();
  command
      ->add_option("BEFORE", options->before,
                   "A bundle or unpacked folder, or a moment: -6h, 02:00")
      ->type_name("")
      ->required();
  command->add_option("AFTER", options->after, "Likewise (default: now)")->type_name("");
  command->add_flag("--all", options->all, "Small changes too");
  command->add_flag("--json", options->json, "As JSON (docs/views.md)");
  add_device_options(*command, options->device);
  command->footer(
      "Moments are asked of jetmemd's history, or of its file where it does not answer; under "
      "--root DIR\n"
      "of DIR/jetmem/history.db. Told are bytes that moved by 1 MiB and 5% or more, ratios by 5 "
      "points,\n"
      "levels and states that changed at all, counters that grew; then states of sources, alerts, "
      "what\n"
      "the device and its software say of themselves, and events in between. What the history "
      "does not\n"
      "keep is not compared, and said.\n"
      "Exit status: 0 when both could be had, changed or not; 1 when one could not be read; 2 on "
      "a\n"
      "wrong command line; 3 when nothing was recorded then.");
  command->callback([options, &context] {
    options->device.root = context.root;
    options->device.root_name = context.root_name;
    options->device.access = context.access;
    context.status = run_diff(*options);
  });
}

}  // namespace jetmem
