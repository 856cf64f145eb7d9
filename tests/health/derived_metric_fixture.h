// SPDX-License-Identifier: Apache-2.0
// Runs one derivation on readings that a test fills, over a time that the test moves.
#pragma once

#include <cmath>
#include <string>
#include <string_view>

#include "collectors/source.h"
#include "metrics/sample.h"

namespace jetmem {

template <class D>
class DerivedMetricFixture {
 public:
  DerivedMetricFixture() { section_ = table.add_section(std::string(derived_metric.name())); }

  template <class R>
  void reading(const R& what) {
    readings.add(Readings::tag<R>(), &what);
    readings.set_valid(count_++, true);
  }
  void set_valid(std::size_t index, bool valid) { readings.set_valid(index, valid); }

  void write() {
    absent.reset();
    WriteContext context{facts, readings, absent, now};
    SampleWriter writer(table, section_, now);
    derived_metric.write(writer, context);
  }
  // NaN when there is no such series.
  double get(std::string_view key) const { return table.value_of(key); }
  bool has(std::string_view key) const { return !std::isnan(get(key)); }
  std::size_t series() const { return table.sections()[section_].slots.size(); }
  std::uint64_t shape_changes() const { return table.sections()[section_].shape_changes; }
  std::uint64_t absent_for(std::string_view reason) const {
    for (const AbsentValues::Count& each : absent.counts()) {
      if (each.reason == reason) return each.count;
    }
    return 0;
  }

  D derived_metric;
  Facts facts;
  Readings readings;
  AbsentValues absent;
  SampleTable table;
  Nanoseconds now{std::chrono::hours(1)};

 private:
  std::size_t section_ = 0;
  std::size_t count_ = 0;
};

}  // namespace jetmem
