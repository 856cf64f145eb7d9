// SPDX-License-Identifier: Apache-2.0
#include "cli/events/events_ring.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <deque>
#include <nlohmann/json.hpp>

#include "base/clock.h"
#include "base/text/text.h"
#include "base/text/units.h"
#include "cli/client/site_messages_input.h"
#include "cli/command.h"
#include "cli/decode/log_format.h"
#include "cli/draw/since.h"
#include "cli/events/events_past.h"
#include "cli/exit_codes.h"
#include "cli/text/events/event_text.h"
#include "report/events/event_json.h"

namespace jetmem {
namespace {

using kernel_log::Event;
using kernel_log::Soc;
using kernel_log::TextLog;

constexpr const char* kRing = "/dev/kmsg";

// On the wall clock where the time of the boot is known, otherwise since boot.
struct Span {
  std::optional<Nanoseconds> from;
  std::optional<Nanoseconds> to;
};

// Shows the newest events from a moment on.
class EventPrinter {
 public:
  // `boot` is the wall time at which the kernel's log clock was 0.
  EventPrinter(const RingQuery& needed, std::optional<Nanoseconds> boot, const Span& span)
      : needed_(needed), json_(needed.json), boot_(boot), span_(span) {}

  void event(const Event& event) {
    if (!needed_.with_guesses && event.is_guess()) return;
    if (!needed_.with_events && !event.is_guess()) return;
    const std::vector<std::string>& kinds = needed_.kinds;
    const auto is_wanted = [&](kernel_log::EventKind kind) {
      return kinds.empty() ||
             std::find(kinds.begin(), kinds.end(), info_of(kind).name) != kinds.end();
    };
    // As is_of_kinds() has it.
    const bool reports_suppressed = event.kind() == kernel_log::EventKind::kRatelimitSuppressed &&
                                    is_wanted(kernel_log::suppressed_kind(event.text("function")));
    if (!is_wanted(event.kind()) && !reports_suppressed) return;
    std::optional<Nanoseconds> wall;
    if (boot_ && event.stamp) wall = *boot_ + *event.stamp;
    if (event.stamp) {
      const Nanoseconds at = wall ? *wall : Nanoseconds(*event.stamp);
      if ((span_.from && at < *span_.from) || (span_.to && at > *span_.to)) return;
    }
    if (!json_) {
      records_.push_back(log_event_record(event, wall));
    } else {
      nlohmann::ordered_json json = event_json(event);
      if (wall) json["time"] = utc_time(*wall);
      if (event.stamp) json["since_boot_seconds"] = to_seconds(*event.stamp);
      if (event.seq) json["seq"] = *event.seq;
      lines_.push_back(json.dump() + "\n");
    }
    keep_newest(records_);
    keep_newest(lines_);
  }

  // What was read, and what was not.
  void summary(const TextLog::Counts& counts, Nanoseconds suspended) {
    EventRecordList list(put);
    for (const EventRecord& record : records_) list.add(record);
    list.finish();
    for (const std::string& line : lines_) put(line);
    std::string text = counted(records_.size(), "event");
    if (span_.from) {
      text.append(boot_ ? " since " + local_time(*span_.from) : std::string(" since then"));
    }
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
      text.append(" before were overwritten");
    }
    std::string losses = omitted_text(counts, "lost: overwritten before they were read");
    if (suspended > std::chrono::seconds(1)) {
      using std::chrono::milliseconds;
      using std::chrono::seconds;
      losses.append(losses.empty() ? "" : "; ").append("the machine was suspended for ");
      losses.append(format_duration(milliseconds(std::chrono::duration_cast<seconds>(suspended))));
      losses.append(" in total: times of earlier events are late by as much");
    }
    if (more_) losses.append(losses.empty() ? "" : "; ").append(kOlderEvents);
    if (!losses.empty()) text.append("; ").append(losses);
    if (boot_) text.append("; times are ").append(time_zone_text());
    if (!json_) {
      put(wrapped(text + ".", 0));
    } else if (!losses.empty()) {
      warn("events", losses);
    }
  }

 private:
  std::string moment(std::chrono::microseconds stamp) const {
    return boot_ ? local_time(*boot_ + stamp) : seconds_text(stamp) + " s after boot";
  }

  template <class T>
  void keep_newest(std::deque<T>& all) {
    if (all.size() <= needed_.limit) return;
    all.pop_front();
    more_ = true;
  }

  const RingQuery& needed_;
  bool json_;
  std::optional<Nanoseconds> boot_;
  Span span_;
  std::deque<EventRecord> records_;  // for people
  std::deque<std::string> lines_;    // for programs
  bool more_ = false;                // older ones match as well
};

// What helps where the ring cannot be read.
Error ring_error(const char* operation, int error) {
  Error found = errno_error(operation, kRing, error);
  if (error == EACCES || error == EPERM) {
    found.message.append(
        "; it needs root or CAP_SYSLOG, or kernel.dmesg_restrict=0 and read permission; containers "
        "are often denied it");
  } else if (error == ENOENT || error == ENXIO || error == ENODEV) {
    found.message.append("; containers usually have none");
  }
  found.message.append("; `jetmem decode kernel-log` reads the log as text");
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

// What --since and --until name. `now`: where it is unknown, so is all that depends on it.
Result<Span> span_of(const RingQuery& needed, std::optional<Nanoseconds> boot,
                     std::optional<Nanoseconds> now) {
  Span out;
  for (const bool begin : {true, false}) {
    const auto& text = begin ? needed.since : needed.until;
    if (!text) continue;
    const char* const option = begin ? "--since" : "--until";
    auto since = parse_since(*text, boot && now ? *now : SystemClock().wall());
    if (!since) return tl::unexpected(std::move(since.error()).within(option));
    if (since->at && !boot) {
      return fail(Errc::kAbsent, std::string(option) +
                                     ": the capture has no boot time; give the time before its "
                                     "end, e.g. 10m");
    }
    (begin ? out.from : out.to) = since->at;
    if (since->ago && now) (begin ? out.from : out.to) = *now - *since->ago;
  }
  return out;
}

int run_live(const RingQuery& options) {
  const SystemClock clock;
  const Nanoseconds now = clock.wall();
  const Nanoseconds mono = clock.mono();
  // The log's clock stands still in suspend, as the monotonic one does.
  const std::optional<Nanoseconds> boot = now - mono;
  const auto span = span_of(options, boot, now);
  if (!span) return failed_past("events", span.error());
  const UniqueFd ring(::open(kRing, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY));
  if (!ring.valid()) return failed_past("events", ring_error("open", errno));
  EventPrinter printer(options, boot, *span);
  const auto messages = site_messages_for(options.config, Root::live());
  const auto log = std::make_unique<TextLog>(
      kernel_log::soc_of(Root::live()),
      [&](const Event& event, std::string_view) { printer.event(event); }, messages->catalogues());
  const auto until = std::chrono::duration_cast<std::chrono::microseconds>(mono);
  if (auto read = feed_ring(ring.get(), until + std::chrono::seconds(1), *log); !read) {
    return failed_past("events", read.error());
  }
  printer.summary(log->counts(), clock.boot() - clock.mono());
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

int run_captured(const std::string& directory, const RingQuery& options) {
  auto root = Root::at(directory);
  if (!root) return failed_past("events", std::move(root.error()).within("--root"));
  std::optional<Nanoseconds> boot;
  if (root->facts().boot_time) boot = std::chrono::seconds(*root->facts().boot_time);
  std::optional<Nanoseconds> now;  // on the clock that times are shown in
  if (options.since || options.until) {
    const auto last = last_stamp(*root, directory);
    if (!last) return failed_past("events", last.error());
    if (boot && root->facts().captured_at) now = std::chrono::seconds(*root->facts().captured_at);
    if (!now && *last) now = boot.value_or(Nanoseconds(0)) + **last;
  }
  const auto span = span_of(options, boot, now);
  if (!span) return failed_past("events", span.error());
  auto file = open_captured(*root, directory);
  if (!file) return failed_past("events", file.error());
  EventPrinter printer(options, boot, *span);
  const auto messages = site_messages_for(options.config, *root);
  const auto log = std::make_unique<TextLog>(
      kernel_log::soc_of(*root),
      [&](const Event& event, std::string_view) { printer.event(event); }, messages->catalogues());
  const std::string path = printable(directory, 300) + kRing;
  const auto read = feed_from(file->get(), path, *log);
  if (!read) return failed_past("events", read.error());
  if (!read->empty()) warn("events", path + ": " + *read);
  printer.summary(log->counts(), Nanoseconds(0));
  return kExitOk;
}

}  // namespace

int show_ring_events(const RingQuery& needed) {
  return needed.root.empty() ? run_live(needed) : run_captured(needed.root, needed);
}

}  // namespace jetmem
