// SPDX-License-Identifier: Apache-2.0
// Why the device last restarted: how the previous boot ended, by hardware, kernel and recorder.
#include <algorithm>
#include <cmath>

#include "base/text/text.h"
#include "report/doctor/step.h"

namespace jetmem::doctor {
namespace {

// An unclean shutdown is a warning for a week.
constexpr double kReportThreshold = 7 * 86400;

// What the causes of the power management controller mean.
std::string_view meaning(std::string_view cause) {
  if (cause == "watchdog") return "the system hung until the watchdog reset it";
  if (cause == "heat") return "it overheated and switched itself off";
  if (cause == "voltage") return "the supply voltage dropped";
  if (cause == "power") return "power was lost or switched on";
  if (cause == "software") return "a requested reboot, or a panic";
  return {};
}

}  // namespace

void examine_restart(const DeviceView& view, Step& step) {
  step.confirm = "jetmem boots";
  const Seeing seeing = see(view, step, "boot");
  if (seeing == Seeing::kBlind) {
    conclude(step, "The reason of the last restart is unknown.");
    return;
  }
  const auto& now = view.now;
  take_alerts(view, step, {"JetmemDeviceRebootedUncleanly"});
  const double up =
      now.since_boot > 0 ? now.since_boot : view.value("jetmem_boot_uptime_seconds").value_or(0);
  const bool is_fresh = up <= 0 || up <= kReportThreshold;
  std::string when = "Booted";
  std::optional<double> booted = view.value("jetmem_boot_time_seconds");
  if (booted) when += " at " + moment(*booted, view.today());
  // A replayed tree keeps its own date, while jetmemd uses the clock of this machine.
  const bool agree = !booted || !now.wall || std::abs(*now.wall - *booted - up) < 86400;
  if (up > 0 && agree) when += ", " + span(up) + " ago";
  if (booted || up > 0) note(step, when + ".", booted);

  std::string_view cause;
  for (const Sample& each : now.samples.family("jetmem_boot_reset_reason_info")) {
    cause = each.label("cause");
    std::string text = "The hardware's reset reason is " + printable(each.label("reason"), 60);
    if (!meaning(cause).empty()) text.append(": ").append(meaning(cause));
    note(step, text + ".");
  }
  const bool crashed = view.value("jetmem_boot_crash_recorded").value_or(0) == 1;
  if (crashed)
    note(step, "The kernel left a record of a panic or oops: it crashed before this boot.");
  const bool unclean = view.value("jetmem_boot_last_shutdown", {{"clean", "no"}}).value_or(0) == 1;
  const bool clean = view.value("jetmem_boot_last_shutdown", {{"clean", "yes"}}).value_or(0) == 1;
  if (const auto down = view.value("jetmem_boot_downtime_seconds"); down && unclean) {
    const auto& restart = view.found.restart;
    // The recorder reaches further than the boot history, which is written every 15 minutes.
    if (restart && restart->booted > 0 && restart->booted - restart->died < *down) {
      note(step, "It was down for at most " + span(restart->booted - restart->died) + ".");
    } else {
      note(step, "It was down for " + span(*down) + " (up to 15 min less).");
    }
  }
  const auto ends = view.value("jetmem_unclean_shutdowns_total", {{"of", "device"}});
  const auto boots = view.value("jetmem_boots_total");
  if (ends && boots && *ends > 0) {
    note(step, number(*ends, 0) + " of " + counted(*boots, "boot", "boots") +
                   " followed an unclean shutdown.");
  }
  if (view.found.restart) {
    const Restart& restart = *view.found.restart;
    note(step, "The last record before it is of " + moment(restart.died, view.today()) + ".",
         restart.died);
    if (!restart.last_events.empty()) note(step, "Shortly before: " + restart.last_events + ".");
  }
  if (crashed || unclean || cause == "heat" || cause == "watchdog" || cause == "voltage") {
    if (is_fresh) raise_past(step, Verdict::kWarning);
    std::string summary = crashed   ? "The kernel crashed before this boot."
                          : unclean ? "The previous boot ended without a clean shutdown."
                                    : "The device was reset.";
    if (!cause.empty() && cause != "software" && !meaning(cause).empty()) {
      summary.pop_back();
      summary.append(": ").append(meaning(cause)).append(".");
    }
    if (!is_fresh) summary += " That was more than a week ago.";
    conclude(step, summary);
    if (is_fresh) {
      advise(step,
             crashed ? "A kernel or driver bug, or faulty memory."
                     : "Power loss, a hang with watchdog reset, overheating, or a panic.",
             crashed
                 ? "sudo ls /sys/fs/pstore /var/lib/systemd/pstore; the last lines of the record "
                   "name the driver."
                 : "See the last records with jetmem events and jetmem history; check supply and "
                   "cable.",
             "device-rebooted-uncleanly");
    }
    return;
  }
  if (clean) {
    conclude(step, "The previous boot was shut down cleanly.");
    return;
  }
  if (cause.empty()) {
    found(
        step, Verdict::kUnknown,
        "How the previous boot ended is unknown: " +
            (seeing == Seeing::kAbsent
                 ? absent_text(view, "boot")
                 : std::string("jetmem has no history of it, and the hardware reports no reason")) +
            ".");
    return;
  }
  conclude(step, "Nothing indicates that the last restart was unintended.");
}

}  // namespace jetmem::doctor
