// SPDX-License-Identifier: Apache-2.0
// For tests of decoders: lines as a full log buffer or a bad copy cuts them.
#pragma once

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

#include "tests/collectors/kernel_log/decoding.h"

namespace jetmem::kernel_log {

// Decodes every beginning and end of every line of a fixture: none may crash, or be known to its
// decoder and not to the filter.
inline void expect_filter_agrees_on_cut_lines(const std::string& fixture) {
  std::ifstream in(std::string(JETMEM_FIXTURES) + "/kernel-log/" + fixture);
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  ASSERT_FALSE(text.empty()) << fixture;
  Lines lines(text);
  std::string_view line;
  Event filtered;
  Event unfiltered;
  while (lines.next(line)) {
    // Each is tried on all forms, so not at every byte.
    for (std::size_t n = line.size() % 11; n <= line.size(); n += 11) {
      for (const std::string_view cut : {line.substr(0, n), line.substr(n)}) {
        const Decoded a = decode_line(cut, Voice::kUnknown, filtered);
        const Decoded b = decode_line_unfiltered(cut, Voice::kUnknown, unfiltered);
        EXPECT_EQ(a.message, b.message) << cut;
        EXPECT_EQ(a.piece.role, b.piece.role) << cut;
      }
    }
  }
}

}  // namespace jetmem::kernel_log
