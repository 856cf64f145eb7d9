// SPDX-License-Identifier: Apache-2.0
// CPU time in nanoseconds, and the usual one of several.
#pragma once

#include <algorithm>
#include <chrono>
#include <vector>

#include "tests/cpu_time.h"

namespace jetmem {

template <class Work>
double cpu_ns_of(const Work& work) {
  const auto begin = cpu_time();
  work();
  return static_cast<double>((cpu_time() - begin).count());
}

inline double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace jetmem
