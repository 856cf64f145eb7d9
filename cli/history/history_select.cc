// SPDX-License-Identifier: Apache-2.0
#include "cli/history/history_select.h"

#include <algorithm>
#include <set>

#include "base/text/text.h"
#include "cli/draw/since.h"
#include "history/query/selection.h"
#include "metrics/series_key.h"
#include "rules/model/metric_catalog.h"

namespace jetmem {
namespace {

// More than any resolution keeps on its defaults, twenty times.
constexpr std::size_t kMostPoints = 100'000;

constexpr std::string_view kPrefix = "jetmem_";
constexpr std::size_t kMostNamed = 5;

bool is_name_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || is_digit(c) || c == '_' || c == ':';
}

std::string_view take_name(std::string_view& text) {
  skip_blanks(text);
  std::size_t n = 0;
  while (n < text.size() && is_name_char(text[n])) ++n;
  const std::string_view name = text.substr(0, n);
  text.remove_prefix(n);
  skip_blanks(text);
  return name;
}

// In quotes with the escapes of an exposition, or bare up to a comma or the end.
bool take_value(std::string_view& text, std::string& value) {
  skip_blanks(text);
  if (!take_prefix(text, "\"")) {
    const std::size_t end = text.find_first_of(",}");
    if (end == std::string_view::npos || end == 0) return false;
    value = std::string(trim(text.substr(0, end)));
    text.remove_prefix(end);
    return true;
  }
  while (!text.empty() && text.front() != '"') {
    char c = text.front();
    text.remove_prefix(1);
    if (c == '\\') {
      if (text.empty()) return false;
      c = text.front() == 'n' ? '\n' : text.front();
      text.remove_prefix(1);
    }
    value.push_back(c);
  }
  const bool closed = take_prefix(text, "\"");
  skip_blanks(text);
  return closed;
}

tl::unexpected<Error> no_series(std::string_view text, std::string_view what,
                                std::string_view rest) {
  return fail(Errc::kInvalid, "'" + printable(text, 120) +
                                  "' is not a series: " + std::string(what) + " at '" +
                                  printable(rest, 40) + "'; write NAME or 'NAME{label=\"value\"}'");
}

bool matches(const SeriesName& name, const SeriesPattern& wish) {
  return std::all_of(wish.labels.begin(), wish.labels.end(), [&](const auto& label) {
    return std::find(name.labels.begin(), name.labels.end(), label) != name.labels.end();
  });
}

// The name without prefix and labels, to search in names.
std::string bare(std::string_view family) {
  take_prefix(family, kPrefix);
  return std::string(family);
}

using FamilyNames = std::set<std::string, std::less<>>;

// Those with `part` in their name, behind `near`.
std::string listed(const FamilyNames& names, std::vector<std::string> near,
                   const std::string& part) {
  std::size_t more = 0;
  for (const std::string& name : names) {
    if (name.find(part) == std::string::npos) continue;
    if (std::find(near.begin(), near.end(), name) != near.end()) continue;
    if (near.size() < kMostNamed) {
      near.push_back(name);
    } else {
      ++more;
    }
  }
  std::string out;
  for (const std::string& name : near) out += (out.empty() ? "" : ", ") + printable(name, 120);
  if (more > 0) out += " and " + std::to_string(more) + " more";
  return out;
}

std::string near_names(const FamilyNames& names, const std::string& family) {
  std::vector<std::string> near;
  if (const std::string_view nearest = nearest_name(family, names); !nearest.empty()) {
    near.emplace_back(nearest);
  }
  const std::string part = bare(family);
  return listed(names, std::move(near), part);
}

// Of the same subject: those of "jetmem_cma_" for jetmem_cma_used_ratio.
std::string related_names(const FamilyNames& names, const std::string& family) {
  const std::string name = bare(family);
  return listed(names, {}, name.substr(0, name.find('_')) + "_");
}

// The history is no help with a name that jetmem does not have; one that it has may have no values.
tl::unexpected<Error> not_recorded(const std::vector<SeriesKnown>& all, const std::string& family) {
  const std::string shown = printable(family, 120);
  FamilyNames names;
  for (const SeriesKnown& each : all) names.insert(each.key.substr(0, each.key.find('{')));
  if (names.empty()) {
    return fail(Errc::kAbsent, "nothing is recorded for " + shown + "; the history is empty");
  }
  const auto declared = MetricCatalog::of_jetmem().find(family);
  const std::string near = near_names(names, family);
  if (!declared || (declared->is_of_pattern && !near.empty())) {
    return fail(Errc::kInvalid,
                "no metric is called " + shown +
                    (near.empty() ? std::string() : "; did you mean " + near + "?") +
                    "; `jetmem history` lists what is recorded");
  }
  std::string message = "nothing is recorded for " + shown;
  message += Selection().wants(family)
                 ? ": this device has not reported it since the history began"
                 : ": the recorder does not keep it (history.metrics adds metrics)";
  const std::string related = related_names(names, family);
  if (!related.empty()) message += "; related metrics recorded: " + related;
  return fail(Errc::kAbsent, message + "; `jetmem history` lists all");
}

}  // namespace

Result<SeriesPattern> parse_series_pattern(std::string_view text) {
  SeriesPattern wish;
  std::string_view rest = text;
  wish.family = std::string(take_name(rest));
  if (wish.family.empty()) return no_series(text, "no name", rest);
  if (!wish.family.starts_with(kPrefix)) wish.family.insert(0, kPrefix);
  if (rest.empty()) return wish;
  if (!take_prefix(rest, "{")) return no_series(text, "unexpected text", rest);
  skip_blanks(rest);
  while (!take_prefix(rest, "}")) {
    const std::string name(take_name(rest));
    std::string value;
    if (name.empty() || !take_prefix(rest, "=") || !take_value(rest, value)) {
      return no_series(text, "no label=\"value\"", rest);
    }
    wish.labels.emplace_back(name, value);
    if (!take_prefix(rest, ",") && (rest.empty() || rest.front() != '}')) {
      return no_series(text, "neither ',' nor '}'", rest);
    }
    skip_blanks(rest);
  }
  if (!trim(rest).empty()) return no_series(text, "trailing text", rest);
  return wish;
}

Result<std::vector<SeriesKnown>> pick_series(History& history, const SeriesPattern& wish) {
  auto known = history.series(wish.family);
  if (!known) return tl::unexpected(std::move(known.error()));
  if (known->empty()) {
    const auto all = history.series("");
    if (!all) return tl::unexpected(all.error());
    return not_recorded(*all, wish.family);
  }
  std::vector<SeriesKnown> out;
  std::string some;
  for (const SeriesKnown& each : *known) {
    const auto name = parse_series_key(each.key);
    if (name && matches(*name, wish)) out.push_back(each);
    if (some.size() < 200) some += (some.empty() ? "" : ", ") + printable(each.key, 160);
  }
  if (out.empty()) {
    return fail(Errc::kAbsent, "no series of " + printable(wish.family, 120) +
                                   " has these labels; recorded: " + some);
  }
  std::sort(out.begin(), out.end(),
            [](const SeriesKnown& a, const SeriesKnown& b) { return a.key < b.key; });
  return out;
}

Result<SeriesPast> finest_past(History& history, const std::string& key, Nanoseconds from,
                               Nanoseconds to, Nanoseconds raw_step) {
  SeriesPast out;
  out.key = key;
  for (const Resolution each : {Resolution::kRaw, Resolution::kMinute, Resolution::kQuarter}) {
    SeriesQuery requested;
    requested.key = key;
    requested.from = from;
    requested.to = to;
    requested.resolution = each;
    requested.most = kMostPoints;
    auto past = history.past(requested);
    if (!past) return tl::unexpected(std::move(past.error()));
    out.is_counter = out.is_counter || past->is_counter;
    out.cut = out.cut || past->cut;
    // Only what ends before the finer ones begin.
    std::vector<HistoryPoint>& points = past->points;
    if (!out.points.empty()) {
      const Nanoseconds begin = out.points.front().wall;
      points.erase(std::find_if(points.begin(), points.end(),
                                [&](const HistoryPoint& point) {
                                  return point.wall + resolution_step(each, raw_step) > begin;
                                }),
                   points.end());
    }
    points.insert(points.end(), out.points.begin(), out.points.end());
    out.points = std::move(points);
  }
  return out;
}

Result<Nanoseconds> parse_moment(std::string_view text, Nanoseconds now) {
  std::string_view rest = text;
  const bool back = take_prefix(rest, "-");
  auto since = parse_since(rest, now);
  if (!since) return tl::unexpected(std::move(since.error()));
  if (since->ago) return now - *since->ago;
  if (back) {
    return fail(Errc::kInvalid,
                "'" + printable(text, 40) + "': expected how long ago after '-', e.g. -6h");
  }
  return *since->at;
}

bool is_moment_syntax(std::string_view text) {
  // Whenever it is: only whether it reads as a time. In the year 2200 all have been.
  constexpr Nanoseconds kThen = std::chrono::seconds(7'258'118'400);
  return parse_moment(text, kThen).has_value() || (text.size() > 1 && text.front() == '-');
}

std::string boot_at(const std::vector<BootKnown>& boots, Nanoseconds wall) {
  const BootKnown* within = nullptr;
  const BootKnown* ended = nullptr;
  for (const BootKnown& boot : boots) {
    if (!boot.first_wall || *boot.first_wall > wall) continue;
    if (!boot.last_wall || *boot.last_wall >= wall) {
      if (within != nullptr) return {};
      within = &boot;
    } else if (ended == nullptr || *boot.last_wall >= *ended->last_wall) {
      ended = &boot;
    }
  }
  const BootKnown* found = within != nullptr ? within : ended;
  return found == nullptr ? std::string() : found->boot_id;
}

}  // namespace jetmem
