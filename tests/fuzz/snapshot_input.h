// SPDX-License-Identifier: Apache-2.0
// Turns a fuzzer's bytes into what a source of many files is given.
#pragma once

#include <array>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "base/root/snapshot.h"
#include "tests/fuzz/target.h"

namespace jetmem {

// As a shell expands braces: "/a/{b,c}" is "/a/b" and "/a/c".
inline std::vector<std::string> expanded(std::initializer_list<std::string_view> patterns) {
  std::vector<std::string> out;
  for (std::string_view rest : patterns) {
    const std::string begin(take_until(rest, '{'));
    if (rest.empty()) out.push_back(begin);
    std::string_view list = take_until(rest, '}');
    while (!list.empty())
      out.push_back(begin + std::string(take_until(list, ',')) + std::string(rest));
  }
  return out;
}

// Files are separated by NUL bytes. Each is four bytes and a text: which of the source's patterns;
// what stands for the first and for every further '*' of it (a capital becomes "cma-" and its small
// letter); and a capital for an errno of 1 to 26, '/' for the folder in the '*''s place, which has
// the errno EACCES then.
template <class Patterns>
Snapshot snapshot_of(std::string_view input, const Patterns& patterns) {
  Snapshot snapshot;
  std::string path;
  while (!input.empty()) {
    const std::string_view file = take_until(input, '\0');
    if (file.size() < 4) continue;
    const std::string_view pattern = patterns[byte_of(file, 0) % patterns.size()];
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
