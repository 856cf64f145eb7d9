// SPDX-License-Identifier: Apache-2.0
// Our writer against prometheus-cpp's: both texts must say the same, sample by sample.
#include "tests/report/exposition/prometheus_model.h"

#include <gtest/gtest.h>
#include <prometheus/text_serializer.h>

#include <array>
#include <cmath>
#include <cstdlib>
#include <map>
#include <set>
#include <string>

#include "base/text/text.h"
#include "metrics/histogram.h"
#include "report/exposition/exposition.h"

namespace jetmem {
namespace {

// A small reader of the text format, strict enough to notice what a scraper would.
struct Parsed {
  std::map<std::string, std::string> help;
  std::map<std::string, std::string> type;
  // Name and sorted labels to value.
  std::map<std::pair<std::string, std::set<std::pair<std::string, std::string>>>, double> samples;
};

std::string take_until(std::string_view& text, std::string_view ends) {
  const std::size_t at = std::min(text.find_first_of(ends), text.size());
  std::string out(text.substr(0, at));
  text.remove_prefix(at);
  return out;
}

void parse_labels(std::string_view& line, std::set<std::pair<std::string, std::string>>& labels) {
  while (!take_prefix(line, "}")) {
    ASSERT_FALSE(line.empty());
    const std::string name = take_until(line, "=");
    ASSERT_TRUE(take_prefix(line, "=\""));
    std::string value;
    while (!line.empty() && line.front() != '"') {
      if (line.front() == '\\') {
        line.remove_prefix(1);
        value += line.front() == 'n' ? '\n' : line.front();
      } else {
        value += line.front();
      }
      line.remove_prefix(1);
    }
    ASSERT_TRUE(take_prefix(line, "\""));
    take_prefix(line, ",");
    EXPECT_TRUE(labels.emplace(name, value).second);
  }
}

Parsed parse(std::string_view text) {
  Parsed out;
  Lines lines(text);
  std::string_view line;
  std::string family;
  while (lines.next(line)) {
    const std::string whole(line);
    if (take_prefix(line, "# HELP ")) {
      family = take_until(line, " ");
      line.remove_prefix(1);
      EXPECT_TRUE(out.help.emplace(family, line).second) << whole;
    } else if (take_prefix(line, "# TYPE ")) {
      EXPECT_EQ(take_until(line, " "), family);
      line.remove_prefix(1);
      EXPECT_TRUE(out.type.emplace(family, line).second) << whole;
    } else {
      const std::string name = take_until(line, "{ ");
      std::string_view part = name;
      EXPECT_TRUE(take_prefix(part, family)) << "outside its family: " << whole;
      const bool is_part = part == "_bucket" || part == "_sum" || part == "_count";
      EXPECT_EQ(out.type[family] == "histogram", is_part) << whole;
      EXPECT_EQ(part.empty(), !is_part) << whole;
      std::set<std::pair<std::string, std::string>> labels;
      if (take_prefix(line, "{")) parse_labels(line, labels);
      EXPECT_TRUE(take_prefix(line, " ")) << whole;
      const double value = std::strtod(std::string(line).c_str(), nullptr);
      EXPECT_TRUE(out.samples.emplace(std::pair(name, labels), value).second) << whole;
    }
  }
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

void write(SampleTable& table, std::size_t section, double scale) {
  SampleWriter out(table, section, Nanoseconds(0));
  out.put(kMetrics[0], 64424509440.0 * scale);
  for (int order = 0; order < 11; ++order) {
    out.put(kMetrics[1], order * scale / 7, "Normal", order, 0);
    out.put(kMetrics[1], order * 1e17 * scale, "DMA \"32\"\\\n", order, 1);
  }
  out.put(kMetrics[2], -0.1 * scale, "Active(anon)");
  out.put(kMetrics[3], 1e-9 * scale, "Active(anon)", 0);
  out.put(kMetrics[3], 1e300 * scale, "Active(anon)", -1);
  out.put(kMetrics[3], 1, "Active(anon)", 0);  // hidden
  DurationHistogram durations;
  for (const double seconds : {0.0001, 0.0002, 0.3, 7.0}) durations.add(seconds * scale);
  durations.write(out, kMetrics[4], "one");
  durations.write(out, kMetrics[4], "two");
  out.put(kMetrics[5], 1);
}

TEST(PrometheusModel, BothTextsAreEqual) {
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
  const Parsed mine = parse(ours);
  const Parsed theirs = parse(
      prometheus::TextSerializer().prometheus::Serializer::Serialize(prometheus_model(table)));

  EXPECT_EQ(mine.help, theirs.help);
  EXPECT_EQ(mine.type, theirs.type);
  EXPECT_EQ(mine.samples.size(), 28U + 2 * DurationHistogram::kSeries + 1);
  ASSERT_EQ(mine.samples.size(), theirs.samples.size());
  for (const auto& [key, value] : mine.samples) {
    const auto found = theirs.samples.find(key);
    ASSERT_NE(found, theirs.samples.end()) << key.first;
    // Theirs prints 16 digits, one too few to name every double.
    EXPECT_NEAR(found->second, value, std::fabs(value) * 1e-15) << key.first;
    // Ours prints the double itself.
  }
  const auto bucket = [&](const char* le) {
    return mine.samples.at({"jetmem_c_seconds_bucket", {{"kind", "two"}, {"le", le}}});
  };
  EXPECT_EQ(bucket("0.0001"), 1);
  EXPECT_EQ(bucket("0.0005"), 2);
  EXPECT_EQ(bucket("0.25"), 2);
  EXPECT_EQ(bucket("2.5"), 3);
  EXPECT_EQ(bucket("+Inf"), 4);
  EXPECT_EQ(mine.samples.at({"jetmem_c_seconds_count", {{"kind", "one"}}}), 4);
  EXPECT_EQ(
      mine.samples.at({"jetmem_b_total", {{"zone", "Normal"}, {"order", "3"}, {"node", "0"}}}),
      3.0 / 7);
}

}  // namespace
}  // namespace jetmem
