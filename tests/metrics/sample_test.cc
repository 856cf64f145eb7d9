// SPDX-License-Identifier: Apache-2.0
#include "metrics/sample.h"

#include <gtest/gtest.h>

#include <cmath>

#include "metrics/series_key.h"

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

  // One reading of these.
  void zones(std::initializer_list<std::pair<double, const char*>> values) {
    SampleWriter out(table_, section_, now_);
    for (const auto& [value, zone] : values) out.put(kZone, value, zone, 0);
  }
  double zone(const std::string& name) const {
    return table_.value_of("jetmem_zone_bytes{node=\"0\",zone=\"" + name + "\"}");
  }

  SampleTable table_;
  std::size_t section_ = 0;
  Nanoseconds now_ = std::chrono::hours(1);
};

TEST_F(SampleTest, KeysAreNameAndSortedLabels) {
  zones({{7, "DMA"}});
  EXPECT_EQ(zone("DMA"), 7);
  // Hostile labels are escaped and printable.
  zones({{1, "a\"b\\c\nd\x1b"}});
  EXPECT_EQ(section().slots[0].key, "jetmem_zone_bytes{node=\"0\",zone=\"a\\\"b\\\\c?d?\"}");
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
  std::string seventeen(17, 'x');
  const auto expect_key = [&](const auto& zone, const auto& node, const std::string& key) {
    SampleWriter(table_, section_, now_).put(kZone, 1, zone, node);
    EXPECT_EQ(section().slots.at(0).key, "jetmem_zone_bytes{" + key + "}");
  };
  expect_key("ab", "c", "node=\"c\",zone=\"ab\"");
  expect_key("a", "bc", "node=\"bc\",zone=\"a\"");
  expect_key("a", "bd", "node=\"bd\",zone=\"a\"");
  expect_key("", 256, "node=\"256\",zone=\"\"");
  expect_key("", 257, "node=\"257\",zone=\"\"");
  const std::uint64_t changes = section().shape_changes;
  expect_key("", "257", "node=\"257\",zone=\"\"");
  EXPECT_EQ(section().shape_changes, changes + 1) << "a number and a text that look the same";
  expect_key(seventeen, 0, "node=\"0\",zone=\"" + seventeen + "\"");
  seventeen.back() = 'y';
  expect_key(seventeen, 0, "node=\"0\",zone=\"" + seventeen + "\"");
}

TEST_F(SampleTest, AValueIsNeverStoredUnderAnotherLabel) {
  zones({{1, "DMA"}, {2, "Normal"}});
  zones({{3, "Normal"}});
  EXPECT_TRUE(std::isnan(zone("DMA")));
  EXPECT_EQ(zone("Normal"), 3);
  // Two series of one name are not both shown.
  zones({{1, "DMA"}, {2, "DMA"}});
  EXPECT_EQ(section().duplicates, 1U);
  EXPECT_EQ(zone("DMA"), 1);
}

TEST_F(SampleTest, FewerSamplesThanBeforeDropTheRest) {
  for (int samples = 2; samples >= 0; --samples) {
    {
      SampleWriter out(table_, section_, now_);
      out.put(kPlain, samples > 0 ? 1 : std::nan(""));  // which is no sample
      if (samples > 1) out.put(kZone, 2, "DMA", 0);
    }
    EXPECT_EQ(section().slots.size(), static_cast<std::size_t>(samples));
  }
}

TEST_F(SampleTest, PatternTakesItsFirstLabelIntoTheName) {
  SampleWriter(table_, section_, now_).put(kPattern, 1, "Active(anon)", "x");
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

TEST(SeriesKey, IsTakenApartAndPutTogether) {
  const auto name = parse_series_key(R"(jetmem_x_bytes{area="linux,cma",b="a\"b\\c\nd"})");
  ASSERT_TRUE(name) << name.error().message;
  EXPECT_EQ(name->family, "jetmem_x_bytes");
  EXPECT_EQ(name->label("area"), "linux,cma");
  EXPECT_EQ(name->label("b"), "a\"b\\c\nd");
  EXPECT_EQ(name->label("c"), "");
  EXPECT_EQ(name->key(), R"(jetmem_x_bytes{area="linux,cma",b="a\"b\\c\nd"})");
  EXPECT_EQ(parse_series_key("jetmem_x")->key(), "jetmem_x");
}

TEST(SeriesKey, WhatIsNoneSaysWhere) {
  for (const char* key : {"", "1x", "x{", "x{}y", "x{a}", "x{a=\"b}", "x{a=\"b\" }", "x{a=\"\\q\"}",
                          "x{a=\"b\"c=\"d\"}", "x{a=\"b\",}"}) {
    EXPECT_FALSE(parse_series_key(key)) << key;
  }
  EXPECT_EQ(parse_series_key("x{a=1}").error().message,
            "series name 'x{a=1}', character 4: expected =\" and a label's value");
}

}  // namespace
}  // namespace jetmem
