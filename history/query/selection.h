// SPDX-License-Identifier: Apache-2.0
// Which series are worth keeping: a default set of metrics, and what the settings add or take away.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "metrics/sample.h"

namespace jetmem {

// Patterns of metric names with '*' for any run of characters; docs/history.md lists them. One with
// a brace is held against the durable name, labels and all.
std::span<const std::string_view> default_recorded();

class Selection {
 public:
  // `more` are patterns as above; one that begins with '-' takes away.
  explicit Selection(std::span<const std::string> more = {});
  // Companions (worst of the last minute) are not kept: the roll-ups have the extremes.
  bool wants(const SampleTable::Slot& slot) const;
  // Whether any series of this metric may be wanted.
  bool wants(std::string_view family) const;
  // What can be said of a metric without its labels, so that a table of thousands of series is gone
  // through fast.
  enum class Verdict : std::uint8_t { kNone, kAll, kByLabels };
  Verdict verdict(std::string_view family) const;

 private:
  std::vector<std::string> more_;
  std::vector<std::string> less_;
};

}  // namespace jetmem
