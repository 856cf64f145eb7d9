// SPDX-License-Identifier: Apache-2.0
// Turns a fuzzer's bytes into what a source of many files is given.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/root/snapshot.h"
#include "tests/fuzz/target.h"

namespace jetmem {

// Files are separated by NUL bytes. Each is four bytes and a text: which of the source's patterns;
// what stands for the first and for every further '*' of it (a capital becomes "cma-" and its small
// letter); and a capital for an errno of 1 to 26, '/' for the folder in the '*''s place, which has
// the errno EACCES then.
inline Snapshot snapshot_of(std::string_view input, std::span<const std::string_view> patterns) {
  Snapshot snapshot;
  std::string path;
  while (!input.empty()) {
    const std::string_view file = input.substr(0, input.find('\0'));
    input.remove_prefix(file.size() < input.size() ? file.size() + 1 : file.size());
    if (file.size() < 4) continue;
    const std::string_view pattern =
        patterns[static_cast<unsigned char>(file[0]) % patterns.size()];
    if (file[3] == '/') {
      snapshot.add(pattern.substr(0, pattern.substr(0, pattern.find('*')).rfind('/')), {}, 13);
      continue;
    }
    path.clear();
    std::size_t star = 1;
    for (const char c : pattern) {
      if (c != '*') {
        path += c;
      } else if (file[star] >= 'A' && file[star] <= 'Z') {
        path.append("cma-") += static_cast<char>(file[star] - 'A' + 'a');
      } else {
        path += file[star];
      }
      if (c == '*') star = 2;
    }
    const bool fails = file[3] >= 'A' && file[3] <= 'Z';
    const int error = fails ? file[3] - 'A' + 1 : 0;
    snapshot.add(path, fails ? std::string_view() : file.substr(4), error);
  }
  return snapshot;
}

}  // namespace jetmem
