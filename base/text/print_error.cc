// SPDX-License-Identifier: Apache-2.0
#include "base/text/print_error.h"

#include <cstdio>
#include <string>

#include "base/text/text.h"

namespace jetmem {

void print_error(std::string_view line) {
  constexpr std::size_t kMostBytes = 16U << 10;
  const std::string text = printable(line, kMostBytes) + "\n";
  std::fwrite(text.data(), 1, text.size(), stderr);
}

}  // namespace jetmem
