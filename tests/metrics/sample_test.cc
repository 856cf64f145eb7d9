// SPDX-License-Identifier: Apache-2.0
#include "metrics/sample.h"

#include <gtest/gtest.h>

#include <cmath>

namespace jetmem {
namespace {

constexpr Descriptor kPlain{.name = "jetmem_plain_bytes", .help = "Plain."};
constexpr Descriptor kZone{
    .name = "jetmem_zone_bytes", .help = "Zones.", .labels = {"zone", "node"}, .max_series = 4};
constexpr Descriptor kPattern{
    .name = "jetmem_field_*_bytes", .help = "Field *.", .labels = {"kind"}, .max_series = 8};
constexpr Descriptor kLow{.name = "jetmem_low_bytes", .help = "Low.", .worst = Worst::kMin};

class SampleTest : public testing::Test {
 protected:
  SampleTest() { section_ = table_.add_section("test"); }
  const SampleTable::Section& section() const { return table_.sections()[section_]; }

  SampleTable table_;
  std::size_t section_ = 0;
  Nanoseconds now_ = std::chrono::hours(1);
};

TEST_F(SampleTest, KeysAreNameAndSortedLabels) {
  SampleWriter(table_, section_, now_).put(kZone, 7, "DMA", 0);
  EXPECT_EQ(table_.value_of("jetmem_zone_bytes{node=\"0\",zone=\"DMA\"}"), 7);
}

TEST_F(SampleTest, AnUnchangedShapeOnlyStoresValues) {
  for (int cycle = 0; cycle < 5; ++cycle) {
    SampleWriter out(table_, section_, now_);
    out.put(kPlain, cycle);
    out.put(kZone, cycle, "DMA", 0);
  }
  EXPECT_EQ(section().shape_changes, 1U);
  EXPECT_EQ(table_.value_of("jetmem_plain_bytes"), 4);
}

TEST_F(SampleTest, LabelsAreDistinguishedToTheLastByte) {
  const std::string seventeen(17, 'x');
  std::string other = seventeen;
  other.back() = 'y';
  const auto key_of = [&](const auto& zone, const auto& node) {
    SampleWriter(table_, section_, now_).put(kZone, 1, zone, node);
    return section().slots.at(0).key;
  };
  EXPECT_EQ(key_of("ab", "c"), "jetmem_zone_bytes{node=\"c\",zone=\"ab\"}");
  EXPECT_EQ(key_of("a", "bc"), "jetmem_zone_bytes{node=\"bc\",zone=\"a\"}");
  EXPECT_EQ(key_of("a", "bd"), "jetmem_zone_bytes{node=\"bd\",zone=\"a\"}");
  EXPECT_EQ(key_of("", 256), "jetmem_zone_bytes{node=\"256\",zone=\"\"}");
  EXPECT_EQ(key_of("", 257), "jetmem_zone_bytes{node=\"257\",zone=\"\"}");
  const std::uint64_t changes = section().shape_changes;
  key_of("", "257");  // a number and a text, though they look the same
  EXPECT_EQ(section().shape_changes, changes + 1);
  EXPECT_EQ(key_of(seventeen, 0), "jetmem_zone_bytes{node=\"0\",zone=\"" + seventeen + "\"}");
  EXPECT_EQ(key_of(other, 0), "jetmem_zone_bytes{node=\"0\",zone=\"" + other + "\"}");
}

TEST_F(SampleTest, AValueIsNeverStoredUnderAnotherLabel) {
  {
    SampleWriter out(table_, section_, now_);
    out.put(kZone, 1, "DMA", 0);
    out.put(kZone, 2, "Normal", 0);
  }
  {
    SampleWriter out(table_, section_, now_);
    out.put(kZone, 3, "Normal", 0);
  }
  EXPECT_TRUE(std::isnan(table_.value_of("jetmem_zone_bytes{node=\"0\",zone=\"DMA\"}")));
  EXPECT_EQ(table_.value_of("jetmem_zone_bytes{node=\"0\",zone=\"Normal\"}"), 3);
}

TEST_F(SampleTest, FewerSamplesThanBeforeDropTheRest) {
  {
    SampleWriter out(table_, section_, now_);
    out.put(kPlain, 1);
    out.put(kZone, 2, "DMA", 0);
  }
  { SampleWriter(table_, section_, now_).put(kPlain, 1); }
  EXPECT_EQ(section().slots.size(), 1U);
}

TEST_F(SampleTest, PatternTakesItsFirstLabelIntoTheName) {
  {
    SampleWriter out(table_, section_, now_);
    out.put(kPattern, 1, "Active(anon)", "x");
  }
  EXPECT_EQ(table_.value_of("jetmem_field_Active_anon_bytes{kind=\"x\"}"), 1);
}

TEST_F(SampleTest, AFamilyStopsAtItsBoundAndSaysSo) {
  for (int cycle = 0; cycle < 3; ++cycle) {
    SampleWriter out(table_, section_, now_);
    for (int i = 0; i < 10; ++i) out.put(kZone, i, "Z", i);
    out.put(kPlain, 1);
  }
  EXPECT_EQ(section().slots.size(), 5U);
  EXPECT_EQ(section().dropped, 6U);
  EXPECT_EQ(section().shape_changes, 1U) << "a full family must not rebuild every round";
}

TEST_F(SampleTest, TwoSeriesOfOneNameAreNotBothShown) {
  {
    SampleWriter out(table_, section_, now_);
    out.put(kZone, 1, "DMA", 0);
    out.put(kZone, 2, "DMA", 0);
  }
  EXPECT_EQ(section().duplicates, 1U);
  EXPECT_EQ(table_.value_of("jetmem_zone_bytes{node=\"0\",zone=\"DMA\"}"), 1);
}

TEST_F(SampleTest, NotANumberIsNotASample) {
  { SampleWriter(table_, section_, now_).put(kPlain, std::nan("")); }
  EXPECT_TRUE(section().slots.empty());
}

TEST_F(SampleTest, HostileLabelsAreEscapedAndPrintable) {
  { SampleWriter(table_, section_, now_).put(kZone, 1, "a\"b\\c\nd\x1b", 0); }
  EXPECT_EQ(section().slots[0].key, "jetmem_zone_bytes{node=\"0\",zone=\"a\\\"b\\\\c?d?\"}");
}

TEST_F(SampleTest, WorstOfTheLastMinuteIsKeptAndForgotten) {
  const auto put = [&](double value) { SampleWriter(table_, section_, now_).put(kLow, value); };
  put(100);
  now_ += std::chrono::seconds(1);
  put(10);  // the second that a scrape would miss
  now_ += std::chrono::seconds(1);
  put(90);
  EXPECT_EQ(table_.value_of("jetmem_low_bytes"), 90);
  EXPECT_EQ(table_.value_of("jetmem_low_min_1m_bytes"), 10);
  now_ += std::chrono::seconds(50);
  put(95);
  EXPECT_EQ(table_.value_of("jetmem_low_min_1m_bytes"), 10);
  now_ += std::chrono::seconds(15);
  put(95);
  EXPECT_EQ(table_.value_of("jetmem_low_min_1m_bytes"), 95);
}

TEST_F(SampleTest, TheLastMinuteSurvivesAChangeOfShape) {
  { SampleWriter(table_, section_, now_).put(kLow, 10); }
  {
    SampleWriter out(table_, section_, now_);
    out.put(kPlain, 1);  // new, in front
    out.put(kLow, 90);
  }
  EXPECT_EQ(table_.value_of("jetmem_low_min_1m_bytes"), 10);
}

TEST(SampleNames, UnitsAndCompanions) {
  EXPECT_EQ(unit_of("jetmem_x_bytes"), "bytes");
  EXPECT_EQ(unit_of("jetmem_x_seconds_total"), "seconds");
  EXPECT_EQ(unit_of("jetmem_x"), "");
  EXPECT_EQ(worst_name("jetmem_x_bytes", Worst::kMin), "jetmem_x_min_1m_bytes");
  EXPECT_EQ(worst_name("jetmem_x", Worst::kMax), "jetmem_x_max_1m");
}

}  // namespace
}  // namespace jetmem
