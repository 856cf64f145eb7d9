// SPDX-License-Identifier: Apache-2.0
#include "collectors/kernel_log/tally.h"

#include <algorithm>
#include <charconv>
#include <functional>
#include <utility>

#include "base/text/text.h"
#include "collectors/kernel_log/catalogue/catalogue.h"

namespace jetmem::kernel_log {
namespace {

// Lines of one incident come within this time of each other, slow serial consoles included.
constexpr Nanoseconds kIncidentGap = std::chrono::seconds(1);
// How long after its end a probe may still be the reason for a fault.
constexpr Nanoseconds kProbeEcho = std::chrono::seconds(2);
constexpr std::string_view kProbeComm = "jetmem-probe";
constexpr std::string_view kUnknown = "unknown";
constexpr std::string_view kOther = "other";

std::uint64_t hash_bytes(std::string_view text, std::uint64_t hash) {
  return fnv1a("\xff", fnv1a(text, hash));  // the end counts too: "ab","c" is not "a","bc"
}

std::uint64_t hash_of(const Entry& entry) {
  const KindInfo& info = info_of(entry.kind);
  std::uint64_t hash =
      hash_bytes(origin_name(entry.origin), kFnvBasis + static_cast<std::uint64_t>(entry.kind));
  for (std::size_t i = 0; i < info.key.size() && !info.key[i].empty(); ++i) {
    hash = hash_bytes(entry.parts[i].view(), hash);
  }
  return hash;
}

// A key field's value as text.
void set_part(Entry::Part& part, const Event& event, std::string_view name) {
  if (name == "message" && event.message() != nullptr) {
    part.set(message_id(event));
    return;
  }
  const Field* field = event.find(name);
  if (field == nullptr && name == "client") {
    // Without a name, its number; and that only where the kernel printed one.
    for (const std::string_view number : {"sid", "cbfrsynra"}) {
      if (event.text(number).empty()) continue;
      part.set(number == "sid" ? "stream " : "cbfrsynra ");
      std::string_view digits = event.text(number);
      digits = digits.substr(0, Entry::kMaxPart - part.size);
      std::copy(digits.begin(), digits.end(), part.bytes.begin() + part.size);
      part.size = static_cast<std::uint8_t>(part.size + digits.size());
      return;
    }
  }
  if (field == nullptr || field->type == FieldType::kNull) {
    part.set(kUnknown);
  } else if (field->type == FieldType::kText || field->type == FieldType::kItem) {
    part.set(event.text_of(*field));
  } else {
    std::array<char, 24> digits;
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), field->number).ptr;
    part.set({digits.data(), static_cast<std::size_t>(end - digits.data())});
  }
}

// What tells apart two incidents of one group that happen at once: the GPU, the process killed.
std::uint64_t device_hash(const Event& event, Group group) {
  if (group == Group::kGpu) {
    const std::string_view gpu = event.has("pci") ? event.text("pci") : event.text("dev");
    return gpu.empty() ? 0 : hash_bytes(gpu, kFnvBasis);
  }
  if (group == Group::kOom) {
    const auto pid = event.number("pid");
    return pid ? static_cast<std::uint64_t>(*pid) | (1ULL << 63) : 0;
  }
  return 0;
}

// Whether a probe can be the reason: what it does reaches drivers and allocators. Faults of memory,
// disks, cameras, heat, and tasks that hang, only happen meanwhile.
bool can_be_of_probe(EventKind kind) {
  switch (info_of(kind).group) {
    case Group::kDma:
    case Group::kGpu:
    case Group::kAllocation:
    case Group::kOom:
      return true;
    case Group::kNone:
      return kind != EventKind::kKmemleak;
    default:
      return kind == EventKind::kBusError;  // of a GPU without power
  }
}

// Whether the event itself names somebody else: a program whose line it is, or a process. Threads
// of the kernel and of CUDA's library work for the probe too.
bool names_another(const Event& event) {
  // Libraries write into the journal of the program's own unit.
  if (event.has("unit")) return !event.text("unit").starts_with(kProbeComm);
  const std::string_view comm = event.text("comm");
  // Who is killed; but for who needed the memory.
  if (info_of(event.kind()).group == Group::kOom && event.kind() != EventKind::kOomInvoked) {
    return !comm.starts_with(kProbeComm);
  }
  if (comm.empty()) return false;
  constexpr std::array<std::string_view, 7> kHelpers{kProbeComm, "cuda",       "kworker/", "irq/",
                                                     "swapper/", "ksoftirqd/", "nvgpu"};
  return std::none_of(kHelpers.begin(), kHelpers.end(),
                      [&](std::string_view helper) { return comm.starts_with(helper); });
}

// Whether it is none of those that are built in.
bool is_of_site(const Message* message) {
  const std::span<const Message> all = shipped_messages();
  const std::less<> less;
  return message != nullptr && (less(message, all.data()) || !less(message, all.data() + all.size()));
}

std::uint64_t bit_of(EventKind kind) { return 1ULL << static_cast<unsigned>(kind); }
static_assert(kKindCount <= 64);

}  // namespace

std::string_view origin_name(Origin origin) {
  return origin == Origin::kProbe ? "probe" : "system";
}

ErrorSeverity severity_of(const Entry& entry) {
  std::string_view severity;
  std::string_view outcome;
  const KindInfo& info = info_of(entry.kind);
  for (std::size_t i = 0; i < info.key.size(); ++i) {
    const std::string_view part = entry.parts[i].view();
    if (part == kUnknown || part == kOther) continue;
    if (info.key[i] == "severity") severity = part;
    if (info.key[i] == "outcome") outcome = part;
  }
  return error_severity(severity, outcome);
}

void Entry::Part::set(std::string_view text) {
  const bool plain =
      std::all_of(text.begin(), text.end(), [](char c) { return c >= ' ' && c <= '~'; });
  // Only what is printable is distinguished: it is what labels show, and what is kept over a
  // restart.
  std::string made_plain;
  if (!plain) text = made_plain = printable(text, 4 * kMaxPart);
  // Several names may begin like one that is cut: it ends in '*'.
  const bool is_cut = text.size() > kMaxPart;
  if (is_cut && !plain) text = made_plain = printable(made_plain, kMaxPart - 1);
  if (is_cut) text = text.substr(0, kMaxPart - 1);
  const auto end = std::copy(text.begin(), text.end(), bytes.begin());
  if (is_cut) *end = '*';
  size = static_cast<std::uint8_t>(text.size() + (is_cut ? 1 : 0));
}

Tally::Tally() = default;

Occurrence Tally::count(const Event& event, std::optional<Nanoseconds> time, bool before_start) {
  ++changes_;
  const EventKind kind = event.kind();
  const Origin origin = names_another(event) ? Origin::kSystem : origin_of(kind, time);
  KindCounts& counts = kinds_[static_cast<std::size_t>(kind)];
  ++counts.count[static_cast<std::size_t>(origin)];
  last_origin_[static_cast<std::size_t>(kind)] = origin;
  if (before_start) ++counts.before_start;
  if (time && origin == Origin::kSystem && (!counts.last || *counts.last < *time)) {
    counts.last = time;
  }
  const bool quiet = !needs_attention(event);

  Entry& entry = entry_of(event, origin);
  ++entry.count;
  if (time && origin == Origin::kSystem && !quiet) add_recent(entry, *time, 1);
  if (quiet) {
    ++entry.quiet;
    if (origin == Origin::kSystem) ++quiet_[static_cast<std::size_t>(kind)];
  }
  if (entry.other) ++others_;
  if (is_of_site(event.message())) count_message(event, origin, time, quiet);
  if (kind == EventKind::kCmaAllocFailure) {
    const std::int64_t pages = event.number("pages").value_or(0);
    if (pages > 0) {
      entry.largest_pages = std::max(entry.largest_pages, static_cast<std::uint64_t>(pages));
    }
  }
  if (time) {
    if (!entry.first || *time < *entry.first) entry.first = time;
    if (!entry.last || *time > *entry.last) entry.last = time;
  }
  Occurrence occurrence;
  occurrence.entry = &entry;
  occurrence.entry_index = static_cast<std::size_t>(&entry - entries_.data());
  occurrence.time = time;
  occurrence.before_start = before_start;
  occurrence.incident = incident_of(event, entry.hash, time, occurrence.begins_incident);
  return occurrence;
}

void Tally::count_message(const Event& event, Origin origin, std::optional<Nanoseconds> time,
                          bool quiet) {
  const std::string_view id = message_id(event);
  auto it = std::find_if(messages_.begin(), messages_.end(),
                         [&](const MessageCount& each) { return each.id.view() == id; });
  if (it == messages_.end()) {
    if (messages_.size() >= kMaxMessages) return;
    it = messages_.emplace(messages_.end());
    it->id.set(id);
  }
  it->kind = event.kind();
  ++it->count[static_cast<std::size_t>(origin)];
  if (origin != Origin::kSystem) return;
  if (quiet) {
    ++it->quiet;
  } else if (time) {
    it->recent.add(*time, 1);
    if (!it->first || *time < *it->first) it->first = time;
    if (!it->last || *time > *it->last) it->last = time;
  }
}

const MessageCount* Tally::message(std::string_view id) const {
  for (const MessageCount& each : messages_) {
    if (each.id.view() == id) return &each;
  }
  return nullptr;
}

Occurrence Tally::count_guess(const Event& event, std::optional<Nanoseconds> time,
                              bool before_start) {
  ++changes_;
  Entry::Part driver;
  set_part(driver, event, event.has("driver") ? "driver" : "dev");
  auto it = std::find_if(guesses_.begin(), guesses_.end(), [&](const Entry& each) {
    return each.kind == event.kind() && each.parts[0].view() == driver.view();
  });
  if (it == guesses_.end() && guesses_.size() >= kMaxGuesses) {
    it = std::find_if(guesses_.begin(), guesses_.end(), [](const Entry& each) { return each.other; });
  }
  if (it == guesses_.end()) {
    it = guesses_.emplace(guesses_.end());
    it->other = guesses_.size() > kMaxGuesses;
    if (it->other) driver.set(kOther);
    it->kind = it->other ? EventKind::kNone : event.kind();
    it->parts[0] = driver;
  }
  ++it->count;
  return {.entry = &*it,
          .entry_index = static_cast<std::size_t>(it - guesses_.begin()),
          .time = time,
          .before_start = before_start};
}

void Tally::add_recent(const Entry& entry, Nanoseconds when, std::uint64_t count) {
  recent_counts_[static_cast<std::size_t>(entry.kind)].add(when, count);
  const std::size_t memory = entry.kind == EventKind::kMemoryError ? 0 : 1;
  if (memory == 1 && entry.kind != EventKind::kGpuEccError) return;
  recent_errors_[memory][static_cast<std::size_t>(severity_of(entry))].add(when, count);
}

std::uint64_t Tally::recent(EventKind kind, ErrorSeverity severity, Nanoseconds now) const {
  const std::size_t memory = kind == EventKind::kMemoryError ? 0 : 1;
  return recent_errors_[memory][static_cast<std::size_t>(severity)].sum(now);
}

void Tally::add_suppressed(EventKind kind, std::uint64_t count, std::optional<Nanoseconds> time) {
  ++changes_;
  KindCounts& counts = kinds_[static_cast<std::size_t>(kind)];
  // What a probe did not cause although it ran is more likely to go on than to be joined by its
  // own.
  const bool is_of_another =
      counts.last && origin_of(kind, counts.last) == Origin::kProbe;  // its time alone
  const bool by_probe = last_origin_[static_cast<std::size_t>(kind)] == Origin::kProbe ||
                        (!is_of_another && origin_of(kind, time) == Origin::kProbe);
  const Origin origin = by_probe ? Origin::kProbe : Origin::kSystem;
  counts.count[static_cast<std::size_t>(origin)] += count;
  counts.suppressed[static_cast<std::size_t>(origin)] += count;
  if (by_probe || !time || !counts.last || *time - *counts.last > kAtOnce) return;
  at_once_[static_cast<std::size_t>(kind)] += count;
  recent_counts_[static_cast<std::size_t>(kind)].add(*time, count);
}

void Tally::probe_begins(Nanoseconds from) { probes_[next_probe_] = {from, std::nullopt, true}; }

void Tally::probe_ended(Nanoseconds at) {
  probes_[next_probe_].to = at;
  next_probe_ = (next_probe_ + 1) % probes_.size();
}

bool Tally::probed_since(Nanoseconds from) const {
  return std::any_of(probes_.begin(), probes_.end(), [&](const ProbeWindow& probe) {
    return probe.used && (!probe.to || *probe.to + kProbeEcho >= from);
  });
}

Origin Tally::origin_of(EventKind kind, std::optional<Nanoseconds> time) const {
  if (!time || !can_be_of_probe(kind)) return Origin::kSystem;
  const bool probing = std::any_of(probes_.begin(), probes_.end(), [&](const ProbeWindow& probe) {
    return probe.used && *time >= probe.from && (!probe.to || *time <= *probe.to + kProbeEcho);
  });
  return probing ? Origin::kProbe : Origin::kSystem;
}

Entry& Tally::entry_of(const Event& event, Origin origin) {
  const KindInfo& info = info_of(event.kind());
  Entry key;
  key.kind = event.kind();
  key.origin = origin;
  for (std::size_t i = 0; i < info.key.size() && !info.key[i].empty(); ++i) {
    set_part(key.parts[i], event, info.key[i]);
  }
  key.hash = hash_of(key);
  for (Entry& entry : entries_) {
    if (entry.hash != key.hash || entry.kind != key.kind || entry.other) continue;
    const bool same =
        std::equal(entry.parts.begin(), entry.parts.end(), key.parts.begin(),
                   [](const Entry::Part& a, const Entry::Part& b) { return a.view() == b.view(); });
    if (same && entry.origin == origin) return entry;
  }
  // Whoever calls itself "other" is among the others: no two series may have one name.
  const bool called_other =
      !info.key[0].empty() && info.key[1].empty() && key.parts[0].view() == kOther;
  if (called_other) return other_of(key.kind, origin);
  std::uint8_t& keys = keys_of_kind_[static_cast<std::size_t>(key.kind)];
  if (keys >= kMaxKeysPerKind || entries_.size() >= kMaxKeys) return other_of(key.kind, origin);
  ++keys;
  return entries_.emplace_back(key);
}

// These few are on top of kMaxKeys: one for each kind and origin.
Entry& Tally::other_of(EventKind kind, Origin origin) {
  for (Entry& entry : entries_) {
    if (entry.other && entry.kind == kind && entry.origin == origin) return entry;
  }
  Entry& entry = entries_.emplace_back();
  entry.kind = kind;
  entry.origin = origin;
  entry.other = true;
  for (Entry::Part& part : entry.parts) part.set(kOther);
  return entry;
}

std::uint64_t Tally::incident_of(const Event& event, std::uint64_t key,
                                 std::optional<Nanoseconds> time, bool& begins) {
  const Group group = info_of(event.kind()).group;
  if (group == Group::kNone) return 0;
  const std::uint64_t device = device_hash(event, group);
  // The newest first: a second line belongs to the fault just before it.
  for (std::size_t n = 1; n <= kRecentIncidents; ++n) {
    Incident& incident = recent_[(next_recent_ + kRecentIncidents - n) % kRecentIncidents];
    if (incident.number == 0 || incident.group != group) continue;
    const bool near = time && incident.last && *time - *incident.last <= kIncidentGap &&
                      *incident.last - *time <= kIncidentGap;
    if (!near) continue;
    const bool both_named = device != 0 && incident.device != 0;
    if (both_named && device != incident.device) continue;
    const auto keys_end = incident.keys.begin() + static_cast<std::ptrdiff_t>(incident.key_count);
    const bool known = std::find(incident.keys.begin(), keys_end, key) != keys_end;
    // Where nothing names whom it happened to, a second event of one kind belongs to the incident
    // only if it is the same trouble again.
    const bool second = (incident.kinds & bit_of(event.kind())) != 0;
    if (!both_named && !known && second) continue;
    if (!known && incident.key_count < incident.keys.size()) {
      incident.keys[incident.key_count++] = key;
    }
    incident.kinds |= bit_of(event.kind());
    incident.last = std::max(*incident.last, *time);
    if (incident.device == 0) incident.device = device;
    begins = false;
    return incident.number;
  }
  Incident& incident = recent_[next_recent_];
  next_recent_ = (next_recent_ + 1) % kRecentIncidents;
  incident = {next_incident_++, group, bit_of(event.kind()), {key}, 1, device, time};
  ++incidents_[static_cast<std::size_t>(group)];
  begins = true;
  return incident.number;
}

Tally::Saved Tally::save() const {
  return {kinds_, incidents_, entries_, messages_, guesses_, others_, next_incident_};
}

void Tally::restore(Saved saved) {
  kinds_ = saved.kinds;
  incidents_ = saved.incidents;
  entries_ = std::move(saved.entries);
  messages_ = std::move(saved.messages);
  guesses_ = std::move(saved.guesses);
  others_ = saved.others;
  next_incident_ = saved.next_incident;
  // When those between the first and the last were is not kept: as old as can be.
  for (MessageCount& each : messages_) {
    if (each.system() <= each.quiet) continue;
    const std::uint64_t count = each.system() - each.quiet;
    if (each.first && count > 1) each.recent.add(*each.first, count - 1);
    if (each.last) each.recent.add(*each.last, 1);
  }
  quiet_.fill(0);
  for (const Entry& entry : entries_) {
    if (entry.origin != Origin::kSystem) continue;
    quiet_[static_cast<std::size_t>(entry.kind)] += entry.quiet;
    if (entry.count <= entry.quiet) continue;
    const std::uint64_t count = entry.count - entry.quiet;
    if (entry.first && count > 1) add_recent(entry, *entry.first, count - 1);
    if (entry.last) add_recent(entry, *entry.last, 1);
  }
  keys_of_kind_.fill(0);
  std::erase_if(entries_, [&](Entry& entry) {
    if (entry.other) return false;
    std::uint8_t& keys = keys_of_kind_[static_cast<std::size_t>(entry.kind)];
    if (keys >= kMaxKeysPerKind) return true;
    ++keys;
    entry.hash = hash_of(entry);
    return false;
  });
  ++changes_;
}

}  // namespace jetmem::kernel_log
