// SPDX-License-Identifier: Apache-2.0
// Recorded points as OpenMetrics text for `promtool tsdb create-blocks-from openmetrics`, which
// imports the history of a device into Prometheus.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "history/history.h"

namespace jetmem {

struct OpenMetricsOptions {
  std::vector<std::pair<std::string, std::string>> labels;  // added to each series
  bool bands = false;      // also NAME_band_min and NAME_band_max of roll-ups
  bool untrusted = false;  // also samples recorded with an unsynchronised clock
  Nanoseconds raw_step{0};
};

// Counts of omitted samples, for a note.
struct OpenMetricsOmitted {
  std::uint64_t untrusted = 0;
  std::uint64_t unnamed = 0;    // series whose name no Prometheus takes
  std::uint64_t backwards = 0;  // at or before the sample in front of it: a clock was set back
};

// "NAME=VALUE". Errors: not a label name, or one that Prometheus or jetmem sets.
Result<std::pair<std::string, std::string>> parse_extra_label(const std::string& text);

class OpenMetricsWriter {
 public:
  explicit OpenMetricsWriter(OpenMetricsOptions needed) : needed_(std::move(needed)) {}

  // All series of one metric, by name. A roll-up's mean stands at its begin; a counter has its
  // value at the end.
  std::string family(const std::vector<SeriesPast>& series);
  static std::string end() { return "# EOF\n"; }
  const OpenMetricsOmitted& omitted() const { return omitted_; }

 private:
  std::string samples(const std::string& name, const SeriesPast& past, double HistoryPoint::*value);

  OpenMetricsOptions needed_;
  OpenMetricsOmitted omitted_;
};

// Recorded points as CSV (RFC 4180): one line a point, with its series.

std::string csv_header();
std::string csv_lines(const SeriesPast& past);

}  // namespace jetmem
