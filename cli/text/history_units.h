// SPDX-License-Identifier: Apache-2.0
// A metric's figures for people, by the unit that its name ends in.
#pragma once

#include <string>
#include <string_view>

namespace jetmem {

class MetricUnit {
 public:
  // `is_rate`: of a counter, its growth a second.
  explicit MetricUnit(std::string_view family, bool is_rate = false);

  bool binary() const { return kind_ == Kind::kBytes; }
  // "340 MiB", "62%", "12.5/s".
  std::string text(double value) const;
  // The text of a tick, precise enough to differ from its neighbours, which are `step` away.
  std::string tick(double value, double step) const;
  // How much it changes an hour, with its sign.
  std::string per_hour(double change) const;

 private:
  enum class Kind { kNumber, kBytes, kRatio, kSeconds, kMoment, kCelsius, kHertz, kWatts };
  std::string plain(double value) const;

  Kind kind_ = Kind::kNumber;
  bool is_rate_;
};

// Whole numbers in full, others with three significant digits: "1234567", "0.0123", "12.5".
std::string short_number(double value);

}  // namespace jetmem
