// SPDX-License-Identifier: Apache-2.0
// What fuzz targets share: their entry, and what is required of every parser.
#pragma once

#include <string>
#include <string_view>
#include <type_traits>

#include "base/result.h"

// FUZZ(text) { ... }: the body, in namespace jetmem, is given each input.
#define FUZZ(input)                                                                    \
  namespace jetmem {                                                                   \
  static void fuzz(std::string_view input);                                            \
  }                                                                                    \
  extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) { \
    jetmem::fuzz({reinterpret_cast<const char*>(data), size});                         \
    return 0;                                                                          \
  }                                                                                    \
  void jetmem::fuzz(std::string_view input)

namespace jetmem {

inline void check(bool holds) {
  if (!holds) __builtin_trap();
}

// A text of its own, or a good one with a piece of it replaced: where, how much, by what.
inline std::string damaged(std::string_view good, std::string_view input) {
  if (input.size() < 3 || input[0] == '{') return std::string(input);
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(input[i]); };
  std::string text(good);
  const std::size_t at = (byte(0) * 256U + byte(1)) % text.size();
  return text.replace(at, byte(2) % 64, input.substr(3));
}

// An input parsed into a new reading and into the one that is kept between inputs, as the daemon
// keeps it: a stale reading must never show through.
template <class Reading>
struct Twice {
  bool ok = false;
  Reading fresh;
  Reading& reused;

  template <class Input>
  Twice(Result<void> (*parse)(Input, Reading&), std::type_identity_t<Input> input, Reading& kept)
      : reused(kept) {
    ok = parse(input, fresh).has_value();
    check(parse(input, kept).has_value() == ok);
  }
};
template <class Input, class Reading>
Twice<Reading> parsed_twice(Result<void> (*parse)(Input, Reading&),
                            std::type_identity_t<Input> input) {
  static Reading kept;
  return Twice<Reading>(parse, input, kept);
}

}  // namespace jetmem
