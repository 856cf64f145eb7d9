// Why it last restarted: how the boot before ended, what the hardware says, what the recorder saw.
#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "report/doctor/step.h"

namespace jetmem::doctor {
namespace {

// An end that was nobody's wish is told as a warning for a week.
constexpr double kWorthTelling = 7 * 86400;

// What the power management controller's causes mean for the person who asks.
std::string_view meaning(std::string_view cause) {
  if (cause == "watchdog") return "the system hung until the watchdog reset it";
  if (cause == "heat") return "it was too hot and switched itself off";
  if (cause == "voltage") return "the supply's voltage broke down";
  if (cause == "power") return "power was lost or switched on";
  if (cause == "software") return "a reboot that was asked for, or a panic";
  return {};
}

}  // namespace

void examine_restart(const Look& look, Step& step) {
  step.confirm = "jetmem boots";
  const Seeing seeing = see(look, step, "boot");
  if (seeing == Seeing::kBlind) {
    conclude(step, "Why the device last restarted cannot be told.");
    return;
  }
  const auto& now = look.now;
  take_alerts(look, step, {"JetmemDeviceRebootedUncleanly"});
  const double up =
      now.since_boot > 0 ? now.since_boot : look.value("jetmem_boot_uptime_seconds").value_or(0);
  const bool is_fresh = up <= 0 || up <= kWorthTelling;
  std::string when = "Booted";
  std::optional<double> booted = look.value("jetmem_boot_time_seconds");
  if (booted) when += " at " + moment(*booted, look.today());
  // A played tree keeps its own date, while jetmemd's clock is this machine's.
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
  const bool crashed = look.value("jetmem_boot_crash_recorded").value_or(0) == 1;
  if (crashed)
    note(step, "The kernel left a record of a panic or oops: it crashed before this boot.");
  const bool unclean = look.value("jetmem_boot_last_stop", {{"clean", "no"}}).value_or(0) == 1;
  const bool clean = look.value("jetmem_boot_last_stop", {{"clean", "yes"}}).value_or(0) == 1;
  if (const auto down = look.value("jetmem_boot_down_seconds"); down && unclean) {
    const auto& restart = look.found.restart;
    // What was recorded reaches further than jetmemd's own note that it runs.
    if (restart && restart->booted > 0 && restart->booted - restart->died < *down) {
      note(step, "It was away for at most " + span(restart->booted - restart->died) + ".");
    } else {
      note(step,
           "It was away for " + span(*down) + ", up to 15 minutes of which it may still have run.");
    }
  }
  const auto ends = look.value("jetmem_unclean_ends_total", {{"of", "device"}});
  const auto boots = look.value("jetmem_boots_total");
  if (ends && boots && *ends > 0) {
    note(step, "Of " + number(*boots, 0) + " boots that jetmem saw, " + number(*ends, 0) +
                   " came after an end that nobody asked for.");
  }
  if (look.found.restart) {
    const Restart& restart = *look.found.restart;
    note(step,
         "The last that was recorded or noted before it is of " +
             moment(restart.died, look.today()) + ".",
         restart.died);
    if (!restart.last_events.empty()) note(step, "Shortly before: " + restart.last_events + ".");
  }
  if (crashed || unclean || cause == "heat" || cause == "watchdog" || cause == "voltage") {
    if (is_fresh) raise(step, Verdict::kWarning);
    std::string summary = crashed   ? "The kernel crashed before this boot."
                          : unclean ? "The boot before this one ended without a shutdown."
                                    : "The device was reset.";
    if (!cause.empty() && cause != "software" && !meaning(cause).empty()) {
      summary.pop_back();
      summary.append(": ").append(meaning(cause)).append(".");
    }
    if (!is_fresh) summary += " That is more than a week ago.";
    conclude(step, summary);
    if (is_fresh) {
      advise(step,
             crashed ? "A bug in the kernel or a driver, or broken memory."
                     : "Power loss, a hang that the watchdog ended, heat, or a panic.",
             crashed ? "Read the record: sudo ls /sys/fs/pstore /var/lib/systemd/pstore; its last "
                       "lines name the driver."
                     : "See what the recorder had last (jetmem history, jetmem events), and check "
                       "supply and cable.",
             "device-rebooted-uncleanly");
    }
    return;
  }
  if (clean) {
    conclude(step, "The boot before this one was shut down in order.");
    return;
  }
  if (cause.empty()) {
    raise(step, Verdict::kUnknown);
    conclude(
        step,
        "How the boot before this one ended is not known: " +
            (seeing == Seeing::kAbsent
                 ? absent_text(look, "boot")
                 : std::string("jetmem has no history of it yet, and the hardware does not say")) +
            ".");
    return;
  }
  conclude(step, "Nothing says that the last restart was nobody's wish.");
}

}  // namespace jetmem::doctor
