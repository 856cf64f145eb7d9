// SPDX-License-Identifier: Apache-2.0
#include "report/doctor/who.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "base/json/fields.h"
#include "base/text/text.h"
#include "collectors/kernel_log/event/kinds.h"
#include "report/answers/holder_names.h"
#include "report/answers/top_answer.h"
#include "report/diagnosis/format.h"
#include "report/doctor/next_command.h"

namespace jetmem {
namespace {

// Labels that name somebody, rather than a place or a kind; and in which role.
struct NamingLabel {
  std::string_view label;
  const char* role;
};
constexpr std::array<NamingLabel, 4> kNaming{{{"client", "named by the kernel"},
                                              {"process", "named by the rule"},
                                              {"comm", "named by the rule"},
                                              {"command", "named by the rule"}}};
// What programs fill up together: the largest of them is the one to stop.
constexpr std::array<std::string_view, 7> kMemoryMetrics{"jetmem_memory_",
                                                         "jetmem_meminfo_",
                                                         "jetmem_pressure_stall_ratio",
                                                         "jetmem_trend_",
                                                         "jetmem_vmstat_pswpin_total",
                                                         "jetmem_swap_",
                                                         "jetmem_zram_"};
// In a minute, of what is in the machine: slower growth explains no shortage of now.
constexpr double kFastPerMinute = 0.01;
// Of a trend over hours.
constexpr double kSlowPerHour = 1 << 20;
// Events that an alert on recent ones still speaks of.
constexpr double kRecent = 600;

std::optional<Who> named_by_label(const Labels& labels) {
  for (const NamingLabel& naming : kNaming) {
    for (const auto& [key, value] : labels) {
      if (key != naming.label || value.empty() || value == "unknown" || value == "other") continue;
      Who out;
      out.name = printable(value, 64);
      out.role = naming.role;
      return out;
    }
  }
  return std::nullopt;
}

bool is_about(const AlertsAnswer::Rule& rule, std::string_view metric) {
  return std::any_of(rule.conditions.begin(), rule.conditions.end(), [&](const auto& condition) {
    return condition.expression.find(metric) != std::string::npos;
  });
}

// By its first condition: the others only say when it matters.
bool is_about_memory(const AlertsAnswer::Rule& rule) {
  if (rule.conditions.empty()) return false;
  const std::string& expression = rule.conditions.front().expression;
  return std::any_of(kMemoryMetrics.begin(), kMemoryMetrics.end(), [&](std::string_view metric) {
    return expression.find(metric) != std::string::npos;
  });
}

std::string_view label_of(const Labels& labels, std::string_view name) {
  for (const auto& [key, value] : labels) {
    if (key == name && value != "unknown" && value != "other") return value;
  }
  return {};
}

// The service or container of an alert about its control group.
std::optional<Who> limited_group(const AlertsAnswer::Rule& rule, const Labels& labels) {
  if (!is_about(rule, "jetmem_cgroup_")) return std::nullopt;
  const std::string_view unit = label_of(labels, "unit");
  const std::string_view container = label_of(labels, "container");
  if (unit.empty() && container.empty()) return std::nullopt;
  Who out;
  out.name = container.empty() ? printable(unit, 64) : "container " + printable(container, 40);
  out.role = is_about(rule, "oom_kill") ? "killed" : "at its limit";
  out.unit = printable(unit, 100);
  out.container = printable(container, 100);
  return out;
}

Who holder_of(const TopAnswer::Group& group, const char* role) {
  Who out;
  out.name = holder_name(group.command, group.unit, group.container);
  out.role = role;
  out.unit = printable(group.unit, 100);
  out.container = printable(group.container, 100);
  out.pid = group.pid;
  out.bytes = group.total;
  if (group.growth && *group.growth > 0) out.growth = group.growth;
  return out;
}

Who other_of(const OtherHolder& other, const char* role, std::optional<double> bytes) {
  Who out;
  out.name = other.name;
  out.role = role;
  out.bytes = bytes;
  return out;
}

// What grows over hours and is in no process. `of`: only this one; empty: any.
std::optional<Who> growing_other(const DeviceNow& now, double faster_than,
                                 std::string_view of = {}) {
  for (const OtherHolder& other : other_holders()) {
    if (other.trend.empty() || (!of.empty() && other.trend != of)) continue;
    const auto trend = now.samples.value("jetmem_trend_bytes_per_second", {{"of", other.trend}});
    if (!trend || *trend <= faster_than) continue;
    Who out = other_of(other, "growing", now.samples.sum(other.family));
    out.growth = trend;
    return out;
  }
  return std::nullopt;
}

// The one that grows, if one does so fast enough to explain it, else the one that holds most.
WhoFound memory_suspect(const AlertsAnswer::Rule& rule, const DeviceNow& now) {
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
  if (is_trend) {
    if (auto other = growing_other(now, rate)) return {other, {}};
  }
  if (fastest != nullptr) {
    Who growing = holder_of(*fastest, "growing");
    growing.growth = rate;
    return {growing, {}};
  }
  // The largest holder of all memory says nothing of who makes it shrink.
  if (is_trend) return {{}, "who grows is not known: no program's trend explains it"};
  if (is_about(rule, "jetmem_memory_exhaustion_seconds")) {
    return {
        {},
        "who grows is not known: no program has been seen to grow fast, in the readings so far"};
  }
  std::optional<Who> found;
  const char* const role = top.incomplete.empty() ? "largest holder" : "largest holder seen";
  if (largest != nullptr) found = holder_of(*largest, role);
  for (const OtherHolder& other : other_holders()) {
    const auto bytes = now.samples.sum(other.family);
    // What processes hold is only known to be less where processes are known.
    if (!bytes || largest == nullptr || *bytes <= largest->total) continue;
    if (!found->bytes || *bytes > *found->bytes) found = other_of(other, role, bytes);
  }
  if (found) return {found, {}};
  return {{}, "largest holder not known: " + absence_reason(top.absent, "groups")};
}

bool is_recent(const EventRecord& event, const DeviceNow& now) {
  if (event.boot != 0 && event.boot != now.boot) return false;
  // Of a storm the last one counts.
  const auto last = event.last_at();
  return !last || now.since_boot <= 0 || now.since_boot - to_seconds(*last) <= kRecent;
}

// Empty where the subject is a place, as the heap of a carve-out.
std::string_view role_in(std::string_view kind) {
  if (kind.starts_with("oom_kill")) return "killed";
  if (kind == "nvmap_carveout" || kind == "reserved_memory_failure") return {};
  const auto known = kernel_log::kind_named(kind);
  const bool is_refusal = known && kind != "buffer_leak" &&
                          kernel_log::info_of(*known).group == kernel_log::Group::kAllocation;
  return is_refusal ? "refused" : "named by the kernel";
}

// Whom the newest event names of those that `matches`.
template <class Matches>
std::optional<Who> named_by_event(const DeviceNow& now, const Matches& matches) {
  for (const EventRecord& event : now.events) {
    if (event.what != EventWhat::kKernel || event.origin == "probe" || event.subject.empty()) {
      continue;
    }
    if (!matches(std::string_view(event.kind)) || !is_recent(event, now)) continue;
    const std::string_view role = role_in(event.kind);
    if (role.empty()) continue;
    Who out;
    out.name = printable(event.subject, 64);
    out.role = role;
    return out;
  }
  return std::nullopt;
}

std::optional<Who> event_suspect(const AlertsAnswer::Rule& rule, const AlertsAnswer::Alert& alert,
                                 const DeviceNow& now) {
  const auto kind = std::find_if(alert.labels.begin(), alert.labels.end(),
                                 [](const auto& label) { return label.first == "kind"; });
  // Its area is the subject of a failed CMA allocation: whom it hit is in the device's own message.
  if (is_about(rule, "jetmem_cma_") || is_about(rule, "jetmem_dma_") ||
      is_about(rule, "cma_alloc_failure")) {
    return named_by_event(now, [](std::string_view each) { return each == "dma_alloc_failure"; });
  }
  if (is_about(rule, "jetmem_kernel_recent_events")) {
    return named_by_event(now, [&](std::string_view each) {
      if (kind != alert.labels.end()) return each == kind->second;
      return is_about(rule, "\"" + std::string(each) + "\"");
    });
  }
  if (is_about(rule, "jetmem_smmu_")) {
    return named_by_event(now, [](std::string_view each) { return each.starts_with("smmu_"); });
  }
  return std::nullopt;
}

// The heap of nvmap that the alert is about; empty: not known.
std::string heap_of(const Labels& labels, const DeviceNow& now) {
  if (const std::string_view heap = label_of(labels, "heap"); !heap.empty()) {
    return std::string(heap);
  }
  const auto refusal = std::find_if(now.events.begin(), now.events.end(), [&](const auto& event) {
    return event.what == EventWhat::kKernel && event.origin != "probe" &&
           event.kind == "nvmap_carveout" && is_recent(event, now);
  });
  return refusal == now.events.end() ? std::string() : refusal->subject;
}

// Whose memory more than half of a carve-out is.
WhoFound heap_holder(const Labels& labels, const DeviceNow& now) {
  const std::string heap = heap_of(labels, now);
  if (heap.empty()) return {};
  const std::string unknown = "who holds most of " + printable(heap, 40) + " is not known";
  const auto size = now.samples.value("jetmem_nvmap_carveout_bytes", {{"heap", heap}});
  if (!size) return {{}, unknown + ": " + now.absence_reason("nvmap")};
  const Sample* most = nullptr;
  for (const Sample& each : now.samples.family("jetmem_nvmap_process_bytes")) {
    if (each.label("heap") == heap && each.value > *size / 2) most = &each;
  }
  if (most == nullptr || most->label("process") == "other") {
    return {{}, unknown + ": no process is seen to hold more than half of it"};
  }
  for (const Sample& ended : now.samples.family("jetmem_nvmap_ended_client_bytes")) {
    if (ended.label("process") == most->label("process")) {
      return {{}, unknown + ": a process of the name that it is charged to has ended"};
    }
  }
  Who out;
  const std::string name = printable(most->label("process"), 64);
  const TopAnswer top = top_answer(now, {TopSort::kGpu, 1'000});
  // Another of this name may be among the small ones, which have no group of their own.
  const bool has_all =
      top.incomplete.empty() &&
      std::none_of(top.groups.begin(), top.groups.end(), [](const auto& group) {
        return is_rest(group.command, group.unit, group.container) && group.gpu.value_or(0) > 0;
      });
  const auto group = std::find_if(top.groups.begin(), top.groups.end(), [&](const auto& each) {
    return each.command == name && each.gpu.value_or(0) >= most->value;
  });
  if (has_all && group != top.groups.end()) {
    out = holder_of(*group, "");
    out.growth.reset();
  } else {
    out.name = name;
  }
  out.role = "largest holder";
  out.bytes = most->value;
  return {out, {}};
}

// The name of a unit or container ends up in a command to copy.
bool is_safe_argument(std::string_view text) {
  return !text.empty() && text.front() != '-' && is_plain_word(text);
}

}  // namespace

WhoFound who_of(const AlertsAnswer::Rule& rule, const AlertsAnswer::Alert& alert,
                const DeviceNow& now) {
  if (auto named = named_by_label(alert.labels)) return {named, {}};
  if (auto limited = limited_group(rule, alert.labels)) return {limited, {}};
  if (is_about(rule, "jetmem_dma_")) {
    if (const std::string_view device = label_of(alert.labels, "device"); !device.empty()) {
      Who out;
      out.name = printable(device, 64);
      out.role = "refused";
      return {out, {}};
    }
  }
  // Where the kernel did not print who it was, the last one that it named need not be.
  const bool is_unknown = std::any_of(alert.labels.begin(), alert.labels.end(),
                                      [](const auto& label) { return label.second == "unknown"; });
  if (is_unknown) return {};
  if (is_about(rule, "jetmem_nvmap_carveout_") || is_about(rule, "\"nvmap_carveout\"")) {
    return heap_holder(alert.labels, now);
  }
  if (auto found = event_suspect(rule, alert, now)) return {found, {}};
  for (const auto& [key, value] : alert.labels) {
    if (key != "of" || value == "MemAvailable") continue;
    return {growing_other(now, 0, value), {}};
  }
  if (is_about_memory(rule)) return memory_suspect(rule, now);
  return {};
}

std::string who_text(const Who& who) {
  std::string out = who.role + ": " + who.name;
  if (who.pid) out += ", PID " + doctor::number(*who.pid, 0);
  if (who.bytes) out += ", " + doctor::bytes(*who.bytes);
  if (who.growth && who.role == "growing") out += ", +" + doctor::rate(*who.growth);
  return out;
}

std::string restart_command(const Who& who) {
  const bool is_growing = who.role == "growing";
  const bool is_asked =
      is_growing || who.role == "at its limit" || who.role.starts_with("largest holder");
  if (!is_asked) return {};
  if (is_safe_argument(who.container)) return "docker restart " + who.container;
  // A user's manager is a whole session.
  const bool is_session = who.unit.starts_with("user@");
  if (who.unit.ends_with(".service") && !is_session && is_safe_argument(who.unit)) {
    return "sudo systemctl restart " + who.unit;
  }
  return is_growing && who.pid ? "sudo kill " + doctor::number(*who.pid, 0) : std::string();
}

void describe(json::Fields& v, Who& who) {
  v("name", who.name);
  v("role", who.role);
  v.unless_empty("unit", who.unit);
  v.unless_empty("container", who.container);
  v("pid", who.pid);
  v("bytes", who.bytes);
  v("growth_bytes_per_second", who.growth);
}

}  // namespace jetmem
