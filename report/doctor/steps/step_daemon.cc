// SPDX-License-Identifier: Apache-2.0
// jetmem itself: whether it sees what it should, keeps up, and loses nothing.
#include <algorithm>
#include <array>
#include <cmath>

#include "base/text/text.h"
#include "report/doctor/step.h"

namespace jetmem::doctor {
namespace {

// A cycle that starts later than this means that the machine is overloaded.
constexpr double kLate = 5;

void check_sources(const DeviceView& view, Step& step) {
  std::string blind;
  std::string denied;
  for (const SourceNow& each : view.now.sources) {
    if (each.state == "ok" && each.stale && !each.skipped.empty()) {
      note(step, "Source " + each.name + " is not read now, to spare the device: " +
                     printable(each.skipped, 300) + ".");
    } else if (each.state == "failed" || each.stale) {
      blind += (blind.empty() ? "" : ", ") + each.name;
      note(step,
           "Source " + each.name + " is " + (each.stale ? "stale" : "failed") +
               (each.reason.empty() ? std::string(".") : ": " + printable(each.reason, 300) + "."));
    } else if (each.state == "denied") {
      denied += (denied.empty() ? "" : ", ") + each.name;
      note(step, "Source " + each.name + " is denied: " + printable(each.reason, 200) +
                     (each.grant.empty() ? std::string(".")
                                         : "; grant: " + printable(each.grant, 300) + "."));
    }
  }
  // A command has rights of its own: no fault of the device.
  const bool is_own = view.now.by == SnapshotOrigin::kCommand;
  if (!blind.empty()) {
    found(step, is_own ? Verdict::kUnknown : Verdict::kWarning,
          "jetmem cannot read: " + blind + ".",
          {"A driver hangs, or a file disappeared or changed its format.", "jetmem sources",
           "source-failing"});
  }
  if (!denied.empty()) {
    found(step, view.now.by == SnapshotOrigin::kDaemon ? Verdict::kWarning : Verdict::kUnknown,
          "jetmem is denied: " + denied + ".",
          {"It runs without the rights of its systemd units, or as a user who is not root.",
           "sudo systemctl restart jetmemd, or run this command with sudo", "source-denied"});
  }
}

std::string not_read_yet(const DeviceView& view) {
  std::string out;
  for (const SourceNow& each : view.now.sources) {
    if (each.state == "pending") out += (out.empty() ? "" : ", ") + each.name;
  }
  return out;
}

void check_losses(const DeviceView& view, Step& step) {
  double lost = 0;
  for (const Sample& each : view.now.samples.family("jetmem_kernel_log_lost_records_total")) {
    if (each.value > 0)
      note(step, "Kernel log records lost before jetmem read them (" +
                     printable(each.label("reason"), 40) + "): " + number(each.value, 0) + ".");
    // Records overwritten before the first start are not counted as lost.
    if (each.label("reason") != "before_start") lost += each.value;
  }
  if (lost > 0) {
    found(step, Verdict::kWarning,
          "Kernel messages were overwritten before jetmem read them: events are missing.",
          {"A storm of messages, or a machine too busy to read them.",
           "Find the source with jetmem events --faults. For a larger log set log_buf_len= on the "
           "kernel "
           "command line.",
           "kernel-log-lost"});
  }
  const auto dropped = view.value("jetmem_log_dropped_total");
  if (dropped && *dropped > 0)
    note(step, "Dropped entries of jetmem's own log: " + number(*dropped, 0) + ".");
}

void check_notifications(const DeviceView& view, Step& step) {
  std::string failed;
  double failures = 0;
  for (const Sample& each : view.now.samples.family("jetmem_notifications_total")) {
    if (each.label("result") == "ok" || each.value <= 0) continue;
    failures += each.value;
    failed += (failed.empty() ? "" : ", ") + number(each.value, 0) + " " +
              printable(each.label("result"), 40);
  }
  for (const Sample& each : view.now.samples.family("jetmem_notifications_dropped_total")) {
    if (each.label("reason") != "queue_full" || each.value <= 0) continue;
    failures += each.value;
    failed += (failed.empty() ? "" : ", ") + number(each.value, 0) + " dropped";
  }
  if (failures <= 0) return;
  note(step, "Notifications that failed since jetmemd started: " + failed + ".");
  found(step, Verdict::kWarning, "Alert notifications were not delivered.",
        {"alerts.program is missing, fails or hangs.",
         "jetmem config check; journalctl -u jetmemd | grep notification", ""});
}

// By the reason of the last failures; with several, any may be the current one.
std::string recorder_trouble(const DeviceView& view) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 7> kTroubles{{
      {"disk_full", "the disk is full"},
      {"read_only", "the file system is read-only"},
      {"hangs", "the disk does not answer"},
      {"damaged", "the file is damaged"},
      {"busy", "another program locks the file"},
      {"io", "its directory does not exist or is not writable, or the disk reports errors"},
      {"no_thread", "jetmemd could not start a thread"},
  }};
  std::string out;
  for (const auto& [reason, text] : kTroubles) {
    const auto count = view.value("jetmem_history_errors_total", {{"reason", reason}});
    if (count.value_or(0) > 0) out += (out.empty() ? "" : ", or ") + std::string(text);
  }
  if (out.empty()) return "The disk is full, read-only or broken.";
  out[0] = static_cast<char>(out[0] - 'a' + 'A');
  return out + ".";
}

void check_recorder(const DeviceView& view, Step& step) {
  // Without an error it has only just started.
  const auto up = view.value("jetmem_history_up");
  if (up && *up == 0 && view.now.samples.sum("jetmem_history_errors_total").value_or(0) > 0) {
    found(step, Verdict::kWarning,
          "The recorder cannot write its file: new history is only in memory.",
          {recorder_trouble(view),
           "df -h; journalctl -u jetmemd | grep 'history: cannot write' shows the reason",
           "history-not-written"});
  }
  for (const Sample& each : view.now.samples.family("jetmem_history_lost_snapshots_total")) {
    if (each.value > 0)
      note(step, "Samples lost by the recorder (" + printable(each.label("reason"), 40) +
                     "): " + number(each.value, 0) + ".");
  }
  if (const auto aside = view.value("jetmem_history_quarantined_files_total");
      aside && *aside > 0) {
    note(step, "Damaged recordings moved aside: " + number(*aside, 0) + ".");
  }
}

void check_loop(const DeviceView& view, Step& step) {
  if (view.value("jetmem_sampling_stalled").value_or(0) > 0) {
    found(step, Verdict::kWarning, "jetmemd has stopped sampling.",
          {"A driver or firmware does not answer, or the machine is overloaded.",
           "journalctl -u jetmemd -n 50", "source-failing"});
  }
  const auto lag = view.value("jetmem_sample_cycle_lag_max_1m_seconds");
  if (lag && *lag > kLate) {
    note(step, "A sampling cycle started " + span(*lag) + " late in the last minute.");
    found(step, Verdict::kWarning, "jetmemd gets too little CPU time.",
          {"The machine is overloaded, or short of memory.", "jetmem top; jetmem thermal",
           "memory-stall"});
  }
  const auto starts = view.value("jetmem_daemon_recent_starts");
  if (starts && *starts > 1) {
    note(step, "jetmemd started " + number(*starts, 0) + " times in the last hour.");
    if (*starts > 3) {
      found(step, Verdict::kWarning, "jetmemd keeps being restarted.",
            {"It crashes, is killed, or is restarted by hand.", "journalctl -u jetmemd",
             "restarted-often"});
    }
  }
  const auto wedged = view.value("jetmem_readers_wedged");
  if (wedged && *wedged > 0) {
    note(step, "Reader processes stuck in the kernel: " + number(*wedged, 0) + ".");
    found(step, Verdict::kWarning,
          "A source hangs in a driver or firmware: journalctl -u jetmemd names it.");
  }
  std::string reader;
  for (const Sample& each : view.now.samples.family("jetmem_reader")) {
    if (each.value == 1) reader = std::string(each.label("kind"));
  }
  if (reader == "spawned") note(step, "The reader was spawned by jetmemd and has only its rights.");
  if (reader == "socket")
    note(step, "The reader runs as a systemd unit with its own capabilities.");
}

// jetmemd must sample just when memory is short.
void check_protection(const DeviceView& view, Step& step) {
  const auto adjustment = view.value("jetmem_process_oom_score_adj", {{"process", "jetmemd"}});
  const std::string score = adjustment ? number(*adjustment, 0) : std::string("unknown");
  const auto alone = [&](const std::string& why) {
    note(step, adjustment && *adjustment < 0
                   ? "When memory is short, only its OOM score adjustment of " + score +
                         " protects jetmemd: " + why + "."
                   : "When memory is short, nothing protects jetmemd: " + why +
                         "; its OOM score adjustment is " + score + ".");
  };
  if (const auto low = view.value("jetmem_daemon_memory_low_bytes")) {
    if (*low <= 0) return alone("memory.low is 0 for its cgroup or one above it");
    note(step, "When memory is short, the kernel reclaims " +
                   (std::isinf(*low) ? std::string("all") : "at most " + bytes(*low)) +
                   " of jetmemd's memory last (memory.low); its OOM score adjustment is " + score +
                   ".");
    return;
  }
  for (const Sample& each : view.now.samples.family("jetmem_daemon_memory_low_absent")) {
    const std::string_view reason = each.label("reason");
    if (reason == "cgroup_v1") return alone("cgroup version 1 has no memory.low");
    if (reason == "no_memory_controller") {
      return alone("the kernel counts no memory per cgroup, so MemoryMax= does not work either");
    }
    note(step, "Whether memory.low protects jetmemd is unknown, as its cgroup is " +
                   printable(reason, 40) + "; its OOM score adjustment is " + score + ".");
  }
}

}  // namespace

void examine_daemon(const DeviceView& view, Step& step) {
  step.confirm = "jetmem sources; systemctl status jetmemd; journalctl -u jetmemd -n 50";
  // It knows more of the cause than the alert.
  if (view.now.by == SnapshotOrigin::kDaemon) check_recorder(view, step);
  take_alerts(view, step,
              {"JetmemHistoryNotWritten", "JetmemSourceFailing", "JetmemSourceDenied",
               "JetmemKernelLogLost", "JetmemRestartedOften", "JetmemTegrastatsStale",
               "JetmemClockStepped"});
  check_sources(view, step);
  if (view.now.by == SnapshotOrigin::kDaemon) {
    check_losses(view, step);
    check_notifications(view, step);
    check_loop(view, step);
    check_protection(view, step);
    const std::string unread = not_read_yet(view);
    conclude(step, unread.empty() ? "jetmemd runs and reads every source that this machine has."
                                  : "jetmemd runs; not read yet: " + unread + ".");
    return;
  }
  if (view.now.by == SnapshotOrigin::kCommand) {
    for (const std::string& each : view.now.notes) note(step, printable(each, 300) + ".");
    found(step, Verdict::kUnknown,
          "No jetmemd answered: this is one reading, without history, firing alerts and probes.",
          {"It is not installed, not running, or refuses access.", "sudo systemctl start jetmemd",
           ""});
    return;
  }
  conclude(step, "Not applicable: a captured device; every source was readable.");
}

}  // namespace jetmem::doctor
