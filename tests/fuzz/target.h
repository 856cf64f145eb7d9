// SPDX-License-Identifier: Apache-2.0
// What fuzz targets share: their entry, and what is required of every parser.
#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <vector>

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

// Nothing in it that a terminal takes for a command.
inline void check_shown(std::string_view text) {
  for (const char c : text) check(static_cast<unsigned char>(c) >= ' ' && c != 0x7f);
}

// What stands before the next `end`, which is taken too.
inline std::string_view take_until(std::string_view& rest, char end) {
  const std::string_view piece = rest.substr(0, rest.find(end));
  rest.remove_prefix(std::min(piece.size() + 1, rest.size()));
  return piece;
}

inline std::size_t byte_of(std::string_view text, std::size_t at) {
  return static_cast<unsigned char>(text[at]);
}
inline std::size_t two_bytes_of(std::string_view text, std::size_t at = 0) {
  return byte_of(text, at) * 256U + byte_of(text, at + 1);
}

// A text of its own, or a good one with a piece of it replaced: where, how much, by what.
inline std::string damaged(std::string_view good, std::string_view input) {
  if (input.size() < 3 || input[0] == '{') return std::string(input);
  std::string text(good);
  return text.replace(two_bytes_of(input) % text.size(), byte_of(input, 2) % 64, input.substr(3));
}

// An input parsed into a new reading, which is returned unless it is refused, and into the one that
// is kept between inputs, as the daemon keeps it: a stale reading must never show through. The same
// in both must be `parts`: members, or functions of a reading.
template <class Input, class Reading, class... Parts>
std::unique_ptr<Reading> parsed_twice(Result<void> (*parse)(Input, Reading&),
                                      std::type_identity_t<Input> input, Parts... parts) {
  static_assert(sizeof...(Parts) > 0);
  static Reading kept;
  auto fresh = std::make_unique<Reading>();
  const bool ok = parse(input, *fresh).has_value();
  check(parse(input, kept).has_value() == ok);
  if (!ok) return nullptr;
  (check(std::invoke(parts, *fresh) == std::invoke(parts, kept)), ...);
  return fresh;
}

// A part that is a list: of each element these parts.
template <class Reading, class Element, class... Parts>
auto each(std::vector<Element> Reading::*list, Parts... parts) {
  return [=](const Reading& reading) {
    std::vector<std::tuple<std::decay_t<std::invoke_result_t<Parts, const Element&>>...>> out;
    for (const Element& one : reading.*list) out.emplace_back(std::invoke(parts, one)...);
    return out;
  };
}

}  // namespace jetmem
