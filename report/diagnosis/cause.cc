// SPDX-License-Identifier: Apache-2.0
#include "report/diagnosis/cause.h"

#include <algorithm>
#include <array>
#include <optional>

#include "base/text/text.h"
#include "collectors/kernel_log/event/attention.h"
#include "collectors/kernel_log/event/kinds.h"
#include "report/diagnosis/kind_care.h"
#include "report/diagnosis/known_issues.h"
#include "report/events/kernel_event_record.h"

namespace jetmem::diagnosis {
namespace {

// Lines of several CPUs may come out of order.
constexpr Nanoseconds kOneSecond = std::chrono::seconds(1);

constexpr std::array<const CauseGroup*, 4> kGroups{&kDmaCauses, &kMemoryCauses, &kGpuCauses,
                                                   &kHardwareCauses};

std::string as_sentence(std::string_view clause) {
  std::string out(clause);
  if (out.empty()) return out;
  if (out[0] >= 'a' && out[0] <= 'z') out[0] = static_cast<char>(out[0] - ('a' - 'A'));
  if (out.back() != '.') out += '.';
  return out;
}

// A kind as such: its usual meaning.
Cause cause_of_kind(const EventFields& event) {
  Cause out;
  out.id = event.kind();
  std::replace(out.id.begin(), out.id.end(), '_', '-');
  out.of_kind = true;
  if (const auto kind = kernel_log::kind_named(event.kind())) {
    const kernel_log::KindInfo& info = kernel_log::info_of(*kind);
    out.cause = as_sentence(info.meaning);
    out.remedy = as_sentence(info.remedy);
    // Most errors of a camera are single damaged frames; huge pages are optional.
    const bool usually_harmless =
        (event.kind() == "camera_error" || event.kind() == "hugetlb_failure") && !event.are_known();
    if (info.level == LogLevel::kInfo || usually_harmless) out.harm = Harm::kNone;
  }
  return out;
}

// What the message of a site's own says. False: nothing.
bool take_own_words(const EventFields& event, Cause& out) {
  const std::string_view cause = event.text(kMessageCause);
  const std::string_view remedy = event.text(kMessageRemedy);
  if (event.kind() == "custom" && event.text("harmless") == "true") out.harm = Harm::kNone;
  if (cause.empty() && remedy.empty()) return false;
  out.id = std::string(event.text("message"));
  out.of_kind = false;
  if (!cause.empty()) out.cause = as_sentence(printable(cause, 1000));
  if (!remedy.empty()) out.remedy = as_sentence(printable(remedy, 1000));
  return true;
}

Cause cause_of(const EventFields& event, const MachineFacts& facts, const LogContent& log) {
  Values values;
  if (const std::string device = event.device(); !device.empty()) values["dev"] = device;
  const Case it{event, facts, log, values};
  Cause out = cause_of_kind(event);
  const bool is_explained = take_own_words(event, out);
  for (const CauseGroup* group : kGroups) {
    if (is_explained) break;
    // Without fields nothing can be tested.
    if (!event.are_known()) break;
    const std::string_view id = group->choose(it);
    if (id.empty()) continue;
    const auto text = std::find_if(group->texts.begin(), group->texts.end(),
                                   [&](const CauseText& each) { return each.id == id; });
    if (text == group->texts.end()) continue;
    out.id = std::string(id);
    out.of_kind = false;
    out.harm = text->harm;
    out.cause = fill(text->cause, values);
    out.remedy = fill(text->remedy, values);
    out.runbook = std::string(text->runbook);
    out.follows = text->follows;
    break;
  }
  if (const auto of = values.find("of"); of != values.end()) out.about = of->second;
  const KindCare* care = care_of(out.about.empty() ? event.kind() : out.about);
  if (care != nullptr && out.runbook.empty()) {
    out.runbook = std::string(care->runbook);
  }
  out.kind = event.kind();
  out.device = event.device();
  return out;
}

bool is_bus_error(const EventFields& event) {
  return is_serror(event) || (event.kind() == "bus_error" && !is_dma_engine_timeout(event));
}

bool is_cpu_stall(const EventFields& event) {
  return event.kind() == "rcu_stall" || event.kind() == "soft_lockup" ||
         event.kind() == "hard_lockup";
}

// Whether `later` may be what `event` led to. Without times of both it may.
bool may_lead_to(const EventRecord& event, const EventRecord& later,
                 Nanoseconds longest = std::chrono::minutes(10)) {
  const auto within = [&](Nanoseconds passed) {
    return passed >= -kOneSecond && passed <= longest;
  };
  if (event.at && later.at && event.boot == later.boot) return within(*later.at - *event.at);
  return !event.wall || !later.wall || within(*later.wall - *event.wall);
}

// A fault of one program's work says nothing about another's.
bool may_be_same_work(const EventFields& fault, const EventFields& later) {
  constexpr std::array kOfOneProgram{8.0, 13.0, 31.0, 32.0, 43.0, 69.0, 94.0};
  const auto xid = fault.number("xid");
  const bool of_one =
      !xid || std::find(kOfOneProgram.begin(), kOfOneProgram.end(), *xid) != kOfOneProgram.end();
  return !of_one || !fault.has("pid") || !later.has("pid") ||
         fault.number("pid") == later.number("pid");
}

bool is_of_group(const EventFields& event) {
  return event.kind() == "oom_kill_memcg" || event.text("constraint") == "MEMCG" ||
         event.text("global") == "false";
}

// The lines of one call of the OOM killer are events of several kinds: which of them it killed, and
// in whose limit, stands in the later ones.
void note_oom_group(std::span<const EventFields> fields, std::size_t at, LogContent& log) {
  log.oom_of_group = is_of_group(fields[at]);
  log.oom_group.clear();
  const auto take = [&](const EventFields& event) {
    for (const std::string_view name : {"oom_memcg", "task_memcg"}) {
      if (log.oom_group.empty()) log.oom_group = printable(event.text(name), 100);
    }
  };
  take(fields[at]);
  for (std::size_t i = at; i-- > 0 && log.oom_of_group && fields[i + 1].kind() != "oom_invoked";) {
    if (log.oom_group.empty() && is_of_group(fields[i])) take(fields[i]);
  }
  const bool call = fields[at].kind() == "oom_invoked";
  for (std::size_t i = at + 1; i < fields.size() && fields[i].kind() != "oom_invoked"; ++i) {
    if (!fields[i].kind().starts_with("oom_kill")) continue;
    if (call) log.oom_of_group = log.oom_of_group || is_of_group(fields[i]);
    if (log.oom_of_group && is_of_group(fields[i])) take(fields[i]);
    if (fields[i].kind() != "oom_kill_info") break;
  }
}

// What the event adds to what is known of the log.
void note(const EventFields& event, std::uint64_t count, LogContent& log) {
  log.kinds.insert(event.kind());
  log.uncorrected_memory = log.uncorrected_memory || is_uncorrected_memory(event);
  if (is_storage_failure(event)) log.storage_errors[event.device()] += count;
}

// Nothing: the event has no such report.
std::optional<MemoryReport> report_in(const EventFields& event) {
  MemoryReport out;
  out.swap_free_kb = event.number({"swap_free_kb", "free_swap_kb"});
  out.swap_total_kb = event.number({"swap_total_kb", "total_swap_kb"});
  out.slab_pages = event.number("slab_unreclaimable_pages");
  out.ram_pages = event.number("ram_pages");
  if (!out.swap_free_kb && !out.slab_pages) return std::nullopt;
  return out;
}

// The report of memory of the call that the event at `at`, one of the OOM killer's, is of: the
// nearest one before it, or up to the kill that ends the call.
MemoryReport report_of_oom(std::span<const EventRecord* const> events,
                           std::span<const EventFields> fields, std::size_t at) {
  // What one call prints, also on a slow console.
  constexpr Nanoseconds kCall = std::chrono::seconds(10);
  const auto is_part = [&](std::size_t i) {
    return fields[i].kind().starts_with("oom_") || fields[i].kind() == "memory_report";
  };
  const auto is_kill = [&](std::size_t i) {
    return fields[i].kind() == "oom_kill" || fields[i].kind() == "oom_kill_memcg";
  };
  for (std::size_t i = at + 1; i-- > 0;) {
    if (!is_part(i)) continue;
    if ((i != at && is_kill(i)) || !may_lead_to(*events[i], *events[at], kCall)) break;
    if (const auto report = report_in(fields[i])) return *report;
    if (fields[i].kind() == "oom_invoked") break;
  }
  for (std::size_t i = at + 1; i < fields.size() && !is_kill(i - 1); ++i) {
    if (!is_part(i)) continue;
    if (fields[i].kind() == "oom_invoked" || !may_lead_to(*events[at], *events[i], kCall)) break;
    if (const auto report = report_in(fields[i])) return *report;
  }
  return {};
}

// Of each event of the OOM killer, whom that call of it killed.
std::vector<std::string> victims_of(std::span<const EventFields> fields) {
  std::vector<std::string> out(fields.size());
  std::string victim;
  for (std::size_t i = fields.size(); i-- > 0;) {
    const std::string& kind = fields[i].kind();
    if (!kind.starts_with("oom_")) continue;
    const std::string comm = printable(fields[i].text("comm"), 64);
    // Who invoked the killer comes before what tells whom it killed; that one is gone later.
    const bool is_kill = kind.starts_with("oom_kill");
    if (is_kill && !comm.empty()) victim = comm;
    out[i] = is_kill || kind == "oom_invoked" || comm.empty() ? victim : comm;
    if (kind == "oom_invoked") victim.clear();
  }
  return out;
}

// Roots before what follows from them; harmless ones last.
std::size_t rank_of(const Cause& cause) {
  const KindCare* const care = care_of(cause.kind);
  const std::size_t at =
      care == nullptr ? all_care().size() : static_cast<std::size_t>(care - all_care().data());
  return at + (cause.harm == Harm::kNone ? 1000 : cause.follows ? 500 : 0);
}

// An optical or floppy drive, a loop device: no disk of the machine.
bool is_removable_or_image(std::string_view dev) {
  for (const std::string_view prefix : {"sr", "fd", "loop"}) {
    if (dev.starts_with(prefix) && dev.size() > prefix.size() && is_digit(dev[prefix.size()])) {
      return true;
    }
  }
  return false;
}

}  // namespace

bool is_serror(const EventFields& event) {
  return (event.kind() == "memory_error" || event.kind() == "bus_error") &&
         event.text("error") == "SError";
}

bool is_dma_engine_timeout(const EventFields& event) {
  return event.kind() == "bus_error" && event.says("dma burst completion");
}

bool is_of_other_hardware(const EventFields& event) {
  if (event.kind() != "memory_error") return false;
  // The severities of APEI; others print theirs in other words.
  const std::string_view severity = event.text("severity");
  const bool apei = severity == "corrected" || severity == "recoverable" || severity == "fatal" ||
                    severity == "info";
  if (!apei && !event.has("ghes") && !event.has("section_type")) return false;
  return !contains(event.text("section_type"), "memory") && !event.has("physical_address") &&
         !event.has("location") && !event.has("label") &&
         !contains(event.text("error_type"), "ECC");
}

bool follows_gpu_fault(const EventFields& event) {
  const auto xid = event.number("xid");
  // NOLINTNEXTLINE(misc-redundant-expression): two numbers
  if (xid == 45 || xid == 154) return true;
  return event.kind() == "gpu_error" &&
         (event.number({"notifier"}) == 31 || contains(event.text("status"), "BUS_FAULT"));
}

bool is_uncorrected_memory(const EventFields& event) {
  if (event.kind() != "memory_error" && event.kind() != "gpu_ecc_error") return false;
  if (is_of_other_hardware(event)) return false;
  return kernel_log::error_severity(event.text("severity"), event.text("outcome")) ==
         kernel_log::ErrorSeverity::kUncorrected;
}

bool is_storage_failure(const EventFields& event) {
  return event.kind() == "storage_error" && !event.says("polled") &&
         !is_removable_or_image(event.device());
}

std::string_view harm_name(Harm harm) {
  static constexpr std::array<std::string_view, 3> kNames{"none", "warning", "critical"};
  return kNames[static_cast<std::size_t>(harm)];
}

std::string fill(std::string_view text, const Values& values) {
  // Whether all names up to the closing brace of an optional part are known, and where it ends.
  const auto part_of = [&](std::string_view rest) {
    std::size_t depth = 1;
    std::size_t end = 0;
    while (end < rest.size() && depth > 0) {
      if (rest[end] == '{') ++depth;
      if (rest[end] == '}') --depth;
      ++end;
    }
    return rest.substr(0, end == 0 ? 0 : end - 1);
  };
  std::string out;
  while (!text.empty()) {
    const std::size_t open = text.find('{');
    out += text.substr(0, open);
    if (open == std::string_view::npos) break;
    text.remove_prefix(open + 1);
    const std::string_view part = part_of(text);
    text.remove_prefix(std::min(part.size() + 1, text.size()));
    if (part.starts_with('?')) {
      bool known = true;
      std::string_view rest = part.substr(1);
      for (std::size_t at = rest.find('{'); at != std::string_view::npos; at = rest.find('{')) {
        rest.remove_prefix(at + 1);
        known = known && values.contains(rest.substr(0, rest.find('}')));
      }
      if (known) out += fill(part.substr(1), values);
      continue;
    }
    const auto value = values.find(part);
    out += value != values.end() ? value->second : part == "dev" ? "a device" : "an unknown value";
  }
  return out;
}

std::span<const CauseGroup* const> cause_groups() { return kGroups; }

std::vector<std::string_view> cause_ids() {
  std::vector<std::string_view> out;
  for (const CauseGroup* group : kGroups) {
    for (const CauseText& each : group->texts) out.push_back(each.id);
  }
  return out;
}

std::vector<Cause> explain(std::span<const EventRecord* const> events, const MachineFacts& facts) {
  std::vector<EventFields> fields;
  fields.reserve(events.size());
  for (const EventRecord* event : events) fields.emplace_back(*event);
  LogContent log;
  std::vector<const EventRecord*> bus_errors;
  for (std::size_t i = 0; i < events.size(); ++i) {
    note(fields[i], events[i]->count, log);
    if (is_bus_error(fields[i])) bus_errors.push_back(events[i]);
  }
  const std::vector<std::string> victims = victims_of(fields);
  std::vector<Cause> out;
  const auto add = [&](Cause cause, std::uint64_t count) {
    // Beyond so many they are one again.
    constexpr std::ptrdiff_t kMostOfOneId = 8;
    const auto of_id = [&](const Cause& each) {
      return each.id == cause.id && (each.device == cause.device || cause.device.empty());
    };
    const auto same = std::find_if(out.begin(), out.end(), [&](const Cause& each) {
      return of_id(each) && (each.about == cause.about || cause.about.empty());
    });
    if (same == out.end() && std::count_if(out.begin(), out.end(), of_id) >= kMostOfOneId) {
      const auto last = std::find_if(out.rbegin(), out.rend(), of_id);
      last->events += count;
      return;
    }
    if (same != out.end()) {
      same->events += count;
      // A later event may know more, as a number that the first did not print.
      if (cause.cause.size() > same->cause.size()) {
        same->cause = std::move(cause.cause);
        same->remedy = std::move(cause.remedy);
      }
      return;
    }
    cause.events = count;
    out.push_back(std::move(cause));
  };
  std::optional<std::size_t> oom;    // the OOM killer's last call
  std::optional<std::size_t> stall;  // of a CPU
  struct GpuFault {
    std::size_t event;
    std::string cause;
  };
  std::map<std::string, GpuFault> gpu_faults;  // the last one of each GPU
  for (std::size_t i = 0; i < events.size(); ++i) {
    const EventRecord& event = *events[i];
    if (event.what != EventWhat::kKernel || event.origin == "probe") continue;
    if (event.kind == "oom_invoked") oom = i;
    const bool its = oom && may_lead_to(*events[*oom], event);
    log.oom_for = its ? printable(fields[*oom].text("comm"), 64) : "";
    log.oom_for_nvmap = its && fields[*oom].text("allocator") == "nvmap";
    log.report = {};
    if (event.kind.starts_with("oom_")) {
      note_oom_group(fields, i, log);
      log.report = report_of_oom(events, fields, i);
    }
    log.bus_error = std::any_of(bus_errors.begin(), bus_errors.end(),
                                [&](const EventRecord* each) { return may_lead_to(*each, event); });
    log.cpu_stall = stall && may_lead_to(*events[*stall], event);
    if (is_cpu_stall(fields[i])) stall = i;
    log.gpu_fault.clear();
    log.gpu_fault_xid.reset();
    const auto fault = gpu_faults.find(fields[i].device());
    if (fault != gpu_faults.end() && may_lead_to(*events[fault->second.event], event) &&
        may_be_same_work(fields[fault->second.event], fields[i])) {
      log.gpu_fault = fault->second.cause;
      log.gpu_fault_xid = fields[fault->second.event].number({"xid"});
    }
    Cause cause = cause_of(fields[i], facts, log);
    const bool faults = event.kind == "gpu_mmu_fault" || fields[i].number("xid");
    if (faults && !follows_gpu_fault(fields[i])) {
      gpu_faults[fields[i].device()] = {i, cause.of_kind ? "" : cause.id};
    }
    if (!victims[i].empty()) cause.about = victims[i];
    add(std::move(cause), event.count);
    for (Cause& issue : known_issues_of(fields[i], facts, log)) add(std::move(issue), event.count);
  }
  // A line that was cut says no more than its kind; the others of that kind say what it is.
  for (std::size_t i = 0; i < out.size();) {
    const auto special = std::find_if(out.begin(), out.end(), [&](const Cause& each) {
      return each.kind == out[i].kind && !each.of_kind && each.link.empty();
    });
    if (!out[i].of_kind || special == out.end()) {
      ++i;
      continue;
    }
    special->events += out[i].events;
    out.erase(out.begin() + static_cast<std::ptrdiff_t>(i));
  }
  // NvMap and the program above it print the same refusal: the program knows its size.
  const bool told = std::any_of(out.begin(), out.end(), [](const Cause& each) {
    return each.kind == "cuda_alloc_failure" || each.kind == "program_alloc_failure";
  });
  if (told) {
    std::erase_if(out, [](const Cause& each) {
      return each.kind == "nvmap" && each.id == "gpu-buffer-refused";
    });
  }
  std::stable_sort(out.begin(), out.end(),
                   [](const Cause& a, const Cause& b) { return rank_of(a) < rank_of(b); });
  return out;
}

}  // namespace jetmem::diagnosis
