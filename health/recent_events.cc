// SPDX-License-Identifier: Apache-2.0
#include "health/recent_events.h"

#include <algorithm>
#include <utility>

#include "collectors/kernel_log/catalogue/catalogue.h"
#include "collectors/proc/vmstat.h"

namespace jetmem {
namespace {

using kernel_log::Entry;
using kernel_log::EventKind;
using kernel_log::Origin;
using kernel_log::Tally;

constexpr std::array kRecentEventsMetrics{
    gauge("jetmem_smmu_recent_faults",
          "Faults of this client's memory accesses in the last minute, without those during "
          "jetmem's probe; 0 for a client that had faults earlier. client=unknown: the kernel did "
          "not print the client, or only counted the faults (its rate limit); client=other: beyond "
          "the limit of series. Usually a buffer freed while a device still used it; thousands per "
          "minute are a storm that costs CPU.",
          {"smmu", "client"}, RecentCulprits::kMost + 2),
    gauge("jetmem_kernel_recent_events",
          "Events of this kind in the last 10 min, by the time stamps of the kernel log, whether "
          "or not jetmem ran then. Excluded are those during jetmem's probe, those without a time "
          "stamp, and those that need no attention: harmless ones, allocations with a fallback, "
          "programs that may not open nvmap or are refused ordinary memory.",
          {"kind"}, kernel_log::kKindCount),
    gauge("jetmem_kernel_recent_message_events",
          "The same of each message of the site's own (messages.directory), by its id.",
          {"message", "kind"}, Tally::kMaxMessages),
    gauge("jetmem_kernel_recent_memory_errors",
          "Of jetmem_kernel_recent_events, memory errors by severity: corrected (nothing is lost), "
          "uncorrected (data is lost), unknown where the log does not print it.",
          {"kind", "error"}, 2 * kernel_log::kErrorSeverities),
    gauge("jetmem_fragmentation_evidence",
          "Kinds of evidence of fragmented memory in the last 10 min: failed compactions, "
          "direct-reclaim stalls, failed allocations of more than one page (the last only where "
          "the kernel log is read). 0: no failures from fragmentation."),
    gauge("jetmem_dma_recent_refusals",
          "Times in the last 10 min that this device was refused DMA memory, by the kernel log, "
          "without those during jetmem's probe; 0 for a device that was refused earlier. The "
          "device (a camera, say) does not start without it.",
          {"device"}, RecentCulprits::kMost + 2),
};
enum EventsMetric : std::size_t {
  kFaults,
  kRecentEvents,
  kRecentMessages,
  kMemoryErrors,
  kEvidence,
  kRefusals
};

constexpr std::array<std::string_view, 2> kRecentEventsSources{"kernel_log", "vmstat"};

constexpr Nanoseconds kEvidenceLasts = std::chrono::minutes(10);
constexpr Nanoseconds kVmstatAge = std::chrono::seconds(30);
constexpr std::array kFaultKinds{EventKind::kSmmuContextFault, EventKind::kSmmuGlobalFault,
                                 EventKind::kSmmuV3Event};
constexpr std::array kMemoryKinds{EventKind::kMemoryError, EventKind::kGpuEccError};
constexpr std::array kRefusalKinds{EventKind::kDmaAllocFailure};
enum Reserved : std::size_t { kUnknown, kOther };
enum Evidence : std::size_t { kCompactFail, kAllocStall, kAllocFailure };

// Without those that need nobody's attention (attention.h).
std::uint64_t alerting(const Entry& entry) {
  return entry.count - std::min(entry.count, entry.quiet);
}

// Of more than one page: how many, and when the last was.
struct FailedAllocations {
  std::uint64_t count = 0;
  std::optional<Nanoseconds> last;
};

FailedAllocations failed_allocations(const Tally& tally) {
  FailedAllocations all;
  for (const Entry& entry : tally.entries()) {
    if (entry.kind != EventKind::kPageAllocFailure || entry.origin != Origin::kSystem) continue;
    // Order 0 means no memory at all. The order of "other" and "unknown" is not known.
    const std::string_view order = entry.parts[1].view();
    if (order.empty() || order[0] < '1' || order[0] > '9') continue;
    all.count += entry.count;
    if (entry.last && (!all.last || *entry.last > *all.last)) all.last = entry.last;
  }
  return all;
}

// allocstall is printed for each zone since 4.8. Without one zone's there is no sum.
std::optional<std::uint64_t> stalls(const Vmstat& vmstat) {
  std::optional<std::uint64_t> sum;
  for (const Vmstat::Field& field : vmstat.fields) {
    const std::string_view name = field.name;
    if (name == "allocstall" || name.substr(0, 11) == "allocstall_") {
      if (!field.value) return std::nullopt;
      sum = sum.value_or(0) + *field.value;
    }
  }
  return sum;
}

}  // namespace

void RecentCulprits::Culprit::add(Nanoseconds when, std::uint64_t count) {
  minute.add(when, count);
  ten_minutes.add(when, count);
  has_events = true;
}

RecentCulprits::RecentCulprits(std::span<const EventKind> kinds, std::size_t parts,
                               Nanoseconds recent)
    : kinds_(kinds), parts_(parts), recent_(recent) {
  all_.reserve(kMost + 2);
  seen_.reserve(Tally::kMaxKeys + kernel_log::kOrigins * kernel_log::kKindCount);
  for (const std::string_view name : {"unknown", "other"}) {
    Culprit& culprit = all_.emplace_back();
    for (std::size_t i = 0; i < parts_; ++i) culprit.parts[i].set(name);
  }
}

// Whether the tally is the one of the last snapshot: else what was counted since may not be recent.
bool RecentCulprits::is_continued(const Tally& tally) const {
  const std::vector<Entry>& entries = tally.entries();
  if (entries.size() < seen_.size()) return false;
  for (std::size_t i = 0; i < seen_.size(); ++i) {
    if (entries[i].hash != seen_[i].hash || alerting(entries[i]) < seen_[i].count) return false;
  }
  return true;
}

bool RecentCulprits::is_counted(const Entry& entry) const {
  return std::find(kinds_.begin(), kinds_.end(), entry.kind) != kinds_.end() &&
         entry.origin == Origin::kSystem;
}

RecentCulprits::Culprit& RecentCulprits::culprit_of(const Entry& entry) {
  const auto is_same = [&](const Culprit& culprit) {
    for (std::size_t i = 0; i < parts_; ++i) {
      if (culprit.parts[i].view() != entry.parts[i].view()) return false;
    }
    return true;
  };
  const auto known = std::find_if(all_.begin(), all_.end(), is_same);
  if (known != all_.end()) return *known;
  if (all_.size() == kMost + 2) return all_[kOther];
  Culprit& culprit = all_.emplace_back();
  std::copy_n(entry.parts.begin(), parts_, culprit.parts.begin());
  return culprit;
}

void RecentCulprits::snapshot(const Tally& tally, bool live, Nanoseconds now) {
  const bool continued = looked_ && now - *looked_ <= recent_ && is_continued(tally);
  looked_ = now;
  std::uint64_t suppressed = 0;
  for (const EventKind kind : kinds_) suppressed += tally.suppressed_at_once(kind);
  if (continued && suppressed > suppressed_) all_[kUnknown].add(now, suppressed - suppressed_);
  suppressed_ = suppressed;
  const std::vector<Entry>& entries = tally.entries();
  const std::size_t known = continued ? seen_.size() : 0;
  seen_.resize(entries.size());
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const Entry& entry = entries[i];
    const std::uint64_t before = i < known ? seen_[i].count : 0;
    const std::uint64_t count = alerting(entry);
    seen_[i] = {entry.hash, count};
    if (!is_counted(entry) || (i < known && count == before)) continue;
    // One seen once stays.
    Culprit& culprit = culprit_of(entry);
    const auto is_recent = [&](const std::optional<Nanoseconds>& at) {
      return at && now - *at < recent_;
    };
    if (!live) {
      // A captured log has a clock of its own: what is added between two readings is recent.
      if (continued) culprit.add(now, count - before);
      continue;
    }
    if (!is_recent(entry.last) || count == 0) continue;
    // Of those before the start only the last is known to be recent, unless the first is too.
    const bool all = continued || is_recent(entry.first);
    culprit.add(std::min(*entry.last, now), all ? count - before : 1);
  }
}

RecentEvents::RecentEvents(const HealthOptions& options)
    : options_(options),
      faults_(kFaultKinds, 2, std::chrono::minutes(1)),
      refusals_(kRefusalKinds, 1, std::chrono::minutes(10)) {}

const DerivedInfo RecentEvents::kInfo{"recent_events", kRecentEventsSources, kRecentEventsMetrics};

void RecentEvents::Watched::see(std::optional<std::uint64_t> now_count, Nanoseconds now,
                                bool counts) {
  // A smaller count is another counter.
  if (counts && count && now_count && *now_count > *count) grown_at = now;
  count = now_count;
}

bool RecentEvents::see(RecentCulprits& culprits, WriteContext& context, Nanoseconds& now) {
  const auto* reading = context.readings.get<KernelLogReading>();
  if (reading == nullptr) return false;
  const bool is_first = culprits.is_first();
  // Older lines of the log are still being read.
  if (is_first && !reading->log->is_caught_up()) {
    context.absent.add("log_not_read_yet");
    return false;
  }
  const bool dated = context.facts.live || reading->captured_at;
  now = reading->captured_at.value_or(context.now);
  culprits.snapshot(reading->log->tally(), dated, now);
  if (is_first && !dated) context.absent.add("needs_two_readings");
  return !is_first || dated;
}

template <class Put>
void RecentEvents::write_culprits(RecentCulprits& culprits, WriteContext& context, Put put) {
  Nanoseconds now{0};
  if (!see(culprits, context, now)) return;
  for (const RecentCulprits::Culprit& culprit : culprits.all()) {
    if (&culprit == &culprits.all()[kOther] && !culprit.has_events) continue;
    put(culprit, now);
  }
}

// False at the first reading.
bool RecentEvents::see_captured(const Tally& tally, Nanoseconds now) {
  const auto grow = [&](Growth& growth, std::uint64_t count) {
    if (saw_captured_ && count > growth.count) growth.recent.add(now, count - growth.count);
    growth.count = count;
  };
  for (const kernel_log::KindInfo& info : kernel_log::all_kinds()) {
    const std::uint64_t all = tally.events(info.kind, Origin::kSystem);
    grow(growth_[static_cast<std::size_t>(info.kind)], all - std::min(all, tally.quiet(info.kind)));
  }
  for (const kernel_log::MessageCount& message : tally.messages()) {
    grow(message_growth_[std::string(message.id.view())],
         message.system() - std::min(message.system(), message.quiet));
  }
  std::array<std::array<std::uint64_t, kernel_log::kErrorSeverities>, 2> errors{};
  for (const Entry& entry : tally.entries()) {
    for (std::size_t i = 0; i < kMemoryKinds.size(); ++i) {
      if (entry.kind != kMemoryKinds[i] || entry.origin != Origin::kSystem) continue;
      errors[i][static_cast<std::size_t>(severity_of(entry))] += alerting(entry);
    }
  }
  for (std::size_t i = 0; i < errors.size(); ++i) {
    for (std::size_t s = 0; s < errors[i].size(); ++s) grow(memory_growth_[i][s], errors[i][s]);
  }
  return std::exchange(saw_captured_, true);
}

void RecentEvents::write_kinds(SampleWriter& out, WriteContext& context) {
  const auto* reading = context.readings.get<KernelLogReading>();
  if (reading == nullptr) return;
  if (!reading->log->is_caught_up()) {
    context.absent.add("log_not_read_yet");
    return;
  }
  const Tally& tally = reading->log->tally();
  // By the log's own clock where its time at the capture is known.
  const bool dated = context.facts.live || reading->captured_at;
  if (!dated && !see_captured(tally, context.now)) {
    context.absent.add("needs_two_readings");
    return;
  }
  for (const kernel_log::KindInfo& info : kernel_log::all_kinds()) {
    if (info.group == kernel_log::Group::kNone && info.kind != EventKind::kCustom) continue;
    // Without the journal the kernel's own nvmap lines still count.
    const bool kernels =
        !kernel_log::only_processes_print(info.kind) && !reading->process_lines_awaited;
    if (!reading->is_counted(info.kind) && !kernels) {
      context.absent.add("journal_not_read");
      continue;
    }
    const std::uint64_t count =
        dated ? tally.recent(info.kind, reading->captured_at.value_or(context.now))
              : growth_[static_cast<std::size_t>(info.kind)].recent.sum(context.now);
    out.put(kRecentEventsMetrics[kRecentEvents], count, info.name);
  }
  write_messages(out, *reading, dated, context.now);
  for (std::size_t i = 0; i < kMemoryKinds.size(); ++i) {
    for (std::size_t s = 0; s < kernel_log::kErrorSeverities; ++s) {
      const auto severity = static_cast<kernel_log::ErrorSeverity>(s);
      const std::uint64_t count = dated ? tally.recent(kMemoryKinds[i], severity,
                                                       reading->captured_at.value_or(context.now))
                                        : memory_growth_[i][s].recent.sum(context.now);
      out.put(kRecentEventsMetrics[kMemoryErrors], count, kernel_log::info_of(kMemoryKinds[i]).name,
              kernel_log::error_severity_name(severity));
    }
  }
}

// Every message that is described is there from the start, as kinds are.
void RecentEvents::write_messages(SampleWriter& out, const KernelLogReading& reading, bool dated,
                                  Nanoseconds now) const {
  const kernel_log::Catalogue* const site = reading.log->site_messages();
  if (site == nullptr) return;
  for (const kernel_log::Message& message : site->messages()) {
    std::uint64_t count = 0;
    if (const auto* counted = reading.log->tally().message(message.id); counted && dated) {
      count = counted->recent.sum(reading.captured_at.value_or(now));
    }
    const auto growth = message_growth_.find(message.id.view());
    if (!dated && growth != message_growth_.end()) count = growth->second.recent.sum(now);
    out.put(kRecentEventsMetrics[kRecentMessages], count, message.id,
            kernel_log::info_of(message.kind).name);
  }
}

void RecentEvents::write_evidence(SampleWriter& out, WriteContext& context) {
  const auto* vmstat = context.readings.get<Vmstat>();
  if (vmstat == nullptr) return;
  const auto* reading = context.readings.get<KernelLogReading>();
  const Tally* tally =
      reading != nullptr && reading->log->is_caught_up() ? &reading->log->tally() : nullptr;
  const bool is_first = !looked_ || context.now - *looked_ > kEvidenceLasts;
  // The reading of vmstat may be some seconds old.
  const Tally* probes = tally != nullptr ? tally : options_.probes;
  const bool probed = probes != nullptr && probes->probed_since(context.now - kVmstatAge);
  if (is_first) evidence_ = {};
  looked_ = context.now;
  evidence_[kCompactFail].see(vmstat->find("compact_fail"), context.now, !probed);
  evidence_[kAllocStall].see(stalls(*vmstat), context.now, !probed);
  if (tally != nullptr) {
    const FailedAllocations failed = failed_allocations(*tally);
    Watched& watched = evidence_[kAllocFailure];
    if (context.facts.live) {
      watched.grown_at = failed.last;
    } else if (reading->captured_at) {
      watched.grown_at = failed.last;
      if (failed.last) *watched.grown_at += context.now - *reading->captured_at;
    } else {
      watched.see(failed.count, context.now, true);
    }
  } else {
    context.absent.add("kernel_log_not_read");
  }
  const auto count = std::count_if(evidence_.begin(), evidence_.end(), [&](const Watched& one) {
    return one.grown_at && context.now - *one.grown_at < kEvidenceLasts;
  });
  // Whether anything grew is known from the second reading on.
  if (is_first && count == 0) {
    context.absent.add("needs_two_readings");
    return;
  }
  out.put(kRecentEventsMetrics[kEvidence], count);
}

void RecentEvents::write(SampleWriter& out, WriteContext& context) {
  write_culprits(faults_, context, [&](const auto& client, Nanoseconds now) {
    out.put(kRecentEventsMetrics[kFaults], client.minute.sum(now), client.parts[0].view(),
            client.parts[1].view());
  });
  write_culprits(refusals_, context, [&](const auto& device, Nanoseconds now) {
    out.put(kRecentEventsMetrics[kRefusals], device.ten_minutes.sum(now), device.parts[0].view());
  });
  write_kinds(out, context);
  write_evidence(out, context);
}

}  // namespace jetmem
