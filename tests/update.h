// SPDX-License-Identifier: Apache-2.0
// Compares what the program makes with a file in the repository; with JETMEM_UPDATE=1 in the
// environment writes the file instead (scripts/update-golden does).
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>

namespace jetmem {

inline void expect_equals_file(const std::string& text, const std::string& path) {
  if (std::getenv("JETMEM_UPDATE") != nullptr) {
    std::ofstream(path, std::ios::binary) << text;
    return;
  }
  std::ifstream file(path, std::ios::binary);
  std::stringstream expected;
  expected << file.rdbuf();
  if (text == expected.str()) return;
  // The first line that differs says more than two whole pages.
  std::istringstream got(text);
  std::istringstream want(expected.str());
  std::string got_line;
  std::string want_line;
  for (int line = 1;; ++line) {
    const bool more_got = static_cast<bool>(std::getline(got, got_line));
    const bool more_want = static_cast<bool>(std::getline(want, want_line));
    if (!more_got) got_line = "(end)";
    if (!more_want) want_line = "(end)";
    if (got_line == want_line && more_got) continue;
    ADD_FAILURE() << path << ":" << line
                  << " is not what the program makes.\n  file:    " << want_line
                  << "\n  program: " << got_line
                  << "\nIf the change is meant: scripts/update-golden, and read the diff.";
    return;
  }
}

}  // namespace jetmem
