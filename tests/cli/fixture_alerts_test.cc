// SPDX-License-Identifier: Apache-2.0
// What the shipped rules say of each board of tests/fixtures when nothing on it changes for twenty
// minutes: silence but for what is really in the tree.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "cli/client/local_snapshot.h"
#include "report/device/sample_set.h"
#include "rules/engine/engine.h"
#include "rules/model/closed_labels.h"
#include "rules/parse/check.h"
#include "tests/boards.h"

namespace jetmem {
namespace {

using namespace std::chrono_literals;

struct Board {
  const char* name;
  std::set<std::string> fires;  // "JetmemSourceDenied cma"
};

const Board kBoards[] = {
    // Captured without root.
    {"agx-orin",
     {"JetmemSourceDenied cma", "JetmemSourceDenied kernel_log", "JetmemSourceDenied nvmap",
      "JetmemSourceDenied pagetypeinfo"}},
    // The largest piece of its small area is 11 MiB; a frame is 12.
    {"nano-4gb", {"JetmemCmaFragmented 1"}},
    {"orin", {}},
    // Its last probe got no pinned memory; its log has a refused request of 48 MiB, and the largest
    // run is 36.
    {"orin-nano-8gb", {"JetmemCmaFragmented linux,cma", "JetmemProbeFailing pinned"}},
    {"raspberry-pi-5", {}},
    {"thor", {}},
    {"x86-pc", {}},
    {"agx-orin-industrial", {}},
    {"dgx-spark", {}},
    {"igx-orin", {}},
    {"imx8mp-evk", {}},
    {"raspberry-pi-zero-2w", {}},
    {"rb3gen2", {}},
    {"rock-5b", {}},
    {"thor-t4000", {}},
    // A refused request of 95 MiB, and a largest run of 80.
    {"xavier-nx", {"JetmemCmaFragmented linux,cma"}},
};

std::string shown(const Rule& rule, const Labels& labels) {
  std::string out = rule.name;
  for (const auto& [name, value] : labels) {
    // Part of the rule's own condition, and so nothing new.
    const bool is_requested = std::any_of(
        rule.when[0].labels.begin(), rule.when[0].labels.end(),
        [&, &label = name](const LabelMatcher& m) { return m.equal && m.label == label; });
    if (!is_requested) out.append(" ").append(value);
  }
  return out;
}

// What is declared to be all values of a label must be all that is written.
TEST(ClosedLabels, HaveEveryValueOfTheBoards) {
  for (const ClosedLabel& label : closed_labels()) {
    const auto metric = MetricCatalog::of_jetmem().find(label.metric);
    ASSERT_TRUE(metric) << label.metric;
    const auto labels = metric->labels();
    EXPECT_TRUE(std::find(labels.begin(), labels.end(), label.label) != labels.end())
        << label.metric << " " << label.label;
    EXPECT_FALSE(label.values().empty());
  }
  std::set<std::string> seen;
  for (const Board& board : kBoards) {
    const auto shot = LocalSnapshot::read(std::string(JETMEM_FIXTURES) + "/" + board.name, {});
    ASSERT_TRUE(shot) << shot.error().message;
    const SampleSet samples = SampleSet::of((*shot)->table());
    for (const Sample& sample : samples.all()) {
      for (const auto& [name, value] : sample.name.labels) {
        const auto known = closed_label_values(sample.name.family, name);
        if (known.empty()) continue;
        seen.insert(sample.name.family + " " + name);
        EXPECT_TRUE(std::find(known.begin(), known.end(), value) != known.end())
            << board.name << ": " << sample.name.key();
      }
    }
  }
  EXPECT_GT(seen.size(), 20U);
}

class FixtureAlerts : public testing::TestWithParam<Board> {};

TEST_P(FixtureAlerts, MatchTheBoard) {
  const auto shot = LocalSnapshot::read(std::string(JETMEM_FIXTURES) + "/" + GetParam().name, {});
  ASSERT_TRUE(shot) << shot.error().message;
  ParsedRules parsed = load_rules(shipped_rules(), MetricCatalog::of_jetmem(), 15s);
  ASSERT_TRUE(parsed.errors.empty()) << describe(parsed.errors);
  RuleEngine engine(std::move(parsed.rules), {});
  std::set<std::string> fired;
  std::set<std::string> pending;
  for (int step = 0; step < 80; ++step) {
    engine.scrape((*shot)->table(), 1h + step * 15s);
    engine.evaluate();
    pending.clear();
    for (std::size_t r = 0; r < engine.rules().rules.size(); ++r) {
      for (const RuleEngine::Instance& instance : engine.evaluated(r).instances) {
        const std::string name = shown(engine.rules().rules[r], *instance.labels);
        (instance.state == AlertState::kFiring ? fired : pending).insert(name);
      }
    }
  }
  EXPECT_EQ(fired, GetParam().fires);
  EXPECT_TRUE(pending.empty()) << *pending.begin() << " would fire if this went on";
  EXPECT_EQ(engine.refused_series(), 0U);
}

INSTANTIATE_TEST_SUITE_P(Boards, FixtureAlerts, testing::ValuesIn(kBoards), BoardName());

}  // namespace
}  // namespace jetmem
