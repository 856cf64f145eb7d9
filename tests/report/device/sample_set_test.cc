// SPDX-License-Identifier: Apache-2.0
#include "report/device/sample_set.h"

#include <gtest/gtest.h>

#include "base/clock.h"
#include "report/device/newcomers.h"

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

TEST(Newcomers, AreTakenOutOfOther) {
  const std::vector<std::pair<std::string, double>> series{
      {R"(jetmem_process_group_resident_bytes{command="other",container="",unit=""})", 1000},
      {R"(jetmem_process_group_resident_bytes{command="a",container="",unit=""})", 5},
      {R"(jetmem_process_group_gpu_bytes{command="other",container="",unit=""})", 70},
      {R"(jetmem_process_group_processes{command="other",container="",unit=""})", 9},
      {"jetmem_processes", 10}};
  SampleSet samples = SampleSet::of(series);
  add_newcomers({}, samples);
  EXPECT_EQ(samples.all().size(), 5U);
  Processes::Newcomer huge;
  huge.key = {"huge", "x.service", ""};
  huge.pid = 4321;
  huge.processes = 1;
  huge.resident = 900;
  huge.gpu = 80;  // of another reading: no more than there is can be taken
  huge.dmabuf = 3;
  add_newcomers({huge}, samples);
  const auto of = [&](const char* family, const char* command) {
    return samples.value(std::string("jetmem_process_group_") + family, {{"command", command}});
  };
  EXPECT_EQ(of("resident_bytes", "huge"), 900);
  EXPECT_EQ(of("resident_bytes", "other"), 100);
  EXPECT_EQ(of("resident_bytes", "a"), 5);
  EXPECT_EQ(of("pid", "huge"), 4321);
  EXPECT_EQ(of("pid", "other"), std::nullopt);
  EXPECT_EQ(of("processes", "huge"), 1);
  EXPECT_EQ(of("processes", "other"), 8);
  EXPECT_EQ(of("gpu_bytes", "huge"), std::nullopt);
  EXPECT_EQ(of("gpu_bytes", "other"), 70);
  EXPECT_EQ(of("dmabuf_bytes", "huge"), std::nullopt) << "unknown of all groups";
  EXPECT_EQ(
      samples.find("jetmem_process_group_resident_bytes", {{"command", "huge"}})->label("unit"),
      "x.service");
}

}  // namespace
}  // namespace jetmem
