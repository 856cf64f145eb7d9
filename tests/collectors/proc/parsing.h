// SPDX-License-Identifier: Apache-2.0
// What a parser makes of a text, and what it refuses.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "tests/collectors/source_fixture.h"

namespace jetmem {

template <class Reading>
using Parser = Result<void> (*)(std::string_view, Reading&);

template <class Reading>
Reading parsed_by(Parser<Reading> parse, std::string_view text) {
  Reading out;
  const auto ok = parse(text, out);
  EXPECT_TRUE(ok) << ok.error().message;
  return out;
}

// The error's message, or "no error". A refused text leaves nothing behind that changes the next
// result.
template <class Reading>
std::string error_of(Parser<Reading> parse, std::string_view text) {
  Reading out;
  std::string first = "no error";
  if (const auto ok = parse(text, out); !ok) first = ok.error().message;
  const auto again = parse(text, out);
  EXPECT_EQ(again ? "no error" : again.error().message, first);
  return first;
}

struct Refused {
  std::size_t line;  // the one the error names; 0: the text as a whole
  std::string text;
};

template <class Reading>
void expect_refused(Parser<Reading> parse, const std::vector<Refused>& texts) {
  for (const Refused& each : texts) {
    SCOPED_TRACE(each.text.substr(0, 200));
    const std::string message = error_of(parse, each.text);
    EXPECT_NE(message, "no error");
    EXPECT_LT(message.size(), 200U);
    const std::string line = each.line == 0 ? "line " : "line " + std::to_string(each.line) + ": ";
    EXPECT_EQ(message.starts_with(line), each.line != 0) << message;
  }
}

// "malformed 1, impossible 2" of a text that is read all the same.
template <class Reading>
std::string absent_of(Parser<Reading> parse, std::string_view text) {
  return absent_text(parsed_by(parse, text).absent);
}

inline std::string replaced(std::string_view text, std::string_view from, std::string_view to) {
  std::string out(text);
  out.replace(out.find(from), from.size(), to);
  return out;
}

}  // namespace jetmem
