// SPDX-License-Identifier: Apache-2.0
#include "report/status/culprit.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "base/text/text.h"
#include "report/answers/holder_names.h"
#include "report/answers/top_answer.h"
#include "report/diagnosis/format.h"

namespace jetmem {
namespace {

// Labels that name somebody, rather than a place or a kind.
constexpr std::array<std::string_view, 6> kNaming{"client", "device",  "process",
                                                  "comm",   "command", "source"};
// What programs fill up together: the largest of them is the one to stop.
constexpr std::array<std::string_view, 9> kMemoryMetrics{"jetmem_memory_",
                                                         "jetmem_meminfo_",
                                                         "jetmem_pressure_stall_ratio",
                                                         "jetmem_trend_",
                                                         "jetmem_vmstat_pswpin_total",
                                                         "jetmem_zone_watermark_",
                                                         "jetmem_swap_",
                                                         "jetmem_zram_",
                                                         "jetmem_buddy_"};
// In a minute, of what is in the machine: slower growth explains no shortage of now.
constexpr double kFastPerMinute = 0.01;
// Of a trend over hours.
constexpr double kSlowPerHour = 1 << 20;
// Events that an alert on recent ones still speaks of.
constexpr double kRecent = 600;

std::string_view naming_label(const Labels& labels) {
  for (const std::string_view name : kNaming) {
    for (const auto& [key, value] : labels) {
      if (key == name && !value.empty() && value != "unknown" && value != "other") return value;
    }
  }
  return {};
}

bool is_about(const AlertsAnswer::Rule& rule, std::string_view metric) {
  return std::any_of(rule.conditions.begin(), rule.conditions.end(), [&](const auto& condition) {
    return condition.expression.find(metric) != std::string::npos;
  });
}

bool is_about_memory(const AlertsAnswer::Rule& rule) {
  return std::any_of(kMemoryMetrics.begin(), kMemoryMetrics.end(),
                     [&](std::string_view metric) { return is_about(rule, metric); });
}

Culprit holder_of(const TopAnswer::Group& group, const char* role) {
  return {holder_name(group.command, group.unit, group.container), role, group.total,
          group.growth && *group.growth > 0 ? group.growth : std::nullopt};
}

// The one that grows, if one does so fast enough to explain it, else the one that holds most.
Suspect memory_suspect(const AlertsAnswer::Rule& rule, const DeviceNow& now) {
  const TopAnswer top = top_answer(now, {TopSort::kTotal, 1'000});
  const bool is_trend = is_about(rule, "jetmem_trend_");
  const double total = now.samples.meminfo("MemTotal").value_or(0);
  const TopAnswer::Group* fastest = nullptr;
  double rate = is_trend ? kSlowPerHour / 3600 : total * kFastPerMinute / 60;
  const TopAnswer::Group* largest = nullptr;
  for (const TopAnswer::Group& group : top.groups) {
    if (is_rest(group.command, group.unit, group.container)) continue;
    if (largest == nullptr) largest = &group;
    const double grows = (is_trend ? group.trend : group.growth).value_or(0);
    if (grows > rate) {
      rate = grows;
      fastest = &group;
    }
  }
  if (fastest != nullptr) {
    Culprit growing = holder_of(*fastest, "growing");
    growing.growth = rate;
    return {growing, {}};
  }
  std::optional<Culprit> found;
  const char* const role = top.incomplete.empty() ? "largest holder" : "largest holder seen";
  if (largest != nullptr) found = holder_of(*largest, role);
  for (const OtherHolder& other : other_holders()) {
    const auto bytes = now.samples.sum(other.family);
    // What processes hold is only known to be less where processes are known.
    if (!bytes || largest == nullptr || *bytes <= largest->total) continue;
    if (!found->bytes || *bytes > *found->bytes) found = {other.name, role, bytes, {}};
  }
  if (found) return {found, {}};
  return {{}, "largest holder not known: " + absence_reason(top.absent, "groups")};
}

bool is_recent(const EventRecord& event, const DeviceNow& now) {
  if (event.boot != 0 && event.boot != now.boot) return false;
  return !event.at || now.since_boot <= 0 || now.since_boot - to_seconds(*event.at) <= kRecent;
}

// Whom the newest event names of those that `matches`.
template <class Matches>
std::optional<Culprit> named_by_event(const DeviceNow& now, const Matches& matches) {
  for (const EventRecord& event : now.events) {
    if (event.what != EventWhat::kKernel || event.origin == "probe" || event.subject.empty()) {
      continue;
    }
    if (!matches(std::string_view(event.kind)) || !is_recent(event, now)) continue;
    const bool killed = event.kind.starts_with("oom_kill");
    return Culprit{printable(event.subject, 64), killed ? "killed" : "named by the kernel", {}, {}};
  }
  return std::nullopt;
}

std::optional<Culprit> event_suspect(const AlertsAnswer::Rule& rule,
                                     const AlertsAnswer::Alert& alert, const DeviceNow& now) {
  const auto kind = std::find_if(alert.labels.begin(), alert.labels.end(),
                                 [](const auto& label) { return label.first == "kind"; });
  if (is_about(rule, "jetmem_kernel_recent_events")) {
    return named_by_event(now, [&](std::string_view each) {
      if (kind != alert.labels.end()) return each == kind->second;
      return is_about(rule, "\"" + std::string(each) + "\"");
    });
  }
  if (is_about(rule, "jetmem_smmu_")) {
    return named_by_event(now, [](std::string_view each) { return each.starts_with("smmu_"); });
  }
  if (is_about(rule, "jetmem_cma_") || is_about(rule, "jetmem_dma_")) {
    return named_by_event(now, [](std::string_view each) { return each == "dma_alloc_failure"; });
  }
  return std::nullopt;
}

}  // namespace

Suspect suspect_of(const AlertsAnswer::Rule& rule, const AlertsAnswer::Alert& alert,
                   const DeviceNow& now) {
  if (const std::string_view name = naming_label(alert.labels); !name.empty()) {
    return {Culprit{printable(name, 64), "alert label", {}, {}}, {}};
  }
  // Where the kernel did not print who it was, the last one that it named need not be.
  const bool is_unknown = std::any_of(alert.labels.begin(), alert.labels.end(),
                                      [](const auto& label) { return label.second == "unknown"; });
  if (is_unknown) return {};
  if (auto found = event_suspect(rule, alert, now)) return {found, {}};
  if (is_about_memory(rule)) return memory_suspect(rule, now);
  return {};
}

std::string culprit_text(const Culprit& culprit) {
  std::string out =
      culprit.role == "alert label" ? culprit.name : culprit.role + ": " + culprit.name;
  if (culprit.bytes) out += ", " + doctor::bytes(*culprit.bytes);
  if (culprit.growth && culprit.role == "growing") out += ", +" + doctor::rate(*culprit.growth);
  return out;
}

}  // namespace jetmem
