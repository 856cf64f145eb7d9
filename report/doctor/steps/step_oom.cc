// SPDX-License-Identifier: Apache-2.0
// OOM kills: of which program, when, and which one used the memory.
#include <algorithm>

#include "base/text/text.h"
#include "report/doctor/step.h"
#include "report/doctor/summary.h"

namespace jetmem::doctor {
namespace {

// A kill this recent counts as ongoing.
constexpr double kJustNow = 3600;
const std::initializer_list<std::string_view> kMachine{"oom_kill", "oom_no_victim"};
const std::initializer_list<std::string_view> kCgroupKill{"oom_kill_memcg"};

}  // namespace

void examine_oom(const DeviceView& view, Step& step) {
  step.confirm =
      "jetmem events --kind oom_kill,oom_kill_memcg,oom_no_victim; grep oom_kill /proc/vmstat";
  const Seeing log = see(view, step, "kernel_log");
  take_alerts(view, step, {"JetmemOomKill", "JetmemCgroupOomKill", "JetmemCgroupOomKillCounted"});
  const Counted machine = count_events(view, kMachine);
  for (const Sample& each : view.now.samples.family("jetmem_oom_kills_total")) {
    if (each.value > 0 && each.label("origin") != "probe") {
      note(step,
           "Killed since boot: " + printable(each.label("comm"), 64) + ", " +
               (each.value == 1 ? "once" : number(each.value, 0) + " times") +
               (each.label("scope") == "memcg" ? ", at its cgroup limit." : ", system-wide."));
    }
  }
  if (machine.total > 0 || machine.recent > 0) {
    note(step, "OOM kills: " + counted_text(view, machine) + ".", machine.last);
    note_events(view, step, kMachine, 3);
    if (view.found.memory_then && view.found.kill != nullptr) {
      note(step, sentence(memory_sentence(*view.found.memory_then, view.today())),
           view.found.memory_then->available.from);
      for (std::size_t i = 1; i < view.found.memory_then->top_growth.size(); ++i) {
        note(step,
             "Next: " + growth_sentence(view.found.memory_then->top_growth[i], view.today()) + ".");
      }
    }
    if (machine.is_recent) {
      const bool just_now =
          machine.last && view.found.now > 0 && view.found.now - *machine.last <= kJustNow;
      raise_past(step, just_now ? Verdict::kCritical : Verdict::kWarning);
      std::string who = view.found.kill != nullptr ? printable(view.found.kill->subject, 64) : "";
      conclude(step, (who.empty() ? std::string("An OOM kill happened")
                                  : "The OOM killer killed " + who) +
                         ": " + counted_text(view, machine) + ".");
      advise(step,
             "Programs needed more memory than the machine has. The killed one is the largest, not "
             "always the one that grew.",
             "Restart or limit the program that grew (jetmem top); protect others with "
             "OOMScoreAdjust=.",
             "oom-kill");
    } else {
      conclude(step, "No OOM kill in the last 24 h; " + counted_text(view, machine) + ".");
    }
  }
  const Counted group = examine_failures(
      view, step, kCgroupKill, "OOM kills at a cgroup limit", "A cgroup reached its memory limit",
      {"The limit is lower than the service needs, or the service leaks.",
       "Raise the unit's MemoryMax= or the container's limit; the machine itself had memory.",
       "oom-kill"});
  if (group.total > 0 || group.recent > 0) conclude(step, "No OOM kill in the last 24 h.");
  examine_events(view, step, {"oom_kill", "oom_no_victim", "oom_kill_memcg"});
  const auto kills = view.value("jetmem_vmstat_oom_kill_total");
  const double of_probe = machine.of_probe + group.of_probe;
  if (of_probe > 0) {
    note(step, "The kernel killed jetmem's own probe " +
                   (of_probe == 1 ? std::string("once") : number(of_probe, 0) + " times") +
                   " since boot: it asks to be killed first.");
  }
  const double known = machine.total + group.total + of_probe;
  if (kills && *kills > known) {
    note(step, "The kernel has counted " + counted(*kills, "OOM kill", "OOM kills") +
                   " since boot; " + count(known) + (known == 1 ? " appears" : " appear") +
                   " in the kernel log.");
    if (known == of_probe && machine.recent + group.recent == 0) {
      found_past(step, Verdict::kWarning,
                 "The kernel counted " + counted(*kills - of_probe, "OOM kill", "OOM kills") +
                     " since boot, but its log no longer shows which or when.",
                 {"The log was overwritten or is not readable.",
                  "journalctl -k --grep 'Out of memory|oom-kill'", "oom-kill"});
    }
  }
  if (!step.summary.empty()) return;
  if (log != Seeing::kSeen) {
    if (kills && *kills == 0) {
      // The counter is proof without the log.
      if (step.verdict == Verdict::kUnknown) step.verdict = Verdict::kOk;
      conclude(step, "No OOM kill since boot, by the kernel's counter.");
      return;
    }
    return unknown(view, step, "OOM kills are", "kernel_log");
  }
  conclude(step, of_probe > 0 ? "No OOM kill but of jetmem's own probe."
                              : "No OOM kill as far back as the kernel log reaches.");
}

}  // namespace jetmem::doctor
