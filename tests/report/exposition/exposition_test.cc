// SPDX-License-Identifier: Apache-2.0
#include "report/exposition/exposition.h"

#include <gmock/gmock.h>
#include <prometheus/text_serializer.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <limits>

#include "base/text/text.h"
#include "metrics/histogram.h"
#include "metrics/series_key.h"
#include "tests/random_input.h"
#include "tests/report/exposition/prometheus_model.h"

namespace jetmem {
namespace {

using testing::AllOf;
using testing::HasSubstr;

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

// The text of a table of one section.
std::string text_of(const std::function<void(SampleWriter&)>& write,
                    TextFormat format = TextFormat::kPlain) {
  SampleTable table;
  SampleWriter out(table, table.add_section("test"), Nanoseconds(0));
  write(out);
  out.finish();
  return text_of(table, format);
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
  EXPECT_EQ(text_of([](SampleWriter& out) {
              out.put(kZone, 41.5, "CPU");
              out.put(kFree, 4096);
              out.put(kErrors, 2, "thermal", "io");
              out.put(kZone, 40, "GPU");
            }),
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
  EXPECT_EQ(text_of([](SampleWriter& out) { out.put(kAny, 1, "Active(an\\on)*"); }),
            "# HELP jetmem_field_Active_an_on_bytes Field Active(an\\\\on)* of a file, once more "
            "Active(an\\\\on)*.\n"
            "# TYPE jetmem_field_Active_an_on_bytes gauge\n"
            "jetmem_field_Active_an_on_bytes 1\n");
}

TEST(Exposition, OpenMetricsNamesACounterWithoutTotalAndEscapesQuotes) {
  std::string escaped;
  for (std::size_t i = 0; i < 118; ++i) escaped += "\\\"";
  EXPECT_THAT(text_of(
                  [](SampleWriter& out) {
                    out.put(kErrors, 2, "thermal \"1\"", "io");
                    out.put(kErrors, 3, "zram", "io");
                    out.put(kFree, 4096);
                    out.put(kAny, 1, std::string(200, '"') + "a\\");
                  },
                  TextFormat::kOpenMetrics),
              AllOf(HasSubstr("# HELP jetmem_errors Failed reads.\n"
                              "# TYPE jetmem_errors counter\n"
                              "jetmem_errors_total{reason=\"io\",source=\"thermal \\\"1\\\"\"} 2\n"
                              "jetmem_errors_total{reason=\"io\",source=\"zram\"} 3\n"
                              "# HELP jetmem_field_"),
                    HasSubstr(" Field " + escaped),
                    HasSubstr("# TYPE jetmem_free_bytes gauge\njetmem_free_bytes 4096\n")));
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
  std::string out;
  render_text(page, out);
  EXPECT_EQ(out, "") << "never filled";
  fill_page(table, Nanoseconds(5), 1, page);
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

// Any double that is a number, those of few digits as often as the others.
double random_number(test::RandomInput& random) {
  for (;;) {
    double value = std::bit_cast<double>(random.engine()());
    if (random.one_in(2)) value = static_cast<double>(random.number());
    if (random.one_in(4)) value = std::round(static_cast<double>(random.below(100'000))) / 100;
    if (std::isfinite(value)) return value;
  }
}

// What a scraper reads in the text is what the table has: random labels and numbers, each bit.
TEST(Exposition, SamplesReadBackAreBitExact) {
  static constexpr Descriptor kGauge{
      .name = "jetmem_gauge_bytes", .help = "G.", .labels = {"zone", "area"}, .max_series = 64};
  static constexpr Descriptor kCounter{.name = "jetmem_counter_total",
                                       .type = MetricType::kCounter,
                                       .help = "C.",
                                       .labels = {"reason"},
                                       .max_series = 64};
  test::RandomInput random(50);
  std::string bytes;
  for (int byte = 0; byte < 256; ++byte) bytes += static_cast<char>(byte);
  for (int cycle = 0; cycle < 500; ++cycle) {
    SampleTable table;
    {
      SampleWriter out(table, table.add_section("test"), Nanoseconds(0));
      for (std::uint64_t left = random.below(20); left > 0; --left) {
        out.put(kGauge, random_number(random), random.word(bytes, 12), left);
        out.put(kCounter, static_cast<double>(random.number()), random.word("a\"\\\n", 9));
      }
    }
    const std::string text = text_of(table);
    std::size_t shown = 0;
    for (const auto& slot : table.sections()[0].slots) shown += slot.is_duplicate ? 0 : 1;
    std::size_t read = 0;
    Lines lines(text);
    for (std::string_view line; lines.next(line);) {
      if (line.empty() || line.front() == '#') continue;
      const std::size_t space = line.rfind(' ');
      ASSERT_NE(space, std::string_view::npos);
      auto name = parse_series_key(line.substr(0, space));
      ASSERT_TRUE(name) << name.error().message;
      std::sort(name->labels.begin(), name->labels.end());
      // A minus in front of 0 is omitted.
      EXPECT_EQ(std::strtod(std::string(line.substr(space + 1)).c_str(), nullptr),
                table.value_of(name->key()))
          << line;
      ++read;
    }
    EXPECT_EQ(read, shown) << text;
  }
}

// The reference: both texts must have the same lines.
std::vector<std::string> sorted_lines(const std::string& text) {
  std::vector<std::string> out;
  Lines lines(text);
  for (std::string_view line; lines.next(line);) out.emplace_back(line);
  std::sort(out.begin(), out.end());
  return out;
}

constexpr std::array kMetrics{
    Descriptor{.name = "jetmem_a_bytes", .help = "A.", .worst = Worst::kMax},
    Descriptor{.name = "jetmem_b_total",
               .type = MetricType::kCounter,
               .help = "B.",
               .labels = {"zone", "order", "node"},
               .max_series = 100},
    Descriptor{.name = "jetmem_field_*_bytes", .help = "Field *.", .max_series = 100},
    Descriptor{.name = "jetmem_field_*_total",
               .type = MetricType::kCounter,
               .help = "Field *.",
               .labels = {"node"},
               .max_series = 100},
    histogram("jetmem_c_seconds_*", "C.", {"kind", "le"}, 2 * DurationHistogram::kSeries),
    // Between the histogram's families by name.
    Descriptor{.name = "jetmem_c_seconds_by_day", .help = "C by day."},
};

// Numbers that are short: theirs prints 16 digits, one too few to name every double.
void write(SampleTable& table, std::size_t section, double scale) {
  SampleWriter out(table, section, Nanoseconds(0));
  out.put(kMetrics[0], 64424509440.0 * scale);
  for (int order = 0; order < 11; ++order) {
    out.put(kMetrics[1], order * scale / 8, "Normal", order, 0);
    out.put(kMetrics[1], order * 1e10 * scale, "DMA \"32\"\\\n", order, 1);
  }
  out.put(kMetrics[2], -0.5 * scale, "Active(anon)");
  out.put(kMetrics[3], 0.125 * scale, "Active(anon)", 0);
  out.put(kMetrics[3], 1e300 * scale, "Active(anon)", -1);
  out.put(kMetrics[3], 1, "Active(anon)", 0);  // hidden
  DurationHistogram durations;
  for (const double seconds : {0x1p-14, 0x1p-13, 0.25, 7.0}) durations.add(seconds * scale);
  durations.write(out, kMetrics[4], "one");
  durations.write(out, kMetrics[4], "two");
  out.put(kMetrics[5], 1);
}

TEST(Exposition, HasTheLinesOfPrometheusCpp) {
  SampleTable table;
  const std::size_t first = table.add_section("first");
  const std::size_t second = table.add_section("second");
  write(table, first, 1);
  write(table, second, 2);  // every series again: hidden
  SampleWriter(table, second, Nanoseconds(0)).put(kMetrics[1], 5, "Movable", 0, 0);

  Page page;
  fill_page(table, Nanoseconds(0), 1, page);
  std::string ours;
  render_text(page, ours);
  const std::vector<std::string> lines = sorted_lines(ours);
  EXPECT_EQ(lines, sorted_lines(prometheus::TextSerializer().prometheus::Serializer::Serialize(
                       prometheus_model(table))));
  const auto samples = std::count_if(lines.begin(), lines.end(),
                                     [](const std::string& line) { return line.front() != '#'; });
  EXPECT_EQ(samples, 28 + 2 * DurationHistogram::kSeries + 1);
  for (const char* line : {"jetmem_c_seconds_bucket{kind=\"two\",le=\"0.0001\"} 1\n",
                           "jetmem_c_seconds_bucket{kind=\"two\",le=\"0.0005\"} 2\n",
                           "jetmem_c_seconds_bucket{kind=\"two\",le=\"2.5\"} 3\n",
                           "jetmem_c_seconds_bucket{kind=\"two\",le=\"+Inf\"} 4\n",
                           "jetmem_c_seconds_count{kind=\"one\"} 4\n",
                           "jetmem_b_total{node=\"0\",order=\"3\",zone=\"Normal\"} 0.375\n"}) {
    EXPECT_THAT(ours, HasSubstr(line));
  }
  // No family is within another.
  const std::size_t by_day = ours.find("# HELP jetmem_c_seconds_by_day");
  for (const char* part : {"_bucket{", "_sum{", "_count{"}) {
    const std::string name = std::string("\njetmem_c_seconds") + part;
    EXPECT_EQ(ours.find(name) < by_day, ours.rfind(name) < by_day) << part;
    EXPECT_EQ(ours.find(name) < by_day, ours.find("# TYPE jetmem_c_seconds h") < by_day) << part;
  }
}

}  // namespace
}  // namespace jetmem
