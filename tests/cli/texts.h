// SPDX-License-Identifier: Apache-2.0
// What tests ask of printed text: which parts it has, and how wide it is; and of a result: that it
// is there.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <initializer_list>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include "base/result.h"
#include "base/text/text.h"
#include "cli/draw/terminal.h"

namespace jetmem {

inline testing::AssertionResult has_of(bool wanted, std::string_view text,
                                       std::initializer_list<std::string_view> parts) {
  std::string wrong;
  for (const std::string_view part : parts) {
    if ((text.find(part) != text.npos) != wanted) wrong.append("\n  ").append(part);
  }
  if (wrong.empty()) return testing::AssertionSuccess();
  return testing::AssertionFailure() << (wanted ? "lacks:" : "has:") << wrong << "\nthe text:\n"
                                     << text;
}

inline testing::AssertionResult has_all(std::string_view text,
                                        std::initializer_list<std::string_view> parts) {
  return has_of(true, text, parts);
}

inline testing::AssertionResult has_none(std::string_view text,
                                         std::initializer_list<std::string_view> parts) {
  return has_of(false, text, parts);
}

// Else the test ends with its error.
template <class T>
T must(Result<T> result) {
  if (!result) throw std::runtime_error(result.error().message);
  return std::move(*result);
}

// Columns of the widest line.
inline std::size_t widest(std::string_view text) {
  std::size_t most = 0;
  Lines lines(text);
  std::string_view line;
  while (lines.next(line)) most = std::max(most, shown_width(line));
  return most;
}

}  // namespace jetmem
