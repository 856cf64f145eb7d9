// SPDX-License-Identifier: Apache-2.0
// One round of a derivation on readings made by hand, as the daemon's Sampler does it.
#pragma once

#include <chrono>
#include <cmath>
#include <string_view>

#include "collectors/source.h"
#include "metrics/sample.h"

namespace jetmem {

struct Cycle {
  Cycle() { facts.page_size = 4096; }

  template <class R>
  void set(const R* reading) {
    readings.add(Readings::tag<R>(), reading);
    readings.set_valid(count_++, true);
  }
  // By the order in which they were set.
  void lose(std::size_t reading) { readings.set_valid(reading, false); }
  void read_again(std::size_t reading) { readings.set_valid(reading, true); }

  void run(DerivedMetric& derived_metric) {
    if (table.sections().empty()) table.add_section("derived");
    absent.reset();
    WriteContext context{facts, readings, absent, now};
    SampleWriter writer(table, 0, now);
    derived_metric.write(writer, context);
  }
  // NaN when there is no such series.
  double sample(std::string_view key) const { return table.value_of(key); }
  bool has(std::string_view key) const { return !std::isnan(sample(key)); }
  std::size_t series() const { return table.sections()[0].slots.size(); }
  std::uint64_t shape_changes() const { return table.sections()[0].shape_changes; }
  // How many values were omitted for this reason.
  std::uint64_t left_out(std::string_view reason) const {
    for (const AbsentValues::Count& entry : absent.counts()) {
      if (entry.reason == reason) return entry.count;
    }
    return 0;
  }

  Facts facts;
  Readings readings;
  AbsentValues absent;
  SampleTable table;
  Nanoseconds now{0};

 private:
  std::size_t count_ = 0;
};

// With the derivation, over a time that the test moves.
template <class D>
struct DerivedCycle : Cycle {
  DerivedCycle() { now = std::chrono::hours(1); }
  void write() { run(derived_metric); }
  D derived_metric;
};

}  // namespace jetmem
