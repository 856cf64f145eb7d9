// SPDX-License-Identifier: Apache-2.0
#include "cli/events/events_ring.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <deque>
#include <nlohmann/json.hpp>

#include "base/text/text.h"
#include "base/text/units.h"
#include "cli/client/site_messages_input.h"
#include "cli/decode/log_format.h"
#include "cli/draw/since.h"
#include "cli/history/history_select.h"
#include "cli/text/budget_text.h"
#include "cli/text/events/event_text.h"
#include "report/events/event_json.h"
#include "report/events/kernel_event_record.h"

namespace jetmem {
namespace {

using kernel_log::Event;
using kernel_log::TextLog;

constexpr const char* kRing = "/dev/kmsg";
// With --until, which is resolved when the log's end is known.
constexpr std::size_t kMostKept = 10'000;

struct KeptEvent {
  EventRecord record;
  std::string json;  // its line with --json
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

// What --since or --until names: on the wall clock where the time of the boot is known, otherwise
// since boot. `now`: where it is unknown, so is all that depends on it.
Result<std::optional<Nanoseconds>> moment_of(const std::optional<std::string>& text,
                                             const char* option, bool has_boot,
                                             std::optional<Nanoseconds> now) {
  if (!text) return std::nullopt;
  const Nanoseconds wall = has_boot && now ? *now : SystemClock().wall();
  auto moment = parse_moment(*text, wall);
  if (!moment) return tl::unexpected(std::move(moment.error()).within(option));
  const auto since = parse_since(text->substr(text->front() == '-' ? 1 : 0), wall);
  if (since->ago) return now ? std::optional(*now - *since->ago) : std::nullopt;
  if (has_boot) return *moment;
  return fail(Errc::kAbsent, std::string(option) +
                                 ": the capture has no boot time; give the time before its end, "
                                 "e.g. 10m");
}

std::string json_line(const Event& event, const EventRecord& record) {
  nlohmann::ordered_json json = event_json(event);
  if (record.wall) json["time"] = utc_time(*record.wall);
  if (record.at) json["since_boot_seconds"] = to_seconds(*record.at);
  if (event.seq) json["seq"] = *event.seq;
  return json.dump() + "\n";
}

// What was read of the log.
std::string read_text(const TextLog::Counts& counts, std::optional<Nanoseconds> boot) {
  const auto moment = [&](std::chrono::microseconds stamp) {
    return boot ? local_time(*boot + stamp) : seconds_text(stamp) + " s after boot";
  };
  const bool records = counts.records > 0;
  std::string text = " in " +
                     counted(records ? counts.records : counts.lines, records ? "record" : "line") +
                     " of the kernel's log";
  if (counts.first_stamp) {
    text.append(", from ").append(moment(*counts.first_stamp));
    text.append(" to ").append(moment(*counts.last_stamp));
  }
  if (counts.first_seq.value_or(0) > 0) {
    text.append("; the ").append(counted(*counts.first_seq, "record"));
    text.append(" before were overwritten");
  }
  return text;
}

}  // namespace

int show_ring(const Target& target, EventFilter needed, const std::optional<std::string>& since,
              const std::optional<std::string>& until) {
  const bool is_live = target.root.empty();
  const auto root = is_live ? Result<Root>(Root::live()) : Root::at(target.root);
  if (!root) return failed_past("events", Error(root.error()).within("--root"));
  const SystemClock clock;
  const Nanoseconds mono = clock.mono();
  std::optional<Nanoseconds> now;
  std::optional<Nanoseconds> boot;  // the wall time at which the kernel's log clock was 0
  if (is_live) {
    now = clock.wall();
    // The log's clock stands still in suspend, as the monotonic one does.
    boot = *now - mono;
  } else if (root->facts().boot_time) {
    boot = std::chrono::seconds(*root->facts().boot_time);
    if (root->facts().captured_at) now = std::chrono::seconds(*root->facts().captured_at);
  }
  Result<UniqueFd> file = UniqueFd();
  if (!is_live) {
    file = open_captured(*root, target.root);
  } else if (file = UniqueFd(::open(kRing, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY));
             !file->valid()) {
    file = tl::unexpected(ring_error("open", errno));
  }
  if (!file) return failed_past("events", file.error());

  // One more than is shown: whether there are older ones.
  const std::size_t most = until ? kMostKept : needed.limit + 1;
  bool is_cut = false;
  std::deque<KeptEvent> kept;
  const auto keep = [&](const Event& event, std::string_view) {
    EventRecord record = kernel_event_record(event, kernel_log::Origin::kSystem, event.stamp);
    if (!needed.wants(record)) return;
    if (boot && record.at) record.wall = *boot + *record.at;
    record.wall_trusted = record.wall.has_value();
    std::string json = target.json ? json_line(event, record) : std::string();
    kept.push_back({std::move(record), std::move(json)});
    if (kept.size() <= most) return;
    kept.pop_front();
    is_cut = true;
  };
  const auto messages = site_messages_for(target.config, *root);
  const auto log =
      std::make_unique<TextLog>(kernel_log::soc_of(*root), keep, messages->catalogues());
  if (is_live) {
    const auto end = std::chrono::duration_cast<std::chrono::microseconds>(mono);
    if (auto read = feed_ring(file->get(), end + std::chrono::seconds(1), *log); !read) {
      return failed_past("events", read.error());
    }
  } else {
    const std::string path = printable(target.root, 300) + kRing;
    const auto read = feed_from(file->get(), path, *log);
    if (!read) return failed_past("events", read.error());
    if (!read->empty()) warn("events", path + ": " + *read);
  }
  const TextLog::Counts& counts = log->counts();
  if (!now && counts.last_stamp) now = boot.value_or(Nanoseconds(0)) + *counts.last_stamp;
  const auto from = moment_of(since, "--since", boot.has_value(), now);
  if (!from) return failed_past("events", from.error());
  const auto to = moment_of(until, "--until", boot.has_value(), now);
  if (!to) return failed_past("events", to.error());
  std::erase_if(kept, [&](const KeptEvent& each) {
    const auto at = each.record.wall ? each.record.wall : each.record.at;
    return at && ((*from && *at < **from) || (*to && *at > **to));
  });
  const bool more = kept.size() > needed.limit;
  while (kept.size() > needed.limit) kept.pop_front();

  EventRecordList list(put);
  for (const KeptEvent& each : kept) {
    if (target.json) {
      put(each.json);
    } else {
      list.add(each.record);
    }
  }
  list.finish();
  std::string losses = omitted_text(counts, "lost: overwritten before they were read");
  if (const auto suspended = clock.boot() - clock.mono();
      is_live && suspended > std::chrono::seconds(1)) {
    using std::chrono::milliseconds;
    using std::chrono::seconds;
    join(losses,
         "the machine was suspended for " +
             format_duration(milliseconds(std::chrono::duration_cast<seconds>(suspended))) +
             " in total: times of earlier events are late by as much",
         "; ");
  }
  if (more) join(losses, kOlderEvents, "; ");
  if (is_cut && until) {
    join(losses, "only the newest " + counted(kMostKept, "event") + " were looked at", "; ");
  }
  if (target.json) {
    if (!losses.empty()) warn("events", losses);
    return kExitOk;
  }
  std::string text = counted(kept.size(), "event");
  if (*from) text += boot ? " since " + local_time(**from) : std::string(" since then");
  text += read_text(counts, boot);
  join(text, losses, "; ");
  if (boot) text.append("; times are ").append(time_zone_text());
  put(wrapped(text + ".", 0));
  return kExitOk;
}

}  // namespace jetmem
