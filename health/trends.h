// SPDX-License-Identifier: Apache-2.0
// Trends (health/trend.h) of MemAvailable, of nvmap's memory and its orphans, and of the largest
// groups of processes.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "collectors/processes/group/groups.h"
#include "collectors/source.h"
#include "health/trend.h"

namespace jetmem {

class Trends final : public DerivedMetric {
 public:
  static const DerivedInfo kInfo;
  Trends();

  const DerivedInfo& info() const override { return kInfo; }
  void write(SampleWriter& out, WriteContext& context) override;

 private:
  enum Of : std::size_t { kMemAvailable, kNvMapMemUsed, kNvmapOrphans };
  static constexpr std::size_t kStatistics = 3;
  // Some more than are shown, so that one that comes back is still known.
  static constexpr std::size_t kGroups = 24;

  struct Group {
    ProcessKey key;
    Trend trend;
    Nanoseconds seen{-1};  // boot clock; negative: nobody's
    bool shown = false;
  };

  void add_processes(WriteContext& context);
  void add_groups(WriteContext& context);
  Group& group_of(const ProcessKey& key);
  void write_process_metrics(SampleWriter& out, WriteContext& context) const;
  void write_groups(SampleWriter& out, WriteContext& context) const;

  Trend::Scratch scratch_;
  std::array<Trend, kStatistics> stats_;
  std::array<bool, kStatistics> there_{};  // in this cycle
  std::array<Group, kGroups> groups_;
  // Of the processes' readings: the one taken last, and what their bytes are made of.
  std::uint64_t groups_reading_ = 0;
  std::uint64_t groups_kind_ = 0;
};

}  // namespace jetmem
