// SPDX-License-Identifier: Apache-2.0
#include "rules/model/texts.h"

#include <gtest/gtest.h>

#include <limits>

namespace jetmem {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

TEST(RuleTexts, ShowAtMostThreeDigits) {
  struct Case {
    ValueUnit unit;
    double value;
    const char* shown;
  };
  for (const Case& each : {
           Case{ValueUnit::kPlain, 0, "0"},
           Case{ValueUnit::kPlain, -0.0, "0"},
           Case{ValueUnit::kPlain, 1, "1"},
           Case{ValueUnit::kPlain, 0.012345, "0.0123"},
           Case{ValueUnit::kPlain, 71781, "71,800"},
           Case{ValueUnit::kPlain, -1234567, "-1,230,000"},
           Case{ValueUnit::kPlain, 999.6, "1,000"},
           Case{ValueUnit::kPlain, 1e-9, "1e-09"},
           Case{ValueUnit::kPlain, 1e28, "1e+28"},
           Case{ValueUnit::kPlain, kInfinity, "+Inf"},
           Case{ValueUnit::kPlain, -kInfinity, "-Inf"},
           Case{ValueUnit::kPlain, std::numeric_limits<double>::quiet_NaN(), "NaN"},
           Case{ValueUnit::kBytes, 512, "512 B"},
           Case{ValueUnit::kBytes, 1023, "0.999 KiB"},
           Case{ValueUnit::kBytes, 9.437 * 1048576, "9.44 MiB"},
           Case{ValueUnit::kBytes, -10.63 * 1048576, "-10.6 MiB"},
           Case{ValueUnit::kBytes, 1e30, "867,000,000,000 EiB"},
           Case{ValueUnit::kBytesPerSecond, 2 * 1048576, "2 MiB/s"},
           Case{ValueUnit::kBytesPerSecond, 153.6 * 1024, "9 MiB/min"},
           Case{ValueUnit::kBytesPerSecond, -1024, "-3.52 MiB/h"},
           Case{ValueUnit::kBytesAbove, -5.857 * 1048576, "5.86 MiB below"},
           Case{ValueUnit::kBytesAbove, 0, "0 B above"},
           Case{ValueUnit::kCelsius, 98.74, "98.7 C"},
           Case{ValueUnit::kCelsiusBelow, 3.42, "3.42 C below"},
           Case{ValueUnit::kCelsiusBelow, -1, "1 C above"},
           Case{ValueUnit::kRatio, 0.95, "95%"},
           Case{ValueUnit::kRatio, 0.4268, "42.7%"},
           Case{ValueUnit::kRatio, 33.3, "3,330%"},
           Case{ValueUnit::kRatio, kInfinity, "+Inf"},
           Case{ValueUnit::kSeconds, 0.5, "0.5 s"},
           Case{ValueUnit::kSeconds, 7.93, "8 s"},
           Case{ValueUnit::kSeconds, 45, "45 s"},
           Case{ValueUnit::kSeconds, 59.97, "1 min"},
           Case{ValueUnit::kSeconds, 61, "1 min 1 s"},
           Case{ValueUnit::kSeconds, 8783, "2 h 26 min"},
           Case{ValueUnit::kSeconds, -90061, "-1 d 1 h"},
           Case{ValueUnit::kSeconds, 1e300, "1.16e+295 d"},
       }) {
    EXPECT_EQ(show_value(each.value, each.unit), each.shown) << each.value;
  }
}

TEST(RuleTexts, FillValueAndLabels) {
  constexpr std::string_view kText = "{{value}} of {{ labels.area }}{{ labels.gone }}, {{ what }}";
  EXPECT_EQ(fill_text(kText, 0.5, ValueUnit::kRatio, {{"area", "linux,cma"}}),
            "50% of linux,cma, ");
  EXPECT_EQ(prometheus_text(kText, ValueUnit::kRatio),
            "{{ $value | humanizePercentage }} of {{ $labels.area }}{{ $labels.gone }}, ");
}

TEST(RuleTexts, ABlankStandsBetweenLabelsThatAreThere) {
  constexpr std::string_view kText = "in {{ labels.unit }} {{ labels.container }} now";
  const auto filled = [&](const Labels& labels) {
    return fill_text(kText, 1, ValueUnit::kPlain, labels);
  };
  EXPECT_EQ(filled({{"unit", "a.service"}, {"container", "9c0f"}}), "in a.service 9c0f now");
  EXPECT_EQ(filled({{"unit", "a.service"}, {"container", ""}}), "in a.service now");
  EXPECT_EQ(filled({{"container", "9c0f"}}), "in 9c0f now");
  EXPECT_EQ(prometheus_text(kText, ValueUnit::kPlain),
            "in {{ $labels.unit }}{{ if and $labels.unit $labels.container }} {{ end }}"
            "{{ $labels.container }} now");
}

}  // namespace
}  // namespace jetmem
