// SPDX-License-Identifier: Apache-2.0
// A source as the settings need to know it; which sources there are is the registry's knowledge.
#pragma once

#include <chrono>
#include <string_view>

namespace jetmem {

struct KnownSource {
  std::string_view name;
  std::chrono::milliseconds interval{1000};  // the default
  std::chrono::milliseconds shortest_interval{100};
};

}  // namespace jetmem
