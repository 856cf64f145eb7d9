// SPDX-License-Identifier: Apache-2.0
#include "base/text/text.h"
#include "base/text/utc_time.h"
#include "cli/draw/number_text.h"
#include "cli/draw/since.h"
#include "cli/draw/table.h"
#include "cli/text/answer_text.h"
#include "cli/text/events/event_text.h"
#include "cli/text/history_units.h"

namespace jetmem {
namespace {

using Change = DiffAnswer::Change;

std::string side(const AnswerFrom& from) {
  std::string out = from.from.empty() ? "this device" : printable(from.from, 300);
  if (const auto wall = from.wall ? wall_of(*from.wall) : std::nullopt) {
    out += " at " + local_time(*wall);
  }
  return out;
}

std::string change_text(const Change& change, const MetricUnit& unit) {
  if (change.how == DiffAnswer::How::kAppeared) return "new";
  if (change.how == DiffAnswer::How::kVanished) return "gone";
  if (!change.note.empty()) return change.note;
  const double moved = *change.after - *change.before;
  std::string out = (moved > 0 ? "+" : "") + unit.text(moved);
  if (change.per_hour) out += " (" + unit.per_hour(*change.per_hour) + ")";
  return out;
}

std::string named_text(const std::string& heading, const std::vector<DiffAnswer::Named>& list,
                       const char* nothing) {
  if (list.empty()) return {};
  std::string out = heading + "\n";
  for (const DiffAnswer::Named& each : list) {
    const std::string before = each.before.empty() ? nothing : printable(each.before, 300);
    const std::string after = each.after.empty() ? nothing : printable(each.after, 300);
    out += wrapped(printable(each.name, 200) + ": " + before + " -> " + after, 2);
  }
  return out + "\n";
}

}  // namespace

std::string diff_text(const DiffAnswer& answer, std::size_t width) {
  std::string head = "From " + side(answer.before) + " to " + side(answer.after);
  if (answer.seconds) {
    head += *answer.seconds < 0 ? ", which is " + duration_text(-*answer.seconds) + " earlier"
                                : ", " + duration_text(*answer.seconds) + " later";
  }
  if (!answer.before.boot_id.empty() && !answer.after.boot_id.empty() && !answer.same_boot) {
    head += "; a different boot: counters restarted";
  }
  std::string out = wrapped(head + ".", 0) + "\n";
  out += named_text("Alerts", answer.alerts, "inactive");
  out += named_text("Sources", answer.sources, "not known");
  out += named_text("Device and software", answer.facts, "none");
  std::size_t shown = 0;
  for (const DiffAnswer::Section& section : answer.sections) {
    const MetricUnit unit(section.family);
    Table table;
    table.column("", Table::Align::kLeft, Table::Narrow::kWrap);
    for (const char* name : {"BEFORE", "AFTER", "CHANGE"}) {
      table.column(name, Table::Align::kRight);
    }
    for (const Change& change : section.changes) {
      const std::string labels = change.key.substr(section.family.size());
      table.row({labels.empty() ? "(one series)" : printable(labels, 300),
                 change.before ? unit.text(*change.before) : "-",
                 change.after ? unit.text(*change.after) : "-", change_text(change, unit)});
      ++shown;
    }
    Table::Style style;
    style.width = static_cast<int>(width);
    style.headings = false;
    style.indent = 2;
    out += section.family + "\n" + table.text(style);
  }
  if (!answer.events.empty()) {
    out += "\nEvents between them\n";
    EventRecordList list([&](const std::string& text) { out += text; });
    for (const EventRecord& event : answer.events) list.add(event);
    list.finish();
    if (answer.more_events) out += "  older ones: jetmem events\n";
  }
  std::string last = counted(shown, "change");
  if (answer.small > 0)
    last += "; " + counted(answer.small, "small change") + " omitted: --all shows them";
  if (answer.omitted > 0) last += "; " + counted(answer.omitted, "change") + " beyond the limit";
  for (const std::string& text : answer.unknown) last += "; not compared: " + printable(text, 300);
  return out + "\n" + wrapped(last + "; times are " + time_zone_text() + ".", 0);
}

}  // namespace jetmem
