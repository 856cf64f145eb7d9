// SPDX-License-Identifier: Apache-2.0
// Random readings for tests of properties: the same ones each time.
#pragma once

#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <vector>

namespace jetmem::test {

class RandomInput {
 public:
  explicit RandomInput(std::uint64_t seed) : random_(seed) {}

  // 0 to less than `below`.
  std::uint64_t below(std::uint64_t below) { return random_() % below; }
  bool one_in(std::uint64_t n) { return below(n) == 0; }
  // Of any size, small ones as often as large ones; at most `most`.
  std::uint64_t number(std::uint64_t most = UINT64_MAX) {
    const std::uint64_t value = random_() >> below(64);
    return most == UINT64_MAX ? value : value % (most + 1);
  }
  std::optional<std::uint64_t> maybe(std::uint64_t most) {
    return one_in(3) ? std::nullopt : std::optional(number(most));
  }
  // 1 to `longest` of these letters.
  std::string word(std::string_view letters, std::size_t longest) {
    std::string out;
    for (std::size_t i = below(longest) + 1; i > 0; --i) out += letters[below(letters.size())];
    return out;
  }
  // No two of them the same.
  std::vector<std::string> words(std::size_t count, std::string_view letters, std::size_t longest) {
    std::vector<std::string> out;
    for (std::size_t i = 0; i < count; ++i) {
      out.push_back(word(letters, longest) + "_" + std::to_string(i));
    }
    return out;
  }
  std::mt19937_64& engine() { return random_; }

 private:
  std::mt19937_64 random_;
};

inline constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";

}  // namespace jetmem::test
