// jetmem events, jetmem faults: what happened.

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <thread>

#include "base/text.h"
#include "cli/commands.h"
#include "cli/device_asked.h"
#include "cli/event_record_list.h"
#include "cli/event_text.h"
#include "cli/events_past.h"
#include "cli/events_ring.h"
#include "cli/exit_codes.h"
#include "cli/history_moment.h"
#include "cli/one_shot.h"
#include "cli/since.h"
#include "collectors/kernel_log/kinds.h"
#include "report/event_record_json.h"

namespace jetmem {
namespace {

constexpr auto kFollowPause = std::chrono::seconds(2);
// Looked at in each pass of --follow.
constexpr std::size_t kFollowed = 500;

struct EventsOptions {
  DeviceAsked device;
  RingWanted ring;
  std::vector<std::string> what;
  std::size_t limit = 200;
  bool only_ring = false;
  bool follow = false;
};

void put(const std::string& text) { std::fwrite(text.data(), 1, text.size(), stdout); }

class Asking {
 public:
  explicit Asking(const EventsOptions& options) : options_(options) {}

  int run() {
    if (auto good = check(); !good) return fail_with(good.error());
    if (options_.only_ring) return show_ring_events(options_.ring);
    auto history = history_of_device(options_.device);
    Result<HistoryFacts> facts = history ? (*history)->facts() : tl::unexpected(history.error());
    if (!facts) return without_history(facts.error());
    if (!facts->trouble.empty()) note(facts->trouble);
    return show(**history, *facts);
  }

 private:
  int fail_with(const Error& error) const {
    note(error.message);
    return error.code == Errc::kInvalid ? kExitUsage : kExitFailed;
  }

  void note(const std::string& text) const {
    std::fprintf(stderr, "jetmem %s: %s\n", options_.ring.command.c_str(), text.c_str());
  }

  Result<void> check() {
    for (const std::string& name : options_.what) {
      const auto what = event_what_named(name);
      if (!what) {
        return fail(Errc::kInvalid,
                    "--what: '" + printable(name, 40) + "' is none of kernel, alert, daemon, mark");
      }
      wanted_.what.push_back(*what);
    }
    wanted_.kinds = options_.ring.kinds;
    wanted_.limit = options_.limit;
    const bool other_than_kernel =
        std::any_of(wanted_.what.begin(), wanted_.what.end(),
                    [](EventWhat what) { return what != EventWhat::kKernel; });
    if (options_.only_ring && other_than_kernel) {
      return fail(Errc::kInvalid, "--ring has events of the kernel alone, no others");
    }
    if (options_.only_ring && options_.follow) {
      return fail(Errc::kInvalid, "--follow asks the history: not with --ring");
    }
    return {};
  }

  // The ring, as far back as the kernel keeps it.
  int without_history(const Error& why) {
    if (!options_.device.daemon.empty() || options_.follow || why.code == Errc::kInvalid) {
      return fail_with(why);
    }
    const bool kernel_too =
        wanted_.what.empty() || std::find(wanted_.what.begin(), wanted_.what.end(),
                                          EventWhat::kKernel) != wanted_.what.end();
    if (!kernel_too) return fail_with(why);
    const int status = show_ring_events(options_.ring);
    if (status == kExitOk && options_.device.root.empty()) {
      note(why.message + "; this is what the kernel's ring still holds");
    }
    return status;
  }

  Result<void> find_span(const HistoryFacts& facts) {
    Nanoseconds now = facts.newest.value_or(Nanoseconds(0));
    if (options_.device.root.empty()) now = std::max(now, SystemClock().wall());
    for (const bool begin : {true, false}) {
      const RingWanted& ring = options_.ring;
      if (!(begin ? ring.since_given : ring.until_given)) continue;
      auto moment = parse_moment(begin ? ring.since : ring.until, now);
      if (!moment) {
        return tl::unexpected(std::move(moment.error()).within(begin ? "--since" : "--until"));
      }
      (begin ? wanted_.from : wanted_.to) = *moment;
    }
    return {};
  }

  int show(History& history, const HistoryFacts& facts) {
    if (auto span = find_span(facts); !span) return fail_with(span.error());
    // What is followed later is among what was asked for here.
    EventsWanted first = wanted_;
    if (options_.follow) first.limit = std::max(wanted_.limit, kFollowed);
    auto found = past_events(history, first);
    if (!found) return fail_with(found.error());
    EventsSeen seen;
    if (options_.follow) seen.fresh(found->events);
    if (found->events.size() > wanted_.limit) {
      found->more = true;
      found->events.erase(found->events.begin(),
                          found->events.end() - static_cast<std::ptrdiff_t>(wanted_.limit));
    }
    // The daemon has seen all that the log has; a file may have been left behind.
    const bool is_file = !facts.place.empty() && facts.place.front() == '/';
    if (is_file || !options_.device.root.empty()) add_log(facts, *found);
    show_list(found->events);
    if (!options_.ring.json && !options_.follow) put(wrapped(summary(facts, *found), 0));
    if (options_.ring.json && found->more) {
      note("there are older ones: --limit takes more of them");
    }
    return options_.follow ? follow(history, seen) : kExitOk;
  }

  void add_log(const HistoryFacts& facts, EventsFound& found) {
    auto shot = OneShot::read(options_.device.root, {"kernel_log"});
    if (!shot) return note(shot.error().message);
    const SourceStatus& status = (*shot)->sampler().status((*shot)->chosen().front());
    if (status.state == SourceState::kFailed || status.state == SourceState::kDenied) {
      note(
          "the kernel's log could not be read, and its events since the history's last are "
          "missing: " +
          printable(status.reason, 500));
    }
    const auto boot_id = (*shot)->facts().boot_id;
    std::optional<std::int64_t> boot;
    for (const BootKnown& each : facts.boots) {
      if (boot_id && each.boot_id == *boot_id) boot = each.number;
    }
    auto events = (*shot)->events();
    if (events.size() == OneShot::kMaxEvents) {
      note("of the kernel's log only the newest " + std::to_string(events.size()) +
           " events are here; --ring has all");
    }
    std::reverse(events.begin(), events.end());
    // Shown as the kernel's log is without a history.
    for (EventRecord& event : events) event.wall_trusted = true;
    merge_log(found, events, boot, wanted_);
  }

  void show_list(const std::vector<EventRecord>& events) const {
    EventRecordList list(put);
    for (const EventRecord& event : events) {
      if (options_.ring.json) {
        put(event_record_json(event).dump(-1, ' ', false,
                                          nlohmann::ordered_json::error_handler_t::replace) +
            "\n");
      } else {
        list.add(event);
      }
    }
    list.finish();
  }

  std::string summary(const HistoryFacts& facts, const EventsFound& found) const {
    const bool untrusted = std::any_of(
        found.events.begin(), found.events.end(),
        [](const EventRecord& event) { return event.wall.has_value() && !event.wall_trusted; });
    std::string out = counted(found.events.size(), "event");
    if (wanted_.from) out += " since " + local_time(*wanted_.from);
    if (wanted_.to) out += " until " + local_time(*wanted_.to);
    out += " in the history (" + printable(shown_place(options_.device, facts.place), 200) + ")";
    if (facts.oldest) out += ", which goes back to " + local_time(*facts.oldest);
    if (found.more) out += "; there are older ones: --limit takes more of them";
    if (untrusted) out += "; times with ~ are of a clock that was never known to be right";
    return out + ".";
  }

  int follow(History& history, EventsSeen& seen) {
    EventsWanted wanted = wanted_;
    wanted.to.reset();
    wanted.limit = kFollowed;
    while (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) {
      std::this_thread::sleep_for(kFollowPause);
      const auto found = past_events(history, wanted);
      if (!found) return fail_with(found.error());
      const std::vector<EventRecord> fresh = seen.fresh(found->events);
      if (fresh.size() == wanted.limit) {
        note("more than " + std::to_string(wanted.limit) + " at once: the oldest are not shown");
      }
      show_list(fresh);
    }
    return kExitFailed;
  }

  const EventsOptions& options_;
  EventsWanted wanted_;
};

// "-6h" is 6h ago as well.
void without_dash(std::string& text) {
  if (text.size() > 1 && text.front() == '-' && text.find_first_of(":@") == std::string::npos) {
    text.erase(0, 1);
  }
}

void add_command(CLI::App& app, CommandContext& context, const std::string& name,
                 const std::string& what, const std::vector<std::string>& kinds) {
  CLI::App* command = app.add_subcommand(name, what);
  auto options = std::make_shared<EventsOptions>();
  options->ring.command = name;
  command
      ->add_option("--since", options->ring.since,
                   "Only events from then on: 10m, 1h30m, 2w, yesterday, 02:00 (today), "
                   "'2026-11-20 02:00', @1790000000")
      ->type_name("WHEN");
  command->add_option("--until", options->ring.until, "Only events until then")->type_name("WHEN");
  if (kinds.empty()) {
    command->add_option("--what", options->what, "Only kernel, alert, daemon or mark")
        ->type_name("WHAT")
        ->delimiter(',');
    command->add_option("--kind", options->ring.kinds, "Only of this kind: oom_kill, firing")
        ->type_name("KIND")
        ->delimiter(',');
  }
  command->add_option("--limit", options->limit, "At most so many, the newest (default 200)")
      ->type_name("COUNT")
      ->check(CLI::Range(1, 100000));
  command->add_flag("--follow", options->follow, "Go on with new ones, until Ctrl-C");
  command->add_flag("--ring", options->only_ring, "The kernel's own ring and no history");
  command->add_flag("--json", options->ring.json,
                    "One JSON object a line for each event; what was lost goes to standard error");
  add_device_options(*command, options->device);
  command->footer(
      "Asks jetmemd, or reads its file where none answers: the kernel's events, changes of "
      "alerts,\n"
      "jetmemd's starts, leaps of the clock, marks, of 60 days. Where there is no history, and "
      "with\n"
      "--ring, /dev/kmsg is read, as far back as the kernel keeps it. --root DIR reads\n"
      "DIR/jetmem/history.db and DIR/dev/kmsg, records or the text of dmesg. Events of one kind "
      "from\n"
      "one source are told once, with how often and until when; --json has each. Only the kernel "
      "is\n"
      "believed: what processes wrote into its log is counted. Times are since boot where nobody\n"
      "knows when that was, and have a ~ where the clock was never known to be right.\n"
      "Exit status: 0 when it was read, with or without events; 1 when it could not be; 2 on a\n"
      "wrong command line.");
  command->callback([command, options, kinds, &context] {
    options->device.root = context.root;
    options->device.root_name = context.root_name;
    options->device.access = context.access;
    options->ring.root = context.root;
    if (!kinds.empty()) {
      options->ring.kinds = kinds;
      options->what = {"kernel"};
    }
    without_dash(options->ring.since);
    without_dash(options->ring.until);
    options->ring.since_given = command->count("--since") > 0;
    options->ring.until_given = command->count("--until") > 0;
    context.status = Asking(*options).run();
  });
}

}  // namespace

void add_events_command(CLI::App& app, CommandContext& context) {
  add_command(app, context, "events",
              "What happened: the kernel's events, alerts, starts and marks, oldest first", {});
}

void add_faults_command(CLI::App& app, CommandContext& context) {
  add_command(app, context, "faults",
              "Faults of DMA alone: of the SMMU, the memory controller, the GPU's MMU",
              fault_kinds());
}

}  // namespace jetmem
