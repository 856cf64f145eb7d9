// SPDX-License-Identifier: Apache-2.0
#include "report/doctor/summary.h"

#include <algorithm>

#include "base/text/text.h"
#include "report/alerts/alert_order.h"
#include "report/diagnosis/format.h"

namespace jetmem::doctor {
namespace {

// Below this share of the fall, the largest grower does not explain it.
constexpr double kLittle = 0.3;
// A shorter fall may end before processes are read twice.
constexpr double kTooQuick = 240;
constexpr std::size_t kMostSentences = 3;

// As Urgency::what.
enum Urgencies : int { kFiresCritical, kPendingCritical, kFiresWarning, kHappened };

struct Sentence {
  int weight = 0;   // of what went wrong: 3 something was lost, 2 it is about to be
  double time = 0;  // when its first cause began
  std::string text;
  std::vector<std::string_view> steps;    // that it speaks of, the most first
  std::vector<std::string_view> conveys;  // alerts that it says as much as their own summary
  double step = 0;                        // how exactly its moments are known, as Move::step
  Urgency urgency = {kHappened, 0};
  bool is_now = false;  // it goes on
};

// A moment as exactly as it is known: "02:11:04", of one-minute values "about 02:11".
std::string when(double time, double step, std::optional<double> now) {
  std::string out = moment(time, now);
  if (step < 60) return out;
  out.resize(out.size() - 3);
  return "about " + out;
}

std::string from_to(const Move& move, std::optional<double> now) {
  if (move.is_ongoing) return "since " + when(move.from, move.step, now);
  return "from " + when(move.from, move.step, now) + " to " + when(move.to, move.step, now);
}

std::string kill_sentence(const Findings& found, std::optional<double> now) {
  const EventRecord& kill = *found.kill;
  std::string out = "at " + moment(*found.first_kill_time, now) + " ";
  if (kill.kind == "oom_no_victim" || kill.subject.empty()) {
    return out + "the kernel ran out of memory (" + printable(kill.summary, 200) + ")";
  }
  if (!found.kill_requester.empty()) {
    out += found.kill_requester +
           " requested a GPU, camera or video buffer (nvmap) that did not fit, and ";
  }
  out += "the kernel killed " + printable(kill.subject, 64) + " (out of memory)";
  if (found.memory_then && !found.memory_then->top_growth.empty()) {
    const GrowthEntry& first = found.memory_then->top_growth.front();
    const double share = first.grown / -found.memory_then->available.change();
    if (!first.command.empty() && first.command != kill.subject && share >= kLittle) {
      out += ", although another program grew";
    }
  }
  return out;
}

void add_time(std::vector<DoctorAnswer::Evidence>& out, double time, std::string text) {
  if (time > 0) out.push_back({std::move(text), time});
}

std::string faults_counted(const Faults& faults, const char* one, const char* many) {
  return (faults.suppressed_count > 0 ? "at least " : "") +
         counted(static_cast<double>(faults.count), one, many);
}

// When the device went down: between the last sign of it and its next boot.
std::string went_down(const Restart& restart, std::optional<double> now) {
  const std::string alive = moment(restart.died, now);
  if (restart.booted <= 0) return "the device went down after " + alive;
  return "the device went down between " + alive + " and " + moment(restart.booted, now);
}

void timeline(const Findings& found, DoctorAnswer& answer) {
  std::vector<DoctorAnswer::Evidence> all;
  for (const auto& part : {found.memory_then, found.memory}) {
    if (!part) continue;
    const MemoryFall& fall = *part;
    add_time(all, fall.available.from,
             "available memory begins to fall, from " + bytes(fall.available.before));
    add_time(all, fall.available.to,
             "available memory is down to " + bytes(fall.available.after) +
                 (fall.available.is_ongoing ? " and still falls" : ""));
    for (const GrowthEntry& each : fall.top_growth) {
      if (each.move) add_time(all, each.move->from, each.who + " begins to grow");
    }
  }
  if (found.cma) {
    if (found.cma->run) {
      add_time(all, found.cma->run->from,
               "the largest free run of CMA area " + found.cma->area + " begins to shrink, from " +
                   bytes(found.cma->run->before));
    }
    if (found.cma->fell) {
      add_time(all, *found.cma->fell,
               "the largest free run of CMA area " + found.cma->area +
                   " becomes too small for the largest request");
    }
    if (found.cma->first_failure) {
      add_time(all, *found.cma->first_failure, "the first CMA or DMA allocation fails");
    }
  }
  if (found.smmu) {
    add_time(all, found.smmu->first, "first SMMU fault of " + found.smmu->client);
    if (found.smmu->count > 1) {
      add_time(all, found.smmu->last,
               std::string(found.smmu->is_ongoing ? "latest" : "last") + " of " +
                   faults_counted(*found.smmu, "fault", "faults"));
    }
  }
  if (found.heat) {
    if (found.heat->rise.from > 0) {
      add_time(all, found.heat->rise.from, found.heat->zone + " begins to warm up");
    }
    add_time(all, found.heat->began, "the chip begins to throttle");
    if (!found.heat->alarm.empty()) {
      add_time(all, found.heat->alarm_time, "temperature alarm " + found.heat->alarm);
    }
    if (!found.heat->peak_zone.empty()) {
      add_time(all, found.heat->peak_time,
               found.heat->peak_zone + " is hottest, at " + number(found.heat->peak, 0) + " C");
    }
    if (!found.heat->is_ongoing) {
      add_time(all, found.heat->ended, "throttling ends, after " + span(found.heat->throttled));
    }
  }
  if (found.restart) {
    add_time(all, found.restart->died, "the last record before the restart");
    add_time(all, found.restart->booted, "the device boots again");
  }
  for (const Seen& each : found.events) {
    if (each.event->kind == "oom_kill" || each.event->kind == "oom_kill_memcg" ||
        each.event->kind == "hung_task") {
      add_time(all, each.time, printable(each.event->summary, 200));
    }
  }
  std::stable_sort(all.begin(), all.end(),
                   [](const auto& a, const auto& b) { return a.time < b.time; });
  // If there are too many, keep the newest.
  if (all.size() > DoctorAnswer::kMaxTimeline) {
    all.erase(all.begin(), all.end() - static_cast<std::ptrdiff_t>(DoctorAnswer::kMaxTimeline));
  }
  answer.timeline = std::move(all);
}

// Whether an incident is recent enough to be part of the conclusion.
bool matters(const Findings& found, double time) {
  return found.now <= 0 || found.now - time <= kRecent;
}

double step_of(const MemoryFall& fall) {
  double out = fall.available.step;
  for (const GrowthEntry& each : fall.top_growth) out = coarser(out, each.move);
  return out;
}

std::vector<Sentence> incidents(const Findings& found, bool memory_is_critical) {
  const auto now = today(found);
  std::vector<Sentence> out;
  if (found.kill != nullptr && matters(found, *found.kill_time)) {
    Sentence each{3, *found.first_kill_time, "", {"oom"}, {"JetmemOomKill"}};
    // A fall that continues has its own sentence.
    if (!found.memory) each.steps.insert(each.steps.end(), {"memory", "gpu_memory"});
    if (found.memory_then) {
      each.time = found.memory_then->available.from;
      each.step = step_of(*found.memory_then);
      each.text = memory_sentence(*found.memory_then, now) + "; " + kill_sentence(found, now);
    } else {
      each.text = kill_sentence(found, now);
    }
    out.push_back(each);
  }
  if (found.memory) {
    Sentence each{memory_is_critical ? 3 : 2,
                  found.memory->available.from,
                  memory_sentence(*found.memory, now),
                  {"memory", "gpu_memory"},
                  {}};
    each.step = step_of(*found.memory);
    each.is_now = true;
    out.push_back(std::move(each));
  }
  if (found.restart) {
    Sentence each{3,
                  found.restart->died,
                  went_down(*found.restart, now),
                  {"restart"},
                  {"JetmemDeviceRebootedUncleanly"}};
    each.text += " without being shut down";
    if (found.memory_then && found.kill == nullptr) {
      each.text = memory_sentence(*found.memory_then, now) + "; " + each.text;
      each.time = found.memory_then->available.from;
      each.step = step_of(*found.memory_then);
    } else if (!found.restart->last_events.empty()) {
      each.text += "; shortly before, the kernel logged: " + found.restart->last_events;
    }
    out.push_back(std::move(each));
  }
  if (found.cma) {
    Sentence each{
        found.cma->first_failure ? 3 : 2,
        found.cma->fell.value_or(found.cma->first_failure.value_or(found.now)),
        cma_sentence(*found.cma, now),
        {"cma"},
        {"JetmemCmaFragmented", "JetmemCmaAllocationFailing", "JetmemDmaAllocationFailing"}};
    each.step = coarser(coarser(0, found.cma->run), found.cma->used);
    out.push_back(std::move(each));
  }
  if (found.smmu && found.smmu->from_probe < found.smmu->count) {
    out.push_back({found.smmu->count > 100 ? 3 : 2,
                   found.smmu->first,
                   smmu_sentence(*found.smmu, now),
                   {"smmu"},
                   {"JetmemSmmuFault", "JetmemSmmuStorm", "JetmemSmmuSuppressed"}});
  }
  if (found.heat) {
    Sentence each{2,
                  found.heat->rise.from > 0 ? found.heat->rise.from : found.heat->began,
                  heat_sentence(*found.heat, now),
                  {"thermal"},
                  {"JetmemThrottling"}};
    each.step = std::max(found.heat->step, found.heat->rise.step);
    each.is_now = found.heat->is_ongoing;
    out.push_back(std::move(each));
  }
  return out;
}

bool is_bad(const DoctorAnswer& answer, std::string_view name) {
  const DoctorAnswer::Step* const step = answer.step(name);
  return step != nullptr && (step->happened || step->verdict >= Verdict::kWarning);
}

// The alert of the step to look at first, where one fires or may.
const DoctorAnswer::Alert* leading(const DoctorAnswer::Step& step) {
  return step.alerts.empty() ? nullptr : &step.alerts.front();
}

// Whether all that the step found is alerts of carve-outs.
bool is_of_carve_out(const DoctorAnswer::Step& step) {
  const auto of_carve_out = [](const DoctorAnswer::Alert& alert) {
    return alert.alert.starts_with("JetmemNvmapCarveout");
  };
  const DoctorAnswer::Alert* const first = leading(step);
  return first != nullptr && first->raises && step.summary.starts_with(first->summary) &&
         std::all_of(step.alerts.begin(), step.alerts.end(), of_carve_out);
}

// Available memory falls and rises all day: mentioned only if a step found something wrong, and
// not with a carve-out, which is no part of it.
bool belongs(const Sentence& sentence, const DoctorAnswer& answer) {
  return std::any_of(sentence.steps.begin(), sentence.steps.end(), [&](std::string_view name) {
    return is_bad(answer, name) && !is_of_carve_out(*answer.step(name));
  });
}

bool is_listed(std::string_view name, const std::vector<std::string_view>& names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// Whether the sentence says what the step has to say. An alert of its own is more than that.
bool covers(const Sentence& sentence, const DoctorAnswer::Step& step) {
  if (!is_listed(step.name, sentence.steps)) return false;
  const DoctorAnswer::Alert* const alert = leading(step);
  return alert == nullptr || step.name == sentence.steps.front() ||
         is_listed(alert->alert, sentence.conveys);
}

std::string clause(const std::string& sentence) {
  std::string out = sentence;
  if (!out.empty() && out.back() == '.') out.pop_back();
  // Not "CMA area".
  const auto is_upper = [](char c) { return c >= 'A' && c <= 'Z'; };
  if (out.size() > 1 && is_upper(out[0]) && !is_upper(out[1])) {
    out[0] = static_cast<char>(out[0] - 'A' + 'a');
  }
  return out;
}

// What fires in the steps that it speaks of: how urgent it is, and what it does not say yet.
void take_urgency(Sentence& sentence, const DoctorAnswer& answer) {
  for (const std::string_view name : sentence.steps) {
    const DoctorAnswer::Step* const step = answer.step(name);
    if (step == nullptr || step->verdict < Verdict::kWarning || !covers(sentence, *step)) continue;
    sentence.urgency = std::min(sentence.urgency, urgency(*step));
    // Where no rule waits for it, or not yet.
    if (sentence.is_now && step->now >= Verdict::kWarning) {
      const Urgency now{kFiresWarning, alerts_in_order().size()};
      sentence.urgency = std::min(sentence.urgency, now);
    }
    const DoctorAnswer::Alert* const alert = leading(*step);
    // The verdict says it.
    if (step->name == answer.found_by) continue;
    if (alert == nullptr || alert->state != "firing" || alert->kept) continue;
    if (!is_listed(alert->alert, sentence.conveys)) sentence.text += "; " + clause(step->summary);
  }
}

// Failing steps that no sentence covers.
std::vector<Sentence> uncovered(const std::vector<Sentence>& all, const DoctorAnswer& answer) {
  std::vector<Sentence> out;
  for (const DoctorAnswer::Step& step : answer.steps) {
    if (step.verdict < Verdict::kWarning || step.name == answer.found_by) continue;
    const bool reported = std::any_of(all.begin(), all.end(),
                                      [&](const Sentence& each) { return covers(each, step); });
    if (reported) continue;
    Sentence each;
    each.text = step.summary;
    each.steps = {step.name};
    each.urgency = urgency(step);
    out.push_back(std::move(each));
  }
  return out;
}

std::string nothing_bad(const DoctorAnswer& answer) {
  const auto unknown = std::count_if(
      answer.steps.begin(), answer.steps.end(),
      [](const DoctorAnswer::Step& step) { return step.verdict == Verdict::kUnknown; });
  if (unknown == 0) return "Nothing is wrong with this device's memory.";
  const bool local_snapshot =
      answer.from.by != snapshot_origin_name(SnapshotOrigin::kDaemon) && answer.history.empty();
  return std::string("No problem found") + (local_snapshot ? " in one reading" : "") + ", but " +
         counted(static_cast<double>(unknown), "step", "steps") + " of " +
         std::to_string(answer.steps.size()) + " could not be checked.";
}

}  // namespace

Urgency urgency(const DoctorAnswer::Step& step) {
  const std::size_t unlisted = alerts_in_order().size();
  // These alerts fire for what is over.
  const bool is_past =
      step.name == "restart" || (step.name == "stalls" && step.verdict < Verdict::kCritical);
  if (!is_past) {
    if (const DoctorAnswer::Alert* const alert = leading(step)) {
      const bool is_critical = alert->severity == "critical";
      const std::size_t place = alert_place(alert->alert);
      if (alert->state == "firing") return {is_critical ? kFiresCritical : kFiresWarning, place};
      if (is_critical) return {kPendingCritical, place};
    }
    // Without evaluated rules.
    if (step.now == Verdict::kCritical) return {kFiresCritical, unlisted};
  }
  return {kHappened, unlisted};
}

std::optional<double> today(const Findings& found) {
  if (found.now <= 0) return std::nullopt;
  return found.now;
}

std::string growth_sentence(const GrowthEntry& growth_entry, std::optional<double> now) {
  std::string out = growth_entry.who + " grew by " + (growth_entry.at_least ? "at least " : "") +
                    bytes(growth_entry.grown);
  if (!growth_entry.move) return out;
  const Move& move = *growth_entry.move;
  out += " " + from_to(move, now);
  std::string how;
  // A step has no speed.
  const double took = move.to - move.from;
  if (took > std::max(30.0, move.step)) {
    how = (move.step > 0.1 * took ? "about " : "") + rate(growth_entry.grown / took);
  }
  if (move.is_ongoing) how += how.empty() ? "still growing" : ", still growing";
  return how.empty() ? out : out + " (" + how + ")";
}

std::string memory_sentence(const MemoryFall& fall, std::optional<double> now) {
  const double fell = -fall.available.change();
  const bool is_ongoing = fall.available.is_ongoing;
  const std::string falls = is_ongoing ? "has fallen" : "fell";
  const std::string how = "available memory " + falls + " by " + bytes(fell) + ", to " +
                          bytes(fall.available.after) + ", " + from_to(fall.available, now) +
                          (is_ongoing ? ", and is still falling; " : "; ");
  const bool too_quick = fall.available.to - fall.available.from < kTooQuick;
  const std::string quick = "too fast to attribute, as processes are read once a minute";
  if (fall.top_growth.empty()) {
    return how + (too_quick
                      ? quick
                      : "no recorded program or kernel memory is known to have grown as much");
  }
  const GrowthEntry& first = fall.top_growth.front();
  const double part = first.grown / fell;
  if (part < kLittle && (too_quick || first.at_least || !first.is_largest)) {
    return how + (too_quick ? quick + "; " : "") +
           "most growth seen: " + growth_sentence(first, now);
  }
  if (part < kLittle) {
    return how + "no single program explains it: the largest grower, " + first.who + ", has " +
           share(part) + " of it";
  }
  std::string out = growth_sentence(first, now);
  if (part > 1.05) {
    out += ", more than the " + bytes(fell) + " by which available memory " + falls + ", to " +
           bytes(fall.available.after) + " (the rest came out of swap or caches)";
  } else {
    out += ", " + share(std::min(part, 1.0)) + " of the " + bytes(fell) +
           " by which available memory " + falls + ", to " + bytes(fall.available.after);
  }
  // What grew may be over while something else takes the rest.
  if (is_ongoing && !(first.move && first.move->is_ongoing)) {
    out += ", and it is still falling";
  }
  return out;
}

std::string cma_sentence(const CmaFall& fall, std::optional<double> now) {
  std::string out;
  const std::string area = fall.area.empty() ? "CMA" : "CMA area " + fall.area;
  if (fall.fell) {
    out = "the largest free block of " + area + " became too small for the largest request at " +
          moment(*fall.fell, now);
    if (fall.first_failure) {
      const double lead = *fall.first_failure - *fall.fell;
      out += ", " + span(std::max(0.0, lead)) + " before the first failed allocation at " +
             moment(*fall.first_failure, now);
      if (!fall.device.empty()) out += ", by " + fall.device;
    }
  } else if (fall.first_failure) {
    out = (fall.device.empty() ? "a CMA allocation" : fall.device + "'s DMA allocation") +
          " failed at " + moment(*fall.first_failure, now);
    if (fall.failures > 1) {
      out += " (" + counted(static_cast<double>(fall.failures), "failure", "failures") + " in all)";
    }
  } else {
    out = "the largest free block of " + area + " is too small for the largest request";
  }
  if (fall.run) {
    const Move& run = *fall.run;
    out += "; the largest free block" + (fall.fell ? std::string() : " of " + area) +
           (run.is_ongoing ? " has shrunk" : " shrank") + " from " + bytes(run.before) + " at " +
           when(run.from, run.step, now) + " to " + bytes(run.after);
    if (!run.is_ongoing) out += " at " + when(run.to, run.step, now);
  }
  if (fall.used) {
    out += std::string("; drivers ") + (fall.used->is_ongoing ? "have taken " : "took ") +
           bytes(fall.used->change()) + " more of the area " + from_to(*fall.used, now);
    const double part =
        fall.top_growth.empty() ? 0 : fall.top_growth.front().grown / fall.used->change();
    if (fall.taken >= kLittle * fall.used->change()) {
      out += "; " + bytes(fall.taken) + " that " + fall.taker +
             " allocated then are still not released";
    } else if (part >= kLittle) {
      out += ", while the buffers of " + growth_sentence(fall.top_growth.front(), now);
    }
  }
  return out;
}

std::string smmu_sentence(const Faults& faults, std::optional<double> now) {
  std::string out = (faults.client.empty() ? "an unidentified device" : faults.client) +
                    " accessed memory outside its IOMMU mapping: " +
                    faults_counted(faults, "SMMU fault", "SMMU faults");
  if (faults.is_ongoing && faults.last - faults.first >= 1) {
    out += " since " + moment(faults.first, now) + ", and they continue";
  } else if (faults.last - faults.first >= 1) {
    out += " from " + moment(faults.first, now) + " to " + moment(faults.last, now);
  } else {
    out += " at " + moment(faults.first, now);
  }
  if (faults.suppressed_count > 0) {
    out += " (the kernel suppressed " +
           counted(faults.suppressed_count, "more message", "more messages") + " since boot)";
  }
  if (faults.from_probe > 0) {
    out += ", " + count(static_cast<double>(faults.from_probe)) +
           " of them while jetmem's own probe ran";
  }
  if (!faults.before.empty()) out += "; around the first one " + faults.before;
  return out;
}

std::string heat_sentence(const Heat& heat, std::optional<double> now) {
  std::string out = heat.is_ongoing ? "the chip has throttled since " : "the chip throttled from ";
  out += when(heat.began, heat.step, now);
  if (!heat.is_ongoing) out += " to " + when(heat.ended, heat.step, now);
  // Pauses are no throttling.
  out += ", for " + span(heat.throttled) + (heat.is_ongoing ? " so far" : " in all");
  if (heat.rise.from > 0) {
    out += ", after " + heat.zone + " warmed from " + number(heat.rise.before, 0) + " to " +
           number(heat.rise.after, 0) + " C since " + when(heat.rise.from, heat.rise.step, now);
  } else if (!heat.zone.empty()) {
    out += ", with " + heat.zone + " at " + number(heat.rise.after, 0) + " C";
    if (heat.limit > 0) {
      out += ", at or above its trip point of " + number(heat.limit, 0) + " C";
    } else if (heat.alarm.empty()) {
      out +=
          "; the history has no warming before that, which points to a power limit or a manual "
          "setting";
    }
  }
  if (!heat.alarm.empty()) {
    out += "; the kernel logged the temperature alarm " + heat.alarm + " at " +
           moment(heat.alarm_time, now);
  }
  if (!heat.peak_zone.empty()) {
    out += std::string("; the peak ") + (heat.is_ongoing ? "so far is " : "was ") +
           number(heat.peak, 0) + " C in " + heat.peak_zone + " at " +
           when(heat.peak_time, heat.step, now);
  }
  return out;
}

void summarize(const Findings& found, DoctorAnswer& answer) {
  timeline(found, answer);
  const DoctorAnswer::Step* const memory = answer.step("memory");
  std::vector<Sentence> all =
      incidents(found, memory != nullptr && memory->verdict == Verdict::kCritical);
  std::erase_if(all, [&](const Sentence& each) { return !belongs(each, answer); });
  const bool has_story = !all.empty();
  for (Sentence& each : all) take_urgency(each, answer);
  std::vector<Sentence> others = uncovered(all, answer);
  // What fires, the first to look at first; then what happened, where something was lost.
  const auto happened = [](const Sentence& each) { return each.urgency.what == kHappened; };
  for (const Sentence& each : others) {
    if (!happened(each)) all.push_back(each);
  }
  std::stable_sort(all.begin(), all.end(), [](const Sentence& a, const Sentence& b) {
    return a.urgency != b.urgency ? a.urgency < b.urgency : a.weight > b.weight;
  });
  std::vector<Sentence> rest;
  while (all.size() > kMostSentences) {
    rest.insert(rest.begin(), std::move(all.back()));
    all.pop_back();
  }
  for (const Sentence& each : others) {
    if (!happened(each)) continue;
    if (all.empty()) {
      all.push_back(each);
    } else {
      rest.push_back(each);
    }
  }
  // The earliest cause first, of what no longer fires.
  std::stable_sort(std::find_if(all.begin(), all.end(), happened), all.end(),
                   [](const Sentence& a, const Sentence& b) { return a.time < b.time; });
  std::string out;
  double step = 0;
  for (const Sentence& each : all) {
    out += (out.empty() ? "" : " ") + sentence(each.text);
    step = std::max(step, each.step);
  }
  for (const Sentence& each : rest) {
    out += (&each == rest.data() ? " See also: " : ", ") + std::string(each.steps.front());
  }
  if (!rest.empty()) out += ".";
  if (out.empty() && answer.found_by.empty()) out = nothing_bad(answer);
  if (step >= 60) {
    out += " Only " + std::string(step < 900 ? "one-minute" : "quarter-hour") +
           " values remain for that time.";
  }
  if (answer.history.empty() && (has_story || is_bad(answer, "memory"))) {
    out += " When this began is unknown: " + answer.no_history + ".";
  }
  if (found.clock_doubt && has_story) {
    out += " The clock was not synchronized: the times may be wrong.";
  }
  answer.conclusion = std::move(out);
}

}  // namespace jetmem::doctor
