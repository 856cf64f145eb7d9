// SPDX-License-Identifier: Apache-2.0
#include "report/doctor/top_growth.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "metrics/series_key.h"
#include "report/answers/holder_names.h"
#include "report/diagnosis/format.h"

namespace jetmem::doctor {
namespace {

// How old a value may be and still stand for a moment: groups are read once a minute, and roll-ups
// are 15 minutes apart.
constexpr double kTimeout = 180;
constexpr double kOldTimeout = 1900;

struct Family {
  std::string_view name;
  bool is_buffers;
  double sign = 1;
};
constexpr std::array<Family, 4> kGroup{{
    {"jetmem_process_group_resident_bytes", false},
    {"jetmem_process_group_gpu_bytes", true},
    {"jetmem_process_group_dmabuf_bytes", true},
    {"jetmem_process_group_mapped_bytes", false, -1},
}};

struct Part {
  std::string key;
  double before = 0;
  double after = 0;
};

struct Candidate {
  std::string who;
  std::string command;
  std::vector<Part> parts;
  bool is_new = false;
  bool at_least = false;
  double before = 0;
  double after = 0;
  double at_most = 0;  // may have grown by that
};

std::string group_name(const SeriesName& name) {
  return holder_name(name.label("command"), name.label("unit"), name.label("container"));
}

const Family* needed(std::string_view family, GrowthKind what) {
  for (const Family& each : kGroup) {
    if (each.name == family && (what == GrowthKind::kMemory || each.is_buffers)) return &each;
  }
  return nullptr;
}

const char* elsewhere(std::string_view family) {
  for (const OtherHolder& each : other_holders()) {
    if (each.family == family) return each.name;
  }
  return nullptr;
}

void take(std::map<std::string, Candidate>& out, const std::map<std::string, double>& values,
          GrowthKind what, bool is_after) {
  for (const auto& [key, value] : values) {
    const std::string_view family = std::string_view(key).substr(0, key.find('{'));
    const char* const other = what == GrowthKind::kMemory ? elsewhere(family) : nullptr;
    const Family* const of_group = other == nullptr ? needed(family, what) : nullptr;
    if (other == nullptr && of_group == nullptr) continue;
    const double bytes = of_group == nullptr ? value : of_group->sign * value;
    std::string id;
    Candidate fresh;
    if (other != nullptr) {
      id = key;
      fresh.who = other;
    } else {
      const auto name = parse_series_key(key);
      if (!name || is_rest(name->label("command"), name->label("unit"), name->label("container"))) {
        continue;
      }
      id = key.substr(family.size());
      fresh.who = group_name(*name);
      fresh.command = std::string(name->label("command"));
    }
    Candidate& candidate = out.try_emplace(std::move(id), std::move(fresh)).first->second;
    auto part = std::find_if(candidate.parts.begin(), candidate.parts.end(),
                             [&, &key = key](const Part& each) { return each.key == key; });
    if (part == candidate.parts.end()) part = candidate.parts.insert(part, Part{key, 0, 0});
    (is_after ? part->after : part->before) = bytes;
    (is_after ? candidate.after : candidate.before) += bytes;
  }
}

// A group that was not listed before may have been among "other": it was then no larger than the
// smallest listed group.
void allow_for_hidden(std::map<std::string, Candidate>& all,
                      const std::map<std::string, double>& before) {
  const bool has_rest = std::any_of(before.begin(), before.end(), [](const auto& each) {
    return each.first.rfind(kGroup[0].name, 0) == 0 &&
           each.first.find("command=\"other\"") != std::string::npos;
  });
  double smallest = INFINITY;
  for (const auto& [id, each] : all) {
    if (!each.command.empty() && each.before > 0) smallest = std::min(smallest, each.before);
  }
  for (auto& [id, each] : all) {
    if (each.command.empty() || each.before > 0) continue;
    each.is_new = true;
    if (has_rest && std::isfinite(smallest)) each.before = std::min(smallest, each.after);
  }
}

std::optional<double> value_of(const std::map<std::string, double>& values, const Family& family,
                               const std::string& id) {
  const auto at = values.find(std::string(family.name) + id);
  return at == values.end() ? std::nullopt : std::optional(at->second);
}

// A group's resident memory has the buffers of nvmap that it mapped, which its GPU memory and
// DMA-BUFs have too. How much at most counts twice: nothing where the mapped bytes are known.
double most_counted_twice(const std::map<std::string, double>& values, const std::string& id) {
  constexpr std::string_view kNvmap = "jetmem_nvmap_process_bytes{";
  const auto nvmap = values.lower_bound(std::string(kNvmap));
  if (nvmap == values.end() || !nvmap->first.starts_with(kNvmap)) return 0;
  const double gpu = value_of(values, kGroup[1], id).value_or(0);
  if (gpu <= 0 || value_of(values, kGroup[3], id)) return 0;
  return std::min(value_of(values, kGroup[0], id).value_or(0),
                  gpu + value_of(values, kGroup[2], id).value_or(0));
}

// Which of kGroup there are values of, as bits.
unsigned families(const std::map<std::string, double>& values) {
  unsigned out = 0;
  for (const auto& [key, value] : values) {
    for (std::size_t i = 0; i < kGroup.size(); ++i) {
      if (key.substr(0, key.find('{')) == kGroup[i].name) out |= 1U << i;
    }
  }
  return out;
}

// A program that was listed at both moments may have values that were unknown at one of them: its
// growth is then the least that it can be. Those of a new one are all its growth, but for families
// that no program had before.
void allow_for_unknown(std::map<std::string, Candidate>& all, GrowthKind what,
                       const std::map<std::string, double>& before,
                       const std::map<std::string, double>& after) {
  const unsigned known = families(before);
  for (auto& [id, each] : all) {
    each.at_most = each.after - each.before;
    if (each.command.empty()) {
      // No program: its id is its key. Without both values nothing is known of its growth.
      if (!after.contains(id)) each.at_most = INFINITY;
      if (!before.contains(id)) each.before = each.after;
      continue;
    }
    if (what == GrowthKind::kMemory) {
      const double twice_before = most_counted_twice(before, id);
      const double twice_after = most_counted_twice(after, id);
      each.at_least = twice_before > 0 || twice_after > 0;
      each.at_most += twice_before;
      each.after -= twice_after;
    }
    const bool was_listed = value_of(before, kGroup[0], id).has_value();
    const bool is_listed = value_of(after, kGroup[0], id).has_value();
    for (std::size_t i = 0; i < kGroup.size(); ++i) {
      if (kGroup[i].sign < 0 || !needed(kGroup[i].name, what)) continue;
      const auto then = value_of(before, kGroup[i], id);
      const auto later = value_of(after, kGroup[i], id);
      if (then && !later && is_listed) {
        each.at_least = true;
        each.at_most = INFINITY;
      }
      if (then || !later || (!was_listed && (known >> i & 1U) != 0)) continue;
      each.at_least = true;
      each.after -= *later;
      std::erase_if(each.parts, [&, &id = id](const Part& part) {
        return part.key == std::string(kGroup[i].name) + id;
      });
    }
  }
}

// Several series at their own steps added up: the last value of each holds until its next.
Values summed(const std::vector<Values>& all) {
  std::vector<double> times;
  for (const Values& each : all) {
    for (const Value& value : each) times.push_back(value.time);
  }
  std::sort(times.begin(), times.end());
  times.erase(std::unique(times.begin(), times.end()), times.end());
  Values out;
  std::vector<std::size_t> next(all.size(), 0);
  for (const double time : times) {
    Value sum{time, 0, 0, 0};
    for (std::size_t i = 0; i < all.size(); ++i) {
      while (next[i] < all[i].size() && all[i][next[i]].time <= time) ++next[i];
      if (next[i] == 0) continue;
      const Value& value = all[i][next[i] - 1];
      sum.value += value.value;
      sum.min += value.min;
      sum.max += value.max;
    }
    out.push_back(sum);
  }
  return out;
}

// The window may begin at the very first step, or before it: the groups are read some seconds to a
// minute later. What grew in between is lost, so it is looked for in small strides.
std::map<std::string, double> first_known(Past& past, double from, double to, double timeout,
                                          unsigned requested_families) {
  if (const HistoryFacts* facts = past.facts(); facts != nullptr && facts->oldest) {
    from = std::max(from, to_seconds(*facts->oldest));
  }
  std::map<std::string, double> best;
  unsigned most = 0;
  for (const double later : {0.0, 5.0, 10.0, 15.0, 20.0, 30.0, 45.0, 60.0, 90.0, 120.0, 180.0}) {
    if (from + later > to) break;
    auto values = past.at(from + later, timeout);
    const unsigned found = families(values) & requested_families;
    if (best.empty() || found > most) {
      best = std::move(values);
      most = found;
    }
    if (most == requested_families) break;
  }
  return best;
}

}  // namespace

std::vector<GrowthEntry> top_growth(Past& past, GrowthKind what, double from, double to,
                                    double least, std::size_t most) {
  std::map<std::string, Candidate> all;
  const bool is_long = to - from > 6 * 3600;
  const auto after = past.at(to, kTimeout);
  const auto before =
      first_known(past, from, to, is_long ? kOldTimeout : kTimeout, families(after));
  // From nothing everything would have grown.
  if (before.empty()) return {};
  take(all, before, what, false);
  take(all, after, what, true);
  allow_for_unknown(all, what, before, after);
  allow_for_hidden(all, before);
  std::vector<const Candidate*> sorted;
  for (const auto& [id, each] : all) {
    if (each.after - each.before >= least) sorted.push_back(&each);
  }
  std::sort(sorted.begin(), sorted.end(), [](const Candidate* a, const Candidate* b) {
    return a->after - a->before > b->after - b->before;
  });
  if (sorted.size() > most) sorted.resize(most);
  std::vector<GrowthEntry> out;
  for (const Candidate* each : sorted) {
    GrowthEntry growth_entry{each->who,
                             each->command,
                             each->after - each->before,
                             each->at_least || (each->is_new && each->before > 0),
                             true,
                             std::nullopt};
    growth_entry.is_largest = std::none_of(all.begin(), all.end(), [&](const auto& other) {
      return &other.second != each && other.second.at_most > growth_entry.grown;
    });
    std::vector<Values> parts;
    for (const Part& part : each->parts) {
      if (part.after - part.before > 0.02 * growth_entry.grown) {
        parts.push_back(past.series(part.key, from, to, 4000));
      }
    }
    growth_entry.move = move_of(summed(parts), true, 0.3 * growth_entry.grown);
    out.push_back(std::move(growth_entry));
  }
  return out;
}

}  // namespace jetmem::doctor
