#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "history/bytes.h"
#include "history/column.h"

namespace jetmem {
namespace {

enum : char { kFlat = 0, kSums = 1, kMeans = 2 };
constexpr double kMostExact = 9007199254740992.0;  // 2^53

// A mean of what is not whole is kept to one part in 10^9: its last bits are noise that no
// compression takes away, and extremes, which are exact, bound it.
double shortened(double mean) {
  if (!std::isfinite(mean)) return mean;
  constexpr std::uint64_t kDropped = (std::uint64_t{1} << 22) - 1;
  return std::bit_cast<double>(std::bit_cast<std::uint64_t>(mean) & ~kDropped);
}

void put_column(std::span<const double> values, std::string& out) {
  std::string bytes;
  encode_column(values, bytes);
  put_varint(bytes.size(), out);
  out += bytes;
}

Result<std::vector<double>> take_column(std::string_view& bytes, std::size_t steps) {
  std::uint64_t size = 0;
  if (!take_varint(bytes, size) || size > bytes.size()) {
    return fail(Errc::kMalformed, "roll-up: ends in a column");
  }
  auto column = decode_column(bytes.substr(0, size), steps);
  bytes.remove_prefix(size);
  return column;
}

// Whole where every value behind it was: then the mean comes back exactly.
bool sums_of(const RollUp& roll_up, std::vector<double>& sums) {
  for (std::size_t i = 0; i < roll_up.count.size(); ++i) {
    double sum = std::numeric_limits<double>::quiet_NaN();
    if (roll_up.count[i] != 0) {
      sum = std::round(roll_up.average[i] * roll_up.count[i]);
      if (!(std::fabs(sum) < kMostExact) || sum / roll_up.count[i] != roll_up.average[i]) {
        return false;
      }
    }
    sums.push_back(sum);
  }
  return true;
}

}  // namespace

void encode_roll_up(const RollUp& roll_up, std::string& out) {
  const std::size_t steps = roll_up.count.size();
  std::vector<double> counts(steps);
  bool flat = true;
  for (std::size_t i = 0; i < steps; ++i) {
    counts[i] = roll_up.count[i];
    if (roll_up.count[i] != 0 && std::bit_cast<std::uint64_t>(roll_up.min[i]) !=
                                     std::bit_cast<std::uint64_t>(roll_up.max[i])) {
      flat = false;
    }
  }
  std::vector<double> means;
  const bool whole = !flat && sums_of(roll_up, means);
  out.push_back(flat ? kFlat : whole ? kSums : kMeans);
  put_column(counts, out);
  put_column(roll_up.min, out);
  if (flat) return;
  put_column(roll_up.max, out);
  if (!whole) {
    means.resize(steps);
    std::transform(roll_up.average.begin(), roll_up.average.end(), means.begin(), shortened);
  }
  put_column(means, out);
}

Result<RollUp> decode_roll_up(std::string_view bytes, std::size_t steps) {
  if (bytes.empty() || bytes.front() < kFlat || bytes.front() > kMeans) {
    return fail(Errc::kMalformed, "roll-up: unknown coding");
  }
  const char coding = bytes.front();
  bytes.remove_prefix(1);
  auto counts = take_column(bytes, steps);
  if (!counts) return tl::unexpected(counts.error());
  auto min = take_column(bytes, steps);
  if (!min) return tl::unexpected(min.error());
  auto max = coding == kFlat ? min : take_column(bytes, steps);
  if (!max) return tl::unexpected(max.error());
  auto average = coding == kFlat ? min : take_column(bytes, steps);
  if (!average) return tl::unexpected(average.error());
  if (!bytes.empty()) return fail(Errc::kMalformed, "roll-up: bytes behind the values");
  RollUp roll_up{std::move(*min), std::move(*average), std::move(*max), {}};
  roll_up.count.resize(steps);
  for (std::size_t i = 0; i < steps; ++i) {
    const double count = (*counts)[i];
    if (!(count >= 0 && count <= std::numeric_limits<std::uint32_t>::max())) {
      return fail(Errc::kMalformed, "roll-up: a count that is none");
    }
    roll_up.count[i] = static_cast<std::uint32_t>(count);
    const bool none = roll_up.count[i] == 0;
    if (none != std::isnan(roll_up.min[i]) || none != std::isnan(roll_up.max[i]) ||
        none != std::isnan(roll_up.average[i])) {
      return fail(Errc::kMalformed, "roll-up: values and counts disagree");
    }
    if (none) continue;
    if (coding == kSums) roll_up.average[i] /= count;
    if (roll_up.min[i] <= roll_up.max[i]) {
      roll_up.average[i] = std::clamp(roll_up.average[i], roll_up.min[i], roll_up.max[i]);
    }
  }
  return roll_up;
}

}  // namespace jetmem
