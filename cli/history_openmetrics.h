// Recorded points as OpenMetrics text, as `promtool tsdb create-blocks-from openmetrics` takes it:
// so the past of a device that was out of reach comes into Prometheus.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "history/history.h"

namespace jetmem {

struct OpenMetricsWanted {
  std::vector<std::pair<std::string, std::string>> labels;  // added to each series
  bool bands = false;      // also NAME_band_min and NAME_band_max of roll-ups
  bool untrusted = false;  // also what was recorded while the clock was never known to be right
  Nanoseconds raw_step{0};
};

// What is not in the text, to be said.
struct OpenMetricsLeftOut {
  std::uint64_t untrusted = 0;
  std::uint64_t unnamed = 0;    // series whose name no Prometheus takes
  std::uint64_t backwards = 0;  // at or before the sample in front of it: a clock was set back
};

// "NAME=VALUE". Errors: no label's name, or one that Prometheus or jetmem gives.
Result<std::pair<std::string, std::string>> parse_extra_label(const std::string& text);

class OpenMetricsWriter {
 public:
  explicit OpenMetricsWriter(OpenMetricsWanted wanted) : wanted_(std::move(wanted)) {}

  // All series of one metric, by name. Samples stand at their time; of a roll-up the mean at its
  // begin. A counter of a roll-up is what it had reached at its end.
  std::string family(const std::vector<SeriesPast>& series);
  static std::string end() { return "# EOF\n"; }
  const OpenMetricsLeftOut& left_out() const { return left_out_; }

 private:
  std::string samples(const std::string& name, const SeriesPast& past, double HistoryPoint::*value);

  OpenMetricsWanted wanted_;
  OpenMetricsLeftOut left_out_;
};

}  // namespace jetmem
