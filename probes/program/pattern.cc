// SPDX-License-Identifier: Apache-2.0
#include "probes/program/pattern.h"

#include <sys/random.h>

#include <algorithm>
#include <chrono>
#include <cstring>

#include "probes/program/run.h"

namespace jetmem::probe {

Pattern::Pattern() {
  auto* bytes = reinterpret_cast<unsigned char*>(tile_.data());
  std::size_t have = 0;
  while (have < sizeof tile_) {
    // Early at boot the kernel may have none yet: do not wait for it.
    const ssize_t n = ::getrandom(bytes + have, sizeof tile_ - have, GRND_NONBLOCK);
    if (n <= 0) break;
    have += static_cast<std::size_t>(n);
  }
  if (have == sizeof tile_) return;
  auto x = static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
  for (std::uint64_t& word : tile_) {
    x += 0x9E3779B97F4A7C15ULL;
    std::uint64_t z = x;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
    word = z ^ (z >> 31);
  }
}

void Pattern::write(void* to, std::uint64_t bytes) const {
  auto* out = static_cast<unsigned char*>(to);
  while (bytes > 0) {
    const std::uint64_t n = std::min<std::uint64_t>(bytes, sizeof tile_);
    std::memcpy(out, tile_.data(), n);
    out += n;
    bytes -= n;
  }
}

std::uint64_t Pattern::count_mismatches(const void* in, std::uint64_t bytes) const {
  const auto* at = static_cast<const unsigned char*>(in);
  std::uint64_t mismatches = 0;
  while (bytes > 0) {
    const std::uint64_t n = std::min<std::uint64_t>(bytes, sizeof tile_);
    if (std::memcmp(at, tile_.data(), n) != 0) {
      for (std::uint64_t i = 0; i < n / 8; ++i) {
        std::uint64_t word = 0;
        std::memcpy(&word, at + i * 8, sizeof word);
        mismatches += word != tile_[i] ? 1U : 0U;
      }
    }
    at += n;
    bytes -= n;
  }
  return mismatches;
}

void Pattern::modify() {
  for (std::uint64_t& word : tile_) word = word * kModifyFactor + kModifyTerm;
}

void touch_pages(void* memory, std::uint64_t bytes) {
  auto* at = static_cast<volatile unsigned char*>(memory);
  for (std::uint64_t i = 0; i < bytes; i += page_size()) at[i] = 0x5A;
}

}  // namespace jetmem::probe
