// SPDX-License-Identifier: Apache-2.0
// Series by key, as tests of answers give them to SampleSet::of.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace jetmem {

using Series = std::vector<std::pair<std::string, double>>;

constexpr double kMiB = 1 << 20;

}  // namespace jetmem
