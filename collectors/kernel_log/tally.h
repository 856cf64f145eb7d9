// SPDX-License-Identifier: Apache-2.0
// How often what happened: counts of events, bounded whatever the log says.
//
// Events that agree in kind and in the key fields of their kind (kinds.h) are one entry: count,
// first and last time. A kind has at most kMaxKeysPerKind entries, all kinds together kMaxKeys;
// what comes on top is counted in one further entry of its kind, "other". So a storm costs no
// memory.
//
// One incident often prints several events: an SMMU line and a memory-controller line, the four
// lines of an OOM kill. Those within a second of each other, of one group (kinds.h), are grouped:
// the first begins an incident, the others belong to it.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "collectors/kernel_log/event/attention.h"
#include "collectors/kernel_log/event/event.h"
#include "collectors/kernel_log/event/kinds.h"

namespace jetmem::kernel_log {

// What an event is put down to.
enum class Origin : std::uint8_t { kSystem, kProbe };
inline constexpr std::size_t kOrigins = 2;
std::string_view origin_name(Origin origin);

// How many events there were lately, by their own times: fixed memory, whatever their number.
template <int kSeconds, std::size_t kBuckets>
class RecentBuckets {
 public:
  static constexpr Nanoseconds kBucket = std::chrono::seconds(kSeconds);
  static constexpr Nanoseconds kRecent = kBucket * static_cast<std::int64_t>(kBuckets);

  // Times may come in any order: what is too old for the newest known is ignored.
  void add(Nanoseconds when, std::uint64_t count) {
    if (when < Nanoseconds(0)) return;
    const std::int64_t id = when / kBucket;
    Bucket& bucket = buckets_[static_cast<std::size_t>(id) % kBuckets];
    if (bucket.id > id) return;
    if (bucket.id != id) bucket = {id, 0};
    bucket.count += std::min(count, std::numeric_limits<std::uint64_t>::max() - bucket.count);
  }

  // A bucket counts as a whole: of ten minutes in buckets of 15 s an event counts for 9:45 to
  // 10:00.
  std::uint64_t sum(Nanoseconds now) const {
    const std::int64_t id = now / kBucket;
    std::uint64_t sum = 0;
    for (const Bucket& bucket : buckets_) {
      if (bucket.id > id - static_cast<std::int64_t>(kBuckets) && bucket.id <= id) {
        sum += bucket.count;
      }
    }
    return sum;
  }

 private:
  struct Bucket {
    std::int64_t id = -1;
    std::uint64_t count = 0;
  };
  std::array<Bucket, kBuckets> buckets_{};
};

// Of the last ten minutes.
using RecentCount = RecentBuckets<15, 40>;

struct Entry {
  static constexpr std::size_t kMaxPart = 64;
  struct Part {
    std::array<char, kMaxPart> bytes{};
    std::uint8_t size = 0;
    std::string_view view() const { return {bytes.data(), size}; }
    void set(std::string_view text);
  };

  EventKind kind = EventKind::kNone;
  Origin origin = Origin::kSystem;
  bool other = false;  // collects what has no entry of its own
  // The values of the kind's key fields, in their order; "unknown" for one that the kernel did not
  // print. The client of an SMMU fault without a name is its stream ID.
  std::array<Part, 4> parts;
  std::uint64_t hash = 0;

  std::uint64_t count = 0;
  // Of the count: events that need nobody's attention (attention.h).
  std::uint64_t quiet = 0;
  // Of failed CMA allocations: the most pages that were asked for. 0: never reported.
  std::uint64_t largest_pages = 0;
  std::optional<Nanoseconds> first;  // boot clock
  std::optional<Nanoseconds> last;
  // What was said about it already (EventLog): the count then, and when the next word is due.
  std::uint64_t reported = 0;
  Nanoseconds report_at{0};
  Nanoseconds report_pause{0};
};

// Events of one message of a site's own, by its id.
struct MessageCount {
  Entry::Part id;
  EventKind kind = EventKind::kNone;
  std::array<std::uint64_t, kOrigins> count{};
  // Of those with origin system: events that need nobody's attention.
  std::uint64_t quiet = 0;
  std::optional<Nanoseconds> first;  // boot clock; of those that are not quiet, with origin system
  std::optional<Nanoseconds> last;
  RecentCount recent;  // likewise

  std::uint64_t system() const { return count[0]; }
};

// Of an entry of memory_error or gpu_ecc_error, by its key fields.
ErrorSeverity severity_of(const Entry& entry);

// What the tally has to say of one event just counted.
struct Occurrence {
  Entry* entry = nullptr;
  std::size_t entry_index = 0;  // of Tally::entries()
  std::uint64_t incident = 0;   // its number since boot; 0 for a kind that is in no group
  bool begins_incident = false;
  std::optional<Nanoseconds> time;  // boot clock
  bool before_start = false;
};

class Tally {
 public:
  static constexpr std::size_t kMaxKeys = 256;
  static constexpr std::size_t kMaxKeysPerKind = 48;
  static constexpr std::size_t kMaxMessages = 500;
  static constexpr std::size_t kMaxGuesses = 32;

  Tally();

  // `time` on the boot clock, absent where the log has none.
  Occurrence count(const Event& event, std::optional<Nanoseconds> time, bool before_start);
  // An event that is a guess (Event::is_guess()) is in none of the other counts. The entry's first
  // part is the driver.
  Occurrence count_guess(const Event& event, std::optional<Nanoseconds> time, bool before_start);
  // The kernel suppressed this many messages of a kind, as it reports at `time`: often only when
  // the next of them comes, so they are put down to whatever the last of that kind was put down to,
  // too. That next one may come days later: only if the line before was just printed (kAtOnce) are
  // they known to be of now.
  static constexpr Nanoseconds kAtOnce = std::chrono::seconds(10);
  void add_suppressed(EventKind kind, std::uint64_t count, std::optional<Nanoseconds> time);

  // Events from `from` on are the probe's, until probe_ended() and for a moment longer: what a
  // device does with a freed buffer shows late. Not those of kinds that a probe cannot cause, nor
  // those that name another process.
  void probe_begins(Nanoseconds from);
  void probe_ended(Nanoseconds at);
  // Whether any of the last few ran, or may still have shown, after `from`.
  bool probed_since(Nanoseconds from) const;

  std::uint64_t events(EventKind kind, Origin origin) const {
    return kinds_[static_cast<std::size_t>(kind)].count[static_cast<std::size_t>(origin)];
  }
  // Of every kind.
  std::uint64_t events(Origin origin) const {
    std::uint64_t sum = 0;
    for (const KindCounts& kind : kinds_) sum += kind.count[static_cast<std::size_t>(origin)];
    return sum;
  }
  std::uint64_t suppressed(EventKind kind, Origin origin) const {
    return of(kind).suppressed[static_cast<std::size_t>(origin)];
  }
  // Those that came at once, so far as this process knows; without the probe's.
  std::uint64_t suppressed_at_once(EventKind kind) const {
    return at_once_[static_cast<std::size_t>(kind)];
  }
  // Those that need nobody's attention (attention.h), without the probe's.
  std::uint64_t quiet(EventKind kind) const { return quiet_[static_cast<std::size_t>(kind)]; }
  // Events of the last ten minutes by their own times, without the probe's and the quiet ones.
  // Suppressed ones count if they came at once; an event whose time is not known does not. Of those
  // from before a restart at most what is known to be recent.
  std::uint64_t recent(EventKind kind, Nanoseconds now) const {
    return recent_counts_[static_cast<std::size_t>(kind)].sum(now);
  }
  // The same of memory errors, by their severity.
  std::uint64_t recent(EventKind kind, ErrorSeverity severity, Nanoseconds now) const;
  std::uint64_t before_start(EventKind kind) const { return of(kind).before_start; }
  // Without the probe's.
  std::optional<Nanoseconds> last_seen(EventKind kind) const { return of(kind).last; }
  std::uint64_t incidents(Group group) const { return incidents_[static_cast<std::size_t>(group)]; }
  const std::vector<Entry>& entries() const { return entries_; }
  std::vector<Entry>& entries() { return entries_; }
  // Those of a site's messages that came; at most kMaxMessages.
  const std::vector<MessageCount>& messages() const { return messages_; }
  const MessageCount* message(std::string_view id) const;
  // By kind and driver; the last may be for all others, without a kind.
  const std::vector<Entry>& guesses() const { return guesses_; }
  // Events that were counted under "other".
  std::uint64_t others() const { return others_; }
  // Changes with every event.
  std::uint64_t changes() const { return changes_; }

  // For keeping it over a restart of the daemon (state.h).
  struct KindCounts {
    std::array<std::uint64_t, kOrigins> count{};
    std::array<std::uint64_t, kOrigins> suppressed{};
    std::uint64_t before_start = 0;
    std::optional<Nanoseconds> last;
  };
  static constexpr std::size_t kGroups = kGroupCount;
  struct Saved {
    std::array<KindCounts, kKindCount> kinds;
    std::array<std::uint64_t, kGroups> incidents{};
    std::vector<Entry> entries;
    std::vector<MessageCount> messages;
    std::vector<Entry> guesses;
    std::uint64_t others = 0;
    std::uint64_t next_incident = 1;
  };
  Saved save() const;
  void restore(Saved saved);

 private:
  static constexpr std::size_t kRecentIncidents = 16;
  struct Incident {
    std::uint64_t number = 0;  // 0: unused
    Group group = Group::kNone;
    std::uint64_t kinds = 0;              // a bit for each kind in it
    std::array<std::uint64_t, 8> keys{};  // hashes of its events' keys
    std::size_t key_count = 0;
    std::uint64_t device = 0;  // hash of the device or PID named in it; 0: none
    std::optional<Nanoseconds> last;
  };
  struct ProbeWindow {
    Nanoseconds from{0};
    std::optional<Nanoseconds> to;
    bool used = false;
  };

  const KindCounts& of(EventKind kind) const { return kinds_[static_cast<std::size_t>(kind)]; }
  void add_recent(const Entry& entry, Nanoseconds when, std::uint64_t count);
  void count_message(const Event& event, Origin origin, std::optional<Nanoseconds> time, bool quiet);
  Entry& entry_of(const Event& event, Origin origin);
  Entry& other_of(EventKind kind, Origin origin);
  Origin origin_of(EventKind kind, std::optional<Nanoseconds> time) const;
  // The number of the incident that the event belongs to, or begins.
  std::uint64_t incident_of(const Event& event, std::uint64_t key, std::optional<Nanoseconds> time,
                            bool& begins);

  std::array<KindCounts, kKindCount> kinds_;
  std::array<Origin, kKindCount> last_origin_{};
  std::array<std::uint64_t, kKindCount> at_once_{};
  std::array<std::uint64_t, kKindCount> quiet_{};
  std::array<RecentCount, kKindCount> recent_counts_{};
  // Of memory_error and gpu_ecc_error.
  std::array<std::array<RecentCount, kErrorSeverities>, 2> recent_errors_{};
  std::array<std::uint64_t, kGroups> incidents_{};
  std::vector<Entry> entries_;
  std::vector<MessageCount> messages_;
  std::vector<Entry> guesses_;
  std::array<std::uint8_t, kKindCount> keys_of_kind_{};
  std::uint64_t others_ = 0;
  std::uint64_t changes_ = 0;
  std::uint64_t next_incident_ = 1;
  std::array<Incident, kRecentIncidents> recent_;
  std::size_t next_recent_ = 0;
  std::array<ProbeWindow, 4> probes_;
  std::size_t next_probe_ = 0;
};

}  // namespace jetmem::kernel_log
