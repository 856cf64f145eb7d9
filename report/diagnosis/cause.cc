// SPDX-License-Identifier: Apache-2.0
#include "report/diagnosis/cause.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <optional>
#include <utility>

#include "base/text/text.h"
#include "collectors/kernel_log/event/kinds.h"
#include "report/diagnosis/cause_table.h"
#include "report/diagnosis/conditions.h"
#include "report/diagnosis/known_issues.h"
#include "report/diagnosis/values.h"
#include "report/events/kernel_event_record.h"

namespace jetmem::diagnosis {
namespace {

// Lines of several CPUs may come out of order.
constexpr Nanoseconds kOneSecond = std::chrono::seconds(1);

std::string as_sentence(std::string_view clause) {
  std::string out(clause);
  if (out.empty()) return out;
  if (out[0] >= 'a' && out[0] <= 'z') out[0] = static_cast<char>(out[0] - ('a' - 'A'));
  if (out.back() != '.') out += '.';
  return out;
}

const kernel_log::KindInfo* info_named(std::string_view kind) {
  const auto found = kernel_log::kind_named(kind);
  return found ? &kernel_log::info_of(*found) : nullptr;
}

std::string code_of_kind(std::string kind) {
  std::replace(kind.begin(), kind.end(), '_', '-');
  return kind;
}

// A kind as such: its usual meaning.
Cause cause_of_kind(const EventFields& event) {
  Cause out;
  out.id = code_of_kind(event.kind());
  out.of_kind = true;
  if (const auto* info = info_named(event.kind())) {
    out.cause = as_sentence(info->meaning);
    out.remedy = as_sentence(info->remedy);
    // Most errors of a camera are single damaged frames; huge pages are optional.
    const bool usually_harmless =
        (event.kind() == "camera_error" || event.kind() == "hugetlb_failure") && !event.are_known();
    if (info->level == LogLevel::kInfo || usually_harmless) out.harm = Harm::kNone;
  }
  return out;
}

// What the message of a site's own says. False: nothing.
bool take_own_words(const EventFields& event, Cause& out) {
  const std::string_view cause = event.text(kMessageCause);
  const std::string_view remedy = event.text(kMessageRemedy);
  if (cause.empty() && remedy.empty()) return false;
  out.id = std::string(event.text("message"));
  out.of_kind = false;
  if (!cause.empty()) out.cause = as_sentence(printable(cause, 1000));
  if (!remedy.empty()) out.remedy = as_sentence(printable(remedy, 1000));
  return true;
}

// What words suggest is no fact: neither cause nor remedy.
Cause cause_of_guess(const EventFields& event, std::string_view summary) {
  Cause out;
  out.id = "not-known";
  out.harm = Harm::kNone;
  const auto* const info = info_named(event.kind());
  out.cause = "Not a message that jetmem knows; its words suggest: " +
              std::string(info == nullptr ? event.kind() : info->meaning) + ".";
  std::string line;
  for (const std::string_view name : {"line", "text", "error"}) {
    if (line.empty()) line = printable(event.text(name), 200);
  }
  if (line.empty()) line = printable(summary, 200);
  if (!line.empty()) out.cause += " The line: " + line;
  out.about = event.kind();
  return out;
}

void take_words(const CauseEntry& entry, const Case& of, Cause& out) {
  const Case it{of.event, of.facts, of.log, &entry};
  out.id = entry.id;
  out.of_kind = false;
  out.harm = entry.harm;
  out.cause = fill(entry.cause, it);
  out.remedy = fill(entry.remedy, it);
  out.runbook = entry.runbook;
  out.follows = entry.follows;
}

// The fault before it is the cause: of the log, or as Xid 45 names it.
bool take_gpu_fault(const Case& it, Cause& out) {
  if (!follows_gpu_fault(it.event)) return false;
  const auto named = it.event.number("previous_xid");
  if (!it.log.gpu_fault.empty() && (!named || named == it.log.gpu_fault_xid)) {
    for (const CauseEntry& each : shipped_causes()) {
      if (each.id != it.log.gpu_fault) continue;
      take_words(each, it, out);
      return true;
    }
  }
  if (!named || *named == 45) return false;
  const EventFields before = it.event.with("xid", std::string(it.event.text("previous_xid")));
  const Case as_before{before, it.facts, it.log};
  const CauseEntry* const entry = choose(as_before);
  if (entry != nullptr) take_words(*entry, as_before, out);
  return entry != nullptr;
}

Cause cause_of(const Case& it, const EventRecord& record) {
  Cause out =
      it.event.is_guess() ? cause_of_guess(it.event, record.summary) : cause_of_kind(it.event);
  if (!it.event.is_guess()) {
    const bool is_explained = take_own_words(it.event, out) || take_gpu_fault(it, out);
    const CauseEntry* const entry = is_explained ? nullptr : choose(it);
    if (entry != nullptr) take_words(*entry, it, out);
    if (it.event.kind() == "ratelimit_suppressed") out.about = value_of("of", it).value_or("");
    const auto* const info = info_named(out.about.empty() ? it.event.kind() : out.about);
    if (info != nullptr && out.runbook.empty()) out.runbook = info->runbook;
  }
  if (it.event.is("harmless", "true")) out.harm = Harm::kNone;
  out.kind = it.event.kind();
  out.device = it.event.device();
  return out;
}

bool is_serror(const EventFields& event) {
  return (event.kind() == "memory_error" || event.kind() == "bus_error") &&
         event.is("error", "SError");
}

bool is_bus_error(const EventFields& event) {
  // A DMA engine that hangs is no refused access, a PCIe link's error none of the processor's.
  const std::string_view message = event.message();
  if (event.kind() == "kernel_oops" || message == "external-abort") {
    return conditions::of_bus_error({event, {}, {}});
  }
  return is_serror(event) || (event.kind() == "bus_error" && !message.starts_with("gpcdma-") &&
                              !message.starts_with("pcie-") && message != "edac-pci");
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

bool may_be_of_one_boot(const EventRecord& a, const EventRecord& b) {
  return a.boot == b.boot || a.boot == 0 || b.boot == 0;
}

// What happens at boot and stays so until the next one.
bool lasts_for_the_boot(std::string_view kind) { return kind == "reserved_memory_failure"; }

// Kinds of events within ten minutes of the event at `at`, or at a time that is not known: what
// happened hours before explains nothing, but for what lasts. `of_kind` has their places in
// `events`, which are in order, so that the nearest in the list are those.
std::set<std::string, std::less<>> kinds_near(
    std::span<const EventRecord* const> events,
    const std::map<std::string, std::vector<std::size_t>>& of_kind, std::size_t at) {
  const auto is_near = [&](std::size_t other) {
    return may_lead_to(*events[other], *events[at]) || may_lead_to(*events[at], *events[other]);
  };
  std::set<std::string, std::less<>> out;
  for (const auto& [kind, places] : of_kind) {
    const auto next = std::lower_bound(places.begin(), places.end(), at);
    const bool lasts = lasts_for_the_boot(kind) &&
                       std::any_of(places.begin(), places.end(), [&](std::size_t other) {
                         return may_be_of_one_boot(*events[other], *events[at]);
                       });
    const bool is_in = lasts || (next != places.end() && is_near(*next)) ||
                       (next != places.begin() && is_near(*std::prev(next))) ||
                       is_near(places.back());
    if (is_in) out.insert(kind);
  }
  return out;
}

// The second of the date "Nov 01 10:00:00.123", "[Fri Aug 30 11:43:09 2024]" or "1761991200.123"
// (journalctl -o short-unix).
struct PrintedSecond {
  std::string day;  // all but the time
  int of_day = 0;
};

std::optional<PrintedSecond> printed_second(std::string_view text) {
  constexpr std::uint64_t kDay = 86400;
  if (const auto seconds = parse_u64(text.substr(0, text.find('.')))) {
    return PrintedSecond{std::to_string(*seconds / kDay), static_cast<int>(*seconds % kDay)};
  }
  for (std::size_t at = text.find(':'); at != std::string_view::npos; at = text.find(':', at + 1)) {
    constexpr std::string_view kForm = "00:00:00";
    if (at < 2) continue;
    const std::string_view time = text.substr(at - 2, kForm.size());
    const bool fits = time.size() == kForm.size() &&
                      std::equal(time.begin(), time.end(), kForm.begin(), [](char c, char form) {
                        return form == ':' ? c == ':' : is_digit(c);
                      });
    if (!fits) continue;
    const auto two = [&](std::size_t i) { return (time[i] - '0') * 10 + (time[i + 1] - '0'); };
    std::string_view behind = text.substr(at - 2 + kForm.size());
    if (behind.size() > 1 && !is_blank(behind[0]) && is_digit(behind[1])) {
      behind.remove_prefix(std::min(behind.find_first_not_of("0123456789", 1), behind.size()));
    }
    return PrintedSecond{std::string(text.substr(0, at - 2)).append(behind),
                         two(0) * 3600 + two(3) * 60 + two(6)};
  }
  return std::nullopt;
}

// Within a second, or about midnight, where the days differ.
bool may_be_together(const PrintedSecond& a, const PrintedSecond& b) {
  constexpr int kDay = 86400;
  const int apart = std::abs(a.of_day - b.of_day);
  return a.day == b.day ? apart <= 1 : apart >= kDay - 1;
}

// How often a disk failed: what it was about to do fails together, as many commands as its queue
// had. Of commands that the recorder kept as one only the first and the last have times: each
// second between them may have been a failure of its own. Commands that have only a date are
// counted by that; those without either may all have failed with another.
struct FailedTogether {
  std::int64_t boot = 0;
  std::optional<Nanoseconds> begin;             // of the last second in which commands failed
  std::optional<PrintedSecond> printed_second;  // the same of those that have only a date
  // A log may have one command twice, with a stamp and with a date.
  std::uint64_t by_stamp = 0, by_date = 0, known = 0;
};

std::uint64_t by_stamp(const EventRecord& commands, FailedTogether& last) {
  const bool goes_on = last.begin && last.boot == commands.boot &&
                       *commands.at >= *last.begin - kOneSecond &&
                       *commands.at <= *last.begin + kOneSecond;
  if (!goes_on) {
    last.boot = commands.boot;
    last.begin = commands.at;
  }
  const Nanoseconds end = std::max(commands.last_at().value_or(*last.begin), *last.begin);
  const auto seconds = static_cast<std::uint64_t>((end - *last.begin) / kOneSecond);
  if (seconds > 0) last.begin = end;
  return std::min(commands.count, seconds + (goes_on ? 0 : 1));
}

std::uint64_t by_date(const EventRecord& commands, FailedTogether& last) {
  const auto second = printed_second(commands.printed_time);
  if (!second || (last.printed_second && may_be_together(*last.printed_second, *second))) return 0;
  last.printed_second = second;
  return 1;
}

std::uint64_t further_failures(const EventRecord& commands, FailedTogether& last) {
  if (commands.at) {
    last.by_stamp += by_stamp(commands, last);
  } else {
    last.by_date += by_date(commands, last);
  }
  const std::uint64_t known = std::max({last.by_stamp, last.by_date, std::uint64_t{1}});
  return known - std::exchange(last.known, known);
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

bool is_kill(const EventFields& event) {
  return event.kind() == "oom_kill" || event.kind() == "oom_kill_memcg";
}

bool is_of_oom(const EventFields& event) {
  return event.kind().starts_with("oom_") || event.kind() == "memory_report";
}

// The lines of one call of the OOM killer are events of several kinds, from the one that invoked it
// up to the kill, and what the reaper prints behind that.
LogContent::OomCall oom_call(std::span<const EventRecord* const> events,
                             std::span<const EventFields> fields, std::size_t at) {
  std::size_t begin = at;
  bool behind_kill = fields[at].kind() == "oom_reaper";
  while (begin > 0 && fields[begin].kind() != "oom_invoked") {
    std::size_t before = begin - 1;
    while (before > 0 && !is_of_oom(fields[before])) --before;
    if (!is_of_oom(fields[before]) || !may_lead_to(*events[before], *events[at], kOneOomCall))
      break;
    if (is_kill(fields[before]) && !std::exchange(behind_kill, false)) break;
    begin = before;
  }
  std::size_t end = at + 1;
  const bool goes_on = !is_kill(fields[at]) && fields[at].kind() != "oom_reaper";
  for (std::size_t i = end; goes_on && i < fields.size() && !is_kill(fields[end - 1]); ++i) {
    if (!is_of_oom(fields[i])) continue;
    if (fields[i].kind() == "oom_invoked" || !may_lead_to(*events[at], *events[i], kOneOomCall))
      break;
    end = i + 1;
  }
  LogContent::OomCall out;
  for (std::size_t i = begin; i < end; ++i) {
    const EventFields& event = fields[i];
    if (!is_of_oom(event)) continue;
    const std::string comm = printable(event.text("comm"), 64);
    if (event.kind() == "oom_invoked") {
      out.asker = comm;
      out.for_nvmap = event.is("allocator", "nvmap");
      out.thrashing = event.is("thrashing", "true");
    } else if (event.kind() != "memory_report" && !comm.empty()) {
      out.victim = comm;
    }
    for (const std::string_view set : {"MEMORY_POLICY", "CPUSET"}) {
      out.on_one_node = out.on_one_node || contains(event.text("constraint"), set);
    }
    const bool of_group = event.kind() == "oom_kill_memcg" || event.is("memcg", "true") ||
                          contains(event.text("constraint"), "MEMCG") ||
                          event.is("global", "false");
    out.of_group = out.of_group || of_group;
    out.of_machine = out.of_machine || event.is("memcg", "false") || event.is("global", "true") ||
                     event.is("panic", "true") || contains(event.text("constraint"), "NONE");
    for (const std::string_view name : {"oom_memcg", "task_memcg"}) {
      if (of_group && out.group.empty()) out.group = printable(event.text(name), 100);
    }
    // The nearest before the event, else the first behind it.
    const bool reports = event.has("swap_free_kb") || event.has("free_swap_kb") ||
                         event.has("slab_unreclaimable_pages") || zone_totals(event).free_kb > 0;
    if (reports && (i <= at || out.report == nullptr)) out.report = &event;
  }
  out.of_machine = out.of_machine || out.report != nullptr;
  return out;
}

// Messages of kinds that only a Tegra's drivers and libraries print, and its GPU's.
bool is_of_tegra(const EventFields& event) {
  const std::string& kind = event.kind();
  if (kind == "nvmap" || kind == "nvbufsurface" || kind == "host1x_timeout") return true;
  const std::string device = event.device();
  return device.starts_with("57000000.g") || device.starts_with("17000000.g") ||
         event.message().starts_with("nvgpu-") || contains(device, "tegra-capture-vi");
}

// What the event adds to what is known of the log.
void note(const EventFields& event, const MachineFacts& facts, std::uint64_t count,
          LogContent& log) {
  if (event.is_guess()) return;
  const Case it{event, facts, log};
  const std::string& kind = event.kind();
  log.kinds.insert(kind);
  log.tegra = log.tegra || is_of_tegra(event);
  log.uncorrected_memory = log.uncorrected_memory || is_uncorrected_memory(event);
  // A card that fails is removed by the kernel, too.
  const bool taken_out = event.is("removed", "true") && !event.device().starts_with("mmcblk");
  // What a file system says follows from errors of the storage, or is none of them.
  if (kind == "storage_error" && !event.is("error", "completion polled") &&
      !event.is("error", "file system error") && !event.is("harmless", "true") &&
      !event.has("raw_flash") && !taken_out && !conditions::of_removable_or_image(it)) {
    log.storage_errors[event.device()] += count;
  }
  if (event.message() == "edma-no-descriptor") log.dma_descriptor_refused = true;
  if (kind == "gpu_alloc_failure") {
    log.gpu_refusals.emplace(event.message());
    log.cma_held = std::max(log.cma_held, event.number("bos_kb").value_or(0) * 1024);
  }
  if (kind == "cma_alloc_failure" || kind == "dma_alloc_failure") {
    log.cma_request = std::max(log.cma_request, requested_bytes(it).value_or(0));
    if (event.has("total")) log.cma_area = std::max(log.cma_area.value_or(0), *cma_area(it));
  }
}

// Roots before what follows from them; harmless ones last.
std::size_t rank_of(const Cause& cause) {
  const auto* const info = info_named(cause.kind);
  return (info == nullptr ? 500 : info->rank) + (cause.harm == Harm::kNone ? 2000
                                                 : cause.follows           ? 1000
                                                                           : 0);
}

// NVIDIA's driver names a GPU "0000:01:00" and "0000:01:00.0".
bool may_be_same_device(std::string_view a, std::string_view b) {
  if (a.empty() || b.empty() || a == b) return true;
  return (a.ends_with(".0") && a.substr(0, a.size() - 2) == b) ||
         (b.ends_with(".0") && b.substr(0, b.size() - 2) == a);
}

// Events of one cause and device are one; beyond so many of one cause they are one again.
void add_cause(Cause cause, std::uint64_t count, std::vector<Cause>& out) {
  constexpr std::ptrdiff_t kMostOfOneId = 8;
  const auto of_id = [&](const Cause& each) {
    return each.id == cause.id && may_be_same_device(each.device, cause.device);
  };
  const auto same = std::find_if(out.begin(), out.end(), [&](const Cause& each) {
    return of_id(each) && (each.about == cause.about || cause.about.empty());
  });
  if (same != out.end()) {
    same->events += count;
    same->harm = std::max(same->harm, cause.harm);
    if (same->device.empty()) same->device = cause.device;
    // A later event may know more, as a number that the first did not print.
    if (cause.cause.size() > same->cause.size()) {
      same->cause = std::move(cause.cause);
      same->remedy = std::move(cause.remedy);
    }
    return;
  }
  if (std::count_if(out.begin(), out.end(), of_id) >= kMostOfOneId) {
    Cause& last = *std::find_if(out.rbegin(), out.rend(), of_id);
    last.events += count;
    last.harm = std::max(last.harm, cause.harm);
    return;
  }
  cause.events = count;
  out.push_back(std::move(cause));
}

// What others of the list say better.
void drop_what_is_told(std::vector<Cause>& out) {
  // A line that was cut says no more than its kind; the others of that kind, of no other device,
  // say what it is.
  for (std::size_t i = 0; i < out.size();) {
    const auto special = std::find_if(out.begin(), out.end(), [&](const Cause& each) {
      // What is harmless says nothing of one that may not be.
      return each.kind == out[i].kind && !each.of_kind && each.link.empty() &&
             each.id != "not-known" && (each.harm != Harm::kNone || out[i].harm == Harm::kNone) &&
             (out[i].device.empty() || out[i].device == each.device);
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
}

}  // namespace

std::string_view harm_name(Harm harm) {
  static constexpr std::array<std::string_view, 3> kNames{"none", "warning", "critical"};
  return kNames[static_cast<std::size_t>(harm)];
}

std::vector<Cause> explain(std::span<const EventRecord* const> events, const MachineFacts& facts) {
  std::vector<EventFields> fields;
  fields.reserve(events.size());
  for (const EventRecord* event : events) fields.emplace_back(*event);
  LogContent log;
  std::map<std::string, std::vector<std::size_t>> of_kind;
  std::vector<const EventRecord*> bus_errors;
  std::map<std::string, FailedTogether> failed_commands;  // of each disk
  for (std::size_t i = 0; i < events.size(); ++i) {
    std::uint64_t count = events[i]->count;
    if (fields[i].message() == "ata-command-failed") {
      count = further_failures(*events[i], failed_commands[fields[i].device()]);
    }
    note(fields[i], facts, count, log);
    // What it says of the whole boot is whether there is contiguous memory.
    const bool of_other_area = fields[i].kind() == "reserved_memory_failure" &&
                               !conditions::node_is_cma({fields[i], facts, log});
    if (!fields[i].is_guess() && !of_other_area) of_kind[fields[i].kind()].push_back(i);
    if (is_bus_error(fields[i]) && !fields[i].is_guess()) bus_errors.push_back(events[i]);
  }
  std::vector<Cause> out;
  std::optional<std::size_t> stall;  // of a CPU
  struct GpuFault {
    std::size_t event;
    std::string cause;
  };
  std::map<std::string, GpuFault> gpu_faults;  // the last one of each GPU
  for (std::size_t i = 0; i < events.size(); ++i) {
    const EventRecord& event = *events[i];
    if (event.what != EventWhat::kKernel || event.origin == "probe") continue;
    log.kinds = kinds_near(events, of_kind, i);
    log.oom = {};
    if (is_of_oom(fields[i])) log.oom = oom_call(events, fields, i);
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
      log.gpu_fault_xid = fields[fault->second.event].number("xid");
    }
    const Case it{fields[i], facts, log};
    Cause cause = cause_of(it, event);
    const bool faults = event.kind == "gpu_mmu_fault" || fields[i].number("xid");
    if (faults && !fields[i].is_guess() && !follows_gpu_fault(fields[i])) {
      gpu_faults[fields[i].device()] = {i, cause.of_kind ? "" : cause.id};
    }
    const std::string& victim = log.oom.victim;
    if (event.kind.starts_with("oom_") && !victim.empty()) cause.about = victim;
    add_cause(std::move(cause), event.count, out);
    if (fields[i].is_guess()) continue;
    for (Cause& issue : known_issues_of(it)) add_cause(std::move(issue), event.count, out);
  }
  drop_what_is_told(out);
  std::stable_sort(out.begin(), out.end(),
                   [](const Cause& a, const Cause& b) { return rank_of(a) < rank_of(b); });
  return out;
}

}  // namespace jetmem::diagnosis
