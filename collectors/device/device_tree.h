// SPDX-License-Identifier: Apache-2.0
// What stands in a property of the device tree, as /proc/device-tree shows it (fs/proc,
// drivers/of): each node is a directory, each property a file with the bytes of the tree, without a
// newline.
//   strings   one or more, each ended by a NUL byte
//   cells     32 bits each, big-endian; numbers of one or two cells, as #address-cells and
//             #size-cells of the parent say
//   flags     an empty file: its being there is the value
// /proc/device-tree is a link to /sys/firmware/devicetree/base, which a captured root may have in
// its place. World readable but for a few secrets, none of which is read here.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "collectors/device/ranges.h"

namespace jetmem::device {

inline constexpr std::array<std::string_view, 2> kTreeBases{"/proc/device-tree",
                                                            "/sys/firmware/devicetree/base"};

// "/proc/device-tree/memory@0/reg" -> "memory@0/reg"; empty for the tree itself, nothing for
// another path.
std::optional<std::string_view> in_tree(std::string_view path);

// How many 32-bit cells an address and a size take.
struct Cells {
  // What the specification says where a node says nothing.
  std::uint32_t address = 2;
  std::uint32_t size = 1;
  bool operator==(const Cells&) const = default;
};

// The first string, without its NUL. Nothing when there is no NUL: then it was cut.
std::optional<std::string_view> first_string(std::string_view property);
// Takes the next of several strings off the front.
std::optional<std::string_view> take_string(std::string_view& property);

// One number of one or two cells; nothing for any other length.
std::optional<std::uint64_t> one_number(std::string_view property);
// #address-cells and #size-cells: one cell, 0 to 2 here.
std::optional<std::uint32_t> one_cell_count(std::string_view property);

// Pairs of address and size, as in reg. Nothing taken and false when the length is no multiple of a
// pair, the cells cannot be (an address of none, a size of three) or a range leaves 64 bits. Empty
// ranges are omitted. At most `most` are kept, the number of the others is added to `left_out`.
bool take_ranges(std::string_view property, Cells cells, std::size_t most, std::vector<Range>& out,
                 std::uint64_t& left_out);

}  // namespace jetmem::device
