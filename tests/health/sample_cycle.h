// SPDX-License-Identifier: Apache-2.0
// One round of a derivation on readings made by hand, as the daemon's Sampler does it.
#pragma once

#include <string>
#include <vector>

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

  void run(DerivedMetric& derived_metric) {
    if (table.sections().empty()) table.add_section("derived");
    absent.reset();
    WriteContext context{facts, readings, absent};
    SampleWriter writer(table, 0, Nanoseconds(0));
    derived_metric.write(writer, context);
  }
  double sample(const std::string& key) const { return table.value_of(key); }
  std::size_t series() const { return table.sections()[0].slots.size(); }
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

 private:
  std::size_t count_ = 0;
};

}  // namespace jetmem
