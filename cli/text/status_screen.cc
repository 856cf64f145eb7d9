// SPDX-License-Identifier: Apache-2.0
#include "cli/text/status_screen.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "cli/draw/number_text.h"
#include "cli/draw/since.h"
#include "cli/text/budget_text.h"
#include "cli/text/judgement_text.h"
#include "cli/text/status_text.h"
#include "report/diagnosis/format.h"

namespace jetmem {
namespace {

// How many lines each part may take. Where the screen overflows, the next row applies.
struct ScreenLimits {
  std::size_t verdict;
  std::size_t cause;   // of the first alert; 0: omitted
  std::size_t remedy;  // of the first alert
  std::size_t second;  // of the second alert, and of its remedy
  std::size_t event;
};
constexpr std::array<ScreenLimits, 5> kLimits{
    {{4, 2, 3, 2, 2}, {4, 2, 2, 1, 2}, {4, 1, 2, 1, 1}, {3, 0, 2, 1, 1}, {3, 0, 1, 1, 1}}};

// One line of whole fields, one more on a narrow terminal: what does not fit is dropped.
class FieldLine {
 public:
  // `most` 0: all fields, on as many lines as they take.
  FieldLine(const ScreenStyle& style, std::string_view label, std::size_t most = 1)
      : style_(style),
        label_(label),
        room_(static_cast<std::size_t>(style.width)),
        most_(most),
        lines_(1) {
    if (most_ > 0 && room_ < kNarrow) ++most_;
    room_ = room_ > kLabelWidth + 10 ? room_ - kLabelWidth : 10;
  }

  // False: it did not fit.
  bool add(const std::string& field, const char* with = ", ") {
    if (field.empty()) return true;
    std::string& line = lines_.back();
    const std::string more = (line.empty() ? "" : with) + field;
    if (most_ == 0 || shown_width(line) + shown_width(more) <= room_) {
      line += more;
      return true;
    }
    if (shown_width(field) > room_ || lines_.size() == most_ || line.empty()) return false;
    // The mark between the two stays on the line before, if there is room for it.
    const std::string mark = std::string(with).substr(0, std::string_view(with).find(' '));
    if (shown_width(line) + mark.size() <= room_) line += mark;
    lines_.push_back(field);
    return true;
  }
  // Of one that is too wide the first words: "NVIDIA Jetson ..".
  void add_shortened(const std::string& field) { add(folded(field, room_, 1).front()); }
  bool empty() const { return lines_.front().empty(); }
  std::string text() const {
    if (most_ == 0) return labelled(style_, label_, lines_.front());
    std::string out;
    for (const std::string& line : lines_) {
      if (!line.empty()) out += labelled_as_is(out.empty() ? label_ : "", line);
    }
    return out;
  }

 private:
  static constexpr std::size_t kNarrow = 60;
  const ScreenStyle& style_;
  std::string label_;
  std::size_t room_;
  std::size_t most_;
  std::vector<std::string> lines_;
};

std::size_t line_count(const std::string& text) {
  return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
}

std::string unknown_line(const ScreenStyle& style, std::string_view label, const std::string& why) {
  return labelled(style, label, "not known" + (why.empty() ? "" : ": " + plain_reason(why)), 1);
}

std::string device_line(const StatusAnswer& answer, const ScreenStyle& style) {
  // A long model has a line of its own: who looked, and when, is never left out for it.
  FieldLine line(style, "device", 2);
  line.add_shortened(answer.model.empty() ? "unknown device model" : answer.model);
  if (answer.from.by == "daemon") {
    line.add("by jetmemd");
  } else if (answer.from.by == "capture") {
    line.add("from a capture");
  } else if (answer.from.by == "command") {
    line.add("without jetmemd");
  }
  if (answer.from.wall) {
    // With its age where that says more than the clock.
    const std::string seen = moment_text(*answer.from.wall, std::nullopt);
    line.add(answer.from.by == "command" ? "" : seen + " " + time_zone_text());
  }
  if (answer.from.since_boot > 0) line.add("up " + duration_text(answer.from.since_boot));
  if (!answer.l4t.empty()) line.add("L4T " + answer.l4t);
  return line.text();
}

// The alerts that the verdict is made of; else what there is to say of them in one line.
class AlertsPart {
 public:
  AlertsPart(const StatusAnswer& answer, const ScreenStyle& style, const ScreenLimits& limits,
             const CommandFor& command_for)
      : answer_(answer), style_(style), limits_(limits), command_for_(command_for) {}

  std::string text() const {
    if (!answer_.firing) {
      return advice() + unknown_line(style_, "alerts", absence_reason(answer_.absent, "alerts"));
    }
    std::string out;
    std::string others;
    std::size_t rules = 0;
    std::uint64_t shown = 0;
    for (const StatusAnswer::Alert& alert : answer_.alerts) {
      if (!alert.explains || rules == kShown) continue;
      // Its sentence is in the verdict.
      const bool is_behind = alert.name == answer_.alert;
      (is_behind ? out : others) +=
          is_behind ? labelled(style_, "alert", head(alert), 2) : other(alert);
      ++rules;
      shown += 1 + alert.more;
    }
    return out + advice() + others + rest(shown);
  }

 private:
  static constexpr std::size_t kShown = 2;

  std::string head(const StatusAnswer::Alert& alert) const {
    std::string out = alert.name + " (" + alert.severity + ", " + alert.state;
    if (alert.active_seconds > 0) out += " for " + duration_text(alert.active_seconds);
    out += ")";
    if (alert.more > 0) out += " and " + std::to_string(alert.more) + " more of it";
    return out;
  }

  // What explains the verdict, and what to do.
  std::string advice() const {
    std::string out;
    if (limits_.cause > 0 && !answer_.cause.empty()) {
      out += labelled(style_, "cause", answer_.cause, limits_.cause);
    }
    if (!answer_.remedy.empty()) out += labelled(style_, "remedy", answer_.remedy, limits_.remedy);
    return out + act_text(answer_, style_);
  }

  std::string other(const StatusAnswer::Alert& alert) const {
    return labelled(style_, "alert", head(alert) + ": " + alert.summary, limits_.second + 1);
  }

  std::string rest(std::uint64_t shown) const {
    const std::uint64_t listed = *answer_.firing + answer_.pending.value_or(0);
    const std::uint64_t others = listed > shown ? listed - shown : 0;
    const std::uint64_t unknown = answer_.unknown.value_or(0);
    if (others == 0 && unknown == 0) return {};
    // A command that names another device may need a line of its own.
    FieldLine line(style_, shown == 0 ? "alerts" : "", 2);
    if (others > 0) {
      const char* what = " firing or pending";
      if (answer_.firing == 0U) what = " pending";
      if (answer_.pending.value_or(0) == 0) what = " firing";
      if (shown > 0) what = answer_.firing == 0U ? " more pending" : " more";
      line.add(std::to_string(others) + what);
    }
    if (unknown > 0) {
      line.add(std::to_string(unknown) + " of " + counted(answer_.rules, "rule") + " unknown");
    }
    line.add(command_for_("jetmem alerts"), ": ");
    return line.text();
  }

  const StatusAnswer& answer_;
  const ScreenStyle& style_;
  const ScreenLimits& limits_;
  const CommandFor& command_for_;
};

std::string cma_line(const CmaAnswer& cma, const ScreenStyle& style) {
  if (!cma.has_cma) return unknown_line(style, "cma", absence_reason(cma.absent, "has_cma"));
  FieldLine line(style, "cma");
  if (!*cma.has_cma) {
    line.add("none");
    return line.text();
  }
  const CmaAnswer::Area* const area = tightest_area(cma);
  if (area == nullptr) {
    return labelled(style, "cma",
                    bytes_text(cma.total_bytes) + " in total, the rest not known: " +
                        plain_reason(absence_reason(cma.absent, "areas")),
                    1);
  }
  // CmaTotal is that of the only area, too.
  const auto bytes = area->bytes || cma.areas.size() > 1 ? area->bytes : cma.total_bytes;
  const std::string size = bytes ? bytes_text(*bytes) : "size not known";
  line.add(area->used_ratio ? ratio_text(*area->used_ratio) + " of " + size + " used"
                            : size + ", used: not known");
  if (area->largest_run_bytes) {
    line.add("largest free " + bytes_text(*area->largest_run_bytes));
  } else {
    line.add("largest free not known");
  }
  if (area->frame_fit_ratio && area->required_bytes) {
    const bool fits = *area->frame_fit_ratio >= 1;
    line.add(painted(style, fits ? Paint::kGood : Paint::kBad,
                     (fits ? "fits " : "below the needed ") + bytes_text(*area->required_bytes)));
  }
  if (area->frame_fit_ratio.value_or(1) < 1 && !area->owners.empty()) {
    const CmaAnswer::Area::Owner& most = area->owners.front();
    line.add(owner_name(most) + " took " + bytes_text(most.bytes));
  }
  line.add("area " + area->name);
  if (cma.areas.size() > 1) line.add("+" + counted(cma.areas.size() - 1, "area"));
  return line.text();
}

}  // namespace

std::string memory_line(const StatusAnswer& answer, const ScreenStyle& style, bool all) {
  if (!answer.available_bytes && !all) {
    return unknown_line(style, "memory", absence_reason(answer.absent, "available_bytes"));
  }
  FieldLine line(style, all ? "" : "memory", all ? 0 : 1);
  if (answer.available_bytes) {
    std::string text = bytes_text(*answer.available_bytes);
    if (answer.mem_total_bytes) text += " of " + bytes_text(*answer.mem_total_bytes);
    line.add(text + " available");
  } else {
    line.add("available: " + not_known(answer.absent, "available_bytes"));
  }
  if (answer.available_ratio) line.add("(" + ratio_text(*answer.available_ratio) + ")", " ");
  if (answer.exhaustion_seconds) {
    line.add(
        painted(style, Paint::kWarn, "exhausted in " + duration_text(*answer.exhaustion_seconds)));
  }
  if (answer.pressure_some_ratio && (all || *answer.pressure_some_ratio > 0)) {
    line.add("stalled " + ratio_text(*answer.pressure_some_ratio) + " of 10 s");
  }
  if (answer.swap_bytes && answer.swap_used_bytes) {
    line.add(*answer.swap_bytes > 0 ? "swap " + bytes_text(*answer.swap_used_bytes) + " of " +
                                          bytes_text(*answer.swap_bytes)
                                    : std::string("no swap"));
  }
  const std::string& contradiction = answer.budget.contradiction;
  const bool is_told = all || contradiction.empty();
  return line.text() + (is_told ? "" : labelled(style, "", contradiction));
}

std::string gpu_line(const StatusAnswer& answer, const ScreenStyle& style, bool all) {
  if (!answer.no_gpu && !answer.gpu_bytes && !all) {
    return unknown_line(style, "gpu", absence_reason(answer.absent, "gpu_bytes"));
  }
  FieldLine line(style, "gpu", all ? 0 : 1);
  if (answer.no_gpu) {
    line.add("none that shares this memory and whose driver reports it");
    return line.text();
  }
  line.add(answer.gpu_bytes ? bytes_text(*answer.gpu_bytes) + " in use"
                            : not_known(answer.absent, "gpu_bytes"));
  // Not a smaller holder in place of one whose name is too long.
  for (const StatusAnswer::Process& process : answer.gpu_processes) {
    if (!line.add(process.process + " " + bytes_text(process.bytes))) break;
  }
  if (answer.gpu_processes.empty()) {
    // Without a reason nobody holds any.
    const std::string why = plain_reason(absence_reason(answer.absent, "gpu_processes"));
    if (!why.empty()) line.add("holders not known" + (all ? ": " + why : ""));
  }
  return line.text();
}

std::string thermal_line(const ThermalAnswer& thermal, const ScreenStyle& style, bool all) {
  FieldLine line(style, "thermal", all ? 0 : 1);
  if (!thermal.causes.empty()) {
    std::string causes;
    for (const std::string& cause : thermal.causes) join(causes, cause);
    const std::string word = thermal.level.value_or(1) >= 2 ? "THROTTLED HARD" : "THROTTLED";
    if (!line.add(painted(style, Paint::kWarn, word + " by " + causes))) {
      line.add(painted(style, Paint::kWarn, word));
    }
  }
  if (!thermal.zones.empty() && thermal.zones.front().celsius) {
    const ThermalAnswer::Zone& zone = thermal.zones.front();
    const std::string celsius = celsius_text(*zone.celsius);
    if (!line.add(celsius + " (" + zone.zone + ")")) line.add(celsius);
    constexpr std::array<std::pair<const char*, const char*>, 3> kKinds{
        {{"passive", "throttling"}, {"hot", "hot"}, {"critical", "shutdown"}}};
    for (const auto& [kind, what] : kKinds) {
      const auto margin = zone.margin(kind);
      if (!margin) continue;
      line.add(*margin > 0 ? celsius_text(*margin) + " below " + what
                           : std::string("beyond ") + what);
    }
  } else if (all || line.empty()) {
    const std::string why = thermal.zones.empty()
                                ? absence_reason(thermal.absent, "zones")
                                : absence_reason(thermal.zones.front().absent, "celsius");
    if (!all) return unknown_line(style, "thermal", why);
    line.add("temperature not known" + (why.empty() ? "" : ": " + plain_reason(why)));
  }
  if (thermal.causes.empty() && thermal.throttling) line.add("not throttled");
  if (!thermal.power_mode.empty()) line.add("power mode " + thermal.power_mode);
  return line.text();
}

namespace {

std::string event_lines(const StatusAnswer& answer, const ScreenStyle& style,
                        std::size_t max_lines) {
  if (!answer.last_event) {
    const std::string why = absence_reason(answer.absent, "last_event");
    return why.empty() ? std::string() : unknown_line(style, "event", why);
  }
  return labelled(style, "event", event_sentence(*answer.last_event), max_lines);
}

std::string fault_line(const StatusAnswer& answer, const ScreenStyle& style,
                       const CommandFor& command_for) {
  const std::string unseen = absence_reason(answer.absent, "faults");
  if (answer.faults.empty()) {
    return unseen.empty() ? std::string() : unknown_line(style, "faults", unseen);
  }
  constexpr std::size_t kFaultLines = 2;
  std::string text = fault_text(answer.faults.front());
  if (answer.faults.size() > 1) {
    text += "; " + counted(answer.faults.size() - 1, "more kind");
    // No half of a command.
    const std::string whole = text + ": " + command_for("jetmem --all");
    if (line_count(labelled(style, "faults", whole)) <= kFaultLines) text = whole;
  }
  return labelled(style, "faults", text, kFaultLines);
}

std::string probe_line(const StatusAnswer& answer, const ScreenStyle& style) {
  FieldLine line(style, "probes");
  for (const StatusAnswer::Probe& probe : answer.probes) {
    if (probe.state == "ok" || probe.state == "unsupported" || probe.state == "skipped") continue;
    line.add(probe.kind + (probe.target.empty() ? "" : "(" + probe.target + ")") + " " +
             painted(style, Paint::kBad, probe.state));
  }
  return line.text();
}

// What keeps jetmem itself from seeing or keeping all.
std::string jetmem_line(const StatusAnswer& answer, const ScreenStyle& style) {
  FieldLine line(style, "jetmem");
  if (answer.from.by == "daemon") {
    if (answer.history_up && *answer.history_up <= 0) {
      line.add(painted(style, Paint::kWarn, "history NOT written"));
    }
    if (answer.log_dropped.value_or(0) > 0) {
      line.add(number_text(*answer.log_dropped) + " log entries lost");
    }
  } else if (answer.from.by == "command") {
    line.add("jetmemd does not answer: systemctl status jetmemd");
  }
  return line.text();
}

std::string sources_line(const StatusAnswer& answer, const ScreenStyle& style,
                         const CommandFor& command_for) {
  if (answer.blind.empty()) return {};
  FieldLine line(style, "sources");
  line.add(std::to_string(answer.blind.size()) + " not read");
  line.add(command_for("sudo jetmem sources"), ": ");
  for (const StatusAnswer::Blind& blind : answer.blind) {
    line.add(blind.source + " " + blind.state, "; ");
  }
  return line.text();
}

// All that is as it should be.
std::string ok_line(const StatusAnswer& answer, const ScreenStyle& style) {
  FieldLine line(style, "ok");
  const bool no_faults = answer.faults.empty() && absence_reason(answer.absent, "faults").empty();
  if (no_faults) line.add("no faults since boot");
  if (answer.fragmentation.evidence && *answer.fragmentation.evidence <= 0) {
    line.add("no failures from fragmentation");
  }
  std::size_t tested = 0;
  bool all_passed = true;
  for (const StatusAnswer::Probe& probe : answer.probes) {
    if (probe.state == "ok") ++tested;
    all_passed &= probe.state == "ok" || probe.state == "unsupported" || probe.state == "skipped";
  }
  if (tested > 0 && all_passed) line.add(counted(tested, "probe") + " passed");
  if (answer.firing && answer.unknown == 0U && answer.rules > 0) {
    line.add(counted(answer.rules, "rule") + " evaluated");
  }
  if (answer.sources_ok > 0) line.add(counted(answer.sources_ok, "source") + " read");
  if (answer.history_up.value_or(0) > 0) line.add("history written");
  return line.text();
}

struct ScreenPart {
  int rank = 0;  // the largest is dropped first; 0: never
  std::string text;
};

std::vector<ScreenPart> parts_of(const StatusAnswer& answer, const ScreenStyle& style,
                                 const ScreenLimits& limits, const CommandFor& command_for) {
  return {{0, verdict_text(answer, answer.from, style, limits.verdict)},
          {0, device_line(answer, style)},
          {1, AlertsPart(answer, style, limits, command_for).text()},
          {2, memory_line(answer, style, false)},
          {3, cma_line(answer.cma, style)},
          {3, gpu_line(answer, style, false)},
          {3, thermal_line(answer.thermal, style, false)},
          {4, event_lines(answer, style, limits.event)},
          {6, fault_line(answer, style, command_for)},
          {6, probe_line(answer, style)},
          {5, sources_line(answer, style, command_for)},
          {6, jetmem_line(answer, style)},
          {7, ok_line(answer, style)},
          {0, next_text(answer, style)}};
}

}  // namespace

const CmaAnswer::Area* tightest_area(const CmaAnswer& cma) {
  const auto key = [](const CmaAnswer::Area& area) {
    return std::pair(area.frame_fit_ratio.value_or(1e9), -area.used_ratio.value_or(-1));
  };
  const auto found =
      std::min_element(cma.areas.begin(), cma.areas.end(),
                       [&](const auto& a, const auto& b) { return key(a) < key(b); });
  return found == cma.areas.end() ? nullptr : &*found;
}

std::string event_sentence(const StatusEvent& event) {
  const std::string when = last_seen_text(event.age_seconds, event.wall, event.before_this_boot);
  std::string text = (when.empty() ? "at an unknown time" : when) + ": " + event.summary;
  if (event.count > 1) text += " (" + doctor::repeated(event.count, event.lasted_seconds) + ")";
  return text;
}

std::string last_seen_text(const std::optional<double>& age, const std::optional<double>& wall,
                           bool before_this_boot) {
  std::string out = age ? duration_text(*age) + " ago" : "";
  if (before_this_boot) join(out, "before this boot");
  if (!age && wall) join(out, moment_text(*wall, std::nullopt));
  return out;
}

std::string fault_text(const StatusAnswer::Fault& fault) {
  std::string text = fault.kind + ": ";
  // What is since boot is of these hours, too, where the two are one number.
  const bool one_number = fault.since_boot && fault.last_day == fault.since_boot;
  if (!one_number) {
    if (!fault.last_day) {
      text += "in 24h not known";
    } else if (fault.at_least && *fault.last_day <= 0) {
      text += "none printed in 24h";
    } else {
      text += (fault.at_least ? "at least " : "") + doctor::count(*fault.last_day) + " in 24h";
    }
    if (fault.since_boot) text += ", ";
  }
  if (fault.since_boot) {
    text += doctor::count(*fault.since_boot) + " since boot";
  }
  if (fault.suppressed.value_or(0) > 0) {
    text += ", of these " + doctor::count(*fault.suppressed) + " suppressed by the kernel";
  }
  const std::string last =
      last_seen_text(fault.last_age_seconds, fault.last_wall, fault.before_this_boot);
  return last.empty() ? text : text + "; last " + last;
}

std::string status_screen(const StatusAnswer& answer, const ScreenStyle& style,
                          const CommandFor& command_for) {
  std::vector<ScreenPart> parts;
  std::size_t lines = 0;
  for (const ScreenLimits& limits : kLimits) {
    parts = parts_of(answer, style, limits, command_for);
    lines = 0;
    for (const ScreenPart& part : parts) lines += line_count(part.text);
    if (lines <= kScreenLines) break;
  }
  // The least important parts go, and at last the second lines of what stays.
  while (lines > kScreenLines) {
    const auto least =
        std::max_element(parts.begin(), parts.end(), [](const ScreenPart& a, const ScreenPart& b) {
          return (a.text.empty() ? 0 : a.rank) < (b.text.empty() ? 0 : b.rank);
        });
    if (least->text.empty() || least->rank == 0) break;
    lines -= line_count(least->text);
    least->text.clear();
  }
  std::string out;
  for (const ScreenPart& part : parts) out += part.text;
  return out;
}

}  // namespace jetmem
