// SPDX-License-Identifier: Apache-2.0
// The devices of tests/fixtures that are whole, and the names of tests of each.

#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <type_traits>

namespace jetmem {

inline constexpr const char* kWholeBoards[] = {"agx-orin",      "nano-4gb",       "orin",
                                               "orin-nano-8gb", "raspberry-pi-5", "thor",
                                               "x86-pc",        "xavier-nx"};

// For INSTANTIATE_TEST_SUITE_P: of boards by their names, or of what has such a `name`.
struct BoardName {
  template <typename Board>
  std::string operator()(const testing::TestParamInfo<Board>& info) const {
    std::string name;
    if constexpr (std::is_convertible_v<Board, std::string>) {
      name = info.param;
    } else {
      name = info.param.name;
    }
    std::replace(name.begin(), name.end(), '-', '_');
    return name;
  }
};

}  // namespace jetmem
