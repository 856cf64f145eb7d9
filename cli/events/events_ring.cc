// SPDX-License-Identifier: Apache-2.0
#include "cli/events/events_ring.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <deque>
#include <iterator>

#include "base/text/text.h"
#include "base/text/units.h"
#include "cli/client/site_messages_input.h"
#include "cli/decode/log_format.h"
#include "cli/draw/since.h"
#include "cli/text/budget_text.h"
#include "cli/text/events/event_text.h"
#include "report/events/kernel_event_record.h"

namespace jetmem {
namespace {

using kernel_log::Event;
using kernel_log::TextLog;

constexpr const char* kRing = "/dev/kmsg";
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

Result<RingRead> read_ring(const Target& target, const EventFilter& needed, std::size_t most) {
  const bool is_live = target.root.empty();
  const auto root = is_live ? Result<Root>(Root::live()) : Root::at(target.root);
  if (!root) return tl::unexpected(Error(root.error()).within("--root"));
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
  if (!file) return tl::unexpected(std::move(file.error()));

  RingRead out;
  std::deque<EventRecord> kept;
  const auto keep = [&](const Event& event, std::string_view) {
    EventRecord record = kernel_event_record(event, kernel_log::Origin::kSystem, event.stamp);
    if (!needed.wants(record)) return;
    if (boot && record.at) record.wall = *boot + *record.at;
    record.wall_trusted = record.wall.has_value();
    kept.push_back(std::move(record));
    if (kept.size() <= most) return;
    kept.pop_front();
    out.is_cut = true;
  };
  const auto messages = site_messages_for(target.config, *root);
  const auto log =
      std::make_unique<TextLog>(kernel_log::soc_of(*root), keep, messages->catalogues());
  if (is_live) {
    const auto end = std::chrono::duration_cast<std::chrono::microseconds>(mono);
    if (auto read = feed_ring(file->get(), end + std::chrono::seconds(1), *log); !read) {
      return tl::unexpected(read.error());
    }
  } else {
    const std::string path = printable(target.root, 300) + kRing;
    const auto read = feed_from(file->get(), path, *log);
    if (!read) return tl::unexpected(read.error());
    if (!read->empty()) warn("events", path + ": " + *read);
  }
  const TextLog::Counts& counts = log->counts();
  out.events.assign(std::make_move_iterator(kept.begin()), std::make_move_iterator(kept.end()));
  out.has_wall = boot.has_value();
  out.now = now.value_or(boot.value_or(Nanoseconds(0)) +
                         counts.last_stamp.value_or(std::chrono::microseconds(0)));
  out.where = read_text(counts, boot);
  out.losses = omitted_text(counts, "lost: overwritten before they were read");
  if (const auto suspended = clock.boot() - clock.mono();
      is_live && suspended > std::chrono::seconds(1)) {
    using std::chrono::milliseconds;
    using std::chrono::seconds;
    join(out.losses,
         "the machine was suspended for " +
             format_duration(milliseconds(std::chrono::duration_cast<seconds>(suspended))) +
             " in total: times of earlier events are late by as much",
         "; ");
  }
  return out;
}

}  // namespace jetmem
