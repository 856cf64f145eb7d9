// SPDX-License-Identifier: Apache-2.0
// What a shipped rule says of a device whose series are reported in a story, step by step.
//
// A story is lines. Each begins with a time; then, before "->", what is set from then on; behind
// it, the state that the rule is in after the step at that time. In a text of stories a line with
// the rule and the labels of the alert that fires first stands before one in which it fires, and
// "quiet" before one of a healthy device. '#' begins a comment:
//
//   JetmemCmaExhausted area=linux,cma
//     0s    cma_used_ratio{area="linux,cma"} = 96%      -> pending
//     1m                                                -> firing
//     2m    cma_used_ratio{area="linux,cma"} = gone     -> inactive
//   quiet  # A camera that runs.
//     0s    cma_used_ratio{area="linux,cma"} = 94.9%    -> inactive
//
// Names are without "jetmem_"; several settings are parted by ';'. "x += 3/s" makes x grow from its
// value now, "x = gone" ends the series. Steps are 15 s apart; all shipped rules are evaluated.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "rules/engine/engine.h"

namespace jetmem {

struct Scenario {
  std::string rule;
  std::string fires;   // begins inactive or pending, fires, ends inactive
  std::string labels;  // of the alert that fires first: "area=linux,cma"
  std::string quiet;   // of a healthy device: no rule fires at any step
};

std::vector<Scenario> stories_of(std::string_view text);
// Of an event's kind: none, one, ten minutes later none. Quiet: events of before, what jetmem's own
// probe causes, a backlog of yesterday that is counted now, a kind that this rule is not about, and
// a reboot.
Scenario recent_events(const std::string& rule, const std::string& fires, const std::string& quiet,
                       const std::string& of_other);

std::vector<Scenario> memory_stories();
std::vector<Scenario> device_stories();
std::vector<Scenario> jetmem_stories();
std::vector<Scenario> kernel_stories();
std::vector<Scenario> all_stories();

// The shipped rules, in one set with no error; those with one are missing.
const RuleSet& shipped_rule_set();

class ScenarioDevice {
 public:
  explicit ScenarioDevice(std::string_view rule);

  struct Line {
    std::string text;  // for messages
    Nanoseconds at{0};
    std::vector<std::string> settings;
    std::string state;
  };
  // Adds a failure for what cannot be read.
  static std::vector<Line> lines_of(std::string_view scenario);

  // Every step up to the line's time, the last with its settings. False: a rule fired that must
  // not (`quiet`).
  bool play(const Line& line, bool quiet = false);

  AlertState state() const { return engine_.evaluated(index_).state(); }
  // Of the alert that fires.
  std::string labels() const;
  // Whether a condition of the rule never had a series so far.
  std::optional<std::string> unseen() const;
  // Of a series that a rule looks at, by its name in the story, as the next step sees it.
  double value(const std::string& key) const;
  // Names of the rules that fire now.
  std::string firing() const;

 private:
  struct Series {
    RuleEngine::SeriesId id = 0;
    double value = 0;
    double per_second = 0;
    bool gone = false;
  };
  void step();
  void apply(const std::string& setting);

  RuleEngine engine_;
  std::size_t index_ = 0;
  Nanoseconds now_{0};
  bool began_ = false;
  std::map<std::string, Series> series_;
  std::vector<bool> seen_;  // by condition
};

}  // namespace jetmem
