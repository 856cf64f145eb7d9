// How much memory there still is, how hard it is to get, and for how long it will last.
#include "base/text.h"
#include "report/doctor/step.h"
#include "report/doctor/story.h"

namespace jetmem::doctor {
namespace {

// As the shipped rules have it, for a look that no rules judged.
constexpr double kCritical = 0.05;
constexpr double kLow = 0.10;
constexpr double kStallWarning = 0.1;
constexpr double kStallCritical = 0.4;
constexpr double kSoon = 86400;

void look_at_pressure(const Look& look, Step& step) {
  const auto full = look.value("jetmem_pressure_stall_ratio",
                               {{"resource", "memory"}, {"kind", "full"}, {"window", "60s"}});
  const auto some = look.value("jetmem_pressure_stall_ratio",
                               {{"resource", "memory"}, {"kind", "some"}, {"window", "60s"}});
  if (full && some) {
    note(step, "In the last minute some task waited for memory " + share(*some) +
                   " of the time, all that could run " + share(*full) + ".");
    if (*full >= kStallWarning) {
      raise(step, *full >= kStallCritical ? Verdict::kCritical : Verdict::kWarning);
      conclude(step, "Everything waited for memory " + share(*full) + " of the last minute.");
      advise(step, "Programs need more memory than there is: it is swapped in and out.",
             "Stop or shrink the largest program (jetmem top).", "memory-stall");
    }
  } else if (const auto level = look.value("jetmem_memory_pressure_level")) {
    note(step, "Memory pressure is at level " + number(*level, 0) + " of 3.");
    if (*level >= 2) {
      raise(step, Verdict::kWarning);
      conclude(step, "Programs wait for memory.");
    }
  }
}

void look_at_trend(const Look& look, Step& step) {
  if (const auto left = look.value("jetmem_trend_exhaustion_seconds")) {
    std::string text = "Going on as in the last two hours, memory is used up in " + span(*left);
    for (const Sample& each : look.now.samples.family("jetmem_trend_bytes_per_second")) {
      if (each.label("of") == "MemAvailable") text += " (" + rate(each.value) + ")";
    }
    note(step, text + ".");
    if (*left < kSoon) {
      raise(step, Verdict::kWarning);
      conclude(step, text + ".");
      advise(step, "Something leaks.", "See who grows: jetmem top, jetmem history; restart it.",
             "memory-leak");
    }
  }
  const Sample* most = nullptr;
  for (const Sample& each :
       look.now.samples.family("jetmem_process_group_trend_bytes_per_second")) {
    if (each.value > 0 && (most == nullptr || each.value > most->value)) most = &each;
  }
  if (most != nullptr && most->value * 3600 > 1 << 20) {
    note(step, printable(most->label("command"), 64) +
                   " has grown steadily in the last two hours, by " + rate(most->value) + ".");
  }
}

}  // namespace

void examine_memory(const Look& look, Step& step) {
  step.confirm = "jetmem top; grep -E 'MemAvailable|SwapFree' /proc/meminfo";
  if (see(look, step, "meminfo") != Seeing::kSeen) {
    raise(step, Verdict::kUnknown);
    conclude(step, "How much memory there is cannot be told.");
    return;
  }
  take_alerts(look, step,
              {"JetmemMemoryStall", "JetmemMemoryLow", "JetmemMemoryLeak", "JetmemSwapThrash",
               "JetmemBelowWatermark"});
  const auto total = look.now.samples.meminfo("MemTotal");
  const auto available = look.now.samples.meminfo("MemAvailable");
  if (!total || !available || *total <= 0) {
    raise(step, Verdict::kUnknown);
    conclude(step, "The kernel does not say how much memory is available.");
    return;
  }
  const double part = *available / *total;
  const std::string stands =
      bytes(*available) + " of " + bytes(*total) + " is available (" + share(part) + ")";
  std::string text = stands;
  if (const auto unused = look.now.samples.meminfo("MemFree"))
    text += ", " + bytes(*unused) + " unused";
  note(step, text + ".");
  const auto swap = look.now.samples.meminfo("SwapTotal");
  const auto swap_free = look.now.samples.meminfo("SwapFree");
  if (swap && swap_free) {
    note(step, *swap > 0 ? bytes(*swap - *swap_free) + " of " + bytes(*swap) + " swap is used."
                         : std::string("There is no swap: what does not fit is killed."));
  }
  if (part < kLow) {
    raise(step, part < kCritical ? Verdict::kCritical : Verdict::kWarning);
    conclude(step, "Only " + stands + ".");
    advise(step, "More is asked of the machine than it has, or something leaks.",
           "See who holds memory (jetmem top) and stop or restart the largest that can be spared.",
           "memory-low");
  }
  look_at_pressure(look, step);
  look_at_trend(look, step);
  if (look.found.memory && step.verdict >= Verdict::kWarning) {
    const std::string sentence =
        doctor::sentence(memory_sentence(*look.found.memory, look.today()));
    note(step, sentence, look.found.memory->available.from);
  }
  conclude(step, stands + ".");
}

}  // namespace jetmem::doctor
