// SPDX-License-Identifier: Apache-2.0
// The values of one series over the steps of one chunk, as a blob of the database.
//
// A column holds the difference of each value to the one before: of whole numbers where all values
// are decimals with at most six places, of the bits of the doubles (xor) elsewhere. The differences
// lie in byte planes, which are mostly zeros, and zstd compresses the planes. docs/history.md has
// the sizes.
//
//   byte 0    0: stored, 1: compressed with zstd (a frame without its magic number)
//   the rest  one column, or the roll-up's kind and two to four columns
//   2 bytes   a checksum
//
// Decoding a damaged blob returns an error, except for one in 65536 that its checksum does not
// catch.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace jetmem {

// NaN: no value at that step. Every other double is restored bit by bit. Appends to `out`.
void encode_column(std::span<const double> values, std::string& out);
// `steps` values. Errors: kMalformed.
Result<std::vector<double>> decode_column(std::string_view bytes, std::size_t steps);

// Roll-ups: minimum, mean, maximum and count of each step. Extremes and counts are restored bit by
// bit; so are means of whole numbers, other means to one part in 10^9.
struct RollUp {
  std::vector<double> min;  // NaN: the step has no value
  std::vector<double> average;
  std::vector<double> max;
  std::vector<std::uint32_t> count;
};
void encode_roll_up(const RollUp& roll_up, std::string& out);
Result<RollUp> decode_roll_up(std::string_view bytes, std::size_t steps);

// Of a blob without its last two bytes, which hold the checksum. For the fuzz target.
std::uint16_t column_checksum(std::string_view bytes);

}  // namespace jetmem
