// SPDX-License-Identifier: Apache-2.0
#include "report/answers/diff_answer.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "metrics/sample.h"
#include "report/answers/cma_answer.h"
#include "report/events/event_json.h"
#include "rules/model/metric_catalog.h"

namespace jetmem {
namespace {

using DiffChange = DiffAnswer::Change;
using How = DiffAnswer::How;

constexpr double kMiB = 1 << 20;

bool is_counter(const std::string& family) {
  const auto known = MetricCatalog::of_jetmem().find(family);
  return known ? known->is_counter() : family.ends_with("_total");
}

// Metrics of jetmem itself, or of the time, always change.
bool is_noise(std::string_view family) {
  return family.find("_timestamp_seconds") != std::string_view::npos ||
         family.find("_age_seconds") != std::string_view::npos ||
         family.find("_1m") != std::string_view::npos ||
         family.starts_with("jetmem_rule_evaluation_duration_seconds_") ||
         family == "jetmem_boot_time_seconds" || family == "jetmem_process_group_pid" ||
         family.rfind("jetmem_source_", 0) == 0 || family.rfind("jetmem_sampling_", 0) == 0 ||
         // jetmem's own process; its groups are the programs of the device.
         (family.rfind("jetmem_process_", 0) == 0 &&
          family.rfind("jetmem_process_group_", 0) != 0) ||
         family.rfind("jetmem_sample_cycle_", 0) == 0;
}

// How much a change matters; from 1 on it is listed.
double weight_of(const DiffChange& change) {
  const double before = change.before.value_or(0);
  const double after = change.after.value_or(0);
  const double moved = std::fabs(after - before);
  const double size = std::max(std::fabs(before), std::fabs(after));
  if (size == 0 || moved == 0) return 0;
  const std::string_view unit = unit_of(change.family);
  if (is_noise(change.family)) return 0.1;
  if (change.is_counter) return 1 + std::log10(1 + std::fabs(change.per_hour.value_or(moved)));
  const double part = moved / size;
  if (unit == "bytes") {
    if (moved < kMiB || part < 0.05) return 0.5 * std::min(moved / kMiB, part / 0.05);
    return 2 + std::log2(moved / kMiB) / 2 + part;
  }
  if (unit == "ratio") return moved < 0.05 ? moved * 10 : 2 + moved * 10;
  if (unit == "celsius") return moved < 3 ? moved / 6 : 2 + moved / 5;
  if (unit == "seconds" || unit == "hertz" || unit == "watts" || unit == "volts" ||
      unit == "amperes" || unit == "blocks" || unit == "pages") {
    return part < 0.1 ? part * 5 : 1 + 2 * part;
  }
  // A level, a state, a small count: any change matters.
  return size <= 16 ? 4 : (part < 0.05 ? part * 10 : 1 + 2 * part);
}

class Comparing {
 public:
  Comparing(const DeviceNow& before, const DeviceNow& after, bool all)
      : before_(before), after_(after), all_(all) {}

  DiffAnswer answer() {
    out_.before = answer_from(before_);
    out_.after = answer_from(after_);
    out_.same_boot = !before_.boot_id.empty() && before_.boot_id == after_.boot_id;
    if (before_.wall && after_.wall) out_.seconds = *after_.wall - *before_.wall;
    samples();
    named("jetmem version", before_.version, after_.version, out_.facts);
    named("CMA", unmet_request(before_.samples), unmet_request(after_.samples), out_.facts);
    sources();
    alerts();
    return std::move(out_);
  }

 private:
  static void named(const std::string& name, const std::string& before, const std::string& after,
                    std::vector<DiffAnswer::Named>& to) {
    if (before != after) to.push_back({name, before, after});
  }

  void samples() {
    std::map<std::string, std::pair<const Sample*, const Sample*>> pairs;
    for (const Sample& sample : before_.samples.all()) pairs[sample.name.key()].first = &sample;
    for (const Sample& sample : after_.samples.all()) pairs[sample.name.key()].second = &sample;
    std::map<std::string, std::vector<DiffChange>> families;
    std::map<std::string, std::pair<std::string, std::string>> infos;
    std::uint64_t kept = 0;
    for (const auto& [key, pair] : pairs) {
      const auto& [before, after] = pair;
      const std::string& family = (before != nullptr ? before : after)->name.family;
      if (family.ends_with("_info")) {
        for (const auto* each : {before, after}) {
          if (each == nullptr) continue;
          for (const auto& [label, value] : each->name.labels) {
            auto& fact = infos[family + " " + label];
            (each == before ? fact.first : fact.second) += value + " ";
          }
        }
        continue;
      }
      if (before == nullptr || after == nullptr) {
        // What could not be read there is neither new nor gone.
        if (std::string why = unread(family, before == nullptr ? before_ : after_); !why.empty()) {
          ++unread_[(before == nullptr ? "before: " : "after: ") + std::move(why)];
          continue;
        }
      }
      DiffChange change = change_of(key, family, before, after);
      if (change.weight == 0) continue;
      if (change.weight < 1 && !all_) {
        ++out_.small;
      } else if (++kept > DiffAnswer::kMostChanges) {
        ++out_.omitted;
      } else {
        families[family].push_back(std::move(change));
      }
    }
    for (const auto& [why, count] : unread_) {
      out_.unknown.push_back(std::to_string(count) + " series " + why);
    }
    for (auto& [name, fact] : infos) {
      named(name, std::string(trim(fact.first)), std::string(trim(fact.second)), out_.facts);
    }
    const auto heavier = [](const DiffChange& a, const DiffChange& b) {
      return a.weight > b.weight;
    };
    for (auto& [family, changes] : families) {
      std::stable_sort(changes.begin(), changes.end(), heavier);
      out_.sections.push_back({family, std::move(changes)});
    }
    std::stable_sort(out_.sections.begin(), out_.sections.end(), [&](const auto& a, const auto& b) {
      return heavier(a.changes.front(), b.changes.front());
    });
  }

  // Why values of a metric are missing there; empty: they were read, or that is not known.
  static std::string unread(const std::string& family, const DeviceNow& there) {
    const auto known = MetricCatalog::of_jetmem().find(family);
    if (!known) return {};
    for (const std::string_view name : known->sources) {
      // Of earlier moments the history knows this much.
      if (there.sources.empty() &&
          there.samples.value("jetmem_source_failing", {{"source", name}}).value_or(0) > 0) {
        return "source " + std::string(name) + " failed";
      }
      const SourceNow* source = there.source(name);
      if (source == nullptr || source->state == "absent") continue;
      if (std::string why = there.absence_reason(name); !why.empty()) return why;
    }
    return {};
  }

  DiffChange change_of(const std::string& key, const std::string& family, const Sample* before,
                       const Sample* after) const {
    DiffChange change;
    change.key = key;
    change.family = family;
    change.is_counter = is_counter(family);
    if (before != nullptr) change.before = before->value;
    if (after != nullptr) change.after = after->value;
    if (before == nullptr || after == nullptr) {
      change.how = before == nullptr ? How::kAppeared : How::kVanished;
      // A value that was absent before or after is not known to have changed.
      const double value = change.before.value_or(change.after.value_or(0));
      DiffChange whole = change;
      whole.is_counter = false;
      change.weight = value == 0 ? 0.3 : std::max(0.5, weight_of(whole) * 0.8);
      return change;
    }
    if (change.is_counter) {
      double growth = *change.after - *change.before;
      const bool other_boot =
          !out_.same_boot && !before_.boot_id.empty() && !after_.boot_id.empty();
      if (growth < 0 || other_boot) {
        // Its growth before the reset is unknown.
        change.note = "reset";
        if (*change.before == 0 && *change.after == 0) return change;
        change.weight = *change.after == 0 ? 0.3 : weight_of(change);
        if (change.weight == 0) change.weight = 1;
        return change;
      }
      if (growth == 0 && change.note.empty()) return change;
      if (out_.seconds && *out_.seconds > 0) change.per_hour = growth / *out_.seconds * 3600;
    }
    change.weight = weight_of(change);
    return change;
  }

  static std::string state_of(const SourceNow& source) {
    return source.state + (source.reason.empty() ? "" : ": " + source.reason);
  }

  void sources() {
    if (before_.sources.empty() || after_.sources.empty()) {
      out_.unknown.emplace_back("states of sources: the history does not store them");
      return;
    }
    for (const SourceNow& before : before_.sources) {
      const SourceNow* after = after_.source(before.name);
      if (after == nullptr) {
        out_.sources.push_back({before.name, before.state, ""});
      } else if (after->state != before.state) {
        out_.sources.push_back({before.name, state_of(before), state_of(*after)});
      }
    }
    for (const SourceNow& after : after_.sources) {
      if (before_.source(after.name) == nullptr) {
        out_.sources.push_back({after.name, "", state_of(after)});
      }
    }
  }

  struct AlertState {
    std::string rule;
    std::string state;
  };
  static std::map<std::string, AlertState> states(const AlertsAnswer& answer) {
    std::map<std::string, AlertState> out;
    for (const AlertsAnswer::Rule& rule : answer.rules) {
      for (const AlertsAnswer::Alert& alert : rule.alerts) {
        SeriesName name{rule.name, {}};
        for (const auto& [label, value] : alert.labels) name.labels.emplace_back(label, value);
        out[name.key()] = {rule.name, alert.state};
      }
    }
    return out;
  }

  // Of a rule without this alert there: empty where that means that it was inactive.
  static std::string state_without(const AlertsAnswer& there, const std::string& rule) {
    const auto found = std::find_if(there.rules.begin(), there.rules.end(),
                                    [&](const auto& each) { return each.name == rule; });
    if (found == there.rules.end()) return there.rules_omitted > 0 ? "unknown" : "no such rule";
    if (!is_unknown(*found)) return {};
    const std::string& why = found->blind.empty() ? found->needs_history : found->blind;
    return why.empty() ? "unknown" : "unknown: " + why;
  }
  static bool is_unknown(const AlertsAnswer::Rule& rule) {
    return rule.state == "unknown" || !rule.blind.empty();
  }

  void alerts() {
    if (!before_.alerts && !after_.alerts && before_.no_alerts == after_.no_alerts) {
      out_.unknown.push_back("alerts: " +
                             (after_.no_alerts.empty() ? "not evaluated" : after_.no_alerts));
      return;
    }
    for (const DeviceNow* now : {&before_, &after_}) {
      if (now->alerts) continue;
      out_.unknown.push_back("alerts " + std::string(now == &before_ ? "before" : "after") + ": " +
                             (now->no_alerts.empty() ? "not evaluated" : now->no_alerts));
    }
    if (!before_.alerts || !after_.alerts) return;
    auto before = states(*before_.alerts);
    auto after = states(*after_.alerts);
    for (const auto& [name, alert] : before) {
      after.try_emplace(name, AlertState{alert.rule, state_without(*after_.alerts, alert.rule)});
    }
    for (const auto& [name, alert] : after) {
      const auto known = before.try_emplace(
          name, AlertState{alert.rule, state_without(*before_.alerts, alert.rule)});
      named(name, known.first->second.state, alert.state, out_.alerts);
    }
    for (const DeviceNow* now : {&before_, &after_}) {
      const auto& rules = now->alerts->rules;
      const auto count = std::count_if(rules.begin(), rules.end(), is_unknown);
      if (count == 0) continue;
      out_.unknown.push_back("alerts " + std::string(now == &before_ ? "before" : "after") + ": " +
                             std::to_string(count) + " of " + std::to_string(rules.size()) +
                             " rules are unknown");
    }
  }

  const DeviceNow& before_;
  const DeviceNow& after_;
  bool all_;
  DiffAnswer out_;
  std::map<std::string, std::uint64_t> unread_;  // series, by side and reason
};

std::string_view move_kind_name(How how) {
  if (how == How::kMoved) return "changed";
  return how == How::kAppeared ? "appeared" : "disappeared";
}

}  // namespace

DiffAnswer diff_of(const DeviceNow& before, const DeviceNow& after, bool all) {
  return Comparing(before, after, all).answer();
}

static void describe(json::Fields& v, DiffAnswer::Named& each) {
  v("name", each.name);
  v.unless_empty("before", each.before);
  v.unless_empty("after", each.after);
}

static void describe(json::Fields& v, DiffChange& change) {
  v("series", change.key);
  v.output("change", std::string(move_kind_name(change.how)));
  v("counter", change.is_counter);
  v("before", change.before);
  v("after", change.after);
  v("per_hour", change.per_hour);
  v.unless_empty("note", change.note);
}

static void describe(json::Fields& v, DiffAnswer& answer) {
  describe_head(v, DiffAnswer::kSchema, answer.after);
  v("before", answer.before);
  v("same_boot", answer.same_boot);
  v("elapsed_seconds", answer.seconds);
  std::vector<DiffChange> changes;
  for (const DiffAnswer::Section& section : answer.sections) {
    changes.insert(changes.end(), section.changes.begin(), section.changes.end());
  }
  v("changes", changes);
  v("small_changes", answer.small);
  v("changes_omitted", answer.omitted);
  v("facts", answer.facts);
  v("sources", answer.sources);
  v("alerts", answer.alerts);
  v("not_compared", answer.unknown);
  v("events", answer.events);
  v("more_events", answer.more_events);
}

std::string diff_json(const DiffAnswer& answer) { return json::write(answer); }

}  // namespace jetmem
