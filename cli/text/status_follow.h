// SPDX-License-Identifier: Apache-2.0
// Which of many looks at a device are worth a line: `jetmem status --follow`.
#pragma once

#include <optional>
#include <string>

#include "report/status/status_answer.h"

namespace jetmem {

class StatusChanges {
 public:
  // A line every `interval` seconds, even where nothing changed.
  explicit StatusChanges(double interval) : interval_(interval) {}

  // `now` in seconds on a clock that never steps. True for the first look, for one in which the
  // level, the alerts that fire or are a part of the verdict, the culprit or what is blind changed,
  // and where the last line is an interval old. The caller prints it.
  bool is_due(const StatusAnswer& answer, double now);
  // The same for a device that could not be looked at.
  bool is_due(const std::string& error, double now);

 private:
  bool is_new(std::string key, double now);

  double interval_;
  std::optional<std::string> key_;
  double printed_ = 0;
};

}  // namespace jetmem
