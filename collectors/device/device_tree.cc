// SPDX-License-Identifier: Apache-2.0
#include "collectors/device/device_tree.h"

namespace jetmem::device {
namespace {

constexpr std::size_t kCellBytes = 4;

// Of at most two cells.
std::uint64_t number_of(std::string_view cells) {
  std::uint64_t value = 0;
  for (const char byte : cells) value = value << 8 | static_cast<unsigned char>(byte);
  return value;
}

}  // namespace

std::optional<std::string_view> in_tree(std::string_view path) {
  for (const std::string_view base : kTreeBases) {
    if (path.substr(0, base.size()) != base) continue;
    path.remove_prefix(base.size());
    if (path.empty()) return path;
    if (path[0] == '/') return path.substr(1);
    return std::nullopt;
  }
  return std::nullopt;
}

std::optional<std::string_view> take_string(std::string_view& property) {
  const std::size_t end = property.find('\0');
  if (end == std::string_view::npos) return std::nullopt;
  const std::string_view string = property.substr(0, end);
  property.remove_prefix(end + 1);
  return string;
}

std::optional<std::string_view> first_string(std::string_view property) {
  return take_string(property);
}

std::optional<std::uint64_t> one_number(std::string_view property) {
  if (property.size() != kCellBytes && property.size() != 2 * kCellBytes) return std::nullopt;
  return number_of(property);
}

std::optional<std::uint32_t> one_cell_count(std::string_view property) {
  if (property.size() != kCellBytes) return std::nullopt;
  const std::uint64_t cells = number_of(property);
  if (cells > 2) return std::nullopt;
  return static_cast<std::uint32_t>(cells);
}

bool take_ranges(std::string_view property, Cells cells, std::size_t most, std::vector<Range>& out,
                 std::uint64_t& left_out) {
  if (cells.address < 1 || cells.address > 2 || cells.size < 1 || cells.size > 2) return false;
  const std::size_t address_bytes = cells.address * kCellBytes;
  const std::size_t pair = address_bytes + cells.size * kCellBytes;
  if (property.size() % pair != 0) return false;
  const std::size_t before = out.size();
  std::uint64_t more = 0;
  for (; !property.empty(); property.remove_prefix(pair)) {
    const auto range = range_of(number_of(property.substr(0, address_bytes)),
                                number_of(property.substr(address_bytes, pair - address_bytes)));
    if (!range) {
      out.resize(before);
      return false;
    }
    if (range->empty()) continue;
    if (out.size() < most) {
      out.push_back(*range);
    } else {
      ++more;
    }
  }
  left_out += more;
  return true;
}

}  // namespace jetmem::device
