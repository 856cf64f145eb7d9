// SPDX-License-Identifier: Apache-2.0
// Recent events, derived from counters that only grow.
//
// Faults of devices' memory accesses go into buckets of five seconds by the time they were counted;
// the metric sums the last minute. Faults that the kernel log held before jetmem started are recent
// by their time stamps: all of an entry if its first was within the minute, else one.
//
// The kernel reports suppressed faults ("callbacks suppressed") only with the next fault, possibly
// days later: they are recent only if a fault was printed within ten seconds before.
//
// jetmem_kernel_recent_events: for each kind that is in a group (kinds.h), the events of the last
// ten minutes, without those during jetmem's probe. On a live machine by their own time stamps, to
// 15 s: an event at boot counts although jetmemd started later, one of an hour ago never does. Not
// counted: events without a time; suppressed ones, except as above; after a restart of jetmemd,
// those of several counted before it that may be older. The series are there as soon as the log is
// read, absent before, and without the log. nvmap and nvbufsurface also wait for the journal where
// library errors are followed; where it cannot be read, nvmap counts what the kernel itself prints
// (jetmem_kernel_log_library_errors_followed is 0 then). A captured log has a clock of its own:
// what it grows by while jetmem reads it is recent.
//
// Evidence of fragmentation: each kind counts for ten minutes after it was last seen. What happens
// during jetmemd's probe does not count, whether or not the log is followed. compact_fail and
// allocstall are machine-wide: who caused them is unknown.
//
// A restart forgets all of it except what is in the log.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "collectors/kernel_log/source.h"
#include "collectors/kernel_log/tally.h"
#include "collectors/source.h"
#include "health/memory/options.h"

namespace jetmem {

// Faults of each client within the last minute.
class RecentFaults {
 public:
  static constexpr std::size_t kMostClients = 32;

  struct Client {
    kernel_log::Entry::Part smmu;
    kernel_log::Entry::Part client;
    struct Bucket {
      std::int64_t id = -1;
      std::uint64_t count = 0;
    };
    std::array<Bucket, 12> buckets{};
  };

  RecentFaults();
  // `live`: whether the tally's times are on the same clock as `now`.
  void snapshot(const kernel_log::Tally& tally, bool live, Nanoseconds now);
  bool is_first() const { return !looked_; }
  // The first is for faults that the kernel only counted, the second for clients beyond the limit.
  const std::vector<Client>& clients() const { return clients_; }
  static std::uint64_t recent(const Client& client, Nanoseconds now);
  static bool has_recent(const Client& client) {
    return std::any_of(client.buckets.begin(), client.buckets.end(),
                       [](const Client::Bucket& bucket) { return bucket.id >= 0; });
  }

 private:
  // The last count of an entry of the tally, by its index.
  struct Seen {
    std::uint64_t hash = 0;
    std::uint64_t count = 0;
  };
  bool is_continued(const kernel_log::Tally& tally) const;
  Client& client_of(const kernel_log::Entry& entry);
  static void add(Client& client, Nanoseconds when, std::uint64_t count);

  std::vector<Client> clients_;
  std::vector<Seen> seen_;
  std::uint64_t suppressed_ = 0;
  std::optional<Nanoseconds> looked_;
};

class RecentEvents final : public DerivedMetric {
 public:
  explicit RecentEvents(const HealthOptions& options = kDefaultHealthOptions) : options_(options) {}

  std::string_view name() const override { return "recent_events"; }
  std::span<const std::string_view> sources() const override;
  std::span<const Descriptor> metrics() const override;
  void write(SampleWriter& out, WriteContext& context) override;

 private:
  static constexpr std::size_t kKinds = 3;
  // A counter, and when it last grew.
  struct Watched {
    std::optional<std::uint64_t> count;
    std::optional<Nanoseconds> grown_at;
    void see(std::optional<std::uint64_t> now_count, Nanoseconds now, bool counts);
  };

  void write_faults(SampleWriter& out, WriteContext& context);
  void write_kinds(SampleWriter& out, WriteContext& context);
  bool see_captured(const kernel_log::Tally& tally, Nanoseconds now);
  void write_evidence(SampleWriter& out, WriteContext& context);

  const HealthOptions& options_;
  RecentFaults faults_;
  // Of a captured log: the count at the last reading, and what was added since the first.
  struct Growth {
    std::uint64_t count = 0;
    kernel_log::RecentCount recent;
  };
  std::array<Growth, kernel_log::kKindCount> growth_{};
  bool saw_captured_ = false;
  std::array<Watched, kKinds> evidence_;
  std::optional<Nanoseconds> looked_;  // for evidence
};

}  // namespace jetmem
