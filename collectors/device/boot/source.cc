// SPDX-License-Identifier: Apache-2.0
#include "collectors/device/boot/source.h"

#include "collectors/device/boot/gather.h"
#include "collectors/device/boot/reset_reason.h"

namespace jetmem {
namespace {

using boot::DeviceEnd;
using boot::What;

constexpr std::array kBootMetrics{
    gauge("jetmem_boot_time_seconds",
          "When the machine booted, in seconds since 1970 by its present clock: absent while "
          "that clock was never set. A step of minutes or more is a reboot."),
    gauge("jetmem_boot_reset_reason_info",
          "1: why the chip was reset before this boot, as its power management controller names "
          "it, and what that means. cause=watchdog: the system hung; heat: too hot; voltage: a "
          "bad supply; power: power was lost or switched on; software: a requested reboot, or a "
          "panic.",
          {"reason", "level", "cause"}),
    gauge("jetmem_boot_last_shutdown",
          "1 for how the boot before this one ended. clean=yes: a shutdown stopped jetmem; no: "
          "nothing stopped it (power loss, panic, watchdog); unknown: it had been stopped "
          "before, or there is no history.",
          {"clean"}, 3),
    gauge("jetmem_boot_downtime_seconds",
          "How long the device was down before this boot: counted from the last time jetmem "
          "wrote its state, so up to 15 minutes too long. Absent where one of the two clocks was "
          "not set."),
    gauge("jetmem_boot_crash_recorded",
          "1 when a record of a panic or oops appeared with this boot: the kernel crashed before "
          "it. jetmem boots shows its line. 0 means little on a machine without a pstore "
          "backend; absent where the records could not be examined."),
    counter("jetmem_boots_total",
            "Boots of the device since jetmem's history began; kept over reboots. If it grows "
            "although nobody reboots, the device restarts by itself."),
    counter("jetmem_daemon_starts_total",
            "Starts of jetmemd since its history began; kept over reboots. A lower "
            "bound where jetmemd has no runtime directory: starts that crash within a minute may "
            "be missing."),
    counter("jetmem_unclean_shutdowns_total",
            "Unrequested ends since the history began. of=device: the device went down while "
            "jetmem ran; of=jetmem: jetmemd was killed or crashed while the device ran on.",
            {"of"}, 2),
    counter("jetmem_changes_total",
            "Changes since the history began: of the kernel, its command line, L4T, the power "
            "mode, jetmem's settings or version. Problems that start then may come from it; "
            "jetmem boots lists them.",
            {"what"}, boot::kWhats),
    gauge("jetmem_last_change_timestamp_seconds",
          "When it last changed, in seconds since 1970; what=mark: when somebody last used "
          "jetmem mark. Absent until then, and where the clock was not set.",
          {"what"}, boot::kWhats + 1),
    counter("jetmem_marks_total",
            "Marks that people set with jetmem mark since the history began."),
    gauge("jetmem_acknowledged_timestamp_seconds",
          "When somebody acknowledged with jetmem ack what happened before, in seconds since 1970: "
          "finding is a step of jetmem doctor or an alert, by who it was, why the reason given. "
          "It leaves the verdict until it happens again.",
          {"finding", "by", "why"}, boot::kMaxAcknowledged),
    counter("jetmem_boot_history_errors_total",
            "Errors of jetmem's history of boots since jetmemd started. reason=write: it could "
            "not be written (disk full or read-only) and is out of date; bad_file: it was not "
            "understood, was renamed to boots.json.bad and started anew; bad_mark: lines that "
            "are no mark.",
            {"reason"}, 3),
    gauge("jetmem_pstore_backend_info",
          "1: where the kernel writes its last messages. backend=none: nowhere, a panic will "
          "leave no record.",
          {"backend"}),
    gauge("jetmem_pstore_records",
          "Records that the kernel left of earlier crashes and shutdowns. place=pstore: where it "
          "wrote them; archive: where systemd-pstore moved them. kind=panic or oops: a crash, "
          "but not necessarily the last boot's: records stay until somebody removes them.",
          {"place", "kind"}, 2 * kPstoreKinds),
    gauge("jetmem_boot_uptime_seconds",
          "Seconds since boot, time in suspend included, as of the last reading: up to some "
          "minutes ago (setting sources.boot.interval)."),
    gauge("jetmem_clock_synchronized",
          "1: a time server keeps the kernel's clock synchronized. 0: nothing does, and times in "
          "logs and recordings may be wrong."),
    gauge("jetmem_daemon_recent_starts",
          "Starts of jetmemd within the last hour in this boot, the present one included; 16 "
          "stands for that many or more. Above 1 somebody restarts it, or it is killed or "
          "crashes: journalctl -u jetmemd has the reason."),
};
constexpr MetricTable boot_metric{kBootMetrics};

// `looked`: whether records of a crash could be seen.
void write_history(SampleWriter& out, WriteContext& context, const boot::History& history,
                   bool checked) {
  const boot::Boot* before = history.before();
  const DeviceEnd end = before == nullptr ? DeviceEnd::kUnknown : before->end;
  out.put(boot_metric("jetmem_boot_last_shutdown"), end == DeviceEnd::kClean ? 1 : 0, "yes");
  out.put(boot_metric("jetmem_boot_last_shutdown"), end == DeviceEnd::kUnclean ? 1 : 0, "no");
  out.put(boot_metric("jetmem_boot_last_shutdown"),
          end != DeviceEnd::kClean && end != DeviceEnd::kUnclean ? 1 : 0, "unknown");
  out.put(boot_metric("jetmem_boot_downtime_seconds"), seconds_down(history));
  if (!history.boots.empty()) {
    const bool crashed = !history.boots.back().crash.empty();
    if (crashed || checked) {
      out.put(boot_metric("jetmem_boot_crash_recorded"), crashed ? 1 : 0);
    } else {
      context.absent.add("crash_not_known");
    }
  }
  out.put(boot_metric("jetmem_boots_total"), history.boots_seen);
  out.put(boot_metric("jetmem_daemon_starts_total"), history.starts);
  out.put(boot_metric("jetmem_unclean_shutdowns_total"), history.unclean_boots, "device");
  out.put(boot_metric("jetmem_unclean_shutdowns_total"), history.unclean_runs, "jetmem");
  for (std::size_t i = 0; i < boot::kWhats; ++i) {
    const std::string_view name = what_name(static_cast<What>(i));
    out.put(boot_metric("jetmem_changes_total"), history.changes_seen[i], name);
  }
  for (std::size_t i = 0; i < boot::kWhats; ++i) {
    const boot::Change* last = history.last_change(static_cast<What>(i));
    if (last == nullptr || !last->at.plausible()) continue;
    out.put(boot_metric("jetmem_last_change_timestamp_seconds"), last->at.wall,
            what_name(last->what));
  }
  if (history.mark_at && history.mark_at->plausible()) {
    out.put(boot_metric("jetmem_last_change_timestamp_seconds"), history.mark_at->wall, "mark");
  }
  out.put(boot_metric("jetmem_marks_total"), history.marks_seen);
}

}  // namespace

const SourceInfo BootSource::kInfo{
    .name = "boot",
    .what = "why the machine restarted last, and what has changed since",
    .paths = kBootPaths,
    .access = Access::kReader,
    .interval = std::chrono::minutes(5),
    .shortest_interval = std::chrono::seconds(10),
    .grant = "run jetmem-reader under systemd, or as root: what a panic left behind is root's",
    .metrics = kBootMetrics,
    .gather = gather_boot,
};

Result<void> BootSource::parse(const Snapshot& snapshot, Nanoseconds /*read_time*/) {
  auto ok = parse_boot(snapshot, !history_, reading_);
  if (ok && history_) {
    view_ = history_(reading_);
    reading_.wall_offset = view_->wall_offset;
  }
  return ok;
}

void BootSource::write_starts(SampleWriter& out, WriteContext& context) const {
  const auto uptime = context.facts.live ? std::optional(context.now) : reading_.uptime;
  if (!uptime) {
    context.absent.add("uptime_unknown");
    return;
  }
  out.put(boot_metric("jetmem_boot_uptime_seconds"), to_seconds(*uptime));
  const boot::Starts* starts = view_ ? view_->starts : &reading_.starts;
  const auto& boot_id = context.facts.boot_id;
  // A file of another boot says nothing of this one.
  const bool is_known =
      starts != nullptr && !starts->boot.empty() && (!boot_id || *boot_id == starts->boot);
  const auto recent = is_known ? starts->recent(*uptime) : std::nullopt;
  if (recent) {
    out.put(boot_metric("jetmem_daemon_recent_starts"), *recent);
  } else {
    context.absent.add("starts_unknown");
  }
}

void BootSource::write(SampleWriter& out, WriteContext& context) const {
  std::optional<std::int64_t> boot_time = context.facts.boot_time;
  if (view_) boot_time = view_->boot_time;
  if (boot_time && *boot_time >= kFirstPlausibleSecond) {
    out.put(boot_metric("jetmem_boot_time_seconds"), *boot_time);
  } else {
    context.absent.add(boot_time ? "clock_not_set" : "boot_time_unknown");
  }
  if (!reading_.reset_reason.empty()) {
    const std::string_view level = reading_.reset_level;
    out.put(boot_metric("jetmem_boot_reset_reason_info"), 1, reading_.reset_reason,
            level.empty() ? "unknown" : level,
            reset_cause_name(cause_of_reset(reading_.reset_reason)));
  }
  write_starts(out, context);
  if (reading_.clock_synchronized) {
    out.put(boot_metric("jetmem_clock_synchronized"), *reading_.clock_synchronized);
  } else if (context.facts.live) {
    context.absent.add("clock_not_asked");
  }
  const boot::History* history = view_ ? view_->history : nullptr;
  if (!view_ && !reading_.history_error) history = &reading_.history;
  if (history != nullptr) {
    const bool listed = reading_.pstore_listed || reading_.archive_listed;
    const bool checked = listed && !reading_.can_mask_crash();
    write_history(out, context, *history,
                  checked || (!history->boots.empty() && history->boots.back().checked));
  } else {
    context.absent.add("no_history");
  }
  if (view_) {
    out.put(boot_metric("jetmem_boot_history_errors_total"), view_->failed_writes, "write");
    out.put(boot_metric("jetmem_boot_history_errors_total"), view_->bad_files, "bad_file");
    out.put(boot_metric("jetmem_boot_history_errors_total"), view_->bad_marks, "bad_mark");
    for (const boot::Mark& mark : view_->acknowledged) {
      out.put(boot_metric("jetmem_acknowledged_timestamp_seconds"),
              static_cast<double>(mark.at.wall), mark.finding, mark.by, mark.text);
    }
  }
  if (!reading_.backend.empty())
    out.put(boot_metric("jetmem_pstore_backend_info"), 1, reading_.backend);
  for (const bool archived : {false, true}) {
    if (!(archived ? reading_.archive_listed : reading_.pstore_listed)) continue;
    // A part is not the sum; parse counts those omitted.
    if (archived ? reading_.archive_cut : reading_.pstore_cut) continue;
    std::array<std::uint64_t, kPstoreKinds> counts{};
    bool is_any_unknown = false;
    for (const PstoreRecord& record : reading_.records) {
      if (record.archived != archived) continue;
      ++counts[static_cast<std::size_t>(record.kind)];
      // Whether a panic or an oops, or neither, stands in the record itself.
      is_any_unknown |= record.unreadable && record.kind == PstoreKind::kDmesg;
    }
    for (std::size_t kind = 0; kind < kPstoreKinds; ++kind) {
      if (is_any_unknown && kind <= static_cast<std::size_t>(PstoreKind::kDmesg)) continue;
      out.put(boot_metric("jetmem_pstore_records"), counts[kind], archived ? "archive" : "pstore",
              pstore_kind_name(static_cast<PstoreKind>(kind)));
    }
  }
}

}  // namespace jetmem
