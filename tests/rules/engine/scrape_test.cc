// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include <cmath>

#include "tests/rules/engine/rule_evaluation.h"

namespace jetmem {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

constexpr Descriptor kBytes{"jetmem_x_bytes", MetricType::kGauge, "x", {"zone", "area"}, 300};
constexpr Descriptor kPattern{"jetmem_meminfo_*_bytes", MetricType::kGauge, "m", {}, 10};
constexpr Descriptor kOther{"jetmem_other_bytes", MetricType::kGauge, "o", {}, 1};

RuleEngine fed_engine(std::size_t memory) {
  return RuleEngine(
      rules_of(rules_text(
          {{"X", "{metric: jetmem_x_bytes, above: 5}"},
           {"M",
            "{metric: jetmem_meminfo_MemFree_bytes, function: maximum, window: 10m, above: 5}"}})),
      {std::chrono::seconds(15), memory});
}

auto of_zone(const char* zone, double value) { return Pair(Labels{{"zone", zone}}, value); }

class Feed : public ::testing::Test {
 protected:
  struct Given {
    double value;
    std::string zone;
    std::string area;
  };
  void write(std::size_t section, const std::vector<Given>& given) {
    SampleWriter out(table_, section, now_);
    for (const Given& each : given) out.put(kBytes, each.value, each.zone, each.area);
  }
  void scrape() {
    engine_.scrape(table_, now_);
    engine_.evaluate();
    now_ += std::chrono::seconds(15);
  }
  void feed(const std::vector<Given>& given) {
    write(first_, given);
    scrape();
  }
  auto values(std::size_t rule = 0) {
    return engine_.values_of(engine_.rules().rules[rule].when[0]);
  }

  RuleEngine engine_ = fed_engine(1U << 20);
  SampleTable table_;
  std::size_t first_ = table_.add_section("first");
  std::size_t second_ = table_.add_section("second");
  Nanoseconds now_{0};
};

TEST_F(Feed, ValuesWithTheirLabelsSortedAndNoneEmpty) {
  write(first_, {{1, "z", "a"}, {2, "z", ""}, {3, "", ""}});
  {
    SampleWriter out(table_, second_, now_);
    out.put(kPattern, 9, "MemFree");
    out.put(kPattern, 8, "MemTotal");
    out.put(kOther, 7);
  }
  scrape();
  EXPECT_THAT(values(),
              ElementsAre(Pair(Labels{}, 3), Pair(Labels{{"area", "a"}, {"zone", "z"}}, 1),
                          of_zone("z", 2)));
  EXPECT_THAT(values(1), ElementsAre(Pair(Labels{}, 9)));
  EXPECT_EQ(engine_.series_count(), 4U) << "no others";
}

TEST_F(Feed, ASeriesThatVanishesIsStaleAtOnce) {
  feed({{1, "a", ""}, {2, "b", ""}});
  feed({{3, "b", ""}});
  EXPECT_THAT(values(), ElementsAre(of_zone("b", 3)));
  table_.clear(first_);
  scrape();
  EXPECT_THAT(values(), IsEmpty());
  feed({{4, "a", ""}});
  EXPECT_THAT(values(), ElementsAre(of_zone("a", 4)));
}

TEST_F(Feed, ASeriesMayMoveToAnotherPlace) {
  feed({{1, "a", ""}, {2, "b", ""}});
  const std::size_t before = engine_.series_count();
  write(first_, {{5, "new", ""}, {1, "a", ""}});
  write(second_, {{2, "b", ""}});
  scrape();
  EXPECT_THAT(values(), ElementsAre(of_zone("a", 1), of_zone("b", 2), of_zone("new", 5)));
  EXPECT_EQ(engine_.series_count(), before + 1);
}

TEST_F(Feed, TheSecondOfTwoAlikeIsLeftOut) {
  write(first_, {{1, "a", ""}, {2, "a", ""}});
  write(second_, {{3, "a", ""}});
  scrape();
  EXPECT_THAT(values(), ElementsAre(of_zone("a", 1)));
}

TEST_F(Feed, WhatIsGoneForLongerThanAnyWindowIsForgotten) {
  feed({{1, "a", ""}, {2, "b", ""}});
  write(first_, {{2, "b", ""}});
  // The longest window is 10 minutes: 40 steps.
  for (int i = 0; i < 40; ++i) scrape();
  EXPECT_EQ(engine_.series_count(), 2U);
  scrape();
  EXPECT_EQ(engine_.series_count(), 1U);
  feed({{7, "a", ""}, {2, "b", ""}});
  EXPECT_THAT(values(), ElementsAre(of_zone("a", 7), of_zone("b", 2)));
}

TEST_F(Feed, SeriesThatComeAndGoForeverNeedNoMoreRoom) {
  for (int i = 0; i < 10'000; ++i) {
    write(first_, {{1, "zone number " + std::to_string(i), ""}, {2, "stays", ""}});
    scrape();
    ASSERT_LE(engine_.series_count(), 45U);
    ASSERT_LE(engine_.bytes(), 1U << 20);
  }
  EXPECT_EQ(engine_.refused_series(), 0U);
  EXPECT_EQ(values().size(), 2U);
}

// Room for about a hundred: all of them give way to as many others.
TEST(FeedWithoutRoom, WhatIsGoneGivesWayToWhatIsThere) {
  RuleEngine engine = fed_engine(64U << 10);
  SampleTable table;
  const std::size_t section = table.add_section("only");
  Nanoseconds now{0};
  const auto step = [&](const std::string& zone) {
    {
      SampleWriter out(table, section, now);
      for (int i = 0; i < 250; ++i) out.put(kBytes, 9, zone, i);
    }
    engine.scrape(table, now);
    engine.evaluate();
    now += std::chrono::seconds(15);
  };
  step("old");
  const std::size_t evaluated = engine.evaluated(0).conditions[0].holding;
  ASSERT_GT(evaluated, 20U);
  ASSERT_GT(engine.refused_series(), 0U);
  step("new");
  // Not as many: what the old ones took apart from their samples is given free later.
  EXPECT_GT(engine.evaluated(0).conditions[0].holding, evaluated / 2);
}

}  // namespace
}  // namespace jetmem
