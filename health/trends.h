// Where memory is going: trends (health/trend.h) of MemAvailable, of what nvmap has, of its
// orphans, and of the largest groups of processes.
//
// A trend is computed once a minute, and only a few in one round, so that no round is long for it.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "collectors/processes/groups.h"
#include "collectors/source.h"
#include "health/trend.h"

namespace jetmem {

class Trends final : public Derivation {
 public:
  Trends();

  std::string_view name() const override { return "trends"; }
  std::span<const std::string_view> sources() const override;
  std::span<const Descriptor> metrics() const override;
  void write(SampleWriter& out, WriteContext& context) override;

 private:
  enum Of : std::size_t { kMemAvailable, kNvMapMemUsed, kNvmapOrphans };
  static constexpr std::size_t kFigures = 3;
  // Some more than are shown, so that one that goes and comes back is still known.
  static constexpr std::size_t kGroups = 24;

  struct Group {
    ProcessKey key;
    Trend trend;
    Nanoseconds seen{-1};  // boot clock; negative: nobody's
    bool shown = false;
  };

  void add_figures(WriteContext& context);
  void add_groups(WriteContext& context);
  Group& group_of(const ProcessKey& key);
  Trend& trend(std::size_t i) { return i < kFigures ? figures_[i] : groups_[i - kFigures].trend; }
  void compute(Nanoseconds now);
  void write_figures(SampleWriter& out, WriteContext& context) const;
  void write_groups(SampleWriter& out, WriteContext& context) const;

  Trend::Scratch scratch_;
  std::array<Trend, kFigures> figures_;
  std::array<bool, kFigures> there_{};  // in this round
  std::array<Group, kGroups> groups_;
  // Of the processes' readings: the one taken last, and what their bytes are made of.
  std::uint64_t groups_reading_ = 0;
  std::uint64_t groups_kind_ = 0;
  std::size_t next_ = 0;  // trend to look at
  Nanoseconds computed_{0};
};

}  // namespace jetmem
