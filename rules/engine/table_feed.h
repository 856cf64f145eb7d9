// SPDX-License-Identifier: Apache-2.0
// From the table of values now to the engine: each step is a scrape of the series that rules
// mention.
#pragma once

#include <vector>

#include "metrics/sample.h"
#include "rules/engine/engine.h"

namespace jetmem {

class TableFeed {
 public:
  explicit TableFeed(RuleEngine& engine) : engine_(engine) {}

  // Opens the engine's step at `now` and passes every value; a series that ended is stale. Call the
  // engine's evaluate() then.
  void scrape(const SampleTable& table, Nanoseconds now, bool provisional = false);

 private:
  struct Location {
    std::size_t section = 0;
    std::size_t slot = 0;
    RuleEngine::SeriesId series = 0;
  };
  struct Known {
    bool there = false;
    Nanoseconds last{0};  // when it was there last
  };
  void resolve_series(const SampleTable& table, Nanoseconds now);

  void remove_oldest_absent();

  RuleEngine& engine_;
  std::vector<Location> places_;
  std::vector<Known> known_;  // by series; those never seen are not there
  std::vector<RuleEngine::SeriesId> gone_;
  std::optional<std::uint64_t> shape_;
};

}  // namespace jetmem
