// SPDX-License-Identifier: Apache-2.0
// Recent events, derived from counters that only grow.
//
// Faults of devices' memory accesses go into buckets of five seconds by the time they were counted;
// the metric sums the last minute. Faults that the kernel log held before jetmem started are recent
// by their time stamps: all of an entry if its first was within the minute, else one.
//
// Refused DMA memory: likewise by device, for ten minutes.
//
// The kernel reports suppressed faults ("callbacks suppressed") only with the next fault, possibly
// days later: they are recent only if a fault was printed within ten seconds before.
//
// jetmem_kernel_recent_events: for each kind that is in a group (kinds.h), and for a site's own
// messages (custom), the events of the last
// ten minutes, without those during jetmem's probe and those that need no attention (attention.h).
// On a live machine by their own time stamps, to 15 s: an event at boot counts although jetmemd
// started later, one of an hour ago never does. Not counted: events without a time; suppressed
// ones, except as above; after a restart of jetmemd, those of several counted before it that may be
// older. The series are there as soon as the log is read, absent before, and without the log. nvmap
// and nvbufsurface also wait for the journal where library errors are followed; where it cannot be
// read, nvmap counts what the kernel itself prints (jetmem_kernel_log_library_errors_followed is 0
// then). A captured log has a clock of its own: what it grows by while jetmem reads it is recent.
//
// Evidence of fragmentation: each kind counts for ten minutes after it was last seen. What happens
// during jetmemd's probe does not count, whether or not the log is followed. compact_fail and
// allocstall are machine-wide: who caused them is unknown.
//
// A restart forgets all of it except what is in the log.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "collectors/kernel_log/source.h"
#include "collectors/kernel_log/tally.h"
#include "collectors/source.h"
#include "health/memory/options.h"

namespace jetmem {

// Events of some kinds, by the device that they name.
class RecentCulprits {
 public:
  static constexpr std::size_t kMost = 32;

  struct Culprit {
    // The first key fields of the kind: an SMMU and its client, or a device.
    std::array<kernel_log::Entry::Part, 2> parts;
    kernel_log::RecentBuckets<5, 12> minute;
    kernel_log::RecentCount ten_minutes;
    bool has_events = false;

    void add(Nanoseconds when, std::uint64_t count);
  };

  // `recent`: how long events count, one minute or ten.
  RecentCulprits(std::span<const kernel_log::EventKind> kinds, std::size_t parts,
                 Nanoseconds recent);
  // `live`: whether the tally's times are on the same clock as `now`.
  void snapshot(const kernel_log::Tally& tally, bool live, Nanoseconds now);
  bool is_first() const { return !looked_; }
  // The first is for events that the kernel only counted, the second for culprits beyond the limit.
  const std::vector<Culprit>& all() const { return all_; }

 private:
  // The last count of an entry of the tally, by its index.
  struct Seen {
    std::uint64_t hash = 0;
    std::uint64_t count = 0;
  };
  bool is_continued(const kernel_log::Tally& tally) const;
  bool is_counted(const kernel_log::Entry& entry) const;
  Culprit& culprit_of(const kernel_log::Entry& entry);

  const std::span<const kernel_log::EventKind> kinds_;
  const std::size_t parts_;
  const Nanoseconds recent_;
  std::vector<Culprit> all_;
  std::vector<Seen> seen_;
  std::uint64_t suppressed_ = 0;
  std::optional<Nanoseconds> looked_;
};

class RecentEvents final : public DerivedMetric {
 public:
  static const DerivedInfo kInfo;
  explicit RecentEvents(const HealthOptions& options = kDefaultHealthOptions);

  const DerivedInfo& info() const override { return kInfo; }
  void write(SampleWriter& out, WriteContext& context) override;

 private:
  static constexpr std::size_t kKinds = 3;
  // A counter, and when it last grew.
  struct Watched {
    std::optional<std::uint64_t> count;
    std::optional<Nanoseconds> grown_at;
    void see(std::optional<std::uint64_t> now_count, Nanoseconds now, bool counts);
  };

  // Takes in what is new. False: nothing can be written yet.
  static bool see(RecentCulprits& culprits, WriteContext& context, Nanoseconds& now);
  // put(culprit, now) writes one.
  template <class Put>
  static void write_culprits(RecentCulprits& culprits, WriteContext& context, Put put);
  void write_kinds(SampleWriter& out, WriteContext& context);
  void write_messages(SampleWriter& out, const KernelLogReading& reading, bool dated,
                      Nanoseconds now) const;
  bool see_captured(const kernel_log::Tally& tally, Nanoseconds now);
  void write_evidence(SampleWriter& out, WriteContext& context);

  const HealthOptions& options_;
  RecentCulprits faults_;    // of memory accesses, by client
  RecentCulprits refusals_;  // of DMA memory, by device
  // Of a captured log: the count at the last reading, and what was added since the first.
  struct Growth {
    std::uint64_t count = 0;
    kernel_log::RecentCount recent;
  };
  std::array<Growth, kernel_log::kKindCount> growth_{};
  std::map<std::string, Growth, std::less<>> message_growth_;  // of a site's own messages, by id
  // Of memory errors, by kind and severity.
  std::array<std::array<Growth, kernel_log::kErrorSeverities>, 2> memory_growth_{};
  bool saw_captured_ = false;
  std::array<Watched, kKinds> evidence_;
  std::optional<Nanoseconds> looked_;  // for evidence
};

}  // namespace jetmem
