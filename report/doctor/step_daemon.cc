// jetmem itself: whether it sees what it should, keeps up, and loses nothing.
#include <algorithm>

#include "base/text.h"
#include "report/doctor/step.h"

namespace jetmem::doctor {
namespace {

// A round that begins later than that: the machine hardly gets to run even this.
constexpr double kLate = 5;

void look_at_sources(const Look& look, Step& step) {
  std::string blind;
  std::string denied;
  for (const SourceNow& each : look.now.sources) {
    if (each.state == "failed" || each.stale) {
      blind += (blind.empty() ? "" : ", ") + each.name;
      note(step,
           "Source " + each.name + " is " + (each.stale ? "stale" : "failed") +
               (each.reason.empty() ? std::string(".") : ": " + printable(each.reason, 300) + "."));
    } else if (each.state == "denied") {
      denied += (denied.empty() ? "" : ", ") + each.name;
      note(step,
           "Source " + each.name + " is denied: " + printable(each.reason, 200) +
               (each.grant.empty() ? std::string(".")
                                   : "; what would help: " + printable(each.grant, 300) + "."));
    }
  }
  if (!blind.empty()) {
    raise(step, Verdict::kWarning);
    conclude(step, "jetmem is blind on: " + blind + ".");
    advise(step, "A driver or file that hangs, changed its form, or vanished.",
           "See jetmem sources for each reason.", "source-blind");
  }
  if (!denied.empty()) {
    // A person without the rights looks at a device that has nothing wrong with it.
    raise(step, look.now.by == LookBy::kDaemon ? Verdict::kWarning : Verdict::kUnknown);
    conclude(step, "jetmem may not read: " + denied + ".");
    advise(step, "It runs without the rights of its systemd units, or by a user who is not root.",
           "Run it as the shipped units do, or this command with sudo.", "source-denied");
  }
}

void look_at_losses(const Look& look, Step& step) {
  double lost = 0;
  for (const Sample& each : look.now.samples.family("jetmem_kernel_log_lost_records_total")) {
    if (each.value > 0)
      note(step, "Records of the kernel's log that jetmem never saw (" +
                     printable(each.label("reason"), 40) + "): " + number(each.value, 0) + ".");
    // What was overwritten before it first ran is nobody's fault.
    if (each.label("reason") != "before_start") lost += each.value;
  }
  if (lost > 0) {
    raise(step, Verdict::kWarning);
    conclude(
        step,
        "Messages of the kernel were overwritten before jetmem read them: events are missing.");
    advise(step, "A storm of messages, or a machine too busy to read them.",
           "Find the storm (jetmem faults); a larger log takes log_buf_len= on the kernel's "
           "command line.",
           "kernel-log-lost");
  }
  const auto dropped = look.value("jetmem_log_dropped_total");
  if (dropped && *dropped > 0)
    note(step, "Entries of jetmem's own log that were dropped: " + number(*dropped, 0) + ".");
}

void look_at_recorder(const Look& look, Step& step) {
  if (const auto up = look.value("jetmem_history_up"); up && *up == 0) {
    raise(step, Verdict::kWarning);
    conclude(step, "The recorder cannot write its file: the past is only in memory.");
    advise(step, "The disk is full, read-only or broken.",
           "df /var/lib/jetmem; mount | grep ' / '; the journal of jetmemd says why.",
           "source-blind");
  }
  for (const Sample& each : look.now.samples.family("jetmem_history_lost_steps_total")) {
    if (each.value > 0)
      note(step, "Steps that the recorder lost (" + printable(each.label("reason"), 40) +
                     "): " + number(each.value, 0) + ".");
  }
  if (const auto aside = look.value("jetmem_history_set_aside_total"); aside && *aside > 0) {
    note(step, "Recordings that were damaged and set aside: " + number(*aside, 0) + ".");
  }
}

void look_at_loop(const Look& look, Step& step) {
  const auto lag = look.value("jetmem_round_lag_max_1m_seconds");
  if (lag && *lag > kLate) {
    raise(step, Verdict::kWarning);
    note(step, "A sampling round began " + span(*lag) + " late within the last minute.");
    conclude(step, "jetmemd hardly gets to run.");
    advise(step, "The machine is too busy, or short of memory.", "See the steps memory and heat.",
           "memory-stall");
  }
  const auto starts = look.value("jetmem_recent_starts");
  if (starts && *starts > 1) {
    note(step, "jetmemd was started " + number(*starts, 0) + " times within the last hour.");
    if (*starts > 3) {
      raise(step, Verdict::kWarning);
      conclude(step, "jetmemd keeps being restarted.");
      advise(step, "It crashes, is killed, or somebody restarts it.", "journalctl -u jetmemd",
             "restarted-often");
    }
  }
  const auto wedged = look.value("jetmem_readers_wedged");
  if (wedged && *wedged > 0) {
    raise(step, Verdict::kWarning);
    note(step, "Readers that hang in the kernel: " + number(*wedged, 0) + ".");
    conclude(
        step,
        "A source hangs in the kernel, a driver or firmware: the journal of jetmemd names it.");
  }
  std::string reader;
  for (const Sample& each : look.now.samples.family("jetmem_reader")) {
    if (each.value == 1) reader = std::string(each.label("kind"));
  }
  if (reader == "spawned")
    note(step, "Its reader is spawned: it has only the daemon's own rights.");
  if (reader == "socket") note(step, "Its reader is systemd's, with its privilege.");
}

}  // namespace

void examine_daemon(const Look& look, Step& step) {
  step.confirm = "jetmem sources; systemctl status jetmemd; journalctl -u jetmemd -n 50";
  take_alerts(look, step,
              {"JetmemSourceBlind", "JetmemSourceDenied", "JetmemKernelLogLost",
               "JetmemRestartedOften", "JetmemTegrastatsStale", "JetmemClockLeapt"});
  look_at_sources(look, step);
  if (look.now.by == LookBy::kDaemon) {
    look_at_losses(look, step);
    look_at_recorder(look, step);
    look_at_loop(look, step);
    conclude(step, "jetmemd runs, and every source that this machine has can be read.");
    return;
  }
  if (look.now.by == LookBy::kCommand) {
    for (const std::string& each : look.now.notes) note(step, printable(each, 300) + ".");
    raise(step, Verdict::kUnknown);
    conclude(step,
             "No jetmemd answered: this is one look of the command, without its past, its alerts "
             "and its probes.");
    advise(step, "It is not installed, not running, or may not be asked.",
           "sudo systemctl start jetmemd", "");
    return;
  }
  conclude(
      step,
      "Does not apply: this is a captured device, and every source that it has could be read.");
}

}  // namespace jetmem::doctor
