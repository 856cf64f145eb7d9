// jetmem events: what the kernel's log, as far back as it goes, tells of memory and its devices.

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>

#include "base/clock.h"
#include "base/text.h"
#include "base/units.h"
#include "cli/commands.h"
#include "cli/event_list.h"
#include "cli/event_text.h"
#include "cli/exit_codes.h"
#include "cli/log_input.h"
#include "cli/since.h"
#include "report/event_json.h"

namespace jetmem {
namespace {

using kernel_log::Event;
using kernel_log::Soc;
using kernel_log::TextLog;

constexpr const char* kRing = "/dev/kmsg";

struct EventsOptions {
  std::string since;
  bool since_given = false;
  bool json = false;
};

void put(const std::string& text) { std::fwrite(text.data(), 1, text.size(), stdout); }

Nanoseconds seconds_since_1970(std::int64_t seconds) { return std::chrono::seconds(seconds); }

// Shows events from a moment on.
class Teller {
 public:
  // `boot` is the wall time at which the kernel's log clock was 0; `from` is on the wall clock
  // where that is known, and otherwise since boot.
  Teller(bool json, std::optional<Nanoseconds> boot, std::optional<Nanoseconds> from)
      : json_(json), boot_(boot), from_(from), list_(put) {}

  void event(const Event& event) {
    std::optional<Nanoseconds> wall;
    if (boot_ && event.stamp) wall = *boot_ + *event.stamp;
    if (from_ && event.stamp) {
      const Nanoseconds at = wall ? *wall : Nanoseconds(*event.stamp);
      if (at < *from_) return;
    }
    ++shown_;
    if (!json_) {
      list_.add(event, wall);
      return;
    }
    nlohmann::ordered_json json = event_json(event);
    if (wall) json["time"] = utc_time(*wall);
    if (event.stamp) json["since_boot_seconds"] = to_seconds(*event.stamp);
    if (event.seq) json["seq"] = *event.seq;
    put(json.dump() + "\n");
  }

  // What was read, and what was not.
  void summary(const TextLog::Counts& counts, Nanoseconds suspended) {
    list_.finish();
    std::string text = counted(shown_, "event");
    if (from_) text.append(boot_ ? " since " + local_time(*from_) : std::string(" since then"));
    const bool records = counts.records > 0;
    text.append(" in ").append(
        counted(records ? counts.records : counts.lines, records ? "record" : "line"));
    text.append(" of the kernel's log");
    if (counts.first_stamp) {
      text.append(", from ").append(moment(*counts.first_stamp));
      text.append(" to ").append(moment(*counts.last_stamp));
    }
    if (counts.first_seq.value_or(0) > 0) {
      text.append("; the ").append(counted(*counts.first_seq, "record"));
      text.append(" before are no longer there");
    }
    std::string losses;
    if (counts.lost > 0) losses = counted(counts.lost, "record") + " lost: overwritten before read";
    if (counts.cut > 0) {
      losses.append(losses.empty() ? "" : "; ").append(counted(counts.cut, "line"));
      losses.append(" longer than 64 KiB, cut");
    }
    if (counts.foreign > 0) {
      losses.append(losses.empty() ? "" : "; ").append(counted(counts.foreign, "record"));
      losses.append(" written by processes, not believed");
    }
    if (suspended > std::chrono::seconds(1)) {
      using std::chrono::milliseconds;
      using std::chrono::seconds;
      losses.append(losses.empty() ? "" : "; ").append("the machine was suspended for ");
      losses.append(format_duration(milliseconds(std::chrono::duration_cast<seconds>(suspended))));
      losses.append(" in all: times of events before that are late by as much");
    }
    if (!losses.empty()) text.append("; ").append(losses);
    if (!json_) {
      put(wrapped(text + ".", 0));
    } else if (!losses.empty()) {
      std::fprintf(stderr, "jetmem events: %s\n", losses.c_str());
    }
  }

 private:
  std::string moment(std::chrono::microseconds stamp) const {
    return boot_ ? local_time(*boot_ + stamp) : seconds_text(stamp) + " s after boot";
  }

  bool json_;
  std::optional<Nanoseconds> boot_;
  std::optional<Nanoseconds> from_;
  EventList list_;
  std::uint64_t shown_ = 0;
};

int fail_with(const Error& error) {
  std::fprintf(stderr, "jetmem events: %s\n", error.message.c_str());
  return error.code == Errc::kInvalid ? kExitUsage : kExitFailed;
}

// What helps where the ring cannot be read.
Error ring_error(const char* operation, int error) {
  Error found = errno_error(operation, kRing, error);
  if (error == EACCES || error == EPERM) {
    found.message.append(
        "; root may read it, and so may CAP_SYSLOG, or anyone where kernel.dmesg_restrict is 0 and "
        "the file's mode allows it; containers are often denied it");
  } else if (error == ENOENT || error == ENXIO || error == ENODEV) {
    found.message.append("; containers usually have none");
  }
  found.message.append("; `jetmem decode kernel-log` takes the log as text");
  return found;
}

// From the oldest record to the newest that was there at the begin. What is overwritten meanwhile
// shows as a gap in the records' numbers.
Result<void> feed_ring(int fd, std::chrono::microseconds until, TextLog& log) {
  std::array<char, kernel_log::kMaxRecord + 1> buffer;
  int errors = 0;
  while (std::ferror(stdout) == 0) {
    const ssize_t n = ::read(fd, buffer.data(), buffer.size());
    if (n < 0 && errno == EAGAIN) break;
    // EPIPE: overwritten; EINVAL: larger than any record should be. Either way the next one
    // follows.
    if (n < 0 && (errno == EINTR || errno == EPIPE || errno == EINVAL) && ++errors < 1000) continue;
    if (n < 0) return tl::unexpected(ring_error("read", errno));
    if (n == 0) break;
    errors = 0;
    log.feed({buffer.data(), static_cast<std::size_t>(n)});
    // Where records come faster than they are read there would be no end.
    if (log.counts().last_stamp.value_or(until) > until) break;
  }
  log.finish();
  return {};
}

int run_live(const EventsOptions& options) {
  const SystemClock clock;
  const Nanoseconds now = clock.wall();
  const Nanoseconds mono = clock.mono();
  std::optional<Nanoseconds> from;
  if (options.since_given) {
    const auto since = parse_since(options.since, now);
    if (!since) return fail_with(std::move(Error(since.error())).within("--since"));
    from = since->at ? *since->at : now - *since->ago;
  }
  const UniqueFd ring(::open(kRing, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY));
  if (!ring.valid()) return fail_with(ring_error("open", errno));
  // The log's clock stands still in suspend, as the monotonic one does.
  Teller teller(options.json, now - mono, from);
  const auto log =
      std::make_unique<TextLog>(kernel_log::soc_of(Root::live()),
                                [&](const Event& event, std::string_view) { teller.event(event); });
  const auto until = std::chrono::duration_cast<std::chrono::microseconds>(mono);
  if (auto read = feed_ring(ring.get(), until + std::chrono::seconds(1), *log); !read) {
    return fail_with(read.error());
  }
  teller.summary(log->counts(), clock.boot() - clock.mono());
  return kExitOk;
}

// The stamp of a captured log's last line: its "now", where the capture does not say.
Result<std::optional<Nanoseconds>> last_stamp(const Root& root, const std::string& directory) {
  auto file = open_captured(root, directory);
  if (!file) return tl::unexpected(std::move(file.error()));
  const auto log = std::make_unique<TextLog>(Soc::kUnknown, [](const Event&, std::string_view) {});
  if (auto read = feed_from(file->get(), directory, *log); !read) {
    return tl::unexpected(std::move(read.error()));
  }
  std::optional<Nanoseconds> stamp;
  if (log->counts().last_stamp) stamp = *log->counts().last_stamp;
  return stamp;
}

int run_captured(const std::string& directory, const EventsOptions& options) {
  auto root = Root::at(directory);
  if (!root) return fail_with(std::move(root.error()).within("--root"));
  std::optional<Nanoseconds> boot;
  if (root->facts().boot_time) boot = seconds_since_1970(*root->facts().boot_time);
  std::optional<Nanoseconds> from;
  if (options.since_given) {
    const auto last = last_stamp(*root, directory);
    if (!last) return fail_with(last.error());
    std::optional<Nanoseconds> now;  // on the clock that times are shown in
    if (boot && root->facts().captured_at) now = seconds_since_1970(*root->facts().captured_at);
    if (!now && *last) now = boot.value_or(Nanoseconds(0)) + **last;
    const auto since = parse_since(options.since, boot && now ? *now : SystemClock().wall());
    if (!since) return fail_with(std::move(Error(since.error())).within("--since"));
    if (since->at && !boot) {
      return fail_with({Errc::kAbsent,
                        "--since: the capture does not say when the machine booted; give how long "
                        "before its end, 10m say"});
    }
    if (since->at) from = since->at;
    if (since->ago && now) from = *now - *since->ago;
  }
  auto file = open_captured(*root, directory);
  if (!file) return fail_with(file.error());
  Teller teller(options.json, boot, from);
  const auto log =
      std::make_unique<TextLog>(kernel_log::soc_of(*root),
                                [&](const Event& event, std::string_view) { teller.event(event); });
  const std::string path = printable(directory, 300) + kRing;
  const auto read = feed_from(file->get(), path, *log);
  if (!read) return fail_with(read.error());
  if (!read->empty()) std::fprintf(stderr, "jetmem events: %s: %s\n", path.c_str(), read->c_str());
  teller.summary(log->counts(), Nanoseconds(0));
  return kExitOk;
}

}  // namespace

void add_events_command(CLI::App& app, CommandContext& context) {
  CLI::App* command = app.add_subcommand(
      "events", "Show what the kernel's log tells of memory and its devices, oldest first");
  auto options = std::make_shared<EventsOptions>();
  command
      ->add_option("--since", options->since,
                   "Only events from then on: 10m, 1h30m, 2w, yesterday, 02:00 (today), "
                   "'2026-11-20 02:00', @1790000000")
      ->type_name("WHEN");
  command->add_flag("--json", options->json,
                    "One JSON object a line for each event; what was lost goes to standard error");
  command->footer(
      "Reads /dev/kmsg, as far back as the kernel keeps it; needs no daemon. Events of one kind "
      "from\n"
      "one source are told once, with how often and until when; --json has each. Only the kernel "
      "is\n"
      "believed: what processes wrote into its log is counted. --root DIR reads DIR/dev/kmsg, "
      "records\n"
      "or the text of dmesg; times are since boot where DIR does not say when that was.\n"
      "Exit status: 0 when the log was read, with or without events; 1 when it could not be; 2 on "
      "a\n"
      "wrong command line.");
  command->callback([command, options, &context] {
    options->since_given = command->count("--since") > 0;
    context.status =
        context.root.empty() ? run_live(*options) : run_captured(context.root, *options);
  });
}

}  // namespace jetmem
