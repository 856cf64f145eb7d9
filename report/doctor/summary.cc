// SPDX-License-Identifier: Apache-2.0
#include "report/doctor/summary.h"

#include <algorithm>

#include "base/text/text.h"
#include "report/diagnosis/format.h"

namespace jetmem::doctor {
namespace {

// Below this share of the fall, the largest grower does not explain it.
constexpr double kLittle = 0.3;
// A shorter fall may end before processes are read twice.
constexpr double kTooQuick = 240;

struct Sentence {
  int weight = 0;   // of what went wrong: 3 something was lost, 2 it is about to be
  double time = 0;  // when its first cause began
  std::string text;
  std::vector<std::string_view> steps;  // that it speaks of
};

std::string from_to(const Move& move, std::optional<double> now) {
  return "from " + moment(move.from, now) + " to " + moment(move.to, now);
}

std::string kill_sentence(const Findings& found, std::optional<double> now) {
  const EventRecord& kill = *found.kill;
  std::string out = "at " + moment(*found.first_kill_time, now) + " ";
  if (kill.kind == "oom_no_victim" || kill.subject.empty()) {
    return out + "the kernel ran out of memory (" + printable(kill.summary, 200) + ")";
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
    add_time(all, fall.available.to, "available memory is down to " + bytes(fall.available.after));
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
      add_time(all, found.smmu->last, "last of " + faults_counted(*found.smmu, "fault", "faults"));
    }
  }
  if (found.heat) {
    if (found.heat->rise.from > 0) {
      add_time(all, found.heat->rise.from, found.heat->zone + " begins to warm up");
    }
    add_time(all, found.heat->began, "the chip begins to throttle");
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

std::vector<Sentence> incidents(const Findings& found, bool memory_is_critical) {
  const auto now = today(found);
  std::vector<Sentence> out;
  if (found.kill != nullptr && matters(found, *found.kill_time)) {
    Sentence each{3, *found.first_kill_time, "", {"oom"}};
    // A fall that continues has its own sentence.
    if (!found.memory) each.steps.insert(each.steps.end(), {"memory", "gpu_memory"});
    if (found.memory_then) {
      each.time = found.memory_then->available.from;
      each.text = memory_sentence(*found.memory_then, now) + "; " + kill_sentence(found, now);
    } else {
      each.text = kill_sentence(found, now);
    }
    out.push_back(each);
  }
  if (found.memory) {
    out.push_back({memory_is_critical ? 3 : 2,
                   found.memory->available.from,
                   memory_sentence(*found.memory, now),
                   {"memory", "gpu_memory"}});
  }
  if (found.restart) {
    std::string text = went_down(*found.restart, now) + " without being shut down";
    double time = found.restart->died;
    if (found.memory_then && found.kill == nullptr) {
      text = memory_sentence(*found.memory_then, now) + "; " + text;
      time = found.memory_then->available.from;
    } else if (!found.restart->last_events.empty()) {
      text += "; shortly before, the kernel logged: " + found.restart->last_events;
    }
    out.push_back({3, time, text, {"restart"}});
  }
  if (found.cma) {
    out.push_back({found.cma->first_failure ? 3 : 2,
                   found.cma->fell.value_or(found.cma->first_failure.value_or(found.now)),
                   cma_sentence(*found.cma, now),
                   {"cma"}});
  }
  if (found.smmu && found.smmu->from_probe < found.smmu->count) {
    out.push_back({found.smmu->count > 100 ? 3 : 2,
                   found.smmu->first,
                   smmu_sentence(*found.smmu, now),
                   {"smmu"}});
  }
  if (found.heat) {
    out.push_back({2,
                   found.heat->rise.from > 0 ? found.heat->rise.from : found.heat->began,
                   heat_sentence(*found.heat, now),
                   {"thermal"}});
  }
  return out;
}

bool is_bad(const DoctorAnswer& answer, std::string_view name) {
  const DoctorAnswer::Step* const step = answer.step(name);
  return step != nullptr && step->verdict >= Verdict::kWarning;
}

// Available memory falls and rises all day: mentioned only if a step found something wrong.
bool belongs(const Sentence& sentence, const DoctorAnswer& answer) {
  return std::any_of(sentence.steps.begin(), sentence.steps.end(),
                     [&](std::string_view name) { return is_bad(answer, name); });
}

// Failing steps that no sentence covers, the worst first.
std::vector<const DoctorAnswer::Step*> pending(const std::vector<Sentence>& all,
                                               const DoctorAnswer& answer) {
  std::vector<const DoctorAnswer::Step*> out;
  for (const DoctorAnswer::Step& step : answer.steps) {
    if (step.verdict < Verdict::kWarning) continue;
    const bool reported = std::any_of(all.begin(), all.end(), [&](const Sentence& each) {
      return std::find(each.steps.begin(), each.steps.end(), step.name) != each.steps.end();
    });
    if (!reported) out.push_back(&step);
  }
  std::stable_sort(out.begin(), out.end(),
                   [](const auto* a, const auto* b) { return a->verdict > b->verdict; });
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
  // A step has no speed.
  if (move.to - move.from > 30)
    out += " (" + rate(growth_entry.grown / (move.to - move.from)) + ")";
  return out;
}

std::string memory_sentence(const MemoryFall& fall, std::optional<double> now) {
  const double fell = -fall.available.change();
  const std::string how = "available memory fell by " + bytes(fell) + ", to " +
                          bytes(fall.available.after) + ", " + from_to(fall.available, now) + "; ";
  const bool too_quick = fall.available.to - fall.available.from < kTooQuick;
  const std::string quick = "too fast to attribute, as processes are read once a minute";
  if (fall.top_growth.empty()) {
    return how +
           (too_quick ? quick : "no program or kernel memory that jetmem records grew as much");
  }
  const GrowthEntry& first = fall.top_growth.front();
  const double part = first.grown / fell;
  if (part < kLittle && too_quick) {
    return how + quick + "; the largest grower seen is " + growth_sentence(first, now);
  }
  if (part < kLittle) {
    return how + "no single program explains it: the largest grower, " + first.who + ", has " +
           share(part) + " of it";
  }
  std::string out = growth_sentence(first, now);
  if (part > 1.05) {
    out += ", more than the " + bytes(fell) + " by which available memory fell, to " +
           bytes(fall.available.after) + " (the rest came out of swap or caches)";
  } else {
    out += ", " + share(std::min(part, 1.0)) + " of the " + bytes(fell) +
           " by which available memory fell, to " + bytes(fall.available.after);
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
    out += "; the largest free block" + (fall.fell ? "" : " of " + area) + " shrank from " +
           bytes(fall.run->before) + " at " + moment(fall.run->from, now) + " to " +
           bytes(fall.run->after) + " at " + moment(fall.run->to, now);
  }
  if (fall.used) {
    out += "; drivers took " + bytes(fall.used->change()) + " more of the area " +
           from_to(*fall.used, now);
    const double part =
        fall.top_growth.empty() ? 0 : fall.top_growth.front().grown / fall.used->change();
    if (part >= kLittle)
      out += ", while the buffers of " + growth_sentence(fall.top_growth.front(), now);
  }
  return out;
}

std::string smmu_sentence(const Faults& faults, std::optional<double> now) {
  std::string out = (faults.client.empty() ? "an unidentified device" : faults.client) +
                    " accessed memory outside its IOMMU mapping: " +
                    faults_counted(faults, "SMMU fault", "SMMU faults");
  if (faults.last - faults.first >= 1) {
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
  std::string out = "the chip has throttled since " + moment(heat.began, now);
  if (heat.rise.from > 0) {
    out += ", after " + heat.zone + " warmed from " + number(heat.rise.before, 0) + " to " +
           number(heat.rise.after, 0) + " C since " + moment(heat.rise.from, now);
  } else {
    out += ", with " + heat.zone + " at " + number(heat.rise.after, 0) +
           " C and no warming before: a power limit or a manual setting is likelier than heat";
  }
  return out;
}

void summarize(const Findings& found, DoctorAnswer& answer) {
  timeline(found, answer);
  const DoctorAnswer::Step* const memory = answer.step("memory");
  std::vector<Sentence> all =
      incidents(found, memory != nullptr && memory->verdict == Verdict::kCritical);
  all.erase(std::remove_if(all.begin(), all.end(),
                           [&](const Sentence& each) { return !belongs(each, answer); }),
            all.end());
  std::stable_sort(all.begin(), all.end(),
                   [](const Sentence& a, const Sentence& b) { return a.weight > b.weight; });
  if (all.size() > 3) all.resize(3);
  std::stable_sort(all.begin(), all.end(),
                   [](const Sentence& a, const Sentence& b) { return a.time < b.time; });
  std::string out;
  const bool has_story = !all.empty();
  for (const Sentence& each : all) out += (out.empty() ? "" : " ") + sentence(each.text);

  auto rest = pending(all, answer);
  if (!rest.empty() && (!has_story || rest.front()->verdict == Verdict::kCritical)) {
    out += (out.empty() ? "" : " ") + sentence(rest.front()->summary);
    rest.erase(rest.begin());
  }
  if (!rest.empty()) {
    out += " See also:";
    for (const auto* step : rest) out += (step == rest.front() ? " " : ", ") + step->name;
    out += ".";
  }
  if (out.empty()) out = nothing_bad(answer);
  if (answer.history.empty() && (has_story || is_bad(answer, "memory"))) {
    out += " Its start is unknown: " + answer.no_history + ".";
  }
  if (found.clock_doubt && has_story) {
    out += " The clock was not synchronized: the times may be wrong.";
  }
  answer.conclusion = std::move(out);
}

}  // namespace jetmem::doctor
