// SPDX-License-Identifier: Apache-2.0
// What zoneinfo, buddyinfo and pagetypeinfo share: the "Node 0, zone   Normal" in front of what
// they print, and the identity of a zone that comes from it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/text/text.h"

namespace jetmem {

// The kernel's names have 3 to 8 letters. 15 bytes fit into a std::string without an allocation.
inline constexpr std::size_t kMaxZoneName = 15;
// Zones without memory count too: a Raspberry Pi 5 has 8 nodes of 4 zones.
inline constexpr std::size_t kMaxZones = 256;
// Orders 0 to 10 with 4 KiB pages, 0 to 13 with 64 KiB; what is printed decides.
inline constexpr std::size_t kMaxOrders = 32;
// Bounds on series by zone, and by zone and order.
inline constexpr std::uint16_t kMaxZoneSeries = 256;
inline constexpr std::uint16_t kMaxOrderSeries = 4096;
// More pages than any machine has. Below it no sum or product here leaves 64 bits, and every
// number of pages is exact in a double.
inline constexpr std::uint64_t kMaxPages = 1ULL << 52;

// A zone as it stands in the text.
struct ZoneText {
  std::uint32_t node = 0;
  std::string_view name;
};

struct ZoneId {
  std::uint32_t node = 0;
  std::string name;  // as printed, without the padding: "Normal"

  bool operator==(const ZoneText& zone) const { return node == zone.node && name == zone.name; }
  bool operator==(const ZoneId& other) const = default;
  ZoneId& operator=(const ZoneText& zone) {
    node = zone.node;
    name = zone.name;
    return *this;
  }
};

inline bool is_zone_name_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || is_digit(c) || c == '_';
}

// Takes "Node %d, zone %8s". Nothing is consumed when the text does not begin like this.
inline std::optional<ZoneText> take_zone(std::string_view& text) {
  std::string_view rest = text;
  if (!take_prefix(rest, "Node ")) return std::nullopt;
  const auto node = take_u64(rest);
  if (!node || *node > UINT16_MAX || !take_prefix(rest, ", zone ")) return std::nullopt;
  skip_blanks(rest);
  std::size_t length = 0;
  while (length < rest.size() && is_zone_name_char(rest[length])) ++length;
  if (length == 0 || length > kMaxZoneName) return std::nullopt;
  text = rest.substr(length);
  return ZoneText{static_cast<std::uint32_t>(*node), rest.substr(0, length)};
}

// The kernel ends each of these files with a newline. Without one the text was cut, and a number
// at its end may have lost digits.
inline bool ends_complete(std::string_view text) { return !text.empty() && text.back() == '\n'; }

}  // namespace jetmem
