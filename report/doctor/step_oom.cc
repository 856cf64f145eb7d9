// Kills for want of memory: whose, when, and who had taken it.
#include <algorithm>

#include "base/text.h"
#include "report/doctor/step.h"
#include "report/doctor/story.h"

namespace jetmem::doctor {
namespace {

// A kill so short ago still is what happens, not what happened.
constexpr double kJustNow = 3600;
const std::initializer_list<std::string_view> kMachine{"oom_kill", "oom_no_victim"};
const std::initializer_list<std::string_view> kGroup{"oom_kill_memcg"};

}  // namespace

void examine_oom(const Look& look, Step& step) {
  step.confirm =
      "jetmem events --kind oom_kill,oom_kill_memcg,oom_no_victim; grep oom_kill /proc/vmstat";
  const Seeing log = see(look, step, "kernel_log");
  take_alerts(look, step, {"JetmemOomKill"});
  const Counted machine = count_events(look, kMachine);
  const Counted group = count_events(look, kGroup);
  for (const Sample& each : look.now.samples.family("jetmem_oom_kills_total")) {
    if (each.value > 0 && each.label("origin") != "probe") {
      note(step, "Killed since boot: " + printable(each.label("comm"), 64) + ", " +
                     (each.value == 1 ? "once" : number(each.value, 0) + " times") +
                     (each.label("scope") == "memcg" ? ", for its control group's limit."
                                                     : ", the machine was out of memory."));
    }
  }
  if (machine.total > 0 || machine.recent > 0) {
    note(step, "Kills for want of memory: " + counted_text(look, machine) + ".", machine.last);
    note_events(look, step, kMachine, 3);
    if (look.found.memory_then && look.found.kill != nullptr) {
      note(step, sentence(memory_sentence(*look.found.memory_then, look.today())),
           look.found.memory_then->available.from);
      for (std::size_t i = 1; i < look.found.memory_then->growers.size(); ++i) {
        note(step, "Next: " + grew(look.found.memory_then->growers[i], look.today()) + ".");
      }
    }
    if (machine.is_recent) {
      const bool just_now =
          machine.last && look.found.now > 0 && look.found.now - *machine.last <= kJustNow;
      raise(step, just_now ? Verdict::kCritical : Verdict::kWarning);
      std::string who = look.found.kill != nullptr ? printable(look.found.kill->subject, 64) : "";
      conclude(step, "The machine ran out of memory" +
                         (who.empty() ? std::string() : " and the kernel killed " + who) + ": " +
                         counted_text(look, machine) + ".");
      advise(step,
             "More was asked of the machine than it has. The one that was killed is the largest, "
             "not always the one that grew.",
             "Restart or bound the one that grew; give what must live a lower oom_score_adj.",
             "oom-kill");
    } else {
      conclude(step, "No kill within the last day; " + counted_text(look, machine) + ".");
    }
  }
  if (group.total > 0 || group.recent > 0) {
    note(step, "Kills at a control group's own limit: " + counted_text(look, group) + ".",
         group.last);
    note_events(look, step, kGroup, 2);
    if (group.is_recent) {
      raise(step, Verdict::kWarning);
      conclude(step,
               "A control group reached its own memory limit: " + counted_text(look, group) + ".");
      advise(step, "The limit is lower than what the service needs, or it leaks.",
             "See the unit's MemoryMax= or the container's limit; the machine itself was not out "
             "of memory.",
             "oom-kill");
    } else {
      conclude(step, "No kill within the last day.");
    }
  }
  const auto count = look.value("jetmem_vmstat_oom_kill_total");
  const double known = machine.total + group.total;
  if (count && *count > known) {
    note(step, "The kernel has counted " + counted(*count, "kill", "kills") +
                   " since boot, of which " + number(known, 0) +
                   " are in what was read of its log.");
    if (known == 0 && machine.recent + group.recent == 0) {
      raise(step, Verdict::kWarning);
      conclude(step, "Programs were killed for want of memory since boot (" + number(*count, 0) +
                         "), and the kernel's log no longer says which or when.");
      advise(step, "The log was overwritten or may not be read.",
             "Read the journal: journalctl -k --grep 'Out of memory|oom-kill'.", "oom-kill");
    }
  }
  if (!step.summary.empty()) return;
  if (log != Seeing::kSeen) {
    if (count && *count == 0) {
      // The counter alone says so, whoever may read the log.
      if (step.verdict == Verdict::kUnknown) step.verdict = Verdict::kFine;
      conclude(step, "Nothing was killed for want of memory since boot, by the kernel's counter.");
      return;
    }
    raise(step, Verdict::kUnknown);
    conclude(step, "Whether programs were killed cannot be told: " +
                       absent_text(look, "kernel_log") + ".");
    return;
  }
  conclude(step, "Nothing was killed for want of memory, as far back as the kernel's log reaches.");
}

}  // namespace jetmem::doctor
