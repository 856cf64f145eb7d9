// SPDX-License-Identifier: Apache-2.0
// jetmem events: what happened.

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <memory>
#include <thread>
#include <utility>

#include "base/text/text.h"
#include "cli/client/device_client.h"
#include "cli/client/local_snapshot.h"
#include "cli/commands.h"
#include "cli/draw/since.h"
#include "cli/events/events_past.h"
#include "cli/events/events_ring.h"
#include "cli/exit_codes.h"
#include "cli/history/history_select.h"
#include "cli/text/budget_text.h"
#include "cli/text/events/event_text.h"
#include "collectors/kernel_log/event/kinds.h"
#include "report/events/event_json.h"
#include "report/events/event_kind_names.h"

namespace jetmem {
namespace {

constexpr auto kFollowPause = std::chrono::seconds(2);
// Looked at in each pass of --follow; where all of the few are new, as many as there may be.
constexpr std::size_t kFewFollowed = 50;
constexpr std::size_t kFollowed = 500;
// Of the kernel's log with --until, which may only be resolved when the log's end is known.
constexpr std::size_t kMostOfLog = 10'000;

struct EventsOptions : Target {
  std::optional<std::string> since;
  std::optional<std::string> until;
  std::vector<std::string> kinds;
  std::vector<std::string> what;
  std::size_t limit = 200;
  bool only_ring = false;
  bool follow = false;
  bool faults_only = false;
};

// What a kernel log has.
bool is_of_log(EventWhat what) { return what == EventWhat::kKernel || what == EventWhat::kGuess; }

class EventsCommand {
 public:
  explicit EventsCommand(const EventsOptions& options) : options_(options) {}

  int run() {
    if (auto good = check(); !good) return fail_with(good.error());
    if (options_.only_ring) return ring();
    auto history = DeviceClient("events", options_).history();
    Result<HistoryFacts> facts = history ? (*history)->facts() : tl::unexpected(history.error());
    if (!facts) return without_history(facts.error());
    if (!facts->problem.empty()) note(facts->problem);
    return show(std::move(*history), *facts);
  }

 private:
  static int fail_with(const Error& error) { return failed_past("events", error); }

  static void note(const std::string& text) { warn("events", text); }

  Result<void> check() {
    for (const std::string& name : options_.what) {
      const auto what = event_what_named(name);
      if (!what) {
        return fail(Errc::kInvalid, "--category: '" + printable(name, 40) +
                                        "' is not kernel, alert, daemon, mark or guess");
      }
      needed_.what.push_back(*what);
    }
    for (const std::string& kind : options_.kinds) {
      if (auto known = check_event_kind(kind); !known) {
        return tl::unexpected(std::move(known.error()).within("--kind"));
      }
    }
    needed_.kinds = options_.kinds;
    needed_.limit = options_.limit;
    const bool other_than_kernel = std::any_of(needed_.what.begin(), needed_.what.end(),
                                               [](EventWhat what) { return !is_of_log(what); });
    if (options_.only_ring && other_than_kernel) {
      return fail(Errc::kInvalid, "--ring has kernel events only");
    }
    // A wrong time is refused before anything is read; that of a capture depends on its clock.
    return options_.root.empty() ? find_span(Nanoseconds(0)) : Result<void>();
  }

  int ring() {
    // One more than is shown: whether there are older ones.
    const std::size_t most = options_.until ? kMostOfLog : needed_.limit + 1;
    auto ring = read_ring(options_, needed_, most);
    if (!ring) return fail_with(ring.error());
    has_wall_ = ring->has_wall;
    if (auto span = find_span(ring->now); !span) return fail_with(span.error());
    EventsFound found{std::move(ring->events)};
    std::erase_if(found.events, [&](const EventRecord& each) {
      const auto at = each.wall ? each.wall : each.at;
      return at && ((needed_.from && *at < *needed_.from) || (needed_.to && *at > *needed_.to));
    });
    keep_newest(found, needed_.limit);
    if (ring->is_cut && options_.until) {
      join(ring->losses, "only the newest " + counted(kMostOfLog, "event") + " were looked at",
           "; ");
    }
    show_found(found, ring->where, ring->losses);
    return kExitOk;
  }

  // The ring, as far back as the kernel keeps it.
  int without_history(const Error& why) {
    const bool is_mistake = why.code == Errc::kInvalid ||
                            (!options_.config.empty() &&
                             (why.code == Errc::kMalformed || why.code == Errc::kNotRegular));
    if (!options_.daemon.empty() || options_.follow || is_mistake) {
      return fail_with(why);
    }
    if (!options_.root.empty() && captured_text(options_.root, kCapturedNow)) {
      return show_answered();
    }
    const bool kernel_too =
        needed_.what.empty() || std::any_of(needed_.what.begin(), needed_.what.end(), is_of_log);
    if (!kernel_too) return fail_with(why);
    // A captured tree need not have one; what is there and cannot be used is said.
    if (!options_.root.empty() && why.code != Errc::kAbsent) note(why.message);
    const int status = ring();
    if (status == kExitOk && options_.root.empty()) {
      note(why.message + "; showing the kernel's ring buffer");
    }
    return status;
  }

  // Of another machine's bundle: those in the answer of its jetmemd.
  int show_answered() {
    const auto now = DeviceClient("events", options_).now();
    if (!now) return fail_with(now.error());
    if (auto span = find_span(wall_clock(now->wall.value_or(0))); !span) {
      return fail_with(span.error());
    }
    if (now->events.empty() && !now->no_events.empty()) {
      return fail_with({Errc::kAbsent,
                        "the captured answer of that machine's jetmemd has no "
                        "events: " +
                            now->no_events});
    }
    const bool full = now->events.size() >= DeviceNow::kMaxEvents;
    const EventsFound found = wanted_events(now->events, needed_);
    const std::string of_what = std::string(" in the captured answer of that machine's jetmemd: ") +
                                (full ? "the newest " + std::to_string(now->events.size()) +
                                            " of the day before the capture"
                                      : "all of the day before the capture");
    if (options_.json) note("events" + of_what);
    show_found(found, of_what + " (" + printable(now->from, 200) + ")");
    return kExitOk;
  }

  Result<void> find_span(Nanoseconds now) {
    if (options_.root.empty()) now = std::max(now, SystemClock().wall());
    for (const bool begin : {true, false}) {
      const auto& text = begin ? options_.since : options_.until;
      if (!text) continue;
      const std::string option = begin ? "--since" : "--until";
      const Nanoseconds wall = has_wall_ ? now : SystemClock().wall();
      auto moment = parse_moment(*text, wall);
      if (!moment) return tl::unexpected(std::move(moment.error()).within(option));
      if (!has_wall_) {
        const auto since = parse_since(text->substr(text->front() == '-' ? 1 : 0), wall);
        if (!since->ago) {
          return fail(Errc::kAbsent, option +
                                         ": the capture has no boot time; give the time before its "
                                         "end, e.g. 10m");
        }
        moment = now - *since->ago;
      }
      (begin ? needed_.from : needed_.to) = *moment;
    }
    return {};
  }

  int show(std::unique_ptr<History> history, const HistoryFacts& facts) {
    if (auto span = find_span(facts.newest.value_or(Nanoseconds(0))); !span)
      return fail_with(span.error());
    // Events to be followed must be in the first page.
    EventFilter first = needed_;
    if (options_.follow) first.limit = std::max(needed_.limit, kFollowed);
    auto found = past_events(*history, first);
    if (!found) return fail_with(found.error());
    EventsSeen seen;
    if (options_.follow) seen.fresh(found->events);
    keep_newest(*found, needed_.limit);
    // The daemon has seen all that the log has; a file may have been left behind.
    const bool is_file = !facts.location.empty() && facts.location.front() == '/';
    if (is_file || !options_.root.empty()) add_log(facts, *found);
    show_found(*found, where(facts));
    if (!options_.follow) return kExitOk;
    Target source = options_;
    // Its file would have the news half an hour late.
    if (options_.root.empty() && !is_file) source.daemon = facts.location;
    return follow(std::move(history), source, is_file, seen);
  }

  void add_log(const HistoryFacts& facts, EventsFound& found) {
    LocalSnapshotOptions local;
    local.config = options_.config;
    auto shot = LocalSnapshot::read(options_.root, {"kernel_log"}, std::move(local));
    if (!shot) return note(shot.error().message);
    const SourceStatus& status = (*shot)->sampler().status(0);
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
    if (events.size() == LocalSnapshot::kMaxEvents) {
      note("of the kernel's log only the newest " + std::to_string(events.size()) +
           " events are shown; --ring with a larger --limit shows more");
    }
    std::reverse(events.begin(), events.end());
    // Shown as the kernel's log is without a history.
    for (EventRecord& event : events) event.wall_trusted = true;
    merge_log(found, events, boot, needed_);
  }

  // `losses`: what is missing or not exact.
  void show_found(const EventsFound& found, const std::string& where,
                  const std::string& losses = {}) const {
    show_list(found.events);
    if (!options_.json) {
      const std::string all = where + (losses.empty() ? "" : "; " + losses);
      if (!options_.follow) put(wrapped(summary(found, all), 0));
      return;
    }
    if (!losses.empty()) note(losses);
    if (found.more) note(kOlderEvents);
  }

  void show_list(const std::vector<EventRecord>& events) const {
    EventRecordList list(put);
    for (const EventRecord& event : events) {
      if (options_.json) {
        put(event_record_line(event));
      } else {
        list.add(event);
      }
    }
    list.finish();
  }

  std::string where(const HistoryFacts& facts) const {
    std::string out =
        " in the history (" + printable(displayed_path(options_, facts.location), 200) + ")";
    if (facts.oldest) out += ", which goes back to " + local_time(*facts.oldest);
    return out;
  }

  std::string summary(const EventsFound& found, const std::string& where) const {
    const bool untrusted = std::any_of(
        found.events.begin(), found.events.end(),
        [](const EventRecord& event) { return event.wall.has_value() && !event.wall_trusted; });
    std::string out = counted(found.events.size(), "event");
    if (needed_.from) out += " since " + (has_wall_ ? local_time(*needed_.from) : "then");
    if (needed_.to) out += " until " + (has_wall_ ? local_time(*needed_.to) : "then");
    out += where;
    if (found.more) out += std::string("; ") + kOlderEvents;
    if (untrusted) out += "; ~ marks times of a clock that was never synchronised";
    return out + (has_wall_ ? "; times are " + time_zone_text() : "") + ".";
  }

  // Those that were not seen before, oldest first.
  Result<std::vector<EventRecord>> fresh(History& history, EventsSeen& seen) {
    EventFilter needed = needed_;
    needed.to.reset();
    needed.limit = kFewFollowed;
    auto found = past_events(history, needed);
    if (!found) return tl::unexpected(std::move(found.error()));
    std::vector<EventRecord> out = seen.fresh(found->events);
    if (out.size() < kFewFollowed) return out;
    needed.limit = kFollowed;
    found = past_events(history, needed);
    if (!found) {
      note("some new events could not be read and are not shown: " + found.error().message);
      return out;
    }
    std::vector<EventRecord> older = seen.fresh(found->events);
    older.insert(older.end(), out.begin(), out.end());
    if (older.size() >= kFollowed) {
      note("more than " + std::to_string(kFollowed) + " at once: the oldest are not shown");
    }
    return older;
  }

  // Waits for a daemon that ends. A file is reopened each time, as a daemon that answers by then
  // knows more.
  int follow(std::unique_ptr<History> history, const Target& source, bool is_file,
             EventsSeen& seen) {
    std::string outage;
    while (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) {
      std::this_thread::sleep_for(kFollowPause);
      if (is_file && options_.root.empty()) history.reset();
      std::string problem;
      if (!history) {
        auto opened = DeviceClient("", source).history();
        if (opened) {
          history = std::move(*opened);
        } else {
          problem = std::move(opened.error().message);
        }
      }
      if (history) {
        const auto found = fresh(*history, seen);
        if (found) {
          if (!outage.empty()) note("events can be read again");
          outage.clear();
          show_list(*found);
          continue;
        }
        problem = found.error().message;
        history.reset();
      }
      // Once for each outage: the words may change while a daemon stops and starts.
      if (outage.empty()) note("waiting for events: " + problem);
      outage = std::move(problem);
    }
    return kExitIo;
  }

  const EventsOptions& options_;
  EventFilter needed_;
  bool has_wall_ = true;  // else times are since boot
};

int run_events(const EventsOptions& given) {
  EventsOptions options = given;
  if (options.faults_only) {
    options.kinds = fault_kinds();
    options.what = {"kernel"};
  }
  return EventsCommand(options).run();
}

void add_options(const Command& command, bool is_faults) {
  auto& options = command.runs(run_events);
  options.faults_only = is_faults;
  command.option("--since", options.since, "WHEN",
                 "Start: 10m, 1h30m, 2w, yesterday, 02:00 (the last one), '2026-11-20 02:00', "
                 "@1790000000");
  command.option("--until", options.until, "WHEN", "End");
  if (!is_faults) {
    command.option("--category", options.what, "WHAT", "Only kernel, alert, daemon, mark or guess")
        .separated_by_commas();
    command.option("--kind", options.kinds, "KIND", "Only these kinds: oom_kill,firing")
        .separated_by_commas();
    command
        .flag("--faults", options.faults_only,
              "Only DMA faults: of the SMMU, the memory controller, the GPU's MMU")
        .excludes({"--category", "--kind"});
  }
  command.option("--limit", options.limit, "COUNT", "At most COUNT, the newest (default: 200)")
      .range(1, 100000);
  command
      .flag("--follow", options.follow,
            "Continue with new events until Ctrl-C; waits for a daemon that restarts")
      .excludes({"--until", "--ring"});
  command.flag("--ring", options.only_ring, "Only the kernel's ring buffer, not the history")
      .excludes({"--daemon"});
  command.json(
      "One JSON object per line for each event; lost records are reported on standard "
      "error");
  command.device();
  command.footer(
      "Asks jetmemd, or reads its file if none answers: kernel events, alert changes, starts of "
      "jetmemd, clock steps and marks of the last 60 days. Without a history, and with --ring, "
      "reads /dev/kmsg as far back as the kernel keeps it. --root DIR reads DIR/jetmem/history.db "
      "and DIR/dev/kmsg, records or the text of dmesg; of a bundle of "
      "another machine, the events in the answer of its jetmemd. Events of one kind from one "
      "source are "
      "shown once, with their number and end; --json has each. Lines that processes wrote into the "
      "kernel log are counted and ignored. Times are since boot if the wall clock is unknown; ~ "
      "marks a clock that was never synchronised. A guess is a line that is no message that jetmem "
      "knows: what its words suggest, and the line; --category guess has those alone.");
  command.exit_status("0 if it was read, with or without events; 3 if there is nothing to read");
}

}  // namespace

void add_events_command(const Command& program) {
  add_options(
      program.add("events", "What happened: kernel events, alerts, starts and marks, oldest first"),
      false);
  add_options(program.add_hidden("faults", "jetmem events --faults"), true);
}

}  // namespace jetmem
