// SPDX-License-Identifier: Apache-2.0
#include "collectors/kernel_log/source.h"

#include <array>

namespace jetmem {

using kernel_log::Entry;
using kernel_log::EventKind;
using kernel_log::KindInfo;
using kernel_log::Origin;
using kernel_log::Tally;

namespace {

constexpr std::string_view kPath = "/dev/kmsg";
constexpr std::array kKernelLogPaths{kPath};
constexpr std::uint16_t kEventKinds = kernel_log::kKindCount;
// Entries of a kind, and its "other", for each origin.
constexpr std::uint16_t kPerKind = Tally::kMaxKeysPerKind + kernel_log::kOrigins;

constexpr std::array kKernelLogMetrics{
    counter("jetmem_kernel_events_total",
            "Events in the kernel log since boot, by kind, as far back as the log reached when "
            "jetmem first read it; messages suppressed by the kernel's rate limit are included "
            "where it reports their kind. origin=probe: while jetmem's own probe ran, of a kind "
            "that it can cause and without another process's name: probably caused by it.",
            {"kind", "origin"}, 2 * kEventKinds),
    counter("jetmem_kernel_events_suppressed_total",
            "Of jetmem_kernel_events_total with origin=system, those that the kernel did not print "
            "and only counted (N callbacks suppressed).",
            {"kind"}, kEventKinds),
    gauge("jetmem_kernel_events_before_start",
          "Of jetmem_kernel_events_total, those that were in the log before jetmem first read "
          "it: at boot, or while it was not running.",
          {"kind"}, kEventKinds),
    gauge("jetmem_kernel_event_last_seen_timestamp_seconds",
          "When an event of this kind with origin=system was last printed, in seconds since "
          "1970. Accurate to about "
          "a second; less so for those from before jetmem started, by the drift of the log's own "
          "clock and the time spent in suspend.",
          {"kind"}, kEventKinds),
    counter("jetmem_kernel_incidents_total",
            "Incidents since boot: events of one group (dma: SMMU and memory controller) within "
            "a second of each other are one incident, however many lines they took.",
            {"group"}, Tally::kGroups),
    counter("jetmem_smmu_faults_total",
            "Faults of devices' memory accesses since boot: the SMMU, the client behind the "
            "stream ID (the bare number where the SoC is not known), the fault and the "
            "direction; access=global: a fault outside any known context; fault=suppressed: "
            "those that the kernel only counted. Usually a device still used a buffer that was "
            "freed.",
            {"smmu", "client", "fault", "access", "origin"}, 4 * kPerKind),
    counter("jetmem_oom_kills_total",
            "Processes killed because memory ran out since boot, by name. scope=machine: the "
            "device was out of memory; scope=memcg: a control group reached its own limit.",
            {"scope", "comm", "origin"}, 2 * kPerKind),
    counter("jetmem_kernel_message_events_total",
            "Events since boot that are a message of the site's own (messages.directory), by its "
            "id; those with a kind of jetmem's are in jetmem_kernel_events_total, too.",
            {"message", "kind", "origin"}, 2 * Tally::kMaxMessages),
    counter("jetmem_kernel_guesses_total",
            "Lines since boot that are no message that jetmem knows and whose words suggest an "
            "event of this kind, by driver. They are in no other count and raise no alert: what "
            "grows here is worth a message of the site's own (jetmem events --category guess).",
            {"kind", "driver"}, Tally::kMaxGuesses + 1),
    gauge("jetmem_kernel_log_input",
          "1 for where the kernel log comes from: kmsg, the journal in its place, or a captured "
          "file.",
          {"input"}, 3),
    counter("jetmem_kernel_log_records_total",
            "Records of the kernel log read since jetmem started."),
    counter("jetmem_kernel_log_lost_records_total",
            "Records of the kernel log that jetmem never read. reason=before_start: overwritten "
            "before it first ran in this boot; reason=overrun: overwritten before it could read "
            "them. Events among them are not counted.",
            {"reason"}, 2),
    gauge("jetmem_kernel_log_library_errors_followed",
          "1 while the journal is followed for the errors that NVIDIA's libraries print in other "
          "processes (kind nvmap, nvbufsurface), 0 while it should be and cannot: the journal of "
          "jetmemd has the reason."),
    counter("jetmem_kernel_log_journal_losses_total",
            "Times that the journal returned fewer lines than were written: it was read too "
            "slowly, or its files were deleted. How many lines is not known."),
    counter("jetmem_kernel_log_user_records_total",
            "Records that a process wrote into the kernel's log: they raise no event, whatever "
            "they contain."),
    counter("jetmem_kernel_log_malformed_records_total",
            "Records that are not in the format of /dev/kmsg."),
    gauge("jetmem_kernel_log_event_keys",
          "Distinct causes of events (a fault's SMMU, client, fault and direction; a killed "
          "process' name)."),
    counter("jetmem_kernel_log_other_events_total",
            "Events counted under \"other\" because there were too many distinct causes."),
};
constexpr MetricTable kernel_log_metric{kKernelLogMetrics};

constexpr std::string_view kLogNotRead = "log_not_read_yet";
constexpr std::string_view kJournalNotRead = "journal_not_read";

// Processes print these into the journal; nvmap the kernel does, too.
bool is_processes(EventKind kind) {
  return kind == EventKind::kNvmap || kernel_log::only_processes_print(kind);
}

void write_kinds(SampleWriter& out, const KernelLogReading& reading, AbsentValues& absent) {
  const Tally& tally = reading.log->tally();
  const std::optional<Nanoseconds>& wall_offset = reading.wall_offset;
  // Every kind is there from the start, so that its first event is an increase.
  for (const KindInfo& info : kernel_log::all_kinds()) {
    if (!reading.is_counted(info.kind)) {
      absent.add(reading.log->is_caught_up() ? kJournalNotRead : kLogNotRead);
      continue;
    }
    out.put(kernel_log_metric("jetmem_kernel_events_total"),
            tally.events(info.kind, Origin::kSystem), info.name, origin_name(Origin::kSystem));
  }
  const auto put_any = [&](const Descriptor& descriptor, std::uint64_t count,
                           const auto&... labels) {
    if (count > 0) out.put(descriptor, count, labels...);
  };
  for (const KindInfo& info : kernel_log::all_kinds()) {
    if (!reading.is_counted(info.kind)) continue;
    put_any(kernel_log_metric("jetmem_kernel_events_total"),
            tally.events(info.kind, Origin::kProbe), info.name, origin_name(Origin::kProbe));
    put_any(kernel_log_metric("jetmem_kernel_events_suppressed_total"),
            tally.suppressed(info.kind, Origin::kSystem), info.name);
    put_any(kernel_log_metric("jetmem_kernel_events_before_start"), tally.before_start(info.kind),
            info.name);
    if (const auto last = tally.last_seen(info.kind); last && wall_offset) {
      out.put(kernel_log_metric("jetmem_kernel_event_last_seen_timestamp_seconds"),
              to_seconds(*last + *wall_offset), info.name);
    }
  }
}

// Every message that is described is there from the start, as kinds are.
void write_messages(SampleWriter& out, const KernelLogReading& reading) {
  const kernel_log::Catalogue* const site = reading.log->site_messages();
  if (site == nullptr) return;
  for (const kernel_log::Message& message : site->messages()) {
    if (!reading.is_counted(message.kind)) continue;
    const std::string_view kind = info_of(message.kind).name;
    const kernel_log::MessageCount* const count = reading.log->tally().message(message.id);
    for (const Origin origin : {Origin::kSystem, Origin::kProbe}) {
      const std::uint64_t events =
          count == nullptr ? 0 : count->count[static_cast<std::size_t>(origin)];
      if (origin == Origin::kProbe && events == 0) continue;
      out.put(kernel_log_metric("jetmem_kernel_message_events_total"), events, message.id, kind,
              origin_name(origin));
    }
  }
}

void write_guesses(SampleWriter& out, const Tally& tally) {
  for (const Entry& guess : tally.guesses()) {
    out.put(kernel_log_metric("jetmem_kernel_guesses_total"), guess.count,
            guess.other ? guess.parts[0].view() : info_of(guess.kind).name, guess.parts[0].view());
  }
}

void write_entries(SampleWriter& out, const Tally& tally) {
  for (const Entry& entry : tally.entries()) {
    const std::string_view origin = origin_name(entry.origin);
    switch (entry.kind) {
      case EventKind::kSmmuContextFault:
      case EventKind::kSmmuV3Event:
      case EventKind::kSmmuGlobalFault: {
        // A global fault's message does not tell the direction. No two kinds may give one series.
        const bool global = entry.kind == EventKind::kSmmuGlobalFault;
        const std::string_view fault =
            entry.other ? info_of(entry.kind).name : entry.parts[2].view();
        out.put(kernel_log_metric("jetmem_smmu_faults_total"), entry.count, entry.parts[0].view(),
                entry.parts[1].view(), fault, global ? "global" : entry.parts[3].view(), origin);
        break;
      }
      case EventKind::kOomKill:
        out.put(kernel_log_metric("jetmem_oom_kills_total"), entry.count, "machine",
                entry.parts[0].view(), origin);
        break;
      case EventKind::kOomKillMemcg:
        out.put(kernel_log_metric("jetmem_oom_kills_total"), entry.count, "memcg",
                entry.parts[0].view(), origin);
        break;
      default:
        break;
    }
  }
  for (const Origin origin : {Origin::kSystem, Origin::kProbe}) {
    std::uint64_t suppressed = 0;
    for (const EventKind kind :
         {EventKind::kSmmuContextFault, EventKind::kSmmuGlobalFault, EventKind::kSmmuV3Event}) {
      suppressed += tally.suppressed(kind, origin);
    }
    if (suppressed == 0) continue;
    out.put(kernel_log_metric("jetmem_smmu_faults_total"), suppressed, "unknown", "unknown",
            "suppressed", "unknown", origin_name(origin));
  }
}

}  // namespace

bool KernelLogReading::is_counted(EventKind kind) const {
  return log->is_caught_up() && (process_lines_read || !is_processes(kind));
}

bool KernelLogReading::is_counted(kernel_log::Group group) const {
  return log->is_caught_up() && (process_lines_read || group != kernel_log::Group::kAllocation);
}

const SourceInfo KernelLogSource::kInfo{
    .name = "kernel_log",
    .what = "SMMU faults, OOM kills, failed allocations and other events of the kernel log",
    .paths = kKernelLogPaths,
    .access = Access::kStream,
    .interval = std::chrono::seconds(1),
    .shortest_interval = std::chrono::milliseconds(100),
    .grant =
        "run jetmem-reader under systemd (it has CAP_SYSLOG), or let the daemon's user read "
        "the journal (group systemd-journal)",
    .metrics = kKernelLogMetrics,
};

Result<void> KernelLogSource::parse(const Snapshot&, Nanoseconds) {
  if (reading_.log == nullptr) return fail(Errc::kUnavailable, "the kernel log is not followed");
  return {};
}

void KernelLogSource::write(SampleWriter& out, WriteContext& context) const {
  const Tally& tally = reading_.log->tally();
  const kernel_log::LogCounters& counters = reading_.log->counters();
  write_kinds(out, reading_, context.absent);
  for (std::size_t g = 1; g < Tally::kGroups; ++g) {
    const auto group = static_cast<kernel_log::Group>(g);
    if (!reading_.is_counted(group)) {
      context.absent.add(reading_.log->is_caught_up() ? kJournalNotRead : kLogNotRead);
      continue;
    }
    out.put(kernel_log_metric("jetmem_kernel_incidents_total"), tally.incidents(group),
            group_name(group));
  }
  if (reading_.log->is_caught_up()) {
    write_entries(out, tally);
    write_messages(out, reading_);
    write_guesses(out, tally);
  }
  const auto put_input = [&](KernelLogInput input, std::string_view name) {
    out.put(kernel_log_metric("jetmem_kernel_log_input"), reading_.input == input ? 1 : 0, name);
  };
  put_input(KernelLogInput::kKmsg, "kmsg");
  put_input(KernelLogInput::kJournal, "journal");
  put_input(KernelLogInput::kFile, "file");
  out.put(kernel_log_metric("jetmem_kernel_log_records_total"), counters.records);
  out.put(kernel_log_metric("jetmem_kernel_log_lost_records_total"), counters.lost_before_start,
          "before_start");
  out.put(kernel_log_metric("jetmem_kernel_log_lost_records_total"), counters.lost, "overrun");
  out.put(kernel_log_metric("jetmem_kernel_log_library_errors_followed"), reading_.library_errors);
  out.put(kernel_log_metric("jetmem_kernel_log_journal_losses_total"), counters.journal_losses);
  out.put(kernel_log_metric("jetmem_kernel_log_user_records_total"), counters.foreign);
  out.put(kernel_log_metric("jetmem_kernel_log_malformed_records_total"), counters.malformed);
  out.put(kernel_log_metric("jetmem_kernel_log_event_keys"), tally.entries().size());
  out.put(kernel_log_metric("jetmem_kernel_log_other_events_total"), tally.others());
}

}  // namespace jetmem
