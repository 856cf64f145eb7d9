// SPDX-License-Identifier: Apache-2.0
// Which kind of event a line was of, before somebody cut off its beginning or its end.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "collectors/kernel_log/event/kinds.h"

namespace jetmem {

// Compares the words of a line, not its numbers and names, with those of a known line of each
// format.
class CutLines {
 public:
  // Nothing where the line is whole, for all that is known, or too little of it is left.
  // `headless`: nothing stood before the message, so its beginning may be missing too.
  std::optional<kernel_log::EventKind> kind_of(std::string_view text, bool headless);

 private:
  struct Known {
    kernel_log::EventKind kind;
    std::vector<std::string_view> words;
  };
  void learn();

  std::vector<Known> known_;  // filled at the first question
  std::unordered_map<std::string_view, std::vector<std::uint32_t>> by_word_;
};

// A line of each message that the decoders know, newline-separated.
std::string_view known_lines();

}  // namespace jetmem
