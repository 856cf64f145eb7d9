// SPDX-License-Identifier: Apache-2.0
#include "cli/text/status_screen.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "cli/draw/bars.h"
#include "cli/draw/number_text.h"
#include "cli/draw/since.h"
#include "cli/text/budget_text.h"
#include "cli/text/judgement_text.h"
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

// Lines of whole fields: what does not fit is dropped.
class FieldLine {
 public:
  // `most` 0: all fields, on as many lines as they take.
  FieldLine(const ScreenStyle& style, std::string_view label, std::size_t most)
      : style_(style),
        label_(label),
        room_(static_cast<std::size_t>(style.width)),
        most_(most),
        lines_(1) {
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
  // Of one that is too wide the first words: "NVIDIA Jetson ..". `spare`: columns that it leaves.
  void add_shortened(const std::string& field, std::size_t spare = 0) {
    add(folded(field, room_ - std::min(room_, spare), 1).front());
  }
  bool has_room(const std::string& field, std::size_t spare) const {
    return shown_width(field) + spare <= room_;
  }
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
  const ScreenStyle& style_;
  std::string label_;
  std::size_t room_;
  std::size_t most_;
  std::vector<std::string> lines_;
};

// How many lines fields may take: one more on a narrow terminal.
std::size_t field_lines(const ScreenStyle& style) { return style.width < 60 ? 2 : 1; }

std::size_t line_count(const std::string& text) {
  return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
}

std::string unknown_line(const ScreenStyle& style, std::string_view label, const std::string& why,
                         std::size_t lines = 1) {
  return labelled(style, label, "not known" + (why.empty() ? "" : ": " + plain_reason(why)), lines);
}

Paint grade(double value, double warning, double critical) {
  if (value >= critical) return Paint::kBad;
  return value >= warning ? Paint::kWarn : Paint::kNone;
}

// Who looked, and at what: a file must not pass for a device.
std::string looked_text(const AnswerFrom& from, const std::string& address) {
  if (from.by == "daemon") return "by jetmemd" + (address.empty() ? "" : " (" + address + ")");
  if (from.by == "capture") return address.empty() ? "from a capture" : "one reading of " + address;
  if (from.by == "history") return "from " + (address.empty() ? "the history" : address);
  return from.by == "command" ? "without jetmemd" : "";
}

std::string alert_head(const StatusAnswer::Alert& alert, const ScreenStyle& style) {
  Paint paint = Paint::kNone;
  if (alert.state == "firing") {
    paint = alert.severity == "warning" ? Paint::kWarn : Paint::kBold;
    if (alert.severity == "critical") paint = Paint::kBad;
  }
  std::string out = alert.name + " (" + alert.severity + ", " + alert.state;
  if (alert.active_seconds > 0) out += " for " + duration_text(alert.active_seconds);
  out = painted(style, paint, out + ")");
  if (alert.more > 0) out += " and " + std::to_string(alert.more) + " more of it";
  return out;
}

std::string alert_lines(const StatusAnswer::Alert& alert, const ScreenStyle& style,
                        std::size_t lines) {
  return labelled(style, "alert", alert_head(alert, style) + ": " + alert.summary, lines);
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
      (is_behind ? out : others) += is_behind
                                        ? labelled(style_, "alert", alert_head(alert, style_), 2)
                                        : alert_lines(alert, style_, limits_.second + 1);
      ++rules;
      shown += 1 + alert.more;
    }
    return out + advice() + others + rest(shown);
  }

 private:
  static constexpr std::size_t kShown = 2;

  // What explains the verdict, and what to do.
  std::string advice() const {
    std::string out;
    if (limits_.cause > 0 && !answer_.cause.empty()) {
      out += labelled(style_, "cause", answer_.cause, limits_.cause);
    }
    if (!answer_.remedy.empty()) out += labelled(style_, "remedy", answer_.remedy, limits_.remedy);
    return out + act_text(answer_, style_);
  }

  std::string rest(std::uint64_t shown) const {
    const std::uint64_t listed = *answer_.firing + answer_.pending.value_or(0);
    const std::uint64_t others = listed > shown ? listed - shown : 0;
    const std::uint64_t unknown = answer_.unknown.value_or(0);
    if (others == 0 && unknown == 0) return {};
    // A command that names another device may need a line of its own.
    FieldLine line(style_, shown == 0 ? "alerts" : "", 1 + field_lines(style_));
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

// One area; `lines` 0: with a bar of what is used.
std::string cma_area_line(const CmaAnswer& cma, const CmaAnswer::Area& area,
                          const ScreenStyle& style, std::string_view label, std::size_t lines) {
  const bool all = lines == 0;
  FieldLine line(style, label, lines);
  Paint paint = Paint::kNone;
  if (area.frame_fit_ratio) paint = *area.frame_fit_ratio < 1 ? Paint::kBad : Paint::kGood;
  // CmaTotal is that of the only area, too.
  const auto bytes = area.bytes || cma.areas.size() > 1 ? area.bytes : cma.total_bytes;
  const std::string size = bytes ? bytes_text(*bytes) : "size not known";
  line.add((all ? area.name + " " + bar(style, area.used_ratio, 14, paint) + " " : "") +
           (area.used_ratio ? ratio_text(*area.used_ratio) + " of " + size + " used"
                            : size + ", used: not known"));
  if (area.largest_run_bytes) {
    line.add("largest free " + bytes_text(*area.largest_run_bytes));
  } else {
    const std::string why = plain_reason(absence_reason(area.absent, "largest_run_bytes"));
    line.add("largest free not known" + (all && !why.empty() ? ": " + why : ""));
  }
  if (area.frame_fit_ratio && area.required_bytes) {
    const bool fits = *area.frame_fit_ratio >= 1;
    line.add(painted(style, paint,
                     (fits ? "fits " : "below the needed ") + bytes_text(*area.required_bytes)));
  }
  if (area.frame_fit_ratio.value_or(1) < 1 && !area.owners.empty()) {
    const CmaAnswer::Area::Owner& most = area.owners.front();
    line.add(owner_name(most) + " took " + bytes_text(most.bytes));
  }
  if (!all) {
    line.add("area " + area.name);
    if (cma.areas.size() > 1) line.add("+" + counted(cma.areas.size() - 1, "area"));
  }
  return line.text();
}

}  // namespace

std::string device_line(const StatusAnswer& answer, const ScreenStyle& style, std::size_t lines,
                        bool of) {
  const bool all = lines == 0;
  FieldLine line(style, "device", lines);
  std::string address = of ? answer.from.from : "";
  std::string looked = looked_text(answer.from, address);
  // Of a path the end says more than the begin. On one line the model has room, too.
  const std::size_t spare = lines == 1 ? 18 : 0;
  while (!all && !address.empty() && !line.has_room(looked, spare)) {
    const std::size_t slash = address.find('/', address.starts_with("..") ? 3 : 1);
    address = slash == std::string::npos ? "" : ".." + address.substr(slash);
    looked = looked_text(answer.from, address);
  }
  // A long model has a line of its own: who looked, and when, is never left out for it.
  const std::string model = answer.model.empty() ? "unknown device model" : answer.model;
  if (all) line.add(model);
  if (!all) line.add_shortened(model, lines == 1 ? shown_width(looked) + 2 : 0);
  line.add(looked);
  if (answer.from.wall) {
    // All: with its age where that says more than the clock.
    const std::string seen =
        all ? moment_text(*answer.from.wall, to_seconds(SystemClock().wall()))
            : moment_text(*answer.from.wall, std::nullopt) + " " + time_zone_text();
    line.add(answer.from.by == "command" ? "" : seen);
  }
  if (answer.from.since_boot > 0) line.add("up " + duration_text(answer.from.since_boot));
  if (!answer.l4t.empty()) line.add("L4T " + answer.l4t);
  if (all && !answer.kernel.empty()) line.add("kernel " + answer.kernel);
  if (all && !answer.from.version.empty()) line.add("jetmem " + answer.from.version);
  return line.text();
}

std::string cma_line(const CmaAnswer& cma, const ScreenStyle& style, std::size_t lines,
                     const CommandFor& command_for) {
  constexpr std::size_t kAreas = 4;
  const std::size_t unknown_lines = lines == 0 ? 0 : 1;
  if (!cma.has_cma) {
    return unknown_line(style, "cma", absence_reason(cma.absent, "has_cma"), unknown_lines);
  }
  if (!*cma.has_cma) {
    const std::string why = lines == 0 ? plain_reason(cma.none) : "";
    return labelled(style, "cma", "none" + (why.empty() ? "" : ": " + why));
  }
  if (cma.areas.empty()) {
    return labelled(style, "cma",
                    bytes_text(cma.total_bytes) + " in total, the rest not known: " +
                        plain_reason(absence_reason(cma.absent, "areas")),
                    unknown_lines);
  }
  if (lines > 0) return cma_area_line(cma, *tightest_area(cma), style, "cma", lines);
  std::string out;
  for (std::size_t i = 0; i < std::min(cma.areas.size(), kAreas); ++i) {
    out += cma_area_line(cma, cma.areas[i], style, i == 0 ? "cma" : "", lines);
  }
  if (cma.areas.size() > kAreas) {
    const std::string more = std::to_string(cma.areas.size() - kAreas) + " more: ";
    out += labelled(style, "", more + command_for("jetmem cma"));
  }
  return out;
}

std::string alerts_list(const StatusAnswer& answer, const ScreenStyle& style, std::size_t lines,
                        const CommandFor& command_for) {
  if (!answer.firing) {
    return unknown_line(style, "alerts", absence_reason(answer.absent, "alerts"), lines);
  }
  const std::string firing = std::to_string(*answer.firing) + " firing";
  std::string counts = painted(style, *answer.firing > 0 ? Paint::kBad : Paint::kNone, firing) +
                       ", " + std::to_string(answer.pending.value_or(0)) + " pending";
  const std::uint64_t unknown = answer.unknown.value_or(0);
  if (unknown > 0) counts += ", " + std::to_string(unknown) + " unknown";
  if (lines == 0) counts += " of " + counted(answer.rules, "rule");
  std::string out = labelled(style, "alerts", counts);
  for (const StatusAnswer::Alert& alert : answer.alerts) {
    out += alert_lines(alert, style, lines);
    if (lines > 0 || !alert.explains) continue;
    if (!alert.cause.empty()) out += labelled(style, "cause", alert.cause);
    if (!alert.remedy.empty()) out += labelled(style, "remedy", alert.remedy);
    if (alert.name == answer.alert) out += act_text(answer, style);
    // The file's whole path is in jetmem alerts.
    const std::string name = alert.runbook.substr(alert.runbook.rfind('/') + 1);
    if (!name.empty()) out += labelled(style, "runbook", name);
  }
  if (answer.alerts_omitted > 0) {
    const std::string more = std::to_string(answer.alerts_omitted) + " more: ";
    out += labelled(style, "", more + command_for("jetmem alerts"));
  }
  return out;
}

std::string budget_text(const MemoryBudget& budget, const ScreenStyle& style, bool all) {
  if (!budget.bytes || *budget.bytes <= 0) {
    return labelled(style, "memory",
                    "its size is not known" +
                        (budget.no_bytes.empty() ? "" : ": " + plain_reason(budget.no_bytes)));
  }
  BudgetShown shown = budget_shown(budget);
  const std::string of = style.width < 60 ? "" : " " + budget_of_text(budget);
  const std::string size = " " + bytes_text(*budget.bytes) + of;
  const std::size_t taken = kLabelWidth + size.size();
  const std::size_t columns = static_cast<std::size_t>(style.width);
  const std::size_t width = std::min<std::size_t>(columns > taken + 8 ? columns - taken : 8, 100);
  std::string out = labelled_as_is("memory", stacked_bar(style, shown.parts, width) + size);
  for (;;) {
    FieldLine line(style, "", all ? shown.legend.size() : 1);
    bool fits = true;
    for (const std::string& item : shown.legend) fits = line.add(item) && fits;
    if (fits || all) {
      out += line.text();
      break;
    }
    const auto least =
        std::min_element(shown.parts.begin(), shown.parts.end(),
                         [](const BarPart& a, const BarPart& b) { return a.share < b.share; });
    shown.legend.erase(shown.legend.begin() + (least - shown.parts.begin()));
    shown.parts.erase(least);
  }
  const bool is_told = all || !budget.contradiction.empty();
  if (is_told && !shown.overlap.empty()) out += labelled(style, "", shown.overlap);
  if (all && !shown.unknown.empty()) out += labelled(style, "", "not known: " + shown.unknown);
  return out;
}

std::string memory_line(const StatusAnswer& answer, const ScreenStyle& style,
                        std::string_view label, std::size_t lines) {
  const bool all = lines == 0;
  if (!answer.available_bytes && !all) {
    return unknown_line(style, label, absence_reason(answer.absent, "available_bytes"));
  }
  FieldLine line(style, label, lines);
  if (answer.available_bytes) {
    std::string text = bytes_text(*answer.available_bytes);
    if (answer.mem_total_bytes) text += " of " + bytes_text(*answer.mem_total_bytes);
    line.add(text + " available");
  } else {
    line.add("available: " + not_known(answer.absent, "available_bytes"));
  }
  if (const auto& ratio = answer.available_ratio) {
    line.add(painted(style, grade(1 - *ratio, 0.90, 0.95), "(" + ratio_text(*ratio) + ")"), " ");
  }
  if (answer.exhaustion_seconds) {
    line.add(
        painted(style, Paint::kWarn, "exhausted in " + duration_text(*answer.exhaustion_seconds)));
  }
  if (answer.pressure_some_ratio && (all || *answer.pressure_some_ratio > 0)) {
    const double ratio = *answer.pressure_some_ratio;
    std::string text = "stalled " + ratio_text(ratio) + " of 10 s";
    if (answer.pressure_full_ratio) {
      text += " (all tasks " + ratio_text(*answer.pressure_full_ratio) + ")";
    }
    line.add(painted(style, grade(ratio, 0.10, 0.40), text));
  }
  if (answer.swap_bytes && answer.swap_used_bytes) {
    line.add(*answer.swap_bytes > 0 ? "swap " + bytes_text(*answer.swap_used_bytes) + " of " +
                                          bytes_text(*answer.swap_bytes)
                                    : std::string("no swap"));
  }
  const std::string& contradiction = answer.budget.contradiction;
  // The bar says it.
  const bool is_told = label.empty() || contradiction.empty();
  return line.text() + (is_told ? "" : labelled(style, "", contradiction));
}

std::string gpu_line(const StatusAnswer& answer, const ScreenStyle& style, std::size_t lines) {
  const bool all = lines == 0;
  if (!answer.no_gpu && !answer.gpu_bytes && !all) {
    return unknown_line(style, "gpu", absence_reason(answer.absent, "gpu_bytes"));
  }
  FieldLine line(style, "gpu", lines);
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

std::string thermal_line(const ThermalAnswer& thermal, const ScreenStyle& style,
                         std::size_t lines) {
  const bool all = lines == 0;
  FieldLine line(style, "thermal", lines);
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

std::string probe_line(const StatusAnswer& answer, const ScreenStyle& style) {
  FieldLine line(style, "probes", field_lines(style));
  for (const StatusAnswer::Probe& probe : answer.probes) {
    if (probe.state == "ok" || probe.state == "unsupported" || probe.state == "skipped") continue;
    line.add(probe.kind + (probe.target.empty() ? "" : "(" + probe.target + ")") + " " +
             painted(style, Paint::kBad, probe.state));
  }
  return line.text();
}

// What keeps jetmem itself from seeing or keeping all.
std::string jetmem_line(const StatusAnswer& answer, const ScreenStyle& style) {
  FieldLine line(style, "jetmem", field_lines(style));
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
  FieldLine line(style, "sources", field_lines(style));
  line.add(std::to_string(answer.blind.size()) + " not read");
  line.add(command_for("sudo jetmem sources"), ": ");
  for (const StatusAnswer::Blind& blind : answer.blind) {
    line.add(blind.source + " " + blind.state, "; ");
  }
  return line.text();
}

// All that is as it should be.
std::string ok_line(const StatusAnswer& answer, const ScreenStyle& style) {
  FieldLine line(style, "ok", field_lines(style));
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

std::vector<ScreenPart> parts_of(const StatusAnswer& answer, const ScreenStyle& style,
                                 const ScreenLimits& limits, const CommandFor& command_for) {
  const std::size_t lines = field_lines(style);
  return {{0, verdict_text(answer, answer.from, style, limits.verdict)},
          {0, device_line(answer, style, 1 + lines, /*of=*/false)},
          {1, AlertsPart(answer, style, limits, command_for).text()},
          {2, memory_line(answer, style, "memory", lines)},
          {3, cma_line(answer.cma, style, lines, command_for)},
          {3, gpu_line(answer, style, lines)},
          {3, thermal_line(answer.thermal, style, lines)},
          {4, event_lines(answer, style, limits.event)},
          {6, fault_lines(answer, style, 2, command_for)},
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

std::string fault_lines(const StatusAnswer& answer, const ScreenStyle& style, std::size_t lines,
                        const CommandFor& command_for) {
  const std::string unseen = absence_reason(answer.absent, "faults");
  if (answer.faults.empty()) {
    if (!unseen.empty())
      return unknown_line(style, "faults", unseen, std::min<std::size_t>(lines, 1));
    return lines == 0 ? labelled(style, "faults", "none since boot") : "";
  }
  std::string text = fault_text(answer.faults.front());
  if (lines > 0 && answer.faults.size() > 1) {
    text += "; " + counted(answer.faults.size() - 1, "more kind");
    // No half of a command.
    const std::string whole = text + ": " + command_for("jetmem --all");
    if (line_count(labelled(style, "faults", whole)) <= lines) text = whole;
  }
  std::string out = labelled(style, "faults", text, lines);
  if (lines > 0) return out;
  for (std::size_t i = 1; i < answer.faults.size(); ++i) {
    out += labelled(style, "", fault_text(answer.faults[i]));
  }
  if (unseen.empty()) return out;
  return out + labelled(style, "", "others are not known: " + plain_reason(unseen));
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
  return fitted(std::move(parts), kScreenLines);
}

std::string fitted(std::vector<ScreenPart> parts, std::size_t most) {
  std::size_t lines = 0;
  for (const ScreenPart& part : parts) lines += line_count(part.text);
  while (lines > most) {
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
