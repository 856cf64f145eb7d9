// SPDX-License-Identifier: Apache-2.0
#include "probes/program/pattern.h"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

namespace jetmem::probe {
namespace {

// Three tiles and a bit: a size that is no multiple of a tile.
constexpr std::size_t kWords = 3 * Pattern::kWords + 100;
constexpr std::uint64_t kBytes = kWords * 8;

TEST(ProbePattern, FindsItselfAgainAndEachWordThatDiffers) {
  const Pattern pattern;
  std::vector<std::uint64_t> memory(kWords + 1, 42);
  pattern.write(memory.data(), kBytes);
  EXPECT_EQ(memory[kWords], 42U) << "nothing is written beyond the end";
  EXPECT_EQ(pattern.count_mismatches(memory.data(), kBytes), 0U);
  EXPECT_GT(Pattern().count_mismatches(memory.data(), kBytes), kWords - 10) << "another each time";
  memory[0] ^= 1;
  memory[Pattern::kWords] ^= 1ULL << 63;
  memory[kWords - 1] = ~memory[kWords - 1];
  EXPECT_EQ(pattern.count_mismatches(memory.data(), kBytes), 3U);
  EXPECT_EQ(pattern.count_mismatches(memory.data(), kBytes - 8), 2U);
}

// What a stale page, zeros, or a page of another place in the buffer would look like.
TEST(ProbePattern, PagesThatChangedPlacesAreNoticed) {
  const Pattern pattern;
  std::vector<std::uint64_t> memory(1U << 17);  // 1 MiB
  const std::uint64_t bytes = memory.size() * 8;
  pattern.write(memory.data(), bytes);
  for (const std::size_t page : {4096U, 65536U}) {
    std::vector<std::uint64_t> swapped = memory;
    std::memcpy(swapped.data(), memory.data() + 4 * page / 8, page);
    EXPECT_GT(pattern.count_mismatches(swapped.data(), bytes), page / 8 - 10) << page;
  }
}

TEST(ProbePattern, ModifyExpectsWhatTheGpuMakesOfEachWord) {
  Pattern pattern;
  std::vector<std::uint64_t> memory(kWords);
  pattern.write(memory.data(), kBytes);
  pattern.modify();
  EXPECT_GT(pattern.count_mismatches(memory.data(), kBytes), kWords - 10);
  for (std::uint64_t& word : memory) word = word * kModifyFactor + kModifyTerm;
  EXPECT_EQ(pattern.count_mismatches(memory.data(), kBytes), 0U);
}

}  // namespace
}  // namespace jetmem::probe
