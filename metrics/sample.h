// SPDX-License-Identifier: Apache-2.0
// The sample model: what a metric is (Descriptor), and the one store of values now (SampleTable).
//
// A source writes its samples in the same order every cycle. The writer walks a cursor over the
// series of the cycle before; where descriptor and labels match it stores a double and nothing
// else, so a machine whose shape does not change allocates nothing. A changed shape (a thermal
// zone appears) rebuilds the slots from the first difference on, and is counted.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/text/text.h"

namespace jetmem {

enum class MetricType : std::uint8_t { kGauge, kCounter, kHistogram };

// A scrape every 15 s misses the second in which memory ran out. A descriptor that names its bad
// direction gets a companion series: the worst value seen within the last minute.
enum class Worst : std::uint8_t { kNone, kMin, kMax };

inline constexpr std::size_t kMaxLabels = 5;

struct Descriptor {
  // Full name, or a pattern with one '*' for open-ended files: "jetmem_meminfo_*_bytes". The
  // first label value given for a pattern takes the place of the '*', in the help text too.
  std::string_view name;
  MetricType type = MetricType::kGauge;
  // For the person paged: what it means and what to think when it moves. No newline, no backslash.
  std::string_view help{};
  std::array<std::string_view, kMaxLabels> labels{};
  // The most series this family may have; what exceeds it is dropped and counted.
  std::uint16_t max_series = 1;
  Worst worst = Worst::kNone;

  constexpr bool is_pattern() const { return name.find('*') != std::string_view::npos; }
};

// For tables: gauge("jetmem_x_bytes", "What it means.", {"zone"}, 256).
using LabelNames = std::array<std::string_view, kMaxLabels>;
constexpr Descriptor gauge(std::string_view name, std::string_view help, LabelNames labels = {},
                           std::uint16_t max_series = 1, Worst worst = Worst::kNone) {
  return {name, MetricType::kGauge, help, labels, max_series, worst};
}
constexpr Descriptor counter(std::string_view name, std::string_view help, LabelNames labels = {},
                             std::uint16_t max_series = 1) {
  return {name, MetricType::kCounter, help, labels, max_series};
}

// Of a histogram "jetmem_x_seconds" the name is "jetmem_x_seconds_*", a pattern for "bucket", "sum"
// and "count", and the last label is "le" (metrics/histogram.h).
constexpr Descriptor histogram(std::string_view name, std::string_view help, LabelNames labels,
                               std::uint16_t max_series) {
  return {name, MetricType::kHistogram, help, labels, max_series};
}

// The part of a metric name behind its last underscore but "_total": "bytes", "seconds", ...;
// empty when the name ends in no unit.
std::string_view unit_of(std::string_view metric_name);

// "jetmem_x_bytes" -> "jetmem_x_min_1m_bytes": the companion's name for Worst::kMin or kMax.
std::string worst_name(std::string_view metric_name, Worst worst);

// One label value as a source has it at hand: text or a whole number.
class LabelValue {
 public:
  LabelValue(std::string_view text) : text_(text) {}    // NOLINT(google-explicit-constructor)
  LabelValue(const char* text) : text_(text) {}         // NOLINT(google-explicit-constructor)
  LabelValue(const std::string& text) : text_(text) {}  // NOLINT(google-explicit-constructor)
  template <class Int, class = std::enable_if_t<std::is_integral_v<Int>>>
  LabelValue(Int number)  // NOLINT(google-explicit-constructor)
      : number_(static_cast<std::int64_t>(number)), is_number_(true) {}

  std::string_view text() const { return text_; }
  std::int64_t number() const { return number_; }
  bool is_number() const { return is_number_; }

 private:
  std::string_view text_;
  std::int64_t number_ = 0;
  bool is_number_ = false;
};

class SampleTable {
 public:
  // The last minute's extreme, in buckets of five seconds.
  class WorstWindow {
   public:
    double update(Worst worst, Nanoseconds now, double value);

   private:
    static constexpr std::size_t kBuckets = 12;
    static constexpr Nanoseconds kBucket = std::chrono::seconds(5);
    std::array<double, kBuckets> values_{};
    std::array<std::int64_t, kBuckets> ids_{};
    bool used_ = false;
  };

  struct Slot {
    const Descriptor* descriptor = nullptr;
    // A companion (worst of the last minute) belongs to the slot before it.
    bool is_companion = false;
    // Kept out of every consumer: a second series of the same name and labels.
    bool is_duplicate = false;
    std::int32_t worst = -1;  // index into Section::windows
    // As consumers see them: printable and bounded, not yet escaped for any format.
    std::vector<std::string> labels;
    // The family's full name, and the series' durable name: family{sorted labels}.
    std::string family;
    std::string key;
  };

  struct Section {
    std::string name;
    std::vector<Slot> slots;
    std::vector<double> values;  // one for each slot
    std::vector<WorstWindow> windows;
    // What a cycle compares, of all slots but companions: beside each other, as a cycle finds cold
    // caches, and slots are ten times as large.
    std::vector<char> identities;
    std::uint64_t shape_changes = 0;
    std::uint64_t dropped = 0;     // samples refused in the last cycle: bound exceeded
    std::uint64_t duplicates = 0;  // series hidden in the present shape
  };

  std::size_t add_section(std::string name);
  const std::vector<Section>& sections() const { return sections_; }

  // Changes whenever the set of series changes; consumers cache what they derive from it.
  std::uint64_t shape() const { return shape_; }

  // Drops every series of a section: its data is stale or its source gone.
  void clear(std::size_t section);

  // The value of one series by its durable name, or NaN. For tests and one-off look-ups.
  double value_of(std::string_view key) const;

 private:
  friend class SampleWriter;
  std::vector<Section> sections_;
  std::uint64_t shape_ = 0;
};

// Writes one cycle of one section. Every path ends in finish(), called by the destructor.
class SampleWriter {
 public:
  SampleWriter(SampleTable& table, std::size_t section, Nanoseconds now)
      : table_(table), section_(table.sections_[section]), now_(now) {
    section_.dropped = 0;
  }
  SampleWriter(const SampleWriter&) = delete;
  SampleWriter& operator=(const SampleWriter&) = delete;
  ~SampleWriter() { finish(); }

  // One sample. For a pattern the first label is what stands for '*'. A value that is not finite
  // is not a measurement: it is omitted, which the caller should have done with a reason. So is an
  // absent optional.
  template <class Number, class... L>
  void put(const Descriptor& descriptor, const std::optional<Number>& number, const L&... labels) {
    if (number) put(descriptor, *number, labels...);
  }
  template <class Number, class... L>
  void put(const Descriptor& descriptor, Number number, const L&... labels) {
    static_assert(sizeof...(L) <= kMaxLabels);
    const std::array<LabelValue, sizeof...(L)> given{LabelValue(labels)...};
    const auto value = static_cast<double>(number);
    if (!std::isfinite(value)) return;
    store(descriptor, value, given.data(), sizeof...(L));
  }

  void finish();

 private:
  void store(const Descriptor& descriptor, double value, const LabelValue* labels,
             std::size_t count);
  void append(const Descriptor& descriptor, double value, const LabelValue* labels,
              std::size_t count);
  void cut();

  SampleTable& table_;
  SampleTable::Section& section_;
  Nanoseconds now_;
  std::size_t cursor_ = 0;    // of slots and values
  std::size_t identity_ = 0;  // of the slot there, in the identities
  bool rebuilding_ = false;
  bool finished_ = false;
  // What stood behind the first difference: its windows are inherited.
  std::vector<SampleTable::Slot> old_tail_;
  std::vector<SampleTable::WorstWindow> old_windows_;
};

// Escapes for the exposition format: backslash, double quote and newline.
void append_label_value(std::string& out, std::string_view text);

}  // namespace jetmem
