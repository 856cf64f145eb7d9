// SPDX-License-Identifier: Apache-2.0
// The page that a scrape gets: the SampleTable in Prometheus' text format, version 0.0.4, or as
// OpenMetrics 1.0.
//
// Everything but the numbers is rendered once for each shape of the table (Layout). A round then
// costs a copy of the values (fill_page), and a scrape one pass that writes numbers between
// pieces of finished text (render_text). Neither allocates while the shape stands.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "metrics/sample.h"

namespace jetmem {

// What both this writer and the reference model (prometheus_model.h) say of a slot's family.
std::string help_of(const SampleTable::Slot& slot);
MetricType type_of(const SampleTable::Slot& slot);
// By which header lines name it: a histogram's three families have one header.
std::string_view headed_family(const SampleTable::Slot& slot);
std::string_view type_name(MetricType type);

class Layout {
 public:
  explicit Layout(const SampleTable& table);

  struct Series {
    std::uint32_t end;    // of the text in front of this series' number
    std::uint32_t value;  // index into Page::values
  };

  // All text in the order of the page. What lies between the ends of two series goes between
  // their numbers: the key of the second, before it the header lines when it opens a family.
  const std::string& text() const { return text_; }
  const std::vector<Series>& series() const { return series_; }

  // The durable name of series()[i], family{labels}.
  std::string_view key(std::size_t i) const;

  // SampleTable::shape() at the time, and how many values a page of this shape has.
  std::uint64_t shape() const { return shape_; }
  std::size_t value_count() const { return value_count_; }
  // Series omitted because another section wrote the same name and labels.
  std::size_t hidden() const { return hidden_; }
  // Quotes in text(): at most so many bytes are added where they are escaped.
  std::size_t quotes() const { return quotes_; }

 private:
  std::string text_;
  std::vector<Series> series_;
  std::uint64_t shape_ = 0;
  std::size_t value_count_ = 0;
  std::size_t hidden_ = 0;
  std::size_t quotes_ = 0;
};

// One round's values, to be read by another thread while the table goes on.
struct Page {
  std::shared_ptr<const Layout> layout;
  std::vector<double> values;  // of all slots of all sections, in table order
  Nanoseconds taken{-1};       // boot clock; negative: never filled
  std::uint64_t cycle = 0;
};

// Storage is reused; the layout is rebuilt only when the table's shape changed. One page belongs
// to one table: the shape alone does not tell two tables apart.
void fill_page(const SampleTable& table, Nanoseconds now, std::uint64_t cycle, Page& page);

// OpenMetrics differs in the header lines only: a counter's family is named there without "_total",
// and a quote in a help text is escaped. Whoever ends the text writes "# EOF".
enum class TextFormat : std::uint8_t { kPlain, kOpenMetrics };

// Appends. A page that was never filled appends nothing.
void render_text(const Page& page, TextFormat format, std::string& out);
inline void render_text(const Page& page, std::string& out) {
  render_text(page, TextFormat::kPlain, out);
}

}  // namespace jetmem
