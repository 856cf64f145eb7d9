// A number that changes with a text (FNV-1a): to tell that something is another, not to hide it.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace jetmem {

inline std::uint32_t digest32(std::string_view text, std::uint32_t from = 2166136261U) {
  for (const char c : text) from = (from ^ static_cast<unsigned char>(c)) * 16777619U;
  return from;
}

// Six hexadecimal digits. Few on purpose: what a command line holds cannot be found out from them.
inline void short_digest(std::string_view text, std::string& out) {
  const std::uint32_t whole = digest32(text);
  std::uint32_t value = (whole >> 24) ^ (whole & 0xffffffU);
  out.assign(6, '0');
  for (std::size_t i = 6; i-- > 0; value >>= 4) out[i] = "0123456789abcdef"[value & 15U];
}

}  // namespace jetmem
