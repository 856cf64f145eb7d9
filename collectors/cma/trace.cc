// SPDX-License-Identifier: Apache-2.0
#include "collectors/cma/trace.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "base/text/text.h"
#include "collectors/processes/group/cgroup.h"
#include "collectors/processes/group/pid_stat.h"
#include "collectors/storage.h"
#include "collectors/sysfs/sysfs_text.h"

namespace jetmem {
namespace {

constexpr std::string_view kTraceFile = "/sys/kernel/tracing/instances/jetmem/trace";
constexpr std::string_view kClockFile = "/sys/kernel/tracing/instances/jetmem/trace_clock";
constexpr std::string_view kPausesFile =
    "/sys/kernel/tracing/instances/jetmem/options/pause-on-trace";
constexpr std::size_t kCommColumns = 16;
constexpr std::string_view kCmaDebugfs = "/sys/kernel/debug/cma/";
// What each of an area's bits needs of text at least: a word and a blank.
constexpr std::size_t kMaxBitmapWords = 1U << 18;

std::optional<std::uint64_t> take_hex(std::string_view& text) {
  (void)take_prefix(text, "0x");
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, 16);
  if (error != std::errc()) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return value;
}

// The text behind "KEY=": to the next blank.
std::optional<std::string_view> value_of(std::string_view fields, std::string_view key) {
  std::size_t at = fields.starts_with(key) ? 0 : fields.find(key);
  while (at != std::string_view::npos && at > 0 && fields[at - 1] != ' ') {
    at = fields.find(key, at + 1);
  }
  if (at == std::string_view::npos) return std::nullopt;
  fields.remove_prefix(at + key.size());
  return fields.substr(0, fields.find(' '));
}

std::optional<std::uint64_t> number_of(std::string_view fields, std::string_view key) {
  const auto text = value_of(fields, key);
  return text ? parse_u64(*text) : std::nullopt;
}

bool is_no_page(std::string_view page) {
  return page.find_first_not_of("(null)0x") == std::string_view::npos;
}

// The line that begins at `at`, which may have a newline within the thread's name. False: it is no
// event. `end`: where its text ends.
bool take_event(std::string_view text, std::size_t at, CmaEvent& event, std::string_view& rest,
                std::size_t& end) {
  if (at + kCommColumns + 1 >= text.size()) return false;
  if (text[at] == '#' || text[at + kCommColumns] != '-') return false;
  if (!is_digit(text[at + kCommColumns + 1])) return false;
  end = std::min(text.find('\n', at + kCommColumns), text.size());
  std::string_view comm = text.substr(at, kCommColumns);
  skip_blanks(comm);
  event.comm = comm == "<...>" ? std::string_view() : comm;
  rest = text.substr(at + kCommColumns + 1, end - at - kCommColumns - 1);
  const auto thread = take_u64(rest);
  skip_blanks(rest);
  if (!thread || *thread > UINT32_MAX || !take_prefix(rest, "[")) return false;
  const auto cpu = take_u64(rest);
  if (!cpu || *cpu > UINT32_MAX || !take_prefix(rest, "]")) return false;
  event.thread = static_cast<std::uint32_t>(*thread);
  event.cpu = static_cast<std::uint32_t>(*cpu);
  (void)take_word(rest);  // flags
  const auto seconds = take_u64(rest);
  if (!seconds || !take_prefix(rest, ".")) return false;
  const std::string_view digits = rest.substr(0, rest.find(':'));
  const auto micros = small_number(digits);
  if (!micros || digits.size() != 6 || *seconds > 1'000'000'000) return false;
  rest.remove_prefix(digits.size());
  if (!take_prefix(rest, ": ")) return false;
  event.at = std::chrono::seconds(*seconds) + std::chrono::microseconds(*micros);
  return true;
}

// False: it is one of ours and cannot be understood.
bool take_event(std::string_view text, CmaEvent& event) {
  const bool is_old = take_prefix(text, "cma_alloc: ");
  const bool is_alloc = is_old || take_prefix(text, "cma_alloc_finish: ");
  if (!is_alloc && !take_prefix(text, "cma_release: ")) return true;
  if (take_prefix(text, "name=")) {
    const std::size_t end = text.find(" pfn=");
    if (end == std::string_view::npos || !is_name(text.substr(0, end))) return false;
    event.area = text.substr(0, end);
    text.remove_prefix(end + 1);
  }
  auto pfn_text = value_of(text, "pfn=");
  const auto page = value_of(text, "page=");
  const auto pages = number_of(text, "count=");
  if (!pfn_text || !page || !pages) return false;
  const auto pfn = take_hex(*pfn_text);
  if (!pfn || !pfn_text->empty()) return false;
  event.pfn = *pfn;
  event.pages = *pages;
  if (const auto error = value_of(text, "errorno=")) {
    if (!parse_i64(*error)) return false;
    if (*error != "0") return true;
  } else if (is_alloc && is_no_page(*page)) {
    return true;
  }
  // No machine has so many pages, and sums stay far from 2^64.
  if (*pages == 0) return true;
  if (*pfn > (1ULL << 52) || *pages > (1ULL << 40)) return false;
  event.kind = is_alloc ? CmaEvent::Kind::kAlloc : CmaEvent::Kind::kRelease;
  return true;
}

CmaRing* ring_of(std::vector<CmaRing>& rings, std::uint32_t cpu) {
  const auto at = std::find_if(rings.begin(), rings.end(),
                               [&](const CmaRing& ring) { return ring.cpu == cpu; });
  return at == rings.end() ? nullptr : &*at;
}

// " => function [module]": the function, empty where it is no such line.
std::string_view stack_function(std::string_view line) {
  if (!take_prefix(line, " => ")) return {};
  const std::size_t end = line.find_first_of("+\t");
  line = line.substr(0, end);
  return line.substr(0, kMaxLabelBytes);
}

void parse_text(std::string_view text, bool has_boot_clock, CmaTrace& out) {
  std::size_t in_stack = SIZE_MAX;  // the event whose stack these lines are
  for (std::size_t at = 0; at < text.size();) {
    CmaEvent event;
    std::string_view rest;
    std::size_t end = 0;
    if (take_event(text, at, event, rest, end)) {
      const std::string_view line = text.substr(at + kCommColumns, end - at - kCommColumns);
      at = end + 1;
      in_stack = SIZE_MAX;
      CmaRing* ring = ring_of(out.rings, event.cpu);
      if (ring == nullptr) {
        out.is_unclear = true;
        continue;
      }
      ring->shown.push_back(fnv1a(line));
      event.number = ring->shown.size();
      if (rest == "<stack trace>") {
        in_stack = std::exchange(ring->last_alloc, SIZE_MAX);
        if (event.number == 1) out.events.push_back(event);
        continue;
      }
      if (!has_boot_clock) event.at.reset();
      if (!take_event(rest, event)) out.is_unclear = true;
      ring->last_alloc = event.kind == CmaEvent::Kind::kAlloc ? out.events.size() : SIZE_MAX;
      // The first of each ring is kept: what was lost lies before it.
      if (event.kind != CmaEvent::Kind::kNone || event.number == 1) out.events.push_back(event);
      continue;
    }
    end = std::min(text.find('\n', at), text.size());
    const std::string_view line = text.substr(at, end - at);
    at = end + 1;
    if (line.starts_with("#") || line.empty()) continue;
    const std::string_view function = stack_function(line);
    if (function.empty()) {
      // "CPU:1 [LOST 7 EVENTS]", or no line of such a file.
      out.is_unclear = true;
    } else if (in_stack != SIZE_MAX && !is_of_allocator(function)) {
      out.events[in_stack].function = function;
      in_stack = SIZE_MAX;
    }
  }
}

std::optional<CmaRing::Counters> parse_counters(std::string_view text) {
  CmaRing::Counters out;
  unsigned found = 0;
  Lines lines(text);
  std::string_view line;
  while (lines.next(line)) {
    const std::size_t colon = line.find(':');
    if (colon == std::string_view::npos) return std::nullopt;
    const std::string_view key = line.substr(0, colon);
    const bool is_counted = key == "entries" || key == "overrun" || key == "read events";
    const bool is_loss = key == "commit overrun" || key == "dropped events";
    if (!is_counted && !is_loss) continue;
    const auto value = parse_u64(trim(line.substr(colon + 1)));
    if (!value) return std::nullopt;
    (is_loss ? out.lost : key == "entries" ? out.entries : out.gone) += *value;
    found += is_counted ? 1U : 0U;
  }
  if (found != 3) return std::nullopt;
  return out;
}

// The CPU of "…/per_cpu/cpu3/stats".
std::optional<std::uint32_t> cpu_of_stats(std::string_view path) {
  if (!take_prefix(path, kCmaTraceInstance) || !take_prefix(path, "/per_cpu/cpu")) {
    return std::nullopt;
  }
  const std::size_t slash = path.find('/');
  if (slash == std::string_view::npos || path.substr(slash) != "/stats") return std::nullopt;
  return small_number(path.substr(0, slash));
}

bool parse_bitmap(std::string_view text, std::vector<std::uint32_t>& words) {
  const auto line = one_value(text);
  if (!line) return false;
  std::string_view rest = *line;
  while (!rest.empty()) {
    const auto word = take_u64(rest);
    if (!word || *word > UINT32_MAX || words.size() == kMaxBitmapWords) return false;
    words.push_back(static_cast<std::uint32_t>(*word));
  }
  return true;
}

// Of an area with several ranges (6.15) only the names are known: which bits are which pages is
// not.
void take_bounds(const FileText& file, std::string_view path, Refill<CmaBounds>& bounds) {
  const std::size_t slash = path.find('/');
  if (slash == std::string_view::npos || slash == 0) return;
  std::string_view name = path.substr(0, slash);
  (void)take_prefix(name, "cma-");
  if (!is_name(name)) return;
  std::string_view leaf = path.substr(slash + 1);
  CmaBounds* area = bounds.find(&CmaBounds::name, name);
  if (area == nullptr) {
    if (bounds.size() == CmaTrace::kMaxAreas) return;
    area = &bounds.add();
    area->name = name;
  }
  if (!file.ok()) return;
  if (take_prefix(leaf, "ranges/")) {
    // A second range: then no number of pages is that of the first.
    if (!take_prefix(leaf, "0/")) {
      area->base_pfn.reset();
      area->pages.reset();
      area->has_bitmap = false;
      area->order = UINT64_MAX;
      return;
    }
    if (area->order == UINT64_MAX) return;
  }
  if (leaf == "base_pfn") area->base_pfn = one_u64(file.text);
  if (leaf == "count") area->pages = one_u64(file.text);
  if (leaf == "order_per_bit" && area->order != UINT64_MAX) {
    area->order = one_u64(file.text).value_or(0);
  }
  if (leaf == "bitmap") area->has_bitmap = parse_bitmap(file.text, area->bitmap);
}

void check_bounds(CmaBounds& area) {
  const bool is_whole = area.base_pfn && area.pages && area.order < 12 &&
                        *area.base_pfn <= (1ULL << 52) && *area.pages <= (1ULL << 40) &&
                        *area.pages > 0;
  if (!is_whole) {
    area.base_pfn.reset();
    area.pages.reset();
    area.order = 0;
    area.has_bitmap = false;
  } else if (area.bitmap.size() * 32 < *area.pages >> area.order) {
    area.has_bitmap = false;
  }
}

// /proc/THREAD/status, /proc/THREAD/stat, /proc/THREAD/cgroup, and "jetmem:process THREAD" with the
// name of its process; /proc/THREAD/process: whether that has ended.
void take_task(const FileText& file, std::string_view path, Refill<CmaTask>& tasks) {
  const std::size_t slash = path.find('/');
  if (slash == std::string_view::npos) return;
  const auto thread = small_number(path.substr(0, slash));
  const std::string_view leaf = path.substr(slash + 1);
  if (!thread) return;
  CmaTask* task = tasks.find(&CmaTask::thread, *thread);
  if (task == nullptr) {
    task = &tasks.add();
    task->thread = *thread;
  }
  if (leaf == "process") {
    task->process_has_ended = is_gone(file.error);
  } else if (!file.ok()) {
    task->has_ended = task->has_ended || is_gone(file.error);
  } else if (leaf == "status") {
    Lines lines(file.text);
    std::string_view line;
    while (lines.next(line)) {
      if (take_prefix(line, "Tgid:")) task->pid = small_number(trim(line)).value_or(0);
    }
  } else if (leaf == "stat") {
    if (const auto stat = parse_pid_stat(file.text))
      task->start_ticks = stat->start_ticks.value_or(0);
  } else if (leaf == "comm of process") {
    task->name = trim(file.text);
  } else if (leaf == "cgroup") {
    const Cgroup cgroup = parse_cgroup(file.text);
    task->unit = cgroup.unit;
    task->container = cgroup.container;
  }
}

}  // namespace

bool is_of_allocator(std::string_view function) {
  static constexpr std::array<std::string_view, 15> kOfAllocator{
      "trace_event_",   "__traceiter_",
      "perf_trace_",    "cma_alloc",
      "__cma_alloc",    "dma_alloc",
      "__dma_alloc",    "dma_direct_",
      "__dma_direct_",  "iommu_dma_",
      "__iommu_dma_",   "dma_common_",
      "cma_allocator_", "__alloc_from_contiguous",
      "dma_contiguous_"};
  return std::any_of(kOfAllocator.begin(), kOfAllocator.end(),
                     [&](std::string_view prefix) { return function.starts_with(prefix); });
}

std::vector<std::uint32_t> allocating_threads(std::string_view trace, std::size_t most) {
  std::vector<std::uint32_t> all;
  for (std::size_t at = 0; at < trace.size();) {
    CmaEvent event;
    std::string_view rest;
    std::size_t end = 0;
    if (!take_event(trace, at, event, rest, end)) {
      at = std::min(trace.find('\n', at), trace.size()) + 1;
      continue;
    }
    at = end + 1;
    if (take_event(rest, event) && event.kind == CmaEvent::Kind::kAlloc) {
      all.push_back(event.thread);
    }
  }
  std::vector<std::uint32_t> out;
  for (auto each = all.rbegin(); each != all.rend() && out.size() < most; ++each) {
    if (std::find(out.begin(), out.end(), *each) == out.end()) out.push_back(*each);
  }
  return out;
}

Result<void> parse_cma_trace(const Snapshot& snapshot, CmaTrace& out) {
  out.events.clear();
  out.is_unclear = false;
  out.ticks.reset();
  out.page_bytes.reset();
  out.now.reset();
  out.is_unchanged = snapshot.find(kCmaUnchanged).ok();
  const auto trace = snapshot.text_of(out.is_unchanged ? kCmaUnchanged : kTraceFile);
  if (!trace && trace.error().code == Errc::kAbsent) {
    return fail(Errc::kAbsent,
                "no trace of CMA is set up: jetmem-cma-trace.service does not run, or this kernel "
                "has no tracepoints of CMA");
  }
  if (!trace) return tl::unexpected(trace.error());
  const auto pauses = snapshot.text_of(kPausesFile);
  if (!pauses || trim(*pauses) != "0") {
    return fail(Errc::kAbsent,
                "this kernel stops a trace while it is read (before 5.8, or pause-on-trace), so "
                "allocations would be missed");
  }
  const auto clock = snapshot.text_of(kClockFile);
  const bool has_boot_clock = clock && contains(*clock, "[boot]");
  {
    Refill<CmaRing> rings(out.rings);
    Refill<CmaBounds> bounds(out.bounds);
    Refill<CmaTask> tasks(out.tasks);
    for (std::size_t i = 0; i < snapshot.size(); ++i) {
      const FileText file = snapshot[i];
      std::string_view path = file.path;
      const bool is_after = take_prefix(path, kCmaAfter);
      if (const auto cpu = cpu_of_stats(path)) {
        if (!file.ok()) return tl::unexpected(file.as_error());
        const auto counters = parse_counters(file.text);
        if (!counters) return tl::unexpected(error_of(file, "expected counters, "));
        CmaRing* ring = rings.find(&CmaRing::cpu, *cpu);
        if (is_after && ring != nullptr) {
          ring->after = *counters;
        } else if (is_after) {
          out.is_unclear = true;  // a CPU that came just now
        } else if (ring == nullptr) {
          CmaRing& fresh = rings.add();
          fresh.cpu = *cpu;
          fresh.before = *counters;
        }
      } else if (take_prefix(path, kCmaDebugfs)) {
        take_bounds(file, path, bounds);
      } else if (path == kCmaTicks) {
        out.ticks = one_u64(file.text);
      } else if (path == "/proc/uptime") {
        std::string_view text = file.text;
        const auto seconds = take_u64(text);
        if (seconds && *seconds < 1'000'000'000) out.now = std::chrono::seconds(*seconds);
      } else if (path == kCmaPage) {
        out.page_bytes = one_u64(file.text);
      } else if (take_prefix(path, "/proc/")) {
        take_task(file, path, tasks);
      }
    }
  }
  if (out.rings.empty()) {
    return fail(Errc::kMalformed, "no counters of any CPU");
  }
  std::for_each(out.bounds.begin(), out.bounds.end(), check_bounds);
  if (out.is_unchanged) {
    for (CmaRing& ring : out.rings) {
      if (!ring.after) ring.after = ring.before;
    }
    return {};
  }
  parse_text(*trace, has_boot_clock, out);
  for (CmaRing& ring : out.rings) {
    if (!ring.after) ring.after = ring.before;
    const std::uint64_t end = ring.before.gone + ring.shown.size();
    const bool fits = ring.after->gone == ring.before.gone &&
                      end >= ring.before.gone + ring.before.entries &&
                      end <= ring.after->gone + ring.after->entries;
    if (!fits) out.is_unclear = true;
  }
  return {};
}

}  // namespace jetmem
