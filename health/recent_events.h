// What happened a moment ago, out of counters that only ever grow.
//
// Faults of devices' memory accesses are put into buckets of five seconds by when they were
// counted, and summed over the last minute. Those that the kernel's log held before jetmem came to
// read it are recent where their time says so: all of a kind if its first was within the minute,
// else one.
//
// What the kernel only counted ("callbacks suppressed") is said when the next fault comes, which
// may be days later: it is recent only if a fault had been printed within ten seconds before.
//
// jetmem_kernel_recent_events: of each kind that is in a group (kinds.h), the events of the last
// ten minutes, those while jetmem's probe ran left out. On a live machine by their own time stamps,
// to a quarter of a minute: one at boot counts although jetmemd came later, one of an hour ago
// never does. Not counted: an event whose time is not known; suppressed ones but those that came at
// once (as above); after a restart of jetmemd, of several counted before it, those that may be
// older. There with 0 as soon as the log is read; absent before, and without the log. nvmap and
// nvbufsurface also wait for the journal where processes' lines are followed; where it cannot be
// read nvmap is what the kernel says of it (jetmem_kernel_log_process_lines_followed is 0 then). In
// a captured log, whose clock is another, what it grows by while jetmem looks is new.
//
// Evidence that memory is fragmented: each kind counts for ten minutes from when it was seen last.
// What happens while jetmemd's probe runs is none, whether or not the log is followed. compact_fail
// and allocstall are the whole machine's: who made them happen is not told.
//
// Nothing of it outlives a restart but what the log itself tells.
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
#include "health/options.h"

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
  void look(const kernel_log::Tally& tally, bool live, Nanoseconds now);
  bool is_first() const { return !looked_; }
  // The first is for faults that the kernel only counted, the second for clients beyond the bound.
  const std::vector<Client>& clients() const { return clients_; }
  static std::uint64_t recent(const Client& client, Nanoseconds now);
  static bool had_any(const Client& client) {
    return std::any_of(client.buckets.begin(), client.buckets.end(),
                       [](const Client::Bucket& bucket) { return bucket.id >= 0; });
  }

 private:
  // What was seen of an entry of the tally, by its place.
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

class RecentEvents final : public Derivation {
 public:
  explicit RecentEvents(const HealthOptions& options = kDefaultHealthOptions) : options_(options) {}

  std::string_view name() const override { return "recent_events"; }
  std::span<const std::string_view> sources() const override;
  std::span<const Descriptor> metrics() const override;
  void write(SampleWriter& out, WriteContext& context) override;

 private:
  static constexpr std::size_t kKinds = 3;
  // A counter, and when it was last seen to have grown.
  struct Watched {
    std::optional<std::uint64_t> count;
    std::optional<Nanoseconds> grew;
    void see(std::optional<std::uint64_t> now_count, Nanoseconds now, bool counts);
  };

  void write_faults(SampleWriter& out, WriteContext& context);
  void write_kinds(SampleWriter& out, WriteContext& context);
  bool see_captured(const kernel_log::Tally& tally, Nanoseconds now);
  void write_evidence(SampleWriter& out, WriteContext& context);

  const HealthOptions& options_;
  RecentFaults faults_;
  // Of a captured log: what was counted at the last look, and what came since the first.
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
