// What happened a moment ago, out of counters that only ever grow.
//
// Faults of devices' memory accesses are put into buckets of five seconds by when they were
// counted, and summed over the last minute. Those that the kernel's log held before jetmem came to
// read it are recent where their time says so: all of a kind if its first was within the minute,
// else one.
//
// Evidence that memory is fragmented: each kind counts for ten minutes from when it was seen last.
// What happens while jetmem's probe runs is none, wherever it is known when that is (the kernel log
// knows). compact_fail and allocstall are the whole machine's: who made them happen is not told.
//
// Nothing of it outlives a restart but what the log itself tells.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "collectors/kernel_log/tally.h"
#include "collectors/source.h"

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
  void write_evidence(SampleWriter& out, WriteContext& context);

  RecentFaults faults_;
  std::array<Watched, kKinds> evidence_;
  std::optional<Nanoseconds> looked_;  // for evidence
};

}  // namespace jetmem
