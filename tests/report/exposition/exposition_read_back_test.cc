// SPDX-License-Identifier: Apache-2.0
// What a scraper reads in the text is what the table has: random labels and numbers, each bit.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>

#include "base/text/text.h"
#include "metrics/series_key.h"
#include "report/exposition/exposition.h"
#include "tests/random_input.h"

namespace jetmem {
namespace {

using test::RandomInput;

constexpr Descriptor kGauge{
    .name = "jetmem_gauge_bytes", .help = "G.", .labels = {"zone", "area"}, .max_series = 64};
constexpr Descriptor kCounter{.name = "jetmem_counter_total",
                              .type = MetricType::kCounter,
                              .help = "C.",
                              .labels = {"reason"},
                              .max_series = 64};

// Any double that is a number, those of few digits as often as the others.
double random_number(RandomInput& random) {
  for (;;) {
    double value = std::bit_cast<double>(random.engine()());
    if (random.one_in(2)) value = static_cast<double>(random.number());
    if (random.one_in(4)) value = std::round(static_cast<double>(random.below(100'000))) / 100;
    if (std::isfinite(value)) return value;
  }
}

TEST(ExpositionReadBack, SamplesAreBitExact) {
  RandomInput random(50);
  std::string bytes;
  for (int byte = 0; byte < 256; ++byte) bytes += static_cast<char>(byte);
  for (int cycle = 0; cycle < 500; ++cycle) {
    SampleTable table;
    const std::size_t section = table.add_section("test");
    {
      SampleWriter out(table, section, Nanoseconds(0));
      for (std::uint64_t left = random.below(20); left > 0; --left) {
        out.put(kGauge, random_number(random), random.word(bytes, 12), left);
        out.put(kCounter, static_cast<double>(random.number()), random.word("a\"\\\n", 9));
      }
    }
    Page page;
    fill_page(table, Nanoseconds(1), 1, page);
    std::string text;
    render_text(page, text);
    std::size_t shown = 0;
    for (const SampleTable::Slot& slot : table.sections()[0].slots)
      shown += slot.is_duplicate ? 0 : 1;
    std::size_t read = 0;
    Lines lines(text);
    std::string_view line;
    while (lines.next(line)) {
      if (line.empty() || line.front() == '#') continue;
      const std::size_t space = line.rfind(' ');
      ASSERT_NE(space, std::string_view::npos);
      auto name = parse_series_key(line.substr(0, space));
      ASSERT_TRUE(name) << name.error().message;
      std::sort(name->labels.begin(), name->labels.end());
      const double needed = table.value_of(name->key());
      const double value = std::strtod(std::string(line.substr(space + 1)).c_str(), nullptr);
      // A minus in front of 0 is omitted.
      EXPECT_EQ(value, needed) << line;
      ++read;
    }
    EXPECT_EQ(read, shown) << text;
  }
}

}  // namespace
}  // namespace jetmem
