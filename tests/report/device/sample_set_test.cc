// SPDX-License-Identifier: Apache-2.0
#include "report/device/sample_set.h"

#include <gtest/gtest.h>

#include "base/clock.h"

namespace jetmem {
namespace {

constexpr Descriptor kArea{
    .name = "jetmem_area_bytes", .help = "x", .labels = {"area"}, .max_series = 4};
constexpr Descriptor kPlain{.name = "jetmem_plain", .help = "x"};

SampleTable table() {
  SampleTable out;
  const std::size_t section = out.add_section("s");
  SampleWriter writer(out, section, Nanoseconds(0));
  writer.put(kArea, 2, "b\"{");
  writer.put(kPlain, 7);
  writer.put(kArea, 1, "a");
  writer.finish();
  return out;
}

TEST(SampleSet, FindsByNameAndLabels) {
  const SampleSet samples = SampleSet::of(table());
  EXPECT_EQ(samples.value("jetmem_plain"), 7);
  EXPECT_EQ(samples.value("jetmem_area_bytes", {{"area", "b\"{"}}), 2);
  EXPECT_EQ(samples.value("jetmem_area_bytes"), std::nullopt) << "two of them";
  EXPECT_EQ(samples.value("jetmem_none"), std::nullopt);
  ASSERT_EQ(samples.family("jetmem_area_bytes").size(), 2U);
  EXPECT_EQ(samples.family("jetmem_area_bytes")[0].label("area"), "a");
}

TEST(SampleSet, PageAndTableAreEqual) {
  const SampleTable from = table();
  Page page;
  fill_page(from, Nanoseconds(1), 1, page);
  const SampleSet of_page = SampleSet::of(page);
  const SampleSet of_table = SampleSet::of(from);
  ASSERT_EQ(of_page.all().size(), of_table.all().size());
  for (std::size_t i = 0; i < of_page.all().size(); ++i) {
    EXPECT_EQ(of_page.all()[i].name, of_table.all()[i].name);
    EXPECT_EQ(of_page.all()[i].value, of_table.all()[i].value);
  }
}

}  // namespace
}  // namespace jetmem
