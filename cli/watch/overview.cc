// SPDX-License-Identifier: Apache-2.0
// The first view: what is wrong, who holds the memory, and what happened.
#include <algorithm>

#include "cli/draw/number_text.h"
#include "cli/draw/shorten.h"
#include "cli/draw/terminal.h"
#include "cli/text/answer_text.h"
#include "cli/text/budget_text.h"
#include "cli/text/status_screen.h"
#include "cli/watch/draw.h"
#include "cli/watch/views.h"

namespace jetmem::watch {
namespace {

constexpr std::size_t kLabel = 10;
constexpr std::size_t kNarrow = 64;  // columns
constexpr std::size_t kTall = 32;    // rows
constexpr std::size_t kMaxBar = 60;
constexpr double kLeastRange = 0.05;  // of the whole: smaller changes are no mountain

Style style_of(char letter) {
  switch (letter) {
    case 'A':
      return Style::kPrograms;
    case 'P':
      return Style::kCache;
    case 'G':
    case 'C':
    case 'D':
      return Style::kDevices;
    case 'K':
    case 'Z':
      return Style::kKernel;
    default:
      return Style::kDim;
  }
}

Style style_of(Verdict level) {
  switch (level) {
    case Verdict::kOk:
      return Style::kGood;
    case Verdict::kCritical:
      return Style::kCritical;
    case Verdict::kWarning:
    case Verdict::kUnknown:
      break;
  }
  return Style::kWarning;
}

class Overview {
 public:
  Overview(const Model& model, const Shown& shown, Size size, Glyphs glyphs)
      : model_(model),
        now_(*model.now()),
        status_(model.status()),
        shown_(shown),
        size_(size),
        glyphs_(glyphs) {}

  Body body() {
    add_verdict();
    add_where();
    add_memory();
    add_cma();
    add_rest();
    add_alerts();
    add_holders();
    for (const std::string& note : now_.notes) wrap(note, 0, Style::kWarning, 2);
    add_events(out_, now_, shown_.filter, size_.columns, glyphs_, false);
    return std::move(out_);
  }

 private:
  bool is_narrow() const { return size_.columns < kNarrow; }
  bool is_tall() const { return size_.rows >= kTall; }

  Line& line() { return out_.emplace_back(glyphs_); }
  void wrap(const std::string& text, std::size_t indent, Style style, std::size_t lines) {
    add_wrapped(out_, text, indent, size_.columns, glyphs_, style, lines);
  }

  void add_verdict() {
    const std::string level = upper_case(std::string(verdict_name(status_.level)));
    wrap(level + ": " + status_.reason, 0, style_of(status_.level), is_tall() ? 4 : 2);
  }

  // Which device, and how it was read: nobody is to take a file for a device.
  void add_where() {
    std::string text;
    const std::string from = now_.from.empty() ? "" : " " + now_.from;
    switch (now_.by) {
      case SnapshotOrigin::kDaemon:
        join(text, "from jetmemd" + from);
        break;
      case SnapshotOrigin::kHistory:
        join(text, "from" + from);
        break;
      case SnapshotOrigin::kCapture:
        join(text, "one reading of" + from);
        break;
      case SnapshotOrigin::kCommand:
        join(text, "read by this command, without jetmemd");
        break;
    }
    // Of a path the end tells more than the begin.
    std::string text_of_end = text;
    std::size_t slash = text.find('/');
    while (shown_width(text_of_end) > size_.columns) {
      const std::size_t next = text.find('/', slash + 1);
      if (slash == std::string::npos || next == std::string::npos) break;
      text_of_end = text.substr(0, text.find('/')) + ".." + text.substr(next);
      slash = next;
    }
    if (!is_narrow()) join(text_of_end, status_.model);
    wrap(text_of_end, 0, Style::kDim, 1);
  }

  std::size_t bar_room(std::size_t taken) const {
    const std::size_t free = size_.columns > taken ? size_.columns - taken : 0;
    return std::min(free, kMaxBar);
  }

  // "last 10m ▁▂▃▅ 1.9 GiB to 175 MiB"
  void add_past(Quantity quantity, const std::string& text, Style style, double whole) {
    Line& row = line();
    row.to(kLabel).add(
        cut_words(safe_text(text, glyphs_), size_.columns - std::min(size_.columns, kLabel)),
        style);
    const std::string span = duration_text(model_.past_seconds()) + " ";
    const auto room = [&](std::size_t taken) {
      taken += span.size();
      return std::min(size_.columns > taken ? size_.columns - taken : 0, kMaxBar);
    };
    constexpr std::size_t kGap = 2;
    constexpr std::size_t kLeastCells = 12;
    const bool beside = room(row.width() + kGap) >= kLeastCells;
    if (!beside && room(kLabel) < kLeastCells) return;
    Line& place = beside ? row.add("  ") : line().to(kLabel);
    const std::size_t cells = room(place.width());
    place.add(span, Style::kDim);
    place.add(sparkline(model_.past(quantity),
                        {model_.at(), model_.past_seconds(), whole * kLeastRange}, cells, glyphs_));
  }

  void add_memory() {
    const MemoryBudget& budget = status_.budget;
    if (!budget.bytes || *budget.bytes <= 0) {
      wrap("Memory: not known: " + budget.no_bytes, 0, Style::kPlain, 2);
    } else {
      const BudgetShown parts = budget_shown(budget);
      const std::string total =
          is_narrow() ? " " + bytes_text(*budget.bytes)
                      : " " + bytes_text(*budget.bytes) + " " + budget_of_text(budget);
      Line& bar = line();
      bar.left("Memory", kLabel);
      std::vector<Share> shares;
      for (const BarPart& part : parts.parts) {
        shares.push_back({part.share, style_of(part.letter), part.letter});
      }
      const std::size_t room = bar_room(kLabel + total.size() + 2);
      if (room > 4) add_bar(bar, shares, room);
      bar.add(total);
      add_legend(parts);
    }
    std::string text = "available ";
    text += status_.available_bytes ? bytes_text(*status_.available_bytes) : "-";
    if (status_.available_ratio) text += " " + ratio_text(*status_.available_ratio);
    const Style style =
        status_.available_ratio ? grade(1 - *status_.available_ratio, 0.90, 0.95) : Style::kPlain;
    add_past(Quantity::kAvailable, text, style, status_.mem_total_bytes.value_or(0));
  }

  void add_legend(const BudgetShown& parts) {
    std::vector<std::string> items;
    std::vector<double> shares;
    std::string_view rest = parts.legend;
    for (const BarPart& part : parts.parts) {
      const std::size_t end = rest.find(", ");
      items.emplace_back(rest.substr(0, end));
      rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 2);
      shares.push_back(part.share);
    }
    if (is_tall()) {
      add_items(items, kLabel, 2, Style::kDim);
      if (!parts.overlap.empty()) wrap(parts.overlap, kLabel, Style::kWarning, 2);
      if (!parts.unknown.empty()) wrap("not known: " + parts.unknown, kLabel, Style::kDim, 2);
      return;
    }
    // The largest parts, in the order of the bar.
    const auto width = [&] {
      std::size_t out = kLabel;
      for (const std::string& item : items) out += item.size() + 2;
      return out;
    };
    while (!items.empty() && width() > size_.columns + 2) {
      const auto least = std::min_element(shares.begin(), shares.end()) - shares.begin();
      items.erase(items.begin() + least);
      shares.erase(shares.begin() + least);
    }
    if (items.empty()) return;
    add_fitting(line().to(kLabel), items, size_.columns, 2, Style::kDim);
  }

  void add_cma() {
    const CmaAnswer& cma = status_.cma;
    if (!cma.has_cma) {
      wrap("CMA: not known: " + plain_reason(absence_reason(cma.absent, "has_cma")), 0, Style::kDim,
           1);
      return;
    }
    if (!*cma.has_cma) {
      if (is_tall()) wrap("CMA: none: " + plain_reason(cma.none), 0, Style::kDim, 1);
      return;
    }
    const CmaAnswer::Area* const tightest = tightest_area(cma);
    double total = 0;
    bool all_known = !cma.areas.empty();
    for (const CmaAnswer::Area& area : cma.areas) {
      total += area.bytes.value_or(0);
      all_known = all_known && area.bytes.has_value();
    }
    const auto used = value_of(status_, Quantity::kCmaUsed);
    if (!all_known && cma.total_bytes) total = *cma.total_bytes;
    const bool too_small = tightest != nullptr && tightest->frame_fit_ratio.value_or(1) < 1;
    const Style style = too_small ? Style::kCritical : Style::kGood;
    Line& bar = line();
    bar.left("CMA", kLabel);
    const bool has_bar = used && total > 0;
    const std::string size =
        (has_bar ? " " : "") + bytes_text(total) + (cma.areas.size() > 1 ? " in all areas" : "");
    const std::size_t room = bar_room(kLabel + size.size() + 2);
    if (room > 4 && has_bar) add_bar(bar, {{*used / total, style, '#'}}, room);
    bar.add(size);
    std::string text = "used";
    if (!is_narrow() || !used || total <= 0) text += " " + (used ? bytes_text(*used) : "-");
    if (used && total > 0) text += " " + ratio_text(*used / total);
    if (tightest != nullptr && tightest->largest_run_bytes) {
      const std::string largest = bytes_text(*tightest->largest_run_bytes);
      text += is_narrow() ? ", largest " + largest : ", largest free block " + largest;
    }
    add_past(Quantity::kCmaUsed, text, too_small ? Style::kCritical : Style::kPlain, total);
  }

  void add_rest() {
    std::vector<std::string> items;
    if (!status_.no_gpu) {
      items.push_back("GPU " + (status_.gpu_bytes ? bytes_text(*status_.gpu_bytes) : "-"));
    }
    if (status_.swap_bytes.value_or(0) > 0 && status_.swap_used_bytes) {
      items.push_back("swap " + bytes_text(*status_.swap_used_bytes) + " of " +
                      bytes_text(*status_.swap_bytes));
    }
    const auto stall = [&](const char* kind) {
      return now_.samples.value("jetmem_pressure_stall_ratio",
                                {{"resource", "memory"}, {"kind", kind}, {"window", "10s"}});
    };
    Style style = Style::kPlain;
    if (const auto some = stall("some")) {
      items.push_back("stalled " + ratio_text(*some));
      if (stall("full") && !is_narrow()) {
        items.back() += " (all tasks " + ratio_text(*stall("full")) + ")";
      }
      style = grade(*some, 0.10, 0.40) == Style::kGood ? Style::kPlain : grade(*some, 0.10, 0.40);
    }
    const ThermalAnswer& thermal = status_.thermal;
    if (!thermal.zones.empty() && thermal.zones.front().celsius) {
      items.push_back(shortened(thermal.zones.front().zone, 20) + " " +
                      celsius_text(*thermal.zones.front().celsius));
    }
    if (!thermal.causes.empty()) {
      items.push_back("THROTTLED by " + thermal.causes.front());
      style = style == Style::kCritical ? style : Style::kWarning;
    }
    add_items(items, is_narrow() ? 0 : kLabel, 3, style);
  }

  // Over as many lines as it takes; none of them is broken.
  void add_items(const std::vector<std::string>& items, std::size_t indent, std::size_t blanks,
                 Style style) {
    std::size_t width = size_.columns;
    for (const std::string& item : items) {
      if (width + blanks + shown_width(item) > size_.columns) {
        line().left("", indent);
        width = indent;
      }
      Line& row = out_.back();
      if (width > indent) row.add(std::string(blanks, ' '));
      row.add(item, style);
      width = row.width();
    }
  }

  void add_alerts() {
    if (!now_.alerts) {
      wrap("Alerts: unknown: " + now_.no_alerts, 0, Style::kWarning, 2);
      return;
    }
    const std::uint64_t firing = status_.firing.value_or(0);
    const std::uint64_t pending = status_.pending.value_or(0);
    const std::uint64_t unknown = status_.unknown.value_or(0);
    Line& head = line();
    head.left("Alerts", is_narrow() ? 7 : kLabel, Style::kBold);
    head.add(std::to_string(firing) + " firing", firing > 0 ? Style::kCritical : Style::kGood);
    std::string others = ", " + std::to_string(pending) + " pending";
    if (unknown > 0) others += ", " + std::to_string(unknown) + " unknown";
    head.add(cut_words(others, size_.columns - std::min(size_.columns, head.width())));
    const std::size_t most = is_tall() ? 10 : is_narrow() ? 2 : 3;
    std::size_t listed = 0;
    std::size_t matching = 0;
    for (const StatusAnswer::Alert& alert : status_.alerts) {
      if (!has_filter(alert.name + " " + alert.severity + " " + alert.summary, shown_.filter)) {
        continue;
      }
      if (++matching <= most) {
        add_alert(alert);
        ++listed;
      }
    }
    const std::uint64_t more = matching - listed + status_.alerts_omitted;
    if (more > 0) wrap(std::to_string(more) + " more: press 6", 2, Style::kDim, 1);
  }

  void add_alert(const StatusAnswer::Alert& alert) {
    const bool firing = alert.state == "firing";
    std::string text = alert.severity + " " + alert.name + " " + alert.state;
    if (alert.active_seconds > 0) text += " " + duration_text(alert.active_seconds);
    const Style style = firing ? severity_style(alert.severity) : Style::kPlain;
    if (is_narrow()) {
      wrap(text, 2, style, 2);
      return;
    }
    Line& row = line();
    row.add("  ").add(cut_words(safe_text(text, glyphs_), size_.columns - 2), style);
    // The first one's sentence is the verdict's.
    const std::size_t left = size_.columns - std::min(size_.columns, row.width());
    if (left < 24 || alert.summary.empty()) return;
    row.add(": ").add(cut_words(safe_text(alert.summary, glyphs_), left - 2));
  }

  void add_holders() {
    const std::size_t most = is_tall() ? 10 : is_narrow() ? 2 : 4;
    TopAnswer top = filtered_top(now_, shown_, most);
    if (top.groups.empty()) {
      const std::string why = shown_.filter.empty() ? absence_reason(top.absent, "groups") : "";
      wrap(why.empty() ? "Holders: none that match" : "Holders: not known: " + why, 0, Style::kDim,
           1);
      return;
    }
    if (top.groups.size() > most) top.groups.resize(most);
    const ScreenStyle style{static_cast<int>(size_.columns), true, glyphs_.utf8};
    for (Line& row : page_lines(holders_table(top, style), glyphs_, size_.columns)) {
      out_.push_back(std::move(row));
    }
  }

  const Model& model_;
  const DeviceNow& now_;
  const StatusAnswer& status_;
  const Shown& shown_;
  Size size_;
  Glyphs glyphs_;
  Body out_;
};

}  // namespace

Body overview_body(const Model& model, const Shown& shown, Size size, Glyphs glyphs) {
  return Overview(model, shown, size, glyphs).body();
}

}  // namespace jetmem::watch
