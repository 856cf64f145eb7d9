// SPDX-License-Identifier: Apache-2.0
// Random bytes to write and to look for again.
//
// A tile of random words, repeated: as fast as the memory, where a random number for each word
// would measure the random numbers. A tile is a little shorter than 64 KiB, so that pages which
// changed places do not agree with the ones they stand for.
#pragma once

#include <array>
#include <cstdint>

namespace jetmem::probe {

class Pattern {
 public:
  static constexpr std::size_t kWords = 8191;

  // From the kernel's random numbers: another one each time.
  Pattern();

  // `bytes` is a multiple of 8.
  void write(void* to, std::uint64_t bytes) const;
  // Words that differ.
  std::uint64_t count_mismatches(const void* in, std::uint64_t bytes) const;
  // What the GPU's kernel makes of each word (kernels.h): to be looked for from then on.
  void modify();

 private:
  std::array<std::uint64_t, kWords> tile_;
};

// One step of a linear congruential generator: every bit of a word matters, and none stays 0.
constexpr std::uint64_t kModifyFactor = 6364136223846793005ULL;
constexpr std::uint64_t kModifyTerm = 1442695040888963407ULL;

// Writes one byte in each page, so that each is there.
void touch_pages(void* memory, std::uint64_t bytes);

}  // namespace jetmem::probe
