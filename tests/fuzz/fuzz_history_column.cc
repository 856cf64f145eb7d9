// SPDX-License-Identifier: Apache-2.0
#include <bit>
#include <cmath>

#include "history/format/column.h"
#include "tests/fuzz/target.h"

namespace {

bool same(const std::vector<double>& a, const std::vector<double>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](double x, double y) {
    return (std::isnan(x) && std::isnan(y)) ||
           std::bit_cast<std::uint64_t>(x) == std::bit_cast<std::uint64_t>(y);
  });
}

}  // namespace

// A column or a roll-up of as many steps as the first two bytes say. A correct checksum is
// appended, or no input would get as far as the values.
FUZZ(input) {
  if (input.size() < 3) return;
  const std::size_t steps = two_bytes_of(input) % 4097;
  std::string bytes(input.substr(2));
  (void)decode_column(bytes, steps);
  const auto sum = column_checksum(bytes);
  bytes.push_back(static_cast<char>(sum));
  bytes.push_back(static_cast<char>(sum >> 8));
  if (const auto values = decode_column(bytes, steps)) {
    check(values->size() == steps);
    std::string again;
    encode_column(*values, again);
    const auto back = decode_column(again, steps);
    check(back && same(*back, *values));
  }
  if (const auto roll_up = decode_roll_up(bytes, steps)) {
    check(roll_up->min.size() == steps && roll_up->max.size() == steps);
    check(roll_up->average.size() == steps && roll_up->count.size() == steps);
  }
}
