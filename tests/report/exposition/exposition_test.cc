// SPDX-License-Identifier: Apache-2.0
#include "report/exposition/exposition.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>

namespace jetmem {
namespace {

constexpr Descriptor kFree{
    .name = "jetmem_free_bytes", .help = "Memory nobody uses.", .worst = Worst::kMin};
constexpr Descriptor kZone{.name = "jetmem_zone_celsius",
                           .help = "Temperature of a zone.",
                           .labels = {"zone"},
                           .max_series = 8};
constexpr Descriptor kErrors{.name = "jetmem_errors_total",
                             .type = MetricType::kCounter,
                             .help = "Failed reads.",
                             .labels = {"source", "reason"},
                             .max_series = 8};
constexpr Descriptor kAny{
    .name = "jetmem_field_*_bytes", .help = "Field * of a file, once more *.", .max_series = 8};

std::string text_of(const SampleTable& table, TextFormat format = TextFormat::kPlain) {
  Page page;
  fill_page(table, Nanoseconds(1), 1, page);
  std::string out;
  render_text(page, format, out);
  return out;
}

// The text of one number.
std::string shown(double value) {
  Page page;
  SampleTable table;
  const std::size_t section = table.add_section("one");
  SampleWriter(table, section, Nanoseconds(0)).put(kFree, 1.0);
  fill_page(table, Nanoseconds(0), 1, page);
  page.values[0] = value;
  std::string out;
  render_text(page, out);
  const auto at = out.find("\njetmem_free_bytes ") + sizeof "\njetmem_free_bytes";
  return out.substr(at, out.find('\n', at) - at);
}

TEST(Exposition, FamiliesAreSortedAndEachHasOneHeader) {
  SampleTable table;
  const std::size_t section = table.add_section("test");
  {
    SampleWriter out(table, section, Nanoseconds(0));
    out.put(kZone, 41.5, "CPU");
    out.put(kFree, 4096);
    out.put(kErrors, 2, "thermal", "io");
    out.put(kZone, 40, "GPU");
  }
  EXPECT_EQ(text_of(table),
            "# HELP jetmem_errors_total Failed reads.\n"
            "# TYPE jetmem_errors_total counter\n"
            "jetmem_errors_total{reason=\"io\",source=\"thermal\"} 2\n"
            "# HELP jetmem_free_bytes Memory nobody uses.\n"
            "# TYPE jetmem_free_bytes gauge\n"
            "jetmem_free_bytes 4096\n"
            "# HELP jetmem_free_min_1m_bytes Lowest value within the last minute: Memory nobody "
            "uses.\n"
            "# TYPE jetmem_free_min_1m_bytes gauge\n"
            "jetmem_free_min_1m_bytes 4096\n"
            "# HELP jetmem_zone_celsius Temperature of a zone.\n"
            "# TYPE jetmem_zone_celsius gauge\n"
            "jetmem_zone_celsius{zone=\"CPU\"} 41.5\n"
            "jetmem_zone_celsius{zone=\"GPU\"} 40\n");
}

TEST(Exposition, PatternHelpNamesTheFieldAndIsEscaped) {
  SampleTable table;
  const std::size_t section = table.add_section("test");
  SampleWriter(table, section, Nanoseconds(0)).put(kAny, 1, "Active(an\\on)*");
  EXPECT_EQ(text_of(table),
            "# HELP jetmem_field_Active_an_on_bytes Field Active(an\\\\on)* of a file, once more "
            "Active(an\\\\on)*.\n"
            "# TYPE jetmem_field_Active_an_on_bytes gauge\n"
            "jetmem_field_Active_an_on_bytes 1\n");
}

TEST(Exposition, OpenMetricsNamesACounterWithoutTotalAndEscapesQuotes) {
  SampleTable table;
  const std::size_t section = table.add_section("test");
  const std::string quotes(200, '"');
  {
    SampleWriter out(table, section, Nanoseconds(0));
    out.put(kErrors, 2, "thermal \"1\"", "io");
    out.put(kErrors, 3, "zram", "io");
    out.put(kFree, 4096);
    out.put(kAny, 1, quotes + "a\\");
  }
  std::string escaped;
  for (std::size_t i = 0; i < 118; ++i) escaped += "\\\"";
  const std::string text = text_of(table, TextFormat::kOpenMetrics);
  EXPECT_NE(text.find("# HELP jetmem_errors Failed reads.\n"
                      "# TYPE jetmem_errors counter\n"
                      "jetmem_errors_total{reason=\"io\",source=\"thermal \\\"1\\\"\"} 2\n"
                      "jetmem_errors_total{reason=\"io\",source=\"zram\"} 3\n"
                      "# HELP jetmem_field_"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find(" Field " + escaped), std::string::npos) << text;
  EXPECT_NE(text.find("# TYPE jetmem_free_bytes gauge\njetmem_free_bytes 4096\n"),
            std::string::npos)
      << text;
}

TEST(Exposition, TheFirstDescriptorOfAFamilyIsUsed) {
  static constexpr Descriptor kOther{.name = "jetmem_zone_celsius",
                                     .type = MetricType::kCounter,
                                     .help = "Something else.",
                                     .labels = {"zone"}};
  SampleTable table;
  const std::size_t first = table.add_section("first");
  const std::size_t second = table.add_section("second");
  SampleWriter(table, second, Nanoseconds(0)).put(kOther, 3, "SOC");
  SampleWriter(table, first, Nanoseconds(0)).put(kZone, 41, "CPU");
  EXPECT_EQ(text_of(table),
            "# HELP jetmem_zone_celsius Temperature of a zone.\n"
            "# TYPE jetmem_zone_celsius gauge\n"
            "jetmem_zone_celsius{zone=\"CPU\"} 41\n"
            "jetmem_zone_celsius{zone=\"SOC\"} 3\n");
}

TEST(Exposition, OneSeriesIsNeverPrintedTwice) {
  SampleTable table;
  const std::size_t first = table.add_section("first");
  const std::size_t second = table.add_section("second");
  {
    SampleWriter out(table, first, Nanoseconds(0));
    out.put(kZone, 41, "CPU");
    out.put(kZone, 42, "CPU");  // within one section
    out.put(kZone, 43, "GPU");
  }
  SampleWriter(table, second, Nanoseconds(0)).put(kZone, 44, "CPU");  // and across two
  EXPECT_EQ(text_of(table),
            "# HELP jetmem_zone_celsius Temperature of a zone.\n"
            "# TYPE jetmem_zone_celsius gauge\n"
            "jetmem_zone_celsius{zone=\"CPU\"} 41\n"
            "jetmem_zone_celsius{zone=\"GPU\"} 43\n");
  EXPECT_EQ(Layout(table).hidden(), 1U);
}

TEST(Exposition, NumbersAreExact) {
  EXPECT_EQ(shown(0), "0");
  EXPECT_EQ(shown(-0.0), "0");
  EXPECT_EQ(shown(-17), "-17");
  EXPECT_EQ(shown(64424509440.0), "64424509440");
  EXPECT_EQ(shown(9007199254740991.0), "9007199254740991");
  EXPECT_EQ(std::stod(shown(9007199254740992.0)), 9007199254740992.0);
  EXPECT_EQ(shown(0.1), "0.1");
  EXPECT_EQ(shown(-2.2250738585072014e-308), "-2.2250738585072014e-308");
  EXPECT_EQ(std::stod(shown(1.0 / 3)), 1.0 / 3);
  EXPECT_EQ(std::stod(shown(std::numeric_limits<double>::max())),
            std::numeric_limits<double>::max());
  EXPECT_EQ(shown(std::nan("")), "NaN");
  EXPECT_EQ(shown(HUGE_VAL), "+Inf");
  EXPECT_EQ(shown(-HUGE_VAL), "-Inf");
}

TEST(Exposition, TheLayoutIsRebuiltOnlyWhenTheShapeChanges) {
  SampleTable table;
  const std::size_t section = table.add_section("test");
  Page page;
  fill_page(table, Nanoseconds(5), 1, page);
  std::string out;
  render_text(page, out);
  EXPECT_EQ(out, "");

  SampleWriter(table, section, Nanoseconds(0)).put(kZone, 41, "CPU");
  fill_page(table, Nanoseconds(6), 2, page);
  const auto layout = page.layout;
  SampleWriter(table, section, Nanoseconds(0)).put(kZone, 42, "CPU");
  fill_page(table, Nanoseconds(7), 3, page);
  EXPECT_EQ(page.layout, layout);
  EXPECT_EQ(page.cycle, 3U);
  EXPECT_EQ(page.taken, Nanoseconds(7));
  render_text(page, out);
  EXPECT_NE(out.find("{zone=\"CPU\"} 42\n"), std::string::npos);

  table.clear(section);
  fill_page(table, Nanoseconds(8), 4, page);
  EXPECT_NE(page.layout, layout);
  out.clear();
  render_text(page, out);
  EXPECT_EQ(out, "");
}

TEST(Exposition, APageNeverFilledIsEmpty) {
  std::string out = "x";
  render_text(Page(), out);
  EXPECT_EQ(out, "x");
}

}  // namespace
}  // namespace jetmem
