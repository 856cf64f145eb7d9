// SPDX-License-Identifier: Apache-2.0
#include "cli/text/status_text.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <utility>
#include <vector>

#include "cli/draw/bars.h"
#include "cli/draw/number_text.h"
#include "cli/text/budget_text.h"
#include "cli/text/judgement_text.h"
#include "cli/text/status_screen.h"

namespace jetmem {
namespace {

constexpr std::size_t kZones = 4;

std::string probes_text(const StatusAnswer& answer, const ScreenStyle& style) {
  const std::string why = absence_reason(answer.absent, "probes");
  if (answer.probes.empty()) return labelled(style, "probes", "none: " + plain_reason(why));
  std::string fine;
  std::string bad;
  std::string other;
  std::size_t unsupported = 0;
  for (const StatusAnswer::Probe& probe : answer.probes) {
    std::string name = probe.kind;
    if (!probe.target.empty()) name += "(" + probe.target + ")";
    if (probe.state == "ok") {
      join(fine, name);
    } else if (probe.state == "unsupported") {
      ++unsupported;
    } else if (probe.state == "skipped") {
      join(other, name + " skipped");
    } else {
      std::string text = name + " " + painted(style, Paint::kBad, probe.state);
      if (!probe.failure.empty()) text += " (" + probe.failure + ")";
      if (probe.since_success_seconds) {
        text += ", last ok " + duration_text(*probe.since_success_seconds) + " ago";
      }
      join(bad, text, "; ");
    }
  }
  std::string text = bad;
  if (!fine.empty()) join(text, "ok: " + fine, "; ");
  join(text, other, "; ");
  if (unsupported > 0) join(text, std::to_string(unsupported) + " unsupported", "; ");
  if (answer.probe_age_seconds) {
    join(text, "as of " + duration_text(*answer.probe_age_seconds) + " ago", "; ");
  }
  return labelled(style, "probes", text);
}

std::string health_text(const StatusAnswer& answer, const ScreenStyle& style) {
  std::string text;
  if (answer.from.by == "daemon") {
    if (answer.loop_lag_seconds) join(text, "loop lag " + duration_text(*answer.loop_lag_seconds));
    if (!answer.reader.empty()) join(text, "reader " + answer.reader);
    if (answer.log_dropped) join(text, number_text(*answer.log_dropped) + " log entries lost");
    if (answer.history_up) {
      join(text, *answer.history_up > 0 ? std::string("history written")
                                        : painted(style, Paint::kWarn, "history NOT written"));
    } else {
      join(text, "history not on disk");
    }
    if (answer.daemon_resident_bytes) join(text, bytes_text(*answer.daemon_resident_bytes));
  }
  join(text, counted(answer.sources_ok, "source") + " read");
  std::string out = labelled(style, "jetmem", text);
  // Many sources usually fail for one reason.
  std::vector<std::pair<std::string, std::string>> groups;  // names, why
  for (const StatusAnswer::Blind& blind : answer.blind) {
    const std::string why = blind.state + (blind.why.empty() ? "" : ": " + blind.why);
    const auto same = std::find_if(groups.begin(), groups.end(),
                                   [&](const auto& group) { return group.second == why; });
    if (same != groups.end()) {
      same->first += ", " + blind.source;
    } else {
      groups.emplace_back(blind.source, why);
    }
  }
  for (const auto& [names, why] : groups) {
    out +=
        labelled(style, "", painted(style, Paint::kUnknown, "failing") + " " + names + ": " + why);
  }
  for (const std::string& note : answer.from.notes) out += labelled(style, "", note);
  return out;
}

}  // namespace

std::string status_text(const StatusAnswer& answer, const ScreenStyle& style,
                        const CommandFor& command_for) {
  std::string out = verdict_text(answer, answer.from, style, 0);
  out += device_line(answer, style, 0, /*of=*/true);
  out += budget_text(answer.budget, style, /*all=*/true);
  out += memory_line(answer, style, "", 0);
  out += cma_line(answer.cma, style, 0, command_for);
  if (answer.fragmentation.zones.empty()) {
    out += labelled(style, "free",
                    "blocks: not known: " + absence_reason(answer.fragmentation.absent, "zones"));
  } else {
    out += heat_map_text(answer.fragmentation, style, kZones);
  }
  out += gpu_line(answer, style, 0);
  out += thermal_line(answer.thermal, style, 0);
  if (answer.last_event) out += labelled(style, "event", event_sentence(*answer.last_event));
  out += fault_lines(answer, style, 0, command_for);
  out += alerts_list(answer, style, 0, command_for);
  out += probes_text(answer, style);
  return out + health_text(answer, style) + next_text(answer, style);
}

std::string status_brief(const StatusAnswer& answer, const std::string& host) {
  std::string out = level_word(answer.level) + " " + (host.empty() ? "-" : host) + ": mem ";
  out += answer.available_ratio ? ratio_text(1 - *answer.available_ratio) : "?";
  out += " used " + (answer.available_bytes ? bytes_text(*answer.available_bytes) : "?") + " avail";
  const CmaAnswer::Area* const tightest = tightest_area(answer.cma);
  if (!answer.cma.has_cma) {
    out += ", cma ?";
  } else if (*answer.cma.has_cma) {
    out += ", cma ";
    out += tightest != nullptr && tightest->used_ratio ? ratio_text(*tightest->used_ratio) : "?";
    out += " largest ";
    out += tightest != nullptr && tightest->largest_run_bytes
               ? bytes_text(*tightest->largest_run_bytes)
               : "?";
  }
  out += ", " + (answer.firing ? counted(*answer.firing, "alert") : "? alerts") + " firing";
  if (answer.pending.value_or(0) > 0) out += ", " + std::to_string(*answer.pending) + " pending";
  if (answer.unknown.value_or(0) > 0) out += ", " + std::to_string(*answer.unknown) + " unknown";
  if (!answer.thermal.zones.empty() && answer.thermal.zones.front().celsius) {
    out += ", " + std::to_string(std::lround(*answer.thermal.zones.front().celsius)) + " C";
  }
  if (answer.level != Verdict::kOk) out += ": " + folded(answer.reason, 200, 1).front();
  return out + "\n";
}

namespace {

using Zone = FragmentationAnswer::Zone;

constexpr std::size_t kName = 8;
constexpr std::size_t kCell = 4;

// "4K", "2M": as short as a column's head.
std::string short_size(const std::optional<double>& bytes, int order) {
  if (!bytes) return "o" + std::to_string(order);
  double size = *bytes / 1024;
  std::string_view unit = "K";
  if (size >= 1024) {
    size /= 1024;
    unit = "M";
  }
  // A column is four wide: 128 is of KiB, what is larger says so.
  if (size >= 100) unit = {};
  return number_text(size).append(unit);
}

std::vector<int> orders_of(const FragmentationAnswer& answer) {
  std::vector<int> orders;
  for (const Zone& zone : answer.zones) {
    for (const auto& order : zone.orders) orders.push_back(order.order);
  }
  std::sort(orders.begin(), orders.end());
  orders.erase(std::unique(orders.begin(), orders.end()), orders.end());
  return orders;
}

std::string zone_name(const FragmentationAnswer& answer, const Zone& zone) {
  const bool several = answer.zones.front().node != answer.zones.back().node;
  return cut_to(several ? zone.node + "/" + zone.zone : zone.zone, kName - 1);
}

}  // namespace

std::string heat_map_text(const FragmentationAnswer& answer, const ScreenStyle& style,
                          std::size_t max_zones) {
  if (answer.zones.empty()) return {};
  std::vector<int> orders = orders_of(answer);
  const std::size_t all = static_cast<std::size_t>(std::max(style.width, 20));
  constexpr std::size_t kTail = 11;
  // On a narrow terminal the small orders go, which never are what is missing.
  while (orders.size() > 4 && kLabelWidth + kName + orders.size() * kCell + kTail > all) {
    orders.erase(orders.begin());
  }
  std::string head(kName, ' ');
  for (const int order : orders) {
    std::optional<double> bytes;
    if (answer.page_bytes) bytes = *answer.page_bytes * static_cast<double>(1ULL << order);
    head += padded(short_size(bytes, order), kCell);
  }
  std::string out = labelled_as_is("free", head + "largest");
  std::size_t shown = 0;
  for (const Zone& zone : answer.zones) {
    if (shown++ == max_zones) break;
    std::string line = padded(zone_name(answer, zone), kName);
    for (const int order : orders) {
      std::optional<double> share;
      for (const auto& each : zone.orders) {
        if (each.order == order) share = each.share;
      }
      line += heat_cell(style, share, kCell - 1) + " ";
    }
    const std::string largest = zone.largest_bytes_outside_cma
                                    ? bytes_text(*zone.largest_bytes_outside_cma)
                                    : std::string("-");
    out += labelled_as_is(shown == 1 ? "blocks" : "", line + largest);
  }
  if (answer.zones.size() > max_zones) {
    out += labelled_as_is(
        "", std::to_string(answer.zones.size() - max_zones) + " more: jetmem fragmentation");
  }
  return out;
}

}  // namespace jetmem
