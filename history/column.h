// The values of one series over the steps of one chunk, as bytes of a database: small, because what
// memory does for half an hour is mostly nothing.
//
//   byte 0      how the rest is coded
//   the rest    presence of each step (a step may have no value), then the values
//   2 bytes     a check sum
//
// Decoding what is damaged gives an error, but for the one case in 65536 that a check sum of two
// bytes lets pass.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace jetmem {

// NaN: no value at that step. Every other double comes back bit by bit. Appends to `out`.
void encode_column(std::span<const double> values, std::string& out);
// `steps` values. Errors: kMalformed.
Result<std::vector<double>> decode_column(std::string_view bytes, std::size_t steps);

// Roll-ups: least, mean, greatest and count of each step. Extremes and counts come back bit by bit;
// means do where every value behind them was whole, and to one part in 10^9 otherwise.
struct RollUp {
  std::vector<double> min;  // NaN: nothing was seen in that step
  std::vector<double> average;
  std::vector<double> max;
  std::vector<std::uint32_t> count;
};
void encode_roll_up(const RollUp& roll_up, std::string& out);
Result<RollUp> decode_roll_up(std::string_view bytes, std::size_t steps);

}  // namespace jetmem
