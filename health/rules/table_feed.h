// From the table of values now to the engine: each step is a scrape of the series that rules
// mention.
#pragma once

#include <vector>

#include "base/sample.h"
#include "health/rules/engine.h"

namespace jetmem {

class TableFeed {
 public:
  explicit TableFeed(RuleEngine& engine) : engine_(engine) {}

  // Opens the engine's step at `now` and gives it every value; a series that is no more is stale.
  // The engine is to be told to judge() then.
  void scrape(const SampleTable& table, Nanoseconds now, bool provisional = false);

 private:
  struct Place {
    std::size_t section = 0;
    std::size_t slot = 0;
    RuleEngine::SeriesId series = 0;
  };
  struct Known {
    bool there = false;
    Nanoseconds last{0};  // when it was there last
  };
  void find_places(const SampleTable& table, Nanoseconds now);

  void remove_longest_gone();

  RuleEngine& engine_;
  std::vector<Place> places_;
  std::vector<Known> known_;  // by series; those never seen are not there
  std::vector<RuleEngine::SeriesId> gone_;
  std::optional<std::uint64_t> shape_;
};

}  // namespace jetmem
