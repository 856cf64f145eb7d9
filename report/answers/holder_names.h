// SPDX-License-Identifier: Apache-2.0
// How those that hold memory are named in sentences.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace jetmem {

// Of a group of processes: "python3 (vision.service)", "python3 (container web)".
std::string holder_name(std::string_view command, std::string_view unit,
                        std::string_view container);

// The group that has all groups without series of their own. A program of that name in a unit or
// container is not it.
bool is_rest(std::string_view command, std::string_view unit, std::string_view container);

// What takes memory and is in no process, by the metric that counts it.
struct OtherHolder {
  std::string_view family;
  const char* name;
  std::string_view trend{};  // its `of` of jetmem_trend_bytes_per_second; empty: no trend is kept
};
std::span<const OtherHolder> other_holders();

}  // namespace jetmem
